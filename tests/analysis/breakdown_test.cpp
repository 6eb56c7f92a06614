// SPDX-License-Identifier: Apache-2.0
#include "simulator/analysis/breakdown.h"
#include "tests/engine/hand_step.h"
#include "tests/graph/built_step.h"

#include <gtest/gtest.h>
#include <numeric>

namespace echosim {
namespace {

using test::HandStep;

TimeNs sum_of(const StepBreakdown& b) {
    return std::accumulate(b.time.begin(), b.time.end(), TimeNs{0});
}

// One rank's program with phases, and what break_down() makes of it.
class HandRank {
  public:
    explicit HandRank(test::HandCosts costs = {}) : step_(2, costs), block_(step_.block(0)) {}

    HandRank& kernel(TimeNs time, Phase phase = Phase::forward, std::initializer_list<Dep> deps = {}) {
        block_.set_phase(phase);
        last_ = block_.memory("kernel", KernelClass::elementwise, static_cast<double>(time), deps);
        return *this;
    }
    HandRank& collective(Slot slot, TimeNs time, Stream stream) {
        block_.set_phase(Phase::forward);
        last_ = block_.collective("collective",
                                  {static_cast<std::uint32_t>(slot), CollectiveKind::all_reduce,
                                   static_cast<Bytes>(time), DType::bf16},
                                  stream);
        return *this;
    }
    HandRank& receive(TimeNs time) {
        last_ = block_.transfer("recv", {{step_.part(0, 1, false, static_cast<Bytes>(time))}}, Stream::pp,
                                {Dep::tail(tail_of(Stream::compute))});
        return *this;
    }
    HandRank& wait() {
        block_.wait("wait", {Dep::op(last_)});
        return *this;
    }
    HandRank& host(TimeNs time, Phase phase) {
        block_.set_phase(phase);
        last_ = block_.host("host", static_cast<double>(time) * 1e-9);
        return *this;
    }
    // The other rank computes for `time` and then takes part in what needs it.
    HandRank& peer(TimeNs time, std::optional<Slot> slot, std::optional<TimeNs> sends) {
        BlockBuilder b = step_.block(1);
        b.memory("kernel", KernelClass::elementwise, static_cast<double>(time));
        if (slot)
            b.collective("collective",
                         {static_cast<std::uint32_t>(*slot), CollectiveKind::all_reduce, 0, DType::bf16},
                         Stream::world);
        if (sends)
            b.transfer("send", {{step_.part(1, 0, true, static_cast<Bytes>(*sends))}}, Stream::pp,
                       {Dep::tail(tail_of(Stream::compute))});
        step_.use(1, b.finish());
        return *this;
    }
    StepBreakdown split(const SlowdownModel& slowdown = NoSlowdown{}) {
        step_.use(0, block_.finish());
        const Timeline t = step_.run(slowdown);
        const StepBreakdown b = break_down(t.ranks[0], step_.annotated()[0], t.end);
        EXPECT_EQ(sum_of(b), t.end);
        return b;
    }

