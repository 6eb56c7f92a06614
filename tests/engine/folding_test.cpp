// SPDX-License-Identifier: Apache-2.0
#include "interference/prior.h"
#include "tests/graph/built_step.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

// A rank that stands for others: its timeline is, to the nanosecond, that of each of them simulated alone.
namespace echosim {
namespace {

using test::build_step;
using test::BuiltStep;
using test::simulate_step;

void expect_equal(const RankTimeline& folded, const RankTimeline& alone) {
    ASSERT_EQ(folded.size(), alone.size());
    EXPECT_EQ(folded.start, alone.start);
    EXPECT_EQ(folded.duration, alone.duration);
    EXPECT_EQ(folded.waited, alone.waited);
    EXPECT_EQ(folded.alone, alone.alone);
    EXPECT_EQ(folded.instance, alone.instance);
    EXPECT_EQ(folded.op, alone.op);
}

// False when the ranks of a stage are not placed alike, so that there is nothing to compare.
bool compare(const Job& job, const Cluster& cluster, const SlowdownModel& slowdown) {
    const BuiltStep folded = build_step(job, cluster, true);
    if (!folded.placement.folded)
        return false;
    const BuiltStep unfolded = build_step(job, cluster, false);
    EXPECT_EQ(unfolded.placement.ranks.size(), static_cast<std::size_t>(job.parallel.world_size));
    const Timeline few = simulate_step(folded, slowdown), all = simulate_step(unfolded, slowdown);
    EXPECT_EQ(few.end, all.end);
    std::size_t compared = 0;
    for (std::size_t i = 0; i < folded.placement.ranks.size(); ++i)
        for (const int rank : represented_ranks(job, folded.placement, i)) {
            const auto r = static_cast<std::size_t>(rank);
            SCOPED_TRACE(fmt::format("rank {}", rank));
            expect_equal(few.ranks[i], all.ranks[r]);
            EXPECT_EQ(few.summaries[i].end, all.summaries[r].end);
            EXPECT_EQ(few.summaries[i].peak_activations, all.summaries[r].peak_activations);
            ++compared;
        }
    EXPECT_EQ(compared, static_cast<std::size_t>(job.parallel.world_size));
    return true;
}

Job job_of(const std::string& flags, int gpus) {
    return resolve_job(
        test::source_of("--num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 512 "
                        "--max-position-embeddings 512 --vocab-size 4096 --micro-batch-size 1 --bf16 " +
                            flags,
                        gpus),
        {});
}

struct Case {
    int gpus;
    const char* flags;
};
constexpr Case kCases[] = {
    {8, "--global-batch-size 16"},
    {8, "--global-batch-size 16 --use-distributed-optimizer"},
    {16, "--global-batch-size 32 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"},
    {8, "--tensor-model-parallel-size 8 --sequence-parallel --global-batch-size 4"},
    {16, "--tensor-model-parallel-size 4 --global-batch-size 16 --overlap-grad-reduce"},
    {8, "--pipeline-model-parallel-size 8 --global-batch-size 8"},
    {8, "--pipeline-model-parallel-size 4 --global-batch-size 2"},
    {16, "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --sequence-parallel "
         "--global-batch-size 16 "
         "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"},
    {8, "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 16"},
    {8, "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 16 "
        "--no-overlap-p2p-communication"},
    {16, "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 "
         "--num-layers-per-virtual-pipeline-stage 2 "
         "--global-batch-size 8 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"},
    {8, "--pipeline-model-parallel-size 2 --global-batch-size 16 --recompute-granularity full "
        "--recompute-method uniform --recompute-num-layers 2"},
    {8, "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --global-batch-size 8 "
        "--recompute-granularity full --recompute-method block --recompute-num-layers 1"},
    {8, "--tensor-model-parallel-size 2 --global-batch-size 8 --recompute-granularity selective --fp16"},
    {16, "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --global-batch-size 16 "
         "--use-tp-pp-dp-mapping"},
    {32, "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --global-batch-size 16 "
         "--untie-embeddings-and-output-weights --use-distributed-optimizer"}};

TEST(Folding, IsExactOnEverySchedule) {
    const Cluster cluster = find_cluster("dgx-h100");
    for (const Case& c : kCases) {
        SCOPED_TRACE(c.flags);
        std::string flags = c.flags;
        if (flags.find("--fp16") != std::string::npos)
            flags = flags.substr(0, flags.find("--fp16"));
        EXPECT_TRUE(compare(job_of(flags, c.gpus), cluster, NoSlowdown{}));
    }
}

TEST(Folding, IsExactUnderInterference) {
    const Cluster cluster = find_cluster("dgx-a100-80g");
    for (const Case& c : kCases) {
        const std::string flags = c.flags;
        if (flags.find("--fp16") != std::string::npos)
            continue;
        SCOPED_TRACE(flags);
        EXPECT_TRUE(compare(job_of(flags, c.gpus), cluster, ConstantSlowdown(1.25)));
        EXPECT_TRUE(compare(job_of(flags, c.gpus), cluster, PriorSlowdown(limits_of(cluster.gpu))));
    }
}

TEST(Folding, HoldsWhereLeavesEndBetweenTheRanksOfAStage) {
    // Leaves of 3 nodes: of the pairs of stages 0 and 1, nodes (0, 2) share a leaf and (1, 3) do not. All
    // count as placed like the latter.
    Cluster cluster = find_cluster("dgx-h100");
    cluster.fabric.levels = {{6, 1, 0.3e-6}, {64, 1, 0.3e-6}};
    const Job job = job_of("--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 "
                           "--sequence-parallel --global-batch-size 16 --use-distributed-optimizer",
                           32);
    EXPECT_TRUE(compare(job, cluster, NoSlowdown{}));
    const BuiltStep step = build_step(job, cluster, true);
    for (const CostClass& costs : step.placement.cost_classes)
        for (const GroupGeometry& pair : costs.channels)
            EXPECT_EQ(pair.switch_levels, 2);
}

std::string random_flags(std::mt19937& random, int& gpus) {
    const auto one_of = [&](std::initializer_list<int> list) {
        return *(list.begin() + random() % list.size());
    };
    const int tp = one_of({1, 2, 4, 8}), pp = one_of({1, 2, 4}), dp = one_of({1, 2, 4});
    gpus = tp * pp * dp;
    std::string flags = fmt::format("--tensor-model-parallel-size {} --pipeline-model-parallel-size {} "
                                    "--global-batch-size {} ",
                                    tp, pp, dp * pp * one_of({1, 2, 3}));
    if (tp > 1 && random() % 2 == 0)
        flags += "--sequence-parallel ";
    if (pp > 1 && random() % 2 == 0)
        flags += fmt::format("--num-layers-per-virtual-pipeline-stage {} ", 8 / pp / 2);
    if (random() % 2 == 0)
        flags += "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather ";
    else if (random() % 2 == 0)
        flags += "--overlap-grad-reduce ";
    const auto recompute = random() % 3;
    if (recompute == 0)
        flags += "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 ";
    else if (recompute == 1)
        flags += "--recompute-granularity selective ";
    if (random() % 2 == 0)
        flags += "--use-flash-attn ";
    return flags;
}

TEST(Folding, RandomJobs) {
    const Cluster cluster = find_cluster("dgx-h100");
    std::mt19937 random(7);
    int folded = 0;
    for (int i = 0; i < 60; ++i) {
        int gpus = 0;
        const std::string flags = random_flags(random, gpus);
        SCOPED_TRACE(fmt::format("{} GPUs: {}", gpus, flags));
        folded += compare(job_of(flags, gpus), cluster, NoSlowdown{}) ? 1 : 0;
    }
    EXPECT_GE(folded, 50);
}

} // namespace
} // namespace echosim
