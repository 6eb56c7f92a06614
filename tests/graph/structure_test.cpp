// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/tensor_sizes.h"
#include "tests/graph/built_step.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

using test::for_each_op;
using test::small_job;

const std::vector<std::string>& layouts() {
    static const std::vector<std::string> list = {
        "--global-batch-size 16",
        "--global-batch-size 16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
        "--tensor-model-parallel-size 2 --sequence-parallel --global-batch-size 16",
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --global-batch-size 16 "
        "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2",
        "--pipeline-model-parallel-size 4 --global-batch-size 16 --recompute-granularity full "
        "--recompute-method block --recompute-num-layers 3",
        "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 --global-batch-size 16 "
        "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
        "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 16 "
        "--no-overlap-p2p-communication",
        "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4 --global-batch-size 32",
        "--tensor-model-parallel-size 2 --recompute-granularity selective --global-batch-size 8"};
    return list;
}

template <class Check> void for_each_graph(Check check) {
    for (const std::string& flags : layouts()) {
        SCOPED_TRACE(flags);
        const Job job = small_job(flags);
        for (int stage = 0; stage < job.parallel.pp; ++stage) {
            SCOPED_TRACE(stage);
            check(job, build_graph(job, stage));
        }
    }
}

TEST(GraphStructure, IndicesPointToWhatExists) {
    for_each_graph([](const Job&, const RankGraph& graph) {
        for (const Instance& at : graph.program)
            ASSERT_LT(at.block.value, graph.blocks.size());
        for (const Block& block : graph.blocks) {
            ASSERT_FALSE(block.ops.empty()) << block.name;
            for (std::uint32_t i = 0; i < block.ops.size(); ++i) {
                const Op& op = block.ops[i];
                EXPECT_LT(op.stream, graph.streams.size());
                EXPECT_TRUE(op.work == kNone || op.work < graph.works.size());
                EXPECT_TRUE(op.memory == kNone || op.memory < graph.memory_changes.size());
                EXPECT_TRUE(op.record_port == kNoPort || op.record_port < graph.ports);
                ASSERT_LE(op.first_dep + op.dep_count, block.deps.size());
                for (std::uint32_t d = 0; d < op.dep_count; ++d) {
                    const Dep& dep = block.deps[op.first_dep + d];
                    const std::size_t limit = dep.kind == Dep::Kind::op     ? i
                                              : dep.kind == Dep::Kind::port ? graph.ports
                                                                            : graph.streams.size();
                    EXPECT_LT(dep.index, limit) << block.name << " op " << i;
                }
            }
        }
    });
}

TEST(GraphStructure, EveryPortIsRecordedBeforeItIsWaitedFor) {
    for_each_graph([](const Job&, const RankGraph& graph) {
        std::vector<int> recorded(graph.ports, 0);
        int waits = 0;
        for (const Instance& at : graph.program) {
            const Block& block = graph.blocks[at.block.value];
            for (const Op& op : block.ops) {
                for (std::uint32_t d = 0; d < op.dep_count; ++d) {
                    const Dep& dep = block.deps[op.first_dep + d];
                    if (dep.kind != Dep::Kind::port)
                        continue;
                    // each record is waited for once, before the port is recorded again
                    EXPECT_EQ(recorded[dep.index], 1)
                        << "port " << dep.index << ", micro-batch " << at.microbatch;
                    recorded[dep.index] = 0;
                    ++waits;
                }
                if (op.record_port != kNoPort)
                    ++recorded[op.record_port];
            }
        }
        for (const int left : recorded)
            EXPECT_EQ(left, 0);
        EXPECT_GE(waits, graph.channels.empty() ? 0 : 1);
    });
}

TEST(GraphStructure, CountsTheOpsOfTheWholeProgram) {
    const RankGraph graph = build_graph(small_job("--global-batch-size 16"), 0);
    std::int64_t ops = 0;
    for_each_op(graph, [&](const Instance&, const Op&) { ++ops; });
    EXPECT_EQ(count_ops(graph), ops);
    EXPECT_GT(ops, 16 * 30); // 2 micro-batches of 16 layers
}

