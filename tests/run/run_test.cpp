// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/run.h"

#include "simulator/workload/flops.h"
#include "tests/workload/job_texts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numeric>

namespace echosim {
namespace {

using test::error_of;
using test::small_job;
using testing::HasSubstr;

Cluster h100() {
    return find_cluster("dgx-h100");
}
constexpr const char* kPipeline =
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel "
    "--global-batch-size 16 --use-distributed-optimizer --overlap-grad-reduce";

RunOptions slowed(const std::string& interference) {
    RunOptions options;
    options.interference = interference;
    return options;
}
RunOptions one_by_one() {
    RunOptions options;
    options.fold = false;
    return options;
}
RunOptions timeline_of(TimelineRanks ranks, std::vector<int> listed = {}) {
    RunOptions options;
    options.keep_timeline = true;
    options.timeline_ranks = ranks;
    options.listed_ranks = std::move(listed);
    return options;
}

double sum_of(const Breakdown& b) {
    return b.compute + b.recompute + b.interference + b.tp_comm + b.pp_comm + b.dp_comm + b.cp_comm +
           b.ep_comm + b.bubble + b.optimizer + b.host + b.data + b.other;
}

TEST(Run, FillsEverySection) {
    const Job job = small_job(kPipeline);
    const Result r = run(job, h100(), {}).result;
    EXPECT_GT(r.step.time, 0);
    EXPECT_NEAR(sum_of(r.breakdown), r.step.time, 1e-9);
    EXPECT_NEAR(r.provenance.measured + r.provenance.fitted + r.provenance.catalogue + r.provenance.assumed,
                1, 1e-9);
    EXPECT_GT(r.breakdown.compute, 0);
    EXPECT_GT(r.breakdown.optimizer, 0);
    EXPECT_GT(r.breakdown.bubble, 0);
    EXPECT_DOUBLE_EQ(r.bubble_share, r.breakdown.bubble / r.step.time);
    EXPECT_EQ(r.breakdown.recompute, 0);
    EXPECT_EQ(r.breakdown.interference, 0);
    ASSERT_EQ(r.memory.stages.size(), 2U);
    EXPECT_TRUE(r.memory.fits);
    EXPECT_EQ(r.memory.capacity, h100().gpu.memory);
    for (const StageMemory& s : r.memory.stages)
        EXPECT_EQ(s.peak, s.weights + s.gradients + s.optimizer + s.activations + s.buffers + s.overhead);
    EXPECT_FALSE(r.communication.empty());
    EXPECT_GT(r.top.size(), 5U);
    for (std::size_t i = 1; i < r.top.size(); ++i)
        EXPECT_GE(r.top[i - 1].time, r.top[i].time);
    EXPECT_EQ(r.simulation.ranks_represented, 8);
    EXPECT_EQ(r.simulation.ranks_simulated, 2);
    EXPECT_GT(r.simulation.ops, 1000);
    EXPECT_EQ(r.job.name, "test");
    EXPECT_NO_THROW(result_to_json(r, false));
}

TEST(Run, ThroughputByHand) {
    const Job job = small_job(kPipeline);
    const Result r = run(job, h100(), {}).result;
    // 16 sequences of 2048 tokens on 8 GPUs
    EXPECT_NEAR(r.throughput.tokens_per_s * r.step.time, 16 * 2048, 1e-6);
    EXPECT_NEAR(r.throughput.tokens_per_s_per_gpu * 8, r.throughput.tokens_per_s, 1e-6);
    const double peak = 989.4e12; // H100 SXM, bf16 without sparsity
    EXPECT_NEAR(r.throughput.mfu, model_flops(job, true) / (r.step.time * 8 * peak), 1e-4);
    EXPECT_DOUBLE_EQ(r.throughput.mfu, r.throughput.hfu); // nothing is repeated
    const Job full =
        small_job(std::string(kPipeline) +
                  " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    const Result again = run(full, h100(), {}).result;
    EXPECT_NEAR(again.throughput.hfu / again.throughput.mfu,
                hardware_flops(full, true) / model_flops(full, true), 1e-9);
    EXPECT_GT(again.breakdown.recompute, 0);
    EXPECT_GT(again.step.time, r.step.time);
}

TEST(Run, CommunicationOfTheCriticalRank) {
    const Result r = run(small_job(kPipeline), h100(), {}).result;
    double exposed = 0;
    for (const Communication& c : r.communication) {
        EXPECT_GT(c.count, 0);
        EXPECT_GT(c.bytes_per_call, 0);
        EXPECT_LE(c.exposed, c.time + 1e-12);
        exposed += c.exposed;
        if (c.group == "pp") {
            EXPECT_EQ(c.count, 16); // M = 8: one stage's neighbour, activations one way, gradients the other
        }
    }
    const Breakdown& b = r.breakdown;
    EXPECT_NEAR(exposed, b.tp_comm + b.pp_comm + b.dp_comm, 1e-9);
}

TEST(Run, FoldedAndUnfoldedAgree) {
    const Job job = small_job(kPipeline);
    const Result folded = run(job, h100(), {}).result, unfolded = run(job, h100(), one_by_one()).result;
    EXPECT_EQ(folded.step.time, unfolded.step.time);
    EXPECT_EQ(folded.critical_rank, unfolded.critical_rank);
    EXPECT_EQ(folded.breakdown.compute, unfolded.breakdown.compute);
    EXPECT_EQ(folded.breakdown.tp_comm, unfolded.breakdown.tp_comm);
    EXPECT_EQ(folded.memory.peak, unfolded.memory.peak);
    EXPECT_EQ(unfolded.simulation.ranks_simulated, 8);
    EXPECT_EQ(unfolded.simulation.ops, 4 * folded.simulation.ops); // t D ranks a stage
}

TEST(Run, InterferenceNeedsCommunicationBesideCompute) {
    const RunOptions slower = slowed("constant:1.2");
    // one GPU communicates with nobody
    const Job alone = small_job("--num-layers 4 --global-batch-size 2", 1);
    const Result a = run(alone, h100(), {}).result, b = run(alone, h100(), slower).result;
    EXPECT_EQ(b.breakdown.interference, 0);
    EXPECT_EQ(a.step.time, b.step.time);
    // gradients reduced after the last backward, in the open: nothing overlaps
    const Job open = small_job("--num-layers 4 --global-batch-size 16");
    EXPECT_EQ(run(open, h100(), slower).result.breakdown.interference, 0);
    // under the backward
    const Job overlapped = small_job("--num-layers 4 --global-batch-size 16 --overlap-grad-reduce "
                                     "--ddp-bucket-size 4000000");
    const Result c = run(overlapped, h100(), {}).result, d = run(overlapped, h100(), slower).result;
    EXPECT_EQ(c.breakdown.interference, 0);
    EXPECT_GT(d.breakdown.interference, 0);
    EXPECT_GE(d.step.time, c.step.time);
    EXPECT_NEAR(sum_of(d.breakdown), d.step.time, 1e-9);
    EXPECT_NEAR(d.breakdown.compute, c.breakdown.compute, 1e-9); // the time alone is the same
}

TEST(Run, SaysWhichInterferenceWasUsed) {
    const Job job = small_job(kPipeline);
    const auto model_of = [&](const std::string& setting) {
        const nlohmann::ordered_json json = result_to_json(run(job, h100(), slowed(setting)).result, false);
        EXPECT_EQ(json["simulation"]["interference"], setting);
        return json["simulation"]["interference_model"]["model"].get<std::string>();
    };
    EXPECT_EQ(model_of("off"), "off");
    EXPECT_EQ(model_of("constant:1.2"), "constant");
    EXPECT_EQ(model_of("prior"), "prior");
}

TEST(Run, ThePriorSlowsWhatOverlapsAndNothingElse) {
    // gradients reduced under the backward: kernels lose time, and the parts still add up
    const Result overlapped = run(small_job(kPipeline), h100(), slowed("prior")).result;
    EXPECT_GT(overlapped.breakdown.interference, 0);
    EXPECT_LT(overlapped.breakdown.interference, 0.2 * overlapped.breakdown.compute);
    EXPECT_NEAR(sum_of(overlapped.breakdown), overlapped.step.time, 1e-9);
    // one GPU has nothing that communicates
    const Job alone = small_job("--global-batch-size 4", 1);
    const Result off = run(alone, h100(), {}).result, prior = run(alone, h100(), slowed("prior")).result;
    EXPECT_EQ(prior.breakdown.interference, 0);
    EXPECT_EQ(prior.step.time, off.step.time);
}

TEST(Run, UnknownInterferenceIsRefused) {
    const Job job = small_job("--num-layers 4 --global-batch-size 8");
    for (const char* text : {"sometimes", "constant", "constant:", "constant:0.5", "constant:1e9",
                             "constant:1.2x", "constant:nan", "constant:-1"}) {
        const std::string error = error_of([&] { run(job, h100(), slowed(text)); });
        const std::string_view read = text;
        const bool factor = read.starts_with("constant:");
        EXPECT_THAT(error, HasSubstr(fmt::format("read \"{}\"", read.substr(factor ? 9 : 0))));
        EXPECT_THAT(error, HasSubstr("constant:F")) << text;
    }
    EXPECT_EQ(run(job, h100(), slowed("constant:1")).result.step.time, run(job, h100(), {}).result.step.time);
}

TEST(Run, WhatIsNotModelledIsRefused) {
    for (const char* flags :
         {"--context-parallel-size 2 --global-batch-size 8", "--num-experts 8 --global-batch-size 8"}) {
        const Job job = small_job(flags);
        ASSERT_FALSE(job.not_modelled.empty()) << flags;
        EXPECT_THROW(run(job, h100(), {}), InputError);
        EXPECT_THAT(error_of([&] { run(job, h100(), {}); }), HasSubstr(job.not_modelled.front()));
    }
}

int classes_of(const Trace& trace) {
    return static_cast<int>(trace.classes.size());
}

TEST(Run, KeepsTheTimelineThatIsAskedFor) {
    const Job job = small_job(kPipeline);
    EXPECT_EQ(run(job, h100(), {}).trace.event_count(), 0U);
    const RunOutput representative = run(job, h100(), timeline_of(TimelineRanks::representative));
    EXPECT_EQ(classes_of(representative.trace), 2);
    EXPECT_NO_THROW(check_trace(representative.trace, "trace"));
    const auto meta = nlohmann::json::parse(representative.trace.meta);
    EXPECT_EQ(meta["world_size"], 8);
    EXPECT_DOUBLE_EQ(meta["step_time_s"].get<double>(), representative.result.step.time);
    const RunOutput all = run(job, h100(), timeline_of(TimelineRanks::all));
    EXPECT_EQ(classes_of(all.trace), 8);
    EXPECT_EQ(all.result.step.time, representative.result.step.time);
}

TEST(Run, ListedRanksAreTheOnlyOnesInTheTimeline) {
    const RunOutput listed = run(small_job(kPipeline), h100(), timeline_of(TimelineRanks::listed, {3, 6}));
    std::vector<int> ranks;
    for (const TraceClass& c : listed.trace.classes)
        for (const int rank : expand_ranks(c.ranks))
            ranks.push_back(rank);
    EXPECT_EQ(ranks, (std::vector<int>{3, 6}));
    EXPECT_NEAR(sum_of(listed.result.breakdown), listed.result.step.time, 1e-9);
}

TEST(Run, IsDeterministic) {
    const Job job = small_job(kPipeline);
    RunOptions options = timeline_of(TimelineRanks::representative);
    options.interference = "constant:1.3";
    const RunOutput a = run(job, h100(), options), b = run(job, h100(), options);
    EXPECT_EQ(result_to_json(a.result, false).dump(), result_to_json(b.result, false).dump());
    EXPECT_TRUE(a.trace == b.trace);
}

TEST(Run, UnlikePlacementsAreSaidAndSimulatedOneByOne) {
    // TP 3 on nodes of 8 GPUs: the third group straddles two nodes
    const Job job =
        resolve_job(test::source_of("--num-layers 4 --hidden-size 768 --num-attention-heads 12 "
                                    "--seq-length 1024 --max-position-embeddings 1024 --vocab-size 3072 "
                                    "--micro-batch-size 1 --global-batch-size 8 --bf16 "
                                    "--tensor-model-parallel-size 3",
                                    24),
                    {});
    const Result r = run(job, h100(), {}).result;
    EXPECT_EQ(r.simulation.ranks_simulated, 24);
    EXPECT_THAT(r.warnings, testing::Contains(HasSubstr("every rank was simulated on its own")));
    EXPECT_NEAR(sum_of(r.breakdown), r.step.time, 1e-9);
}

} // namespace
} // namespace echosim
