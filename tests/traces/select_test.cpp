// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusal.h"
#include "tests/traces/sample_trace.h"
#include "traces/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// small_trace: class 0 stands for ranks 0-3 (streams compute, tp, send), class 1 for ranks 4-7 (compute,
// receive).
TEST(SelectRanks, TakesARankOutOfItsClass) {
    const Trace trace = select_ranks(test::small_trace(), {2});
    check_trace(trace, "selected");
    ASSERT_EQ(trace.classes.size(), 1U);
    EXPECT_EQ(trace.text(trace.classes[0].name), "rank 2");
    EXPECT_EQ(trace.classes[0].stage, 0);
    EXPECT_THAT(trace.classes[0].ranks, ElementsAre(RankRange{2, 1, 1}));
    EXPECT_EQ(trace.streams.size(), 3U);
    EXPECT_EQ(trace.event_count(), 3U);
    EXPECT_TRUE(trace.flows.empty()); // both end in class 1
    EXPECT_EQ(trace.counters.size(), 1U);
    // The all-reduce starts when the gemm of the same rank ends.
    EXPECT_THAT(trace.streams[1].events.binding_pred, ElementsAre(event_ref(0, 0)));
    // Rank 0 sends to rank 4: rank 2 to rank 6.
    const CommOp& send = trace.comm_ops.at(trace.streams[2].events.ext[0]);
    EXPECT_EQ(send.peer, 6);
    EXPECT_EQ(trace.text(send.group), "pp");
}

TEST(SelectRanks, JoinsRanksOfTheSamePlace) {
    const Trace trace = select_ranks(test::small_trace(), {6, 1, 2});
    check_trace(trace, "selected");
    ASSERT_EQ(trace.classes.size(), 3U);
    EXPECT_EQ(trace.classes[1].ranks.front().first, 1U);
    // Streams: rank 6: 0-1, rank 1: 2-4, rank 2: 5-7. Only rank 2 is the third of its class, as rank 6 is.
    EXPECT_THAT(trace.flows, ElementsAre(Flow{event_ref(7, 0), event_ref(1, 0), FlowKind::p2p},
                                         Flow{event_ref(6, 0), event_ref(1, 0), FlowKind::collective}));
    EXPECT_THAT(trace.streams[1].events.binding_pred, ElementsAre(event_ref(7, 0)));
}

TEST(SelectRanks, RowsThatNothingUsesGo) {
    const Trace trace = select_ranks(test::small_trace(), {4});
    // gemm with its label, and the receive; names: class, streams, events, module, group.
    EXPECT_EQ(trace.labels.size(), 1U);
    EXPECT_EQ(trace.comm_ops.size(), 1U);
    EXPECT_TRUE(trace.counters.empty());
    for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
        EXPECT_NE(trace.strings[NameId{i}], "all_reduce");
    }
    EXPECT_THAT(trace.streams[0].events.binding_pred, ElementsAre(event_ref(1, 0)));
    EXPECT_THAT(trace.streams[1].events.binding_pred, ElementsAre(kNoEvent)); // the send is not there
}

TEST(SelectRanks, KeepsARecordedRankWhole) {
    const Trace before = test::recorded_trace();
    const Trace after = select_ranks(before, {3, 3});
    check_trace(after, "selected");
    EXPECT_EQ(after.event_count(), before.event_count());
    EXPECT_EQ(after.flows, before.flows);
    EXPECT_EQ(after.meta, before.meta);
    EXPECT_EQ(after.t0_ns, before.t0_ns);
    EXPECT_EQ(after.communicators.size(), 1U);
    EXPECT_EQ(after.text(after.communicators[0].description), "TENSOR_MODEL_PARALLEL_GROUP");
    for (std::size_t i = 0; i < before.streams.size(); ++i) {
        const EventColumns& events = after.streams[i].events;
        EXPECT_EQ(events.start_ns, before.streams[i].events.start_ns);
        EXPECT_EQ(after.streams[i].number, before.streams[i].number);
        for (std::size_t j = 0; j < events.size(); ++j) {
            EXPECT_EQ(after.text(NameId{events.args[j]}),
                      before.text(NameId{before.streams[i].events.args[j]}));
        }
    }
}

// Of merged ranks each comes out as it went in, up to the numbers of rows.
TEST(SelectRanks, TakesMergedRanksApart) {
    Trace other = test::recorded_trace();
    other.classes[0].ranks = {{5, 1, 1}};
    const Trace both = merge({test::recorded_trace(), other});
    const Trace again = select_ranks(both, {5});
    const Trace alone = select_ranks(other, {5});
    EXPECT_TRUE(again == alone);
    EXPECT_EQ(select_ranks(both, {3, 5}).event_count(), both.event_count());
}

TEST(SelectRanks, LeavesClassesWithoutRanksOut) {
    TraceBuilder builder;
    const auto none = builder.add_class("process 12", -1, {});
    const auto rank = builder.add_class("rank 1", -1, {1});
    builder.add_event(builder.add_stream(none, StreamKind::host, "a"), {});
    builder.add_event(builder.add_stream(rank, StreamKind::host, "b"), {});
    const Trace trace = builder.finish();
    const Trace selected = select_ranks(trace, {1});
    EXPECT_EQ(selected.classes.size(), 1U);
    EXPECT_EQ(selected.event_count(), 1U);
    EXPECT_TRUE(select_ranks(trace, {}).classes.empty());
}

// A communicator of ranks 0 and 4 is rank 0's, not rank 2's.
TEST(SelectRanks, DoesNotGiveARankTheGroupOfAnother) {
    TraceBuilder builder;
    const auto stream = builder.add_stream(builder.add_class("c", -1, {0, 2}), StreamKind::dp_comm, "dp");
    CommOp op;
    op.communicator = builder.add_communicator({builder.name("0"), kNoName, {{0, 2, 4}}});
    op.peer = 17; // of no class
    builder.add_event(stream, {.kind = EventKind::comm, .ext = builder.add_comm_op(op)});
    const Trace trace = builder.finish();
    EXPECT_EQ(select_ranks(trace, {0}).comm_ops[0].communicator, 0U);
    EXPECT_EQ(select_ranks(trace, {0}).comm_ops[0].peer, 17);
    EXPECT_EQ(select_ranks(trace, {2}).comm_ops[0].communicator, kNoRow);
    EXPECT_EQ(select_ranks(trace, {2}).comm_ops[0].peer, -1);
    const Trace both = select_ranks(trace, {2, 0});
    EXPECT_EQ(both.comm_ops[both.streams[1].events.ext[0]].communicator, 0U);
}

TEST(SelectRanks, NamesARankThatIsNotThere) {
    EXPECT_THAT(refusal([] {
                    select_ranks(test::small_trace(), {0, 8});
                }),
                testing::AllOf(HasSubstr("no rank 8"), HasSubstr("it has 0, 4")));
    EXPECT_THAT(refusal([] { select_ranks(Trace{}, {-1}); }), HasSubstr("says of no event which rank"));
}

TEST(SelectRanks, KeepsAnyTraceConsistent) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        const Trace trace = test::random_trace(seed);
        std::vector<int> ranks;
        for (const TraceClass& row : trace.classes) {
            for (const int rank : expand_ranks(row.ranks)) {
                ranks.push_back(rank);
            }
        }
        const Trace all = select_ranks(trace, ranks);
        check_trace(all, "selected");
        EXPECT_GE(all.event_count(), trace.event_count());
    }
}

} // namespace
} // namespace echosim