TEST(GraphStructure, WithoutSequenceParallelismALayerHasTwoAllReducesEachWay) {
    const Job job = small_job("--tensor-model-parallel-size 2 --global-batch-size 8");
    const RankGraph graph = build_graph(job, 0);
    std::map<std::pair<Phase, CollectiveKind>, int> calls;
    for_each_op(graph, [&](const Instance& at, const Op& op) {
        if (at.layer != 7 || at.microbatch != 1 || op.kind != OpKind::collective)
            return;
        const auto& work = std::get<CollectiveWork>(graph.works[op.work]);
        EXPECT_EQ(work.bytes, 2U * 2048 * 1024);
        ++calls[{op.phase, work.kind}];
    });
    const std::map<std::pair<Phase, CollectiveKind>, int> expected = {
        {{Phase::forward, CollectiveKind::all_reduce}, 2},
        {{Phase::backward, CollectiveKind::all_reduce}, 2}};
    EXPECT_EQ(calls, expected);
}

// Where each gradient reduction stands: the layer whose backward came last, and of which micro-batch.
struct Reduction {
    int layer = -2, microbatch = -1;
    double elements = 0;
};
std::vector<Reduction> reductions(const RankGraph& graph) {
    std::vector<Reduction> list;
    int layer = -2, microbatch = -1;
    for (const Instance& at : graph.program) {
        const Block& block = graph.blocks[at.block.value];
        if (block.name == "layer backward" || block.name == "head backward" ||
            block.name == "embedding backward") {
            layer = block.name == "embedding backward" ? -1 : at.layer;
            microbatch = at.microbatch;
        }
        if (block.name != "reduce gradients")
            continue;
        for (const Op& op : block.ops)
            if (op.kind == OpKind::collective)
                list.push_back(
                    {layer, microbatch,
                     static_cast<double>(std::get<CollectiveWork>(graph.works[op.work]).bytes) / 4});
    }
    return list;
}

TEST(GradientReduction, BucketsStartAfterTheirLayerInTheLastMicroBatch) {
    const Job job = small_job("--global-batch-size 32 --use-distributed-optimizer --overlap-grad-reduce "
                              "--accumulate-allreduce-grads-in-fp32");
    ASSERT_EQ(job.batch.num_microbatches, 4);
    const std::vector<GradientBucket> buckets = gradient_buckets(job, 0, 0);
    const std::vector<Reduction> found = reductions(build_graph(job, 0));
    // 16 layers of 12.6e6 and the embedding of 35e6 parameters in buckets of 40e6: 3.2 layers each
    ASSERT_GT(buckets.size(), 4U);
    ASSERT_EQ(found.size(), buckets.size());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        EXPECT_EQ(found[i].layer, buckets[i].ready_after_layer);
        EXPECT_EQ(found[i].microbatch, 3);
        EXPECT_DOUBLE_EQ(found[i].elements, static_cast<double>(buckets[i].elements));
    }
}

TEST(GradientReduction, WithoutOverlapAfterTheLastBackward) {
    const std::vector<Reduction> found = reductions(build_graph(small_job("--global-batch-size 32"), 0));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].layer, -1); // behind the embedding's backward
    EXPECT_EQ(found[0].microbatch, 3);
}

TEST(GradientReduction, AlignedReductionOfLaterStagesWaitsForTheLastBackward) {
    const Job job =
        small_job("--pipeline-model-parallel-size 4 --global-batch-size 16 --overlap-grad-reduce");
    const std::vector<Reduction> found = reductions(build_graph(job, 2));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].layer, 8); // stage 2 holds layers 8 to 11
    EXPECT_EQ(found[0].microbatch, 7);
}

TEST(GradientReduction, NoneWithOneReplica) {
    EXPECT_TRUE(reductions(build_graph(small_job("--tensor-model-parallel-size 8 --global-batch-size 2"), 0))
                    .empty());
}

} // namespace
} // namespace echosim
