// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/hand_step.h"

#include <gtest/gtest.h>
#include <utility>

// What runs together on a GPU slows and delays each other: steps by hand, one rank each time in us.
namespace echosim {
namespace {

using test::HandStep;

bool is_communication(const Running& r) {
    return r.kind == OpKind::collective || r.kind == OpKind::p2p;
}

// Kernels are slowed by the SMs of communication, moving or waiting, and by the HBM of what moves: 132 SMs,
// t = t0 132 / (132 - c) (1 + h). Communication starts after `delay` when a kernel runs. Counts its calls.
class SmsAndHbm final : public SlowdownModel {
  public:
    explicit SmsAndHbm(Seconds delay = 0) : delay_(delay) {}
    bool identity() const override { return false; }
    void rates(std::span<const Running> on, std::span<double> rate) const override {
        ++calls;
        double ctas = 0, hbm = 0;
        for (const Running& r : on)
            if (r.comm != nullptr) {
                ctas += r.comm->ctas;
                hbm += r.waiting ? 0 : r.comm->hbm_share;
            }
        for (std::size_t i = 0; i < on.size(); ++i)
            rate[i] = on[i].kind == OpKind::compute ? (132 - ctas) / 132 / (1 + hbm) : 1.0;
    }
    Seconds start_delay(const Running& starting, std::span<const Running> on,
                        std::span<const Seconds> remaining) const override {
        for (std::size_t i = 0; i < on.size(); ++i)
            if (is_communication(starting) && on[i].kind == OpKind::compute)
                return std::min(delay_, remaining[i]);
        return 0;
    }
    mutable int calls = 0;

