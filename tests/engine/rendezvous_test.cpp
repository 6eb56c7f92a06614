// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "tests/engine/hand_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using test::HandStep;
using testing::HasSubstr;

constexpr TimeNs kUs = 1000;

CollectiveWork all_reduce(Slot slot, TimeNs time) {
    return {static_cast<std::uint32_t>(slot), CollectiveKind::all_reduce, static_cast<Bytes>(time),
            DType::fp32};
}

// A kernel, then a collective of all ranks, then a wait for it.
BlockId kernel_and_reduce(HandStep& step, std::size_t rank, TimeNs kernel, TimeNs collective) {
    BlockBuilder b = step.block(rank);
    b.memory("kernel", KernelClass::elementwise, static_cast<double>(kernel));
    const auto op = b.collective("all-reduce", all_reduce(Slot::world, collective), Stream::world);
    b.wait("wait", {Dep::op(op)});
    return b.finish();
}

TEST(Rendezvous, CollectiveStartsWithTheLastMember) {
    HandStep step(2);
    step.use(0, kernel_and_reduce(step, 0, 10 * kUs, 5 * kUs));
    step.use(1, kernel_and_reduce(step, 1, 25 * kUs, 5 * kUs));
    const Timeline t = step.run();
    // arrive at 10 and 25, both end at 25 + 5 = 30
    EXPECT_EQ(t.ranks[0].start[1], 10 * kUs);
    EXPECT_EQ(t.ranks[0].waited[1], 15 * kUs);
    EXPECT_EQ(t.ranks[0].duration[1], 20 * kUs);
    EXPECT_EQ(t.ranks[0].binding[1], kBoundByPeer);
    EXPECT_EQ(t.ranks[1].start[1], 25 * kUs);
    EXPECT_EQ(t.ranks[1].waited[1], 0);
    EXPECT_EQ(t.ranks[1].duration[1], 5 * kUs);
    EXPECT_EQ(t.ranks[1].binding[1], 0U); // its own kernel
    EXPECT_EQ(t.ranks[0].start[2], 30 * kUs);
    EXPECT_EQ(t.end, 30 * kUs);
}

TEST(Rendezvous, CallsOfACommunicatorMeetInOrder) {
    HandStep step(2);
    const BlockId a = kernel_and_reduce(step, 0, 10 * kUs, 5 * kUs);
    const BlockId b = kernel_and_reduce(step, 1, 25 * kUs, 5 * kUs);
    for (int i = 0; i < 3; ++i) {
        step.use(0, a);
        step.use(1, b);
    }
    // each round: the slower kernel 25, the collective 5
    EXPECT_EQ(step.run().end, 3 * 30 * kUs);
}

BlockId transfers(HandStep& step, std::size_t rank, TimeNs kernel, std::vector<TransferPart> parts) {
    BlockBuilder b = step.block(rank);
    b.memory("kernel", KernelClass::elementwise, static_cast<double>(kernel));
    const auto op =
        b.transfer("send/recv", {std::move(parts)}, Stream::pp, {Dep::tail(tail_of(Stream::compute))});
    b.wait("wait", {Dep::op(op)});
    return b.finish();
}

TEST(Rendezvous, SendMeetsItsReceive) {
    HandStep step(2);
    step.use(0, transfers(step, 0, 10 * kUs, {step.part(0, 1, true, 4 * kUs)}));
    step.use(1, transfers(step, 1, 3 * kUs, {step.part(1, 0, false, 4 * kUs)}));
    const Timeline t = step.run();
    // receiver ready at 3, sender at 10: both end at 14
    EXPECT_EQ(t.ranks[0].waited[1], 0);
    EXPECT_EQ(t.ranks[0].duration[1], 4 * kUs);
    EXPECT_EQ(t.ranks[1].waited[1], 7 * kUs);
    EXPECT_EQ(t.ranks[1].duration[1], 11 * kUs);
    EXPECT_EQ(t.end, 14 * kUs);
}

TEST(Rendezvous, AGroupIsDoneWithItsLastPart) {
    // Rank 1 sends to 0 and receives from 2 in one group: ready at 5; rank 0 at 1 with 3 us, rank 2 at 9 with
    // 4 us: parts end at 8 and 13. Rank 0 is done at 8, ranks 1 and 2 at 13.
    HandStep step(3);
    step.use(0, transfers(step, 0, 1 * kUs, {step.part(0, 1, false, 3 * kUs)}));
    step.use(1,
             transfers(step, 1, 5 * kUs, {step.part(1, 0, true, 3 * kUs), step.part(1, 2, false, 4 * kUs)}));
    step.use(2, transfers(step, 2, 9 * kUs, {step.part(2, 1, true, 4 * kUs)}));
    const Timeline t = step.run();
    EXPECT_EQ(t.ranks[0].start[2], 8 * kUs);
    EXPECT_EQ(t.ranks[1].start[2], 13 * kUs);
    EXPECT_EQ(t.ranks[1].waited[1], 4 * kUs); // until its last part began, at 9
    EXPECT_EQ(t.ranks[2].start[2], 13 * kUs);
}

TEST(Rendezvous, ExchangeInOneGroupMeets) {
    // both send first and receive second: one NCCL group has no order inside
    HandStep step(2);
    step.use(0,
             transfers(step, 0, 10 * kUs, {step.part(0, 1, true, 4 * kUs), step.part(0, 1, false, 4 * kUs)}));
    step.use(1,
             transfers(step, 1, 20 * kUs, {step.part(1, 0, true, 4 * kUs), step.part(1, 0, false, 4 * kUs)}));
    EXPECT_EQ(step.run().end, 24 * kUs);
}

