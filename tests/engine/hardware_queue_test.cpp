// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/hand_step.h"

#include <gtest/gtest.h>

// CUDA_DEVICE_MAX_CONNECTIONS=1: a launch that waits for another stream blocks those behind it, whatever
// their stream.
namespace echosim {
namespace {

using test::HandStep;
using test::RateOne;

enum class Third { collective, copy, in_graph };

// A kernel of 10, a collective of 5 after it, and a third op of 4 on another stream, after nothing: its
// start.
TimeNs start_of_third(bool one_queue, Third third, const SlowdownModel& model) {
    HandStep step(1);
    BlockBuilder b = step.block(0);
    b.memory("kernel", KernelClass::elementwise, 10'000);
    b.collective("first", {0, CollectiveKind::all_reduce, 5'000}, Stream::tp);
    const auto op = b.collective("third", {0, CollectiveKind::all_reduce, 4'000}, Stream::dp);
    const BlockId block = b.finish();
    Op& last = step.graph(0).blocks[block.value].ops[op];
    last.dep_count = 0;
    last.in_graph = third == Third::in_graph;
    if (third == Third::copy)
        last.kind = OpKind::memory;
    step.graph(0).one_queue = one_queue;
    step.use(0, block);
    const RankTimeline rank = step.run(model).ranks[0];
    EXPECT_EQ(rank.start[1], 10'000);
    return rank.start[2];
}

TEST(HardwareQueue, ItsHeadBlocksWhatIsBehind) {
    const NoSlowdown none;
    const RateOne one;
    for (const SlowdownModel* model :
         {static_cast<const SlowdownModel*>(&none), static_cast<const SlowdownModel*>(&one)}) {
        EXPECT_EQ(start_of_third(false, Third::collective, *model), 0);
        EXPECT_EQ(start_of_third(true, Third::collective, *model), 10'000); // with the collective before it
        // copy engines and the kernels inside a CUDA graph have their own ways
        EXPECT_EQ(start_of_third(true, Third::copy, *model), 0);
        EXPECT_EQ(start_of_third(true, Third::in_graph, *model), 0);
    }
}

TEST(HardwareQueue, EventWaitsBlockToo) {
    // The wait on the compute stream is over at 8, with the collective; the next collective, which waits for
    // nothing, could start at 0.
    for (const bool one_queue : {false, true}) {
        HandStep step(1);
        BlockBuilder b = step.block(0);
        const auto first = b.collective("first", {0, CollectiveKind::all_reduce, 8'000}, Stream::tp);
        b.wait("wait", {Dep::op(first)});
        const auto next = b.collective("next", {0, CollectiveKind::all_reduce, 4'000}, Stream::dp);
        const BlockId block = b.finish();
        step.graph(0).blocks[block.value].ops[next].dep_count = 0;
        step.graph(0).one_queue = one_queue;
        step.use(0, block);
        const RankTimeline rank = step.run().ranks[0];
        EXPECT_EQ(rank.start[2], one_queue ? 8'000 : 0);
        EXPECT_EQ(rank.binding[2], one_queue ? 0U : kBoundByHost); // what the wait waited for
    }
}

TEST(HardwareQueue, AnOpThatFollowsOnItsOwnStreamLetsTheNextOnePass) {
    // Two collectives of 8 and 4 on one stream: the second starts at 8. The kernel behind it waits for
    // nothing and starts at 0.
    HandStep step(1);
    BlockBuilder b = step.block(0);
    b.collective("first", {0, CollectiveKind::all_reduce, 8'000}, Stream::dp);
    b.collective("second", {0, CollectiveKind::all_reduce, 4'000}, Stream::dp);
    step.graph(0).one_queue = true;
    b.memory("kernel", KernelClass::elementwise, 3'000);
    step.use(0, b.finish());
    for (const bool time_ordered : {false, true}) {
        const Timeline t = time_ordered ? step.run(RateOne{}) : step.run();
        EXPECT_EQ(t.ranks[0].start, (std::vector<TimeNs>{0, 8'000, 0}));
    }
}

TEST(HardwareQueue, WhatWaitsForPeersOnTheGpuLetsTheNextOnePass) {
    // Rank 0's collective is dispatched at 0 and waits there for rank 1, which comes at 9; the kernel behind
    // it starts at once.
    HandStep step(2);
    BlockBuilder a = step.block(0);
    a.collective("both", {static_cast<std::uint32_t>(Slot::world), CollectiveKind::all_reduce, 5'000},
                 Stream::tp);
    a.memory("kernel", KernelClass::elementwise, 3'000);
    step.use(0, a.finish());
    BlockBuilder b = step.block(1);
    b.memory("kernel", KernelClass::elementwise, 9'000);
    b.collective("both", {static_cast<std::uint32_t>(Slot::world), CollectiveKind::all_reduce, 5'000},
                 Stream::tp);
    step.use(1, b.finish());
    step.graph(0).one_queue = step.graph(1).one_queue = true;
    for (const bool time_ordered : {false, true}) {
        const Timeline t = time_ordered ? step.run(RateOne{}) : step.run();
        EXPECT_EQ(t.ranks[0].start, (std::vector<TimeNs>{0, 0}));
        EXPECT_EQ(t.ranks[0].duration, (std::vector<TimeNs>{14'000, 3'000}));
    }
}

} // namespace
} // namespace echosim