  private:
    Seconds delay_;
};

// Communication runs at half its speed beside a kernel, at a quarter beside two.
class ByKind final : public SlowdownModel {
  public:
    bool identity() const override { return false; }
    void rates(std::span<const Running> on, std::span<double> rate) const override {
        const auto kernels = std::ranges::count(on, OpKind::compute, &Running::kind);
        for (std::size_t i = 0; i < on.size(); ++i)
            rate[i] = on[i].kind == OpKind::collective ? 1.0 / static_cast<double>(1 << kernels) : 1.0;
    }
};

std::uint32_t collective(BlockBuilder& b, Slot slot, TimeNs time, Stream stream) {
    return b.collective(
        "c", {static_cast<std::uint32_t>(slot), CollectiveKind::all_reduce, static_cast<Bytes>(time)},
        stream);
}
std::uint32_t kernel(BlockBuilder& b, TimeNs time, std::initializer_list<Dep> deps = {}) {
    return b.memory("k", KernelClass::elementwise, static_cast<double>(time), deps);
}

// Every op of the ranks' works occupies what `comm` says (kernels: nothing known but that they are kernels).
Timeline run(HandStep& step, const SlowdownModel& model, const CommFootprint& comm) {
    step.run();
    std::vector<AnnotatedGraph> graphs = step.annotated();
    for (AnnotatedGraph& graph : graphs) {
        graph.kernels.resize(graph.graph->works.size());
        graph.communications.assign(graph.graph->works.size(), comm);
    }
    return simulate({.placement = step.placement(),
                     .graphs = graphs,
                     .slowdown = model,
                     .record = std::vector<bool>(graphs.size(), true)});
}

TEST(Overlap, PartOfAKernelFollowsEchosFormula) {
    // A kernel of 20, then one of 80 and communication of 30 on 33 of 132 SMs: factor 4/3, s = 1/3. The
    // kernel does 30 x 3/4 = 22.5 of its work meanwhile: r = 22.5 / 80 is overlapped, and
    // t = (1 - r) 80 + r 80 (1 + s) = 57.5 + 30 = 87.5.
    HandStep step(1);
    BlockBuilder b = step.block(0);
    kernel(b, 20'000);
    collective(b, Slot::tp, 30'000, Stream::tp);
    kernel(b, 80'000);
    step.use(0, b.finish());
    const Timeline t = run(step, SmsAndHbm(), {.ctas = 33});
    EXPECT_EQ(t.ranks[0].duration, (std::vector<TimeNs>{20'000, 30'000, 87'500}));
    EXPECT_EQ(t.end, 107'500);
    EXPECT_EQ(t.ranks[0].alone[2], 80'000);
    EXPECT_EQ(t.summaries[0].compute_slowed, 7'500);
    EXPECT_EQ(t.summaries[0].compute_busy, 107'500);
}

TEST(Overlap, TwoCommunicationsAtOnce) {
    // 33 SMs each: 1/2 of the SMs are left until 10, 3/4 until 20: 5 + 7.5 done, 7.5 left: ends at 27.5.
    HandStep step(1);
    BlockBuilder b = step.block(0);
    collective(b, Slot::tp, 10'000, Stream::tp);
    collective(b, Slot::tp, 20'000, Stream::dp);
    kernel(b, 20'000);
    step.use(0, b.finish());
    EXPECT_EQ(run(step, SmsAndHbm(), {.ctas = 33}).ranks[0].duration[2], 27'500);
}

TEST(Overlap, CopyEnginesSlowThroughHbmAlone) {
    // No CTAs, 1/4 of HBM: factor 1.25 until 10 (8 done), 12 left: ends at 22.
    HandStep step(1);
    BlockBuilder b = step.block(0);
    collective(b, Slot::tp, 10'000, Stream::tp);
    kernel(b, 20'000);
    step.use(0, b.finish());
    EXPECT_EQ(run(step, SmsAndHbm(), {.ctas = 0, .hbm_share = 0.25}).ranks[0].duration[1], 22'000);
}

TEST(StartDelay, CommunicationThatComesFirstHasItsSms) {
    // Launches take 2: communication of 6 at 2, the kernel of 20 at 4: half until 8, 18 left: ends at 26.
    HandStep step(1, {.launch = 2'000, .gap = 0, .event_wait = 0, .latency = 0});
    BlockBuilder b = step.block(0);
    collective(b, Slot::tp, 6'000, Stream::tp);
    kernel(b, 20'000);
    step.use(0, b.finish());
    const RankTimeline r = run(step, SmsAndHbm(3e-6), {.ctas = 66}).ranks[0];
    EXPECT_EQ(r.start, (std::vector<TimeNs>{2'000, 4'000}));
    EXPECT_EQ(r.duration, (std::vector<TimeNs>{6'000, 22'000}));
}

TEST(StartDelay, CommunicationThatComesSecondWaitsForSms) {
    // The kernel at 2, communication at 4: its work begins 3 later, at 7, and ends at 13. The kernel does 5
    // alone, 3 in these 6, then 12: ends at 25. Time alone and waiting hold nothing of the delay.
    HandStep step(1, {.launch = 2'000, .gap = 0, .event_wait = 0, .latency = 0});
    BlockBuilder b = step.block(0);
    kernel(b, 20'000);
    collective(b, Slot::tp, 6'000, Stream::tp);
    const BlockId block = b.finish();
    step.graph(0).blocks[block.value].ops[1].dep_count = 0; // not after the kernel
    step.use(0, block);
    const Timeline t = run(step, SmsAndHbm(3e-6), {.ctas = 66});
    const RankTimeline& r = t.ranks[0];
    EXPECT_EQ(r.start, (std::vector<TimeNs>{2'000, 4'000}));
    EXPECT_EQ(r.duration, (std::vector<TimeNs>{23'000, 9'000}));
    EXPECT_EQ(r.alone, (std::vector<TimeNs>{20'000, 6'000}));
    EXPECT_EQ(r.waited, (std::vector<TimeNs>{0, 0}));
    EXPECT_EQ(t.summaries[0].compute_slowed, 3'000);
    // no longer than the kernel still runs: 18
    EXPECT_EQ(run(step, SmsAndHbm(1), {.ctas = 66}).ranks[0].duration[1], 24'000);
}

// Rank 0 comes to a collective of 10 at 0, rank 1 at 5, when it also starts a kernel of 20, before it or
// after.
Timeline late_member(bool kernel_first) {
    HandStep step(2);
    BlockBuilder a = step.block(0);
    collective(a, Slot::world, 10'000, Stream::tp);
    step.use(0, a.finish());
    BlockBuilder b = step.block(1);
    kernel(b, 5'000);
    if (kernel_first)
        kernel(b, 20'000);
    const auto c = collective(b, Slot::world, 10'000, Stream::tp);
    if (!kernel_first)
        kernel(b, 20'000);
    const BlockId block = b.finish();
    Block& made = step.graph(1).blocks[block.value];
    made.deps[made.ops[c].first_dep] = Dep::op(0); // only after the first kernel
    step.use(1, block);
    return run(step, SmsAndHbm(3e-6), {.ctas = 66});
}

TEST(StartDelay, OfOneMemberHoldsUpItsGroup) {
    // Ready at the same time, launched first: it starts first.
    EXPECT_EQ(late_member(false).ranks[0].duration[0], 15'000);
    // Launched second: the work begins at 8 for both. Rank 0 waited 5 for its peer, the 3 are beyond.
    const Timeline t = late_member(true);
    EXPECT_EQ(t.ranks[0].waited[0], 5'000);
    EXPECT_EQ(t.ranks[0].duration[0], 18'000);
    EXPECT_EQ(t.ranks[1].waited[2], 0);
    EXPECT_EQ(t.ranks[1].duration[2], 13'000);
    EXPECT_EQ(t.ranks[1].duration[1], 25'000); // 3 alone, 5 in the 10, 12 alone
}

TEST(Waiting, CommunicationHoldsItsSms) {
    // Rank 0's collective holds 66 of 132 SMs from 0, moves (1/4 of HBM) from 6 to 11 when rank 1 has come.
    // Its kernel of 20: 3 done at 6, 5 / 2 / 1.25 = 2 more at 11, 15 left: ends at 26.
    HandStep step(2);
    BlockBuilder a = step.block(0);
    collective(a, Slot::world, 5'000, Stream::tp);
    kernel(a, 20'000);
    step.use(0, a.finish());
    BlockBuilder b = step.block(1);
    kernel(b, 6'000);
    collective(b, Slot::world, 5'000, Stream::tp);
    step.use(1, b.finish());
    const Timeline t = run(step, SmsAndHbm(), {.ctas = 66, .hbm_share = 0.25});
    EXPECT_EQ(t.ranks[0].duration, (std::vector<TimeNs>{11'000, 26'000}));
    EXPECT_EQ(t.ranks[0].waited[0], 6'000);
    EXPECT_EQ(t.end, 26'000);
    // no SMs: 6 alone, 4 in 5, 10 left
    EXPECT_EQ(run(step, SmsAndHbm(), {.ctas = 0, .hbm_share = 0.25}).ranks[0].duration[1], 21'000);
}

TEST(Waiting, TransfersAreOneKernelUntilTheirLastPart) {
    // Rank 1 sends 3 to rank 0 (there from 0) and receives 4 from rank 2 (there from 9) in one group: it
    // holds its 66 SMs from 0 to 13, counted once. Its kernel of 20: 6.5 done at 13, 13.5 left: ends at 26.5.
    HandStep step(3);
    const auto add = [&](std::size_t rank, TimeNs before, std::vector<TransferPart> parts, TimeNs beside) {
        BlockBuilder b = step.block(rank);
        if (before > 0)
            kernel(b, before);
        b.transfer("t", {std::move(parts)}, Stream::pp, {Dep::tail(tail_of(Stream::compute))});
        if (beside > 0)
            kernel(b, beside);
        step.use(rank, b.finish());
    };
    add(0, 0, {step.part(0, 1, false, 3'000)}, 0);
    add(1, 0, {step.part(1, 0, true, 3'000), step.part(1, 2, false, 4'000)}, 20'000);
    add(2, 9'000, {step.part(2, 1, true, 4'000)}, 0);
    const Timeline t = run(step, SmsAndHbm(), {.ctas = 66});
    EXPECT_EQ(t.ranks[0].duration[0], 3'000);
    EXPECT_EQ(t.ranks[1].duration, (std::vector<TimeNs>{13'000, 26'500}));
}

TEST(Groups, RunAtTheRateOfTheSlowerGpu) {
    // Rank 1 runs a kernel beside the collective of 10 until 6, rank 0 until 2: half rate until 6, 7 left.
    HandStep step(2);
    for (const std::size_t rank : {0U, 1U}) {
        BlockBuilder b = step.block(rank);
        collective(b, Slot::world, 10'000, Stream::tp);
        kernel(b, rank == 0 ? 2'000 : 6'000);
        step.use(rank, b.finish());
    }
    const Timeline t = step.run(ByKind());
    EXPECT_EQ(t.ranks[0].duration[0], 13'000);
    EXPECT_EQ(t.ranks[1].duration[0], 13'000);
}

TEST(Memo, AsksOnceForEverySet) {
    // 50 times the same two ops: the model sees {collective, kernel} once, of one op it is not asked at all
    HandStep step(1);
    BlockBuilder b = step.block(0);
    collective(b, Slot::tp, 5'000, Stream::tp);
    kernel(b, 20'000);
    b.wait("wait", {Dep::tail(tail_of(Stream::tp))});
    const BlockId block = b.finish();
    for (int i = 0; i < 50; ++i)
        step.use(0, block);
    const SmsAndHbm model;
    const Timeline t = run(step, model, {.ctas = 66});
    EXPECT_EQ(t.ranks[0].duration[1], 22'500);
    EXPECT_EQ(t.ranks[0].duration[148], 22'500);
    EXPECT_EQ(t.end, 50 * 22'500);
    EXPECT_EQ(model.calls, 1);
}

} // namespace
} // namespace echosim
