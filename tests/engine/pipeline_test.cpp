// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/hand_step.h"
#include "tests/graph/built_step.h"

#include "simulator/workload/schedule.h"

#include <gtest/gtest.h>

// Whole pipelines with hand-made costs: a layer's forward takes F, its backward B, everything else nothing.
namespace echosim {
namespace {

using test::annotate_by_hand;
using test::small_job;

struct Layer {
    TimeNs forward = 0, backward = 0, transfer = 0;
};

Timeline run_pipeline(const Job& job, const Layer& layer, const std::string& tp_call = "",
                      TimeNs tp_time = 0) {
    std::vector<RankGraph> graphs;
    for (int stage = 0; stage < job.parallel.pp; ++stage)
        graphs.push_back(build_graph(job, stage));
    const Placement placement = place(job, find_cluster("dgx-h100"), graphs, true);
    std::vector<AnnotatedGraph> annotated;
    for (const CostClass& c : placement.cost_classes) {
        const RankGraph& graph = graphs[static_cast<std::size_t>(c.stage)];
        annotated.push_back(annotate_by_hand(graph, {}, [&](const Op& op) -> TimeNs {
            const std::string_view name = graph.names[op.name];
            if (name == "fc1" && op.phase == Phase::forward)
                return layer.forward;
            if (name == "fc1 dgrad")
                return layer.backward;
            if (op.kind == OpKind::p2p)
                return layer.transfer;
            return !tp_call.empty() && name == tp_call ? tp_time : 0;
        }));
    }
    return simulate({.placement = placement,
                     .graphs = annotated,
                     .slowdown = NoSlowdown{},
                     .record = std::vector<bool>(placement.ranks.size(), true)});
}

TEST(Pipeline, OneForwardOneBackwardTakesTheIdealTime) {
    // 16 layers, F 1 us, B 2 us a layer: (M + p - 1) (16 / p) 3 us
    for (const int stages : {1, 2, 4, 8})
        for (const int microbatches : {1, 3, 8, 32}) {
            const Job job = small_job("--pipeline-model-parallel-size " + std::to_string(stages) +
                                          " --global-batch-size " + std::to_string(microbatches),
                                      stages);
            const Timeline t = run_pipeline(job, {1000, 2000, 0});
            EXPECT_EQ(t.end, (microbatches + stages - 1) * (16 / stages) * 3000)
                << stages << " stages, " << microbatches << " micro-batches";
            for (const RankSummary& rank : t.summaries)
                EXPECT_EQ(rank.compute_busy, microbatches * (16 / stages) * 3000);
        }
}

TEST(Pipeline, BubbleIsTheIdealOne) {
    // bubble over ideal time (p - 1) / (M v), also with several chunks a rank
    struct Shape {
        int stages, chunks, microbatches;
    };
    for (const Shape& s : {Shape{4, 1, 8}, {4, 2, 8}, {4, 4, 8}, {2, 4, 6}, {8, 2, 16}, {2, 8, 4}}) {
        std::string flags = "--pipeline-model-parallel-size " + std::to_string(s.stages) +
                            " --global-batch-size " + std::to_string(s.microbatches);
        if (s.chunks > 1)
            flags += " --num-layers-per-virtual-pipeline-stage " + std::to_string(16 / s.stages / s.chunks);
        SCOPED_TRACE(flags);
        const Job job = small_job(flags, s.stages);
        const Timeline t = run_pipeline(job, {1000, 2000, 0});
        const TimeNs ideal = s.microbatches * 16 / s.stages * 3000;
        EXPECT_DOUBLE_EQ(static_cast<double>(t.end - ideal) / static_cast<double>(ideal),
                         ideal_bubble(job.parallel, s.microbatches));
    }
}

TEST(Pipeline, TransfersLengthenTheCriticalPath) {
    // Two stages of 8 layers, one micro-batch: F 8, transfer 5, F 8, B 16, transfer 5, B 16 = 58 us
    const Job job = small_job("--pipeline-model-parallel-size 2 --global-batch-size 1", 2);
    EXPECT_EQ(run_pipeline(job, {1000, 2000, 5000}).end, 58'000);
}

TEST(Pipeline, MakespanIsAtLeastTheWorkOfEveryStreamAndOnePassOfTheChain) {
    const Job job =
        small_job("--pipeline-model-parallel-size 4 --tensor-model-parallel-size 2 --global-batch-size 8");
    const test::BuiltStep step = test::build_step(job, find_cluster("dgx-h100"));
    const Timeline t = test::simulate_step(step);
    TimeNs chain = 0; // one micro-batch alone through all stages, forward and back: kernels only
    for (std::size_t i = 0; i < step.placement.ranks.size(); ++i) {
        const RankGraph& graph = step.graphs[static_cast<std::size_t>(step.placement.ranks[i].stage)];
        std::vector<TimeNs> busy(graph.streams.size(), 0);
        TimeNs first = 0;
        const RankTimeline& rank = t.ranks[i];
        for (std::size_t row = 0; row < rank.size(); ++row) {
            const Instance& at = graph.program[rank.instance[row]];
            const Op& op = graph.blocks[at.block.value].ops[rank.op[row]];
            if (op.kind == OpKind::host)
                continue;
            busy[op.stream] += rank.duration[row] - rank.waited[row];
            EXPECT_GE(rank.start[row], 0);
            EXPECT_LE(rank.start[row] + rank.duration[row], t.end);
            if (op.kind == OpKind::compute && at.microbatch == 0 &&
                (op.phase == Phase::forward || op.phase == Phase::backward))
                first += rank.duration[row];
        }
        chain += first;
        for (const TimeNs time : busy)
            EXPECT_LE(time, t.end);
        EXPECT_LE(t.summaries[i].end, t.end);
    }
    EXPECT_GT(chain, 0);
    EXPECT_LE(chain, t.end);
}

// No two ops of a stream overlap, and each starts no earlier than the end of the one that it names.
TEST(Pipeline, StreamsRunOneOpAtATimeAndBindingOpsEndBefore) {
    const Job job =
        small_job("--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 --sequence-parallel "
                  "--global-batch-size 8 --use-distributed-optimizer --overlap-grad-reduce");
    const test::BuiltStep step = test::build_step(job, find_cluster("dgx-h100"));
    for (const double factor : {1.0, 1.2}) {
        const Timeline t = test::simulate_step(step, ConstantSlowdown(factor));
        int bound = 0;
        for (std::size_t i = 0; i < t.ranks.size(); ++i) {
            const RankGraph& graph = step.graphs[static_cast<std::size_t>(step.placement.ranks[i].stage)];
            const RankTimeline& rank = t.ranks[i];
            std::vector<TimeNs> free(graph.streams.size(), 0);
            for (std::size_t row = 0; row < rank.size(); ++row) {
                const Op& op = graph.blocks[graph.program[rank.instance[row]].block.value].ops[rank.op[row]];
                if (op.kind != OpKind::host) {
                    EXPECT_GE(rank.start[row], free[op.stream]);
                    free[op.stream] = rank.start[row] + rank.duration[row];
                }
                if (rank.binding[row] >= kBoundByPeer)
                    continue;
                ASSERT_LT(rank.binding[row], row);
                ++bound;
                EXPECT_GE(rank.start[row] + rank.waited[row],
                          rank.start[rank.binding[row]] + rank.duration[rank.binding[row]]);
            }
        }
        EXPECT_GT(bound, 100);
    }
}

// With the order of work fixed, no faster part makes the step slower.
TEST(Pipeline, FasterPartsNeverSlowTheStep) {
    for (const char* flags :
         {"--pipeline-model-parallel-size 4 --global-batch-size 8",
          "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 --global-batch-size 8",
          "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 "
          "--global-batch-size 16"}) {
        const Job job = small_job(flags);
        TimeNs before = 0;
        for (const TimeNs time : {0, 100, 500, 1000, 3000, 10'000}) {
            const TimeNs end = run_pipeline(job, {1000, 2000, time}, "all-reduce (tp)", time).end;
            EXPECT_GE(end, before) << flags << ", transfers of " << time;
            before = end;
        }
        before = 0;
        for (const TimeNs time : {100, 500, 1000, 3000}) {
            const TimeNs end = run_pipeline(job, {time, 2 * time, 700}).end;
            EXPECT_GE(end, before) << flags << ", layers of " << time;
            before = end;
        }
    }
}

TEST(Pipeline, MoreBandwidthIsNeverSlower) {
    const Job job =
        small_job("--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 --global-batch-size 64 "
                  "--use-distributed-optimizer --overlap-grad-reduce",
                  32);
    TimeNs before = 0;
    for (const char* bandwidth : {"8x", "4x", "2x", "1x", "0.5x", "0.25x"}) {
        Cluster cluster = find_cluster("dgx-h100");
        set_value(cluster, "node.nics.bandwidth", bandwidth);
        const TimeNs end = test::simulate_step(test::build_step(job, cluster)).end;
        EXPECT_GE(end, before) << bandwidth;
        before = end;
    }
}

} // namespace
} // namespace echosim