// Two groups one behind the other on a stream, and the neighbour has them the other way round.
void add_crossed(HandStep& step) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
        const int peer = rank == 0 ? 1 : 0;
        const bool send_first = true;
        BlockBuilder b = step.block(rank);
        for (const bool send : {send_first, !send_first})
            b.transfer(send ? "send (pp)" : "recv (pp)", {{step.part(rank, peer, send, kUs)}}, Stream::pp,
                       {Dep::tail(tail_of(Stream::compute))});
        step.use(rank, b.finish(), 7);
    }
}

TEST(Deadlock, CrossedTransfersAreNamed) {
    const NoSlowdown none;
    const ConstantSlowdown half(2);
    for (const SlowdownModel* model :
         {static_cast<const SlowdownModel*>(&none), static_cast<const SlowdownModel*>(&half)}) {
        HandStep step(2);
        add_crossed(step);
        try {
            step.run(*model);
            FAIL() << "no DeadlockError";
        } catch (const DeadlockError& error) {
            EXPECT_THAT(error.what(),
                        HasSubstr("rank 0 (stage 0): \"send (pp)\" of \"block\", micro-batch 7"));
            EXPECT_THAT(error.what(),
                        HasSubstr("rank 1 (stage 1): \"send (pp)\" of \"block\", micro-batch 7"));
        }
    }
}

TEST(Deadlock, MemberThatNeverComes) {
    HandStep step(2);
    step.use(0, kernel_and_reduce(step, 0, kUs, kUs));
    BlockBuilder b = step.block(1);
    b.memory("kernel", KernelClass::elementwise, 1000);
    step.use(1, b.finish());
    EXPECT_THROW(step.run(), DeadlockError);
}

TEST(Host, LaunchesRunAheadOfTheDevice) {
    // launch 2, latency 3, gap 1; kernels of 10: starts 5, 16, 27
    HandStep step(1, {.launch = 2000, .gap = 1000, .event_wait = 0, .latency = 3000});
    BlockBuilder b = step.block(0);
    for (int i = 0; i < 3; ++i)
        b.memory("kernel", KernelClass::elementwise, 10'000);
    step.use(0, b.finish());
    const Timeline t = step.run();
    EXPECT_EQ(t.ranks[0].start, (std::vector<TimeNs>{5000, 16'000, 27'000}));
    EXPECT_EQ(t.ranks[0].binding[0], kBoundByHost);
    EXPECT_EQ(t.ranks[0].binding[1], 0U);
    EXPECT_EQ(t.summaries[0].compute_busy, 30'000);
    EXPECT_EQ(t.summaries[0].ops, 3);
}

TEST(Host, SlowLaunchesBindTheDevice) {
    // launch 20: launched at 20, 40, 60, started 3 later, with nothing to wait for
    HandStep step(1, {.launch = 20'000, .gap = 1000, .event_wait = 0, .latency = 3000});
    BlockBuilder b = step.block(0);
    for (int i = 0; i < 3; ++i)
        b.memory("kernel", KernelClass::elementwise, 10'000);
    step.use(0, b.finish());
    EXPECT_EQ(step.run().ranks[0].start, (std::vector<TimeNs>{23'000, 43'000, 63'000}));
}

TEST(Host, LaunchQueueHoldsThousandAndTwentyFour) {
    // Launches of 1 ns against kernels of 1 us: launch 1024 waits for the end of kernel 0, launch 1025 for
    // that of kernel 1. The host op behind them sees when the host got there.
    HandStep step(1, {.launch = 1, .gap = 0, .event_wait = 0, .latency = 0});
    BlockBuilder b = step.block(0);
    for (std::uint32_t i = 0; i < kLaunchQueue + 2; ++i)
        b.memory("kernel", KernelClass::elementwise, 1000);
    b.host("after", 1e-6);
    step.use(0, b.finish());
    const RankTimeline rank = step.run().ranks[0];
    // kernel 0 is launched at 1 and ends at 1001, kernel 1 ends at 2001: the last launch is done at 2002
    EXPECT_EQ(rank.start.back(), 2002);
    EXPECT_EQ(rank.start[kLaunchQueue + 1], 1 + (kLaunchQueue + 1) * 1000);
    // with room in the queue the host would have been there at once
    HandStep shorter(1, {.launch = 1, .gap = 0, .event_wait = 0, .latency = 0});
    BlockBuilder s = shorter.block(0);
    for (std::uint32_t i = 0; i < kLaunchQueue; ++i)
        s.memory("kernel", KernelClass::elementwise, 1000);
    s.host("after", 1e-6);
    shorter.use(0, s.finish());
    EXPECT_EQ(shorter.run().ranks[0].start.back(), static_cast<TimeNs>(kLaunchQueue));
}

TEST(Host, SynchronisationWaitsForAllItsOps) {
    // kernel ends at 10, collective at 10 + 30 = 40; the sync waits from 0 to 40 and takes 5
    for (const double factor : {1.0, 2.0}) { // both modes of the engine
        HandStep step(1);
        BlockBuilder b = step.block(0);
        const auto kernel = b.memory("kernel", KernelClass::elementwise, 10'000);
        const auto op = b.collective("all-reduce", all_reduce(Slot::tp, 30'000), Stream::tp);
        b.host("sync", 5_us, {Dep::op(kernel), Dep::op(op)});
        b.memory("next", KernelClass::elementwise, 1000);
        step.use(0, b.finish());
        const RankTimeline rank = step.run(ConstantSlowdown(factor)).ranks[0];
        EXPECT_EQ(rank.start[2], 0);
        EXPECT_EQ(rank.waited[2], 40'000);
        EXPECT_EQ(rank.duration[2], 45'000);
        EXPECT_EQ(rank.binding[2], 1U);
        EXPECT_EQ(rank.start[3], 45'000);
    }
}

} // namespace
} // namespace echosim
