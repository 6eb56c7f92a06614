// SPDX-License-Identifier: Apache-2.0
#include "interference/prior.h"
#include "tests/engine/hand_step.h"
#include "tests/graph/built_step.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

using test::HandStep;
using test::RateOne;

// Communication runs at a share of its speed while a kernel runs.
class SlowCommunication final : public SlowdownModel {
  public:
    explicit SlowCommunication(double rate) : rate_(rate) {}
    bool identity() const override { return false; }
    void rates(std::span<const Running> on, std::span<double> rate) const override {
        const bool kernel =
            std::any_of(on.begin(), on.end(), [](const Running& r) { return r.kind == OpKind::compute; });
        for (std::size_t i = 0; i < on.size(); ++i)
            rate[i] = kernel && on[i].kind == OpKind::collective ? rate_ : 1.0;
    }

  private:
    double rate_;
};

// A collective from the start, and a kernel beside it.
void add_overlap(HandStep& step, std::size_t rank, TimeNs kernel, TimeNs collective, Slot slot) {
    BlockBuilder b = step.block(rank);
    b.collective("all-reduce",
                 {static_cast<std::uint32_t>(slot), CollectiveKind::all_reduce,
                  static_cast<Bytes>(collective), DType::bf16},
                 Stream::tp);
    b.memory("kernel", KernelClass::elementwise, static_cast<double>(kernel));
    step.use(rank, b.finish());
}

