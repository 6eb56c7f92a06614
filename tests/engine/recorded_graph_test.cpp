// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/hand_step.h"

#include <gtest/gtest.h>

// What graphs of recordings have and built ones have not: threads, more than 16 streams, ops that overlap.
namespace echosim {
namespace {

using test::HandStep;

// Puts all ops of the block from `first` on into a thread of their own.
void move_to_thread(RankGraph& graph, BlockId block, std::size_t first, std::uint16_t thread) {
    std::vector<Op>& ops = graph.blocks[block.value].ops;
    for (std::size_t i = first; i < ops.size(); ++i)
        ops[i].thread = thread;
    graph.threads = std::max(graph.threads, thread + 1U);
}

TEST(Threads, AWaitHoldsItsOwnThreadOnly) {
    // thread 0 launches a kernel of 100 (at 1, until 101), waits for it and works 1 + 10 (until 112); thread
    // 1 launches its copy at 1 all the same, on another stream
    HandStep step(1, {.launch = 1, .gap = 0, .event_wait = 0, .latency = 0});
    BlockBuilder b = step.block(0);
    const std::uint32_t kernel = b.memory("kernel", KernelClass::elementwise, 100);
    b.host("wait", 10e-9, {Dep::op(kernel)});
    b.collective("copy", {0, CollectiveKind::all_reduce, 5, DType::bf16}, Stream::tp);
    const BlockId block = b.finish();
    move_to_thread(step.graph(0), block, 2, 1);
    step.graph(0).blocks[block.value].ops[2].dep_count = 0; // does not wait for the compute stream
    step.use(0, block);
    const Timeline timeline = step.run();
    EXPECT_EQ(timeline.ranks[0].start, (std::vector<TimeNs>{1, 1, 1}));
    EXPECT_EQ(timeline.ranks[0].duration, (std::vector<TimeNs>{100, 111, 5}));
    EXPECT_EQ(timeline.end, 112);
}

TEST(Threads, OpsOfTwoThreadsShareAStreamInProgramOrder) {
    // thread 1 is ready to launch at 1, but its op comes behind that of thread 0 on the stream: 51 + 0
    HandStep step(1, {.launch = 1, .gap = 0, .event_wait = 0, .latency = 0});
    BlockBuilder b = step.block(0);
    b.memory("first", KernelClass::elementwise, 50);
    b.memory("second", KernelClass::elementwise, 5);
    const BlockId block = b.finish();
    move_to_thread(step.graph(0), block, 1, 1);
    step.use(0, block);
    EXPECT_EQ(step.run().ranks[0].start, (std::vector<TimeNs>{1, 51}));
}

// Ops of 100 and 10 on one stream, the second with this gap of its own; the rank's gap is 2.
AnnotatedGraph two_ops(const RankGraph& graph, std::int32_t gap) {
    AnnotatedGraph annotated = test::annotate_by_hand(
        graph, {.gap = 2}, [&](const Op& op) { return test::time_by_hand(graph.works[op.work]); });
    annotated.costs[0][1].gap_ns = gap;
    return annotated;
}

TEST(Gaps, AnOpMayOverlapTheOneBeforeIt) {
    HandStep step(1);
    BlockBuilder b = step.block(0);
    b.memory("primary", KernelClass::elementwise, 100);
    b.memory("secondary", KernelClass::elementwise, 10);
    step.use(0, b.finish());
    step.run(); // wires the rank
    for (const auto& [gap, start] : {std::pair{0, 102}, {5, 107}, {-32, 70}}) {
        const std::vector<AnnotatedGraph> graphs = {two_ops(step.graph(0), gap)};
        const NoSlowdown none;
        const Timeline timeline =
            simulate({.placement = step.placement(), .graphs = graphs, .slowdown = none, .record = {true}});
        EXPECT_EQ(timeline.ranks[0].start, (std::vector<TimeNs>{0, start}));
    }
}

TEST(Streams, AnyNumber) {
    // 300 streams, a kernel of 10 on each: all at once, and a second one behind each of them
    HandStep step(1);
    RankGraph& graph = step.graph(0);
    graph.streams.resize(300, graph.streams.front());
    BlockBuilder b = step.block(0);
    for (int i = 0; i < 600; ++i)
        b.memory("kernel", KernelClass::elementwise, 10);
    const BlockId block = b.finish();
    for (std::uint16_t i = 0; i < 600; ++i)
        graph.blocks[block.value].ops[i].stream = i % 300;
    step.use(0, block);
    const RankTimeline rank = step.run().ranks[0];
    EXPECT_EQ(rank.start[299], 0);
    EXPECT_EQ(rank.start[300], 10);
    EXPECT_EQ(rank.start[599], 10);
}

TEST(LaunchQueue, IsThatOfTheGraph) {
    // room for 4096: the host does not wait for the first of 2000 kernels
    HandStep step(1, {.launch = 1, .gap = 0, .event_wait = 0, .latency = 0});
    step.graph(0).launch_queue = 4096;
    BlockBuilder b = step.block(0);
    for (int i = 0; i < 2000; ++i)
        b.memory("kernel", KernelClass::elementwise, 1000);
    b.host("after", 1e-6);
    step.use(0, b.finish());
    EXPECT_EQ(step.run().ranks[0].start.back(), 2000);
}

} // namespace
} // namespace echosim
