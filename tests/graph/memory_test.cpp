// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/tensor_sizes.h"
#include "tests/graph/built_step.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

using test::for_each_op;
using test::gpt3_job;
using test::small_job;

struct Walk {
    std::int64_t peak = 0, left = 0;
};
Walk walk_memory(const RankGraph& graph) {
    Walk walk;
    for_each_op(graph, [&](const Instance&, const Op& op) {
        if (op.memory == kNone || graph.memory_changes[op.memory].kind != MemoryKind::activations)
            return;
        walk.left += graph.memory_changes[op.memory].bytes;
        walk.peak = std::max(walk.peak, walk.left);
    });
    return walk;
}

TEST(GraphMemory, Gpt3HoldsTheMicroBatchesInFlight) {
    const Job job = gpt3_job();
    const auto layer = static_cast<std::int64_t>(saved_activations(job).layer);
    for (int stage = 1; stage < 7; ++stage) {
        const Walk walk = walk_memory(build_graph(job, stage));
        // 1F1B: stage i holds p - i micro-batches of 12 layers
        EXPECT_EQ(walk.peak, (8 - stage) * 12 * layer);
        EXPECT_EQ(walk.left, 0);
    }
    const auto embedding = static_cast<std::int64_t>(saved_activations(job).embedding);
    EXPECT_EQ(walk_memory(build_graph(job, 0)).peak, 8 * (12 * layer + embedding));
    const auto head = static_cast<std::int64_t>(saved_activations(job).head);
    EXPECT_EQ(walk_memory(build_graph(job, 7)).peak, 12 * layer + head);
}

// The program and the closed form agree on every stage but the last. There the estimate states what is held
// when activations and temporaries together are largest, which may be under a layer's backward, without the
// head: the program never holds less.
TEST(GraphMemory, AgreesWithTheClosedForm) {
    for (const char* flags :
         {"--pipeline-model-parallel-size 4 --global-batch-size 16",
          "--pipeline-model-parallel-size 4 --global-batch-size 4", // fewer micro-batches than stages
          "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 16",
          "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 --global-batch-size 16",
          "--pipeline-model-parallel-size 4 --global-batch-size 16 --recompute-granularity full "
          "--recompute-method uniform --recompute-num-layers 2"}) {
        SCOPED_TRACE(flags);
        const Job job = small_job(std::string(flags) + " --use-flash-attn");
        for (int stage = 0; stage < job.parallel.pp; ++stage) {
            const Walk walk = walk_memory(build_graph(job, stage));
            const auto closed = static_cast<std::int64_t>(estimate_memory(job, stage).activations);
            EXPECT_EQ(walk.left, 0);
            if (stage + 1 < job.parallel.pp) {
                EXPECT_EQ(walk.peak, closed) << "stage " << stage;
            } else {
                EXPECT_GE(walk.peak, closed);
            }
        }
    }
}

TEST(GraphMemory, BlockRecomputationReleasesTheKeptLayersFirst) {
    const Job job =
        small_job("--pipeline-model-parallel-size 4 --global-batch-size 16 --use-flash-attn "
                  "--recompute-granularity full --recompute-method block --recompute-num-layers 3");
    // Stage 1 holds 3 micro-batches of one whole layer and three inputs. Backward runs the whole layer first:
    // it is gone when the first recomputed one comes back in its place.
    const SavedActivations saved = saved_activations(job);
    EXPECT_EQ(walk_memory(build_graph(job, 1)).peak,
              static_cast<std::int64_t>(3 * (saved.layer_full + 3 * saved.unit_input)));
}

TEST(GraphMemory, SelectiveRecomputationBringsBackOneLayer) {
    Job job = small_job(
        "--pipeline-model-parallel-size 4 --global-batch-size 16 --recompute-granularity selective");
    job.kernels.attention = AttentionImpl::unfused;
    const SavedActivations saved = saved_activations(job);
    // stage 1 holds 3 micro-batches of 4 layers, and one layer's scores while its backward runs
    EXPECT_EQ(walk_memory(build_graph(job, 1)).peak,
              static_cast<std::int64_t>(3 * 4 * saved.layer + (saved.layer_full - saved.layer)));
}

TEST(GraphMemory, TheEngineSeesTheSamePeak) {
    const Job job = small_job("--pipeline-model-parallel-size 4 --global-batch-size 16");
    const test::BuiltStep step = test::build_step(job, find_cluster("dgx-h100"));
    const Timeline timeline = test::simulate_step(step);
    for (std::size_t i = 0; i < step.placement.ranks.size(); ++i) {
        EXPECT_EQ(timeline.summaries[i].peak_activations,
                  walk_memory(step.graphs[static_cast<std::size_t>(step.placement.ranks[i].stage)]).peak);
        ASSERT_FALSE(timeline.memory[i].empty());
        EXPECT_EQ(timeline.memory[i].back().bytes, 0);
    }
}

} // namespace
} // namespace echosim