  private:
    HandStep step_;
    BlockBuilder block_;
    std::uint32_t last_ = 0;
};

using C = TimeCategory;

TEST(Breakdown, KernelsByTheirPhase) {
    const StepBreakdown b = HandRank()
                                .kernel(1, Phase::forward)
                                .kernel(20, Phase::backward)
                                .kernel(300, Phase::recompute)
                                .kernel(4000, Phase::optimizer)
                                .kernel(50'000, Phase::gradient_sync)
                                .kernel(600'000, Phase::data)
                                .split();
    EXPECT_EQ(b[C::compute], 21);
    EXPECT_EQ(b[C::recompute], 300);
    EXPECT_EQ(b[C::optimizer], 54'000);
    EXPECT_EQ(b[C::data], 600'000);
}

TEST(Breakdown, OnlyExposedCommunicationCounts) {
    // TP call from 0 to 100 beside a kernel from 0 to 70: 30 exposed; then a kernel of 5
    const StepBreakdown b = HandRank()
                                .collective(Slot::tp, 100, Stream::tp)
                                .kernel(70)
                                .kernel(5, Phase::forward, {Dep::op(0)})
                                .split();
    EXPECT_EQ(b[C::compute], 75);
    EXPECT_EQ(b[C::tp_comm], 30);
    ASSERT_EQ(b.communication.size(), 1U);
    EXPECT_EQ(b.communication[0].time, 100);
    EXPECT_EQ(b.communication[0].exposed, 30);
    EXPECT_EQ(b.communication[0].count, 1);
    EXPECT_EQ(b.communication[0].bytes, 100);
    EXPECT_EQ(b.communication[0].group, GroupKind::tp);
}

TEST(Breakdown, TensorBeforeDataParallelCommunication) {
    // both from 0: TP until 40, DP until 100. The other rank joins the DP call at once.
    HandRank rank;
    rank.collective(Slot::tp, 40, Stream::tp).collective(Slot::dp, 100, Stream::dp);
    const StepBreakdown b = rank.peer(0, Slot::dp, {}).split();
    EXPECT_EQ(b[C::tp_comm], 40);
    EXPECT_EQ(b[C::dp_comm], 60);
    // in order of exposed time
    ASSERT_EQ(b.communication.size(), 2U);
    EXPECT_EQ(b.communication[0].group, GroupKind::dp_cp);
    EXPECT_EQ(b.communication[0].exposed, 60);
}

TEST(Breakdown, WaitingForAnotherStageIsBubble) {
    // the sender is ready at 80, bytes move until 100
    const StepBreakdown b = HandRank().receive(20).wait().kernel(7).peer(80, {}, 20).split();
    EXPECT_EQ(b[C::bubble], 80);
    EXPECT_EQ(b[C::pp_comm], 20);
    EXPECT_EQ(b[C::compute], 7);
    ASSERT_EQ(b.communication.size(), 1U);
    EXPECT_EQ(b.communication[0].group, GroupKind::pp);
    EXPECT_EQ(b.communication[0].kind, CollectiveKind::send_recv);
    EXPECT_EQ(b.communication[0].time, 20);
    EXPECT_EQ(b.contributors[0].name, "pipeline bubble");
}

TEST(Breakdown, WaitingInAWorldGroupIsBubbleInADataGroupOther) {
    HandRank world;
    world.collective(Slot::world, 10, Stream::world);
    const StepBreakdown a = world.peer(90, Slot::world, {}).split();
    EXPECT_EQ(a[C::bubble], 90);
    EXPECT_EQ(a[C::dp_comm], 10);
    HandRank data;
    data.collective(Slot::dp, 10, Stream::dp);
    const StepBreakdown b = data.peer(90, Slot::dp, {}).split();
    EXPECT_EQ(b[C::other], 90);
    EXPECT_EQ(b[C::dp_comm], 10);
}

TEST(Breakdown, DataLoaderAndOtherHostTime) {
    // loader 0 to 30, host work 30 to 50, launch 50 to 60, latency until 65, kernel until 165
    const StepBreakdown b = HandRank({.launch = 10, .gap = 0, .event_wait = 0, .latency = 5})
                                .host(30, Phase::data)
                                .host(20, Phase::optimizer)
                                .kernel(100)
                                .split();
    EXPECT_EQ(b[C::data], 30);
    EXPECT_EQ(b[C::host], 35);
    EXPECT_EQ(b[C::compute], 100);
    EXPECT_NEAR(std::accumulate(b.provenance.begin(), b.provenance.end(), 0.0), 1, 1e-12);
}

TEST(Breakdown, AKernelHidesTheLoader) {
    const StepBreakdown b = HandRank().kernel(100).host(30, Phase::data).split();
    EXPECT_EQ(b[C::data], 0);
    EXPECT_EQ(b[C::compute], 100);
}

TEST(Breakdown, InterferenceComesOutOfTheKernelsCategory) {
    // Factor 2: 40 of the call cover 20 of the forward kernel's 30 alone, its other 10 follow: 50 long. The
    // recomputed kernel lies wholly under the second call: 25 alone, 50 long.
    HandRank rank;
    rank.collective(Slot::tp, 40, Stream::tp).kernel(30, Phase::forward);
    rank.collective(Slot::tp, 1000, Stream::tp).kernel(25, Phase::recompute);
    const StepBreakdown b = rank.split(ConstantSlowdown(2));
    EXPECT_EQ(b[C::interference], 20 + 25);
    EXPECT_EQ(b[C::compute], 30);
    EXPECT_EQ(b[C::recompute], 25);
    // the second call starts behind the forward kernel, at 50, and ends at 1050; 50 of it are covered
    EXPECT_EQ(b[C::tp_comm], 950);
}

TEST(Breakdown, NamesOfCategories) {
    EXPECT_EQ(to_string(C::compute), "compute");
    EXPECT_EQ(to_string(C::bubble), "bubble");
    EXPECT_EQ(to_string(C::other), "other");
}

constexpr const char* kRecomputed = "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 "
                                    "--global-batch-size 16 --recompute-granularity full "
                                    "--recompute-method uniform --recompute-num-layers 1";
constexpr const char* kInterleaved =
    "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 "
    "--global-batch-size 16";
constexpr const char* kJobs[] = {
    "--global-batch-size 16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
    "--tensor-model-parallel-size 8 --sequence-parallel --global-batch-size 4", kRecomputed, kInterleaved};

TEST(Breakdown, AddsUpToTheStepOnEveryRankOfRealJobs) {
    for (const char* flags : kJobs) {
        SCOPED_TRACE(flags);
        const test::BuiltStep step = test::build_step(test::small_job(flags), find_cluster("dgx-h100"));
        for (const double factor : {1.0, 1.3}) {
            const Timeline t = test::simulate_step(step, ConstantSlowdown(factor));
            for (std::size_t i = 0; i < t.ranks.size(); ++i) {
                const StepBreakdown b =
                    break_down(t.ranks[i], step.annotated[step.placement.ranks[i].costs], t.end);
                EXPECT_EQ(sum_of(b), t.end);
                for (const TimeNs time : b.time)
                    EXPECT_GE(time, 0);
                EXPECT_EQ(b[C::interference], t.summaries[i].compute_slowed);
                EXPECT_NEAR(std::accumulate(b.provenance.begin(), b.provenance.end(), 0.0), 1, 1e-12);
            }
        }
    }
}

TEST(Breakdown, CountsEveryCallOfTheProgram) {
    const test::BuiltStep step = test::build_step(test::small_job(kRecomputed), find_cluster("dgx-h100"));
    const Timeline t = test::simulate_step(step);
    const RankGraph& graph = step.graphs[0];
    std::int64_t calls = 0;
    double bytes = 0;
    test::for_each_op(graph, [&](const Instance&, const Op& op) {
        if (op.kind == OpKind::collective) {
            ++calls;
            bytes += static_cast<double>(std::get<CollectiveWork>(graph.works[op.work]).bytes);
        } else if (op.kind == OpKind::p2p) {
            for (const TransferPart& part : std::get<TransferWork>(graph.works[op.work]).parts) {
                ++calls;
                bytes += static_cast<double>(part.bytes);
            }
        }
    });
    const StepBreakdown b = break_down(t.ranks[0], step.annotated[step.placement.ranks[0].costs], t.end);
    std::int64_t counted = 0;
    double summed = 0;
    for (const CommunicationSum& sum : b.communication) {
        counted += sum.count;
        summed += sum.bytes;
        EXPECT_LE(sum.exposed, sum.time);
    }
    EXPECT_EQ(counted, calls);
    EXPECT_DOUBLE_EQ(summed, bytes);
}

TEST(CriticalRank, IsTheFirstOfTheBusiest) {
    Timeline t;
    t.summaries.resize(4);
    t.summaries[0].compute_busy = 5;
    t.summaries[1].compute_busy = 9;
    t.summaries[2].compute_busy = 9;
    t.summaries[3].compute_busy = 7;
    EXPECT_EQ(critical_rank(t), 1U);
}

} // namespace
} // namespace echosim