TEST(Rates, ComputeIsSlowedOnlyWhileItOverlaps) {
    // 4 us at half rate do 2 of 10 us; the other 8 follow alone: ends at 12. The collective keeps its 4 us.
    HandStep step(1);
    add_overlap(step, 0, 10'000, 4'000, Slot::tp);
    const Timeline t = step.run(ConstantSlowdown(2));
    EXPECT_EQ(t.ranks[0].duration[0], 4'000);
    EXPECT_EQ(t.ranks[0].duration[1], 12'000);
    EXPECT_EQ(t.ranks[0].alone[1], 10'000);
    EXPECT_EQ(t.summaries[0].compute_slowed, 2'000);
    EXPECT_EQ(t.end, 12'000);
}

TEST(Rates, ComputeInsideACollectiveIsSlowedThroughout) {
    HandStep step(1);
    add_overlap(step, 0, 10'000, 40'000, Slot::tp);
    const Timeline t = step.run(ConstantSlowdown(1.5)); // 10 us at 1 / 1.5
    EXPECT_EQ(t.ranks[0].duration[1], 15'000);
    EXPECT_EQ(t.end, 40'000);
}

TEST(Rates, ACollectiveRunsAtItsSlowestMember) {
    // Rank 0 computes for 6 us, rank 1 for 2 us; communication beside a kernel runs at one half. It runs at
    // one half until 6 (the slower member), has 10 - 3 = 7 left: ends at 13 on both.
    HandStep step(2);
    add_overlap(step, 0, 6'000, 10'000, Slot::world);
    add_overlap(step, 1, 2'000, 10'000, Slot::world);
    const Timeline t = step.run(SlowCommunication(0.5));
    EXPECT_EQ(t.ranks[0].duration[0], 13'000);
    EXPECT_EQ(t.ranks[1].duration[0], 13'000);
    EXPECT_EQ(t.ranks[0].duration[1], 6'000);
    EXPECT_EQ(t.ranks[1].duration[1], 2'000);
}

TEST(Rates, ALateMemberStartsTheCollectiveForAll) {
    // Rank 1 arrives at 5; then 4 us. Rank 0's kernel of 10: alone until 5, at half rate until 9 (2 us of
    // work), 3 us left: ends at 12.
    HandStep step(2);
    add_overlap(step, 0, 10'000, 4'000, Slot::world);
    BlockBuilder b = step.block(1);
    b.memory("kernel", KernelClass::elementwise, 5'000);
    b.collective("all-reduce",
                 {static_cast<std::uint32_t>(Slot::world), CollectiveKind::all_reduce, 4'000, DType::bf16},
                 Stream::tp);
    step.use(1, b.finish());
    const Timeline t = step.run(ConstantSlowdown(2));
    EXPECT_EQ(t.ranks[0].waited[0], 5'000);
    EXPECT_EQ(t.ranks[0].duration[0], 9'000);
    EXPECT_EQ(t.ranks[0].duration[1], 12'000);
    EXPECT_EQ(t.end, 12'000);
}

// The step once more with contention; `share(rank, op)` = share of its NIC that an op needs alone.
template <class Share> Timeline with_shared_nics(HandStep& step, Share share) {
    step.run();
    std::vector<AnnotatedGraph> graphs = step.annotated();
    for (std::size_t rank = 0; rank < graphs.size(); ++rank)
        for (std::vector<OpCost>& block : graphs[rank].costs)
            for (std::size_t op = 0; op < block.size(); ++op)
                block[op].nic_share = share(rank, op);
    return simulate({.placement = step.placement(),
                     .graphs = graphs,
                     .slowdown = NoSlowdown{},
                     .record = std::vector<bool>(graphs.size(), true),
                     .contention = true});
}

// Collectives that start together, each on a stream of its own.
void add_collectives(HandStep& step, std::size_t rank, std::initializer_list<std::pair<Slot, TimeNs>> list) {
    BlockBuilder b = step.block(rank);
    Stream stream = Stream::tp;
    for (const auto& [slot, time] : list) {
        b.collective("collective",
                     {static_cast<std::uint32_t>(slot), CollectiveKind::all_reduce, static_cast<Bytes>(time),
                      DType::bf16},
                     stream);
        stream = Stream::dp;
    }
    step.use(rank, b.finish());
}

TEST(Links, CollectivesThatFillANicShareIt) {
    // 10 and 4 us of work at one half each: the short one ends at 8, the long one has 6 left: 14.
    HandStep step(1);
    add_collectives(step, 0, {{Slot::tp, 10'000}, {Slot::tp, 4'000}});
    const Timeline t = with_shared_nics(step, [](std::size_t, std::size_t) { return 1.0F; });
    EXPECT_EQ(t.ranks[0].duration[0], 14'000);
    EXPECT_EQ(t.ranks[0].duration[1], 8'000);
    // 0.5 + 0.4 of the NIC leave both alone
    const Timeline narrow =
        with_shared_nics(step, [](std::size_t, std::size_t op) { return op == 0 ? 0.5F : 0.4F; });
    EXPECT_EQ(narrow.ranks[0].duration[0], 10'000);
    EXPECT_EQ(narrow.ranks[0].duration[1], 4'000);
}

TEST(Links, WhatASlowGroupLeavesElsewhereIsUsed) {
    // The world's collective shares rank 0's NIC and runs at 1/2 there; so it leaves 1/2 of rank 1's NIC, and
    // the 0.5 that the other collective of rank 1 needs is there.
    HandStep step(2);
    add_collectives(step, 0, {{Slot::world, 10'000}, {Slot::tp, 20'000}});
    add_collectives(step, 1, {{Slot::world, 10'000}, {Slot::tp, 8'000}});
    const Timeline t = with_shared_nics(
        step, [](std::size_t rank, std::size_t op) { return rank == 1 && op == 1 ? 0.5F : 1.0F; });
    EXPECT_EQ(t.ranks[1].duration[1], 8'000);
    EXPECT_EQ(t.ranks[0].duration[0], 20'000);
    EXPECT_EQ(t.ranks[1].duration[0], 20'000);
    EXPECT_EQ(t.ranks[0].duration[1], 30'000); // 10 of 20 us done at 20, then alone
}

TEST(Links, SendingAndReceivingDoNotMeet) {
    HandStep step(2);
    for (const std::size_t rank : {0U, 1U}) {
        BlockBuilder b = step.block(rank);
        const int peer = rank == 0 ? 1 : 0;
        b.transfer("exchange", {{step.part(rank, peer, true, 6'000), step.part(rank, peer, false, 6'000)}},
                   Stream::pp, {});
        step.use(rank, b.finish());
    }
    const Timeline t = with_shared_nics(step, [](std::size_t, std::size_t) { return 1.0F; });
    EXPECT_EQ(t.end, 6'000);
}

void expect_same_times(const Timeline& a, const Timeline& b) {
    ASSERT_EQ(a.ranks.size(), b.ranks.size());
    EXPECT_EQ(a.end, b.end);
    EXPECT_EQ(a.ops, b.ops);
    for (std::size_t i = 0; i < a.ranks.size(); ++i) {
        EXPECT_EQ(a.ranks[i].start, b.ranks[i].start);
        EXPECT_EQ(a.ranks[i].duration, b.ranks[i].duration);
        EXPECT_EQ(a.ranks[i].waited, b.ranks[i].waited);
        EXPECT_EQ(a.ranks[i].instance, b.ranks[i].instance);
        EXPECT_EQ(a.ranks[i].op, b.ranks[i].op);
        EXPECT_EQ(a.summaries[i].end, b.summaries[i].end);
        EXPECT_EQ(a.summaries[i].compute_busy, b.summaries[i].compute_busy);
        EXPECT_EQ(b.summaries[i].compute_slowed, 0);
    }
}

TEST(Modes, TimeOrderedWithRateOneIsPropagation) {
    for (const char* flags :
         {"--global-batch-size 16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
          "--tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 2 "
          "--global-batch-size 16",
          "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 --global-batch-size 16",
          "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --global-batch-size 8 "
          "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"}) {
        SCOPED_TRACE(flags);
        for (const bool fold : {true, false}) {
            const auto step = test::build_step(test::small_job(flags), find_cluster("dgx-h100"), fold);
            expect_same_times(test::simulate_step(step), test::simulate_step(step, RateOne{}));
        }
    }
}

TEST(Modes, RepeatedRunsAreEqual) {
    // wide enough for kernels to outlast their launches, so that there is something to overlap
    const Job job = test::small_job("--hidden-size 8192 --num-attention-heads 64 --num-layers 4 "
                                    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 "
                                    "--use-distributed-optimizer --overlap-grad-reduce "
                                    "--global-batch-size 16");
    const Cluster cluster = find_cluster("dgx-h100");
    const auto step = test::build_step(job, cluster, false);
    const ConstantSlowdown constant(1.3);
    const PriorSlowdown prior(limits_of(cluster.gpu));
    for (const SlowdownModel* model :
         {static_cast<const SlowdownModel*>(&constant), static_cast<const SlowdownModel*>(&prior)}) {
        const Timeline first = test::simulate_step(step, *model), second = test::simulate_step(step, *model);
        for (std::size_t i = 0; i < first.ranks.size(); ++i) {
            EXPECT_EQ(first.ranks[i].start, second.ranks[i].start);
            EXPECT_EQ(first.ranks[i].duration, second.ranks[i].duration);
            EXPECT_EQ(first.ranks[i].binding, second.ranks[i].binding);
        }
        EXPECT_GT(first.summaries[0].compute_slowed, 0);
    }
}

// Sums of the ranks are those of their timelines: kernels are slowed, and nothing takes less than alone.
TEST(Modes, WhatSlowsComputeAddsUp) {
    const Job job = test::small_job("--hidden-size 8192 --num-attention-heads 64 --num-layers 4 "
                                    "--pipeline-model-parallel-size 2 --use-distributed-optimizer "
                                    "--overlap-grad-reduce --global-batch-size 16");
    const Cluster cluster = find_cluster("dgx-a100-80g");
    const auto step = test::build_step(job, cluster);
    const Timeline t = test::simulate_step(step, PriorSlowdown(limits_of(cluster.gpu)));
    TimeNs all = 0;
    for (std::size_t i = 0; i < t.ranks.size(); ++i) {
        const RankGraph& graph = step.graphs[static_cast<std::size_t>(step.placement.ranks[i].stage)];
        const RankTimeline& rank = t.ranks[i];
        TimeNs slowed = 0;
        for (std::size_t row = 0; row < rank.size(); ++row) {
            const Op& op = graph.blocks[graph.program[rank.instance[row]].block.value].ops[rank.op[row]];
            if (op.kind == OpKind::host)
                continue;
            EXPECT_GE(rank.duration[row] - rank.waited[row], op.kind == OpKind::p2p ? 0 : rank.alone[row]);
            if (op.kind == OpKind::compute)
                slowed += rank.duration[row] - rank.alone[row];
        }
        EXPECT_EQ(t.summaries[i].compute_slowed, slowed);
        all += slowed;
    }
    EXPECT_GT(all, 0);
}

} // namespace
} // namespace echosim
