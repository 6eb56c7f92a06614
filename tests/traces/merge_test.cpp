// SPDX-License-Identifier: Apache-2.0
#include "traces/merge.h"

#include "tests/support/refusal.h"
#include "tests/traces/sample_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace echosim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A rank with one kernel at 100 ns, launched by a call at 50 ns; collective number 4 of communicator "0"
// (ranks 0-1), and one of its own.
Trace rank_trace(int rank, TimeNs t0) {
    TraceBuilder builder;
    builder.set_t0(t0);
    builder.set_meta(R"({"gpu":"H100","distributedInfo":{"rank":)" + std::to_string(rank) + "}}");
    const auto row = builder.add_class("rank " + std::to_string(rank), -1, {rank});
    const auto host = builder.add_stream(row, StreamKind::host, "thread 1");
    const auto stream = builder.add_stream(row, StreamKind::compute, "stream 7");
    builder.set_origin(stream, rank, 7);
    CommOp op;
    op.group = builder.name("dp");
    op.sequence = 4;
    const auto own =
        builder.add_communicator({builder.name("own " + std::to_string(rank)), kNoName, {{5, 1, 1}}});
    op.communicator = builder.add_communicator({builder.name("0"), kNoName, {{0, 2, 1}}});
    const auto shared_op = builder.add_comm_op(op);
    op.communicator = own;
    const auto own_op = builder.add_comm_op(op);
    Event call{
        .start = 50, .duration = 5, .name = builder.name("call"), .kind = EventKind::api, .correlation = 9};
    call.ext = builder.add_sync({SyncKind::event_record, rank, 3, 0});
    const auto launch = builder.add_event(host, call);
    Event work{.start = 100, .duration = 10, .name = builder.name("ncclKernel"), .kind = EventKind::comm};
    work.label =
        builder.add_label({.iteration = rank, .module = builder.name("mlp " + std::to_string(rank))});
    work.ext = shared_op;
    work.binding_pred = launch;
    work.correlation = 9;
    work.args = builder.name(R"({"rank":)" + std::to_string(rank) + "}");
    builder.add_flow(launch, builder.add_event(stream, work), FlowKind::launch);
    work.start = 200;
    work.ext = own_op;
    builder.add_event(stream, work);
    builder.add_event(stream,
                      {.start = 300, .kind = EventKind::other, .ext = builder.name("overhead").value});
    const auto counter = builder.add_counter(row, "memory", "bytes");
    builder.add_sample(counter, 7, rank);
    return builder.finish();
}

// t0 of 5000 and 4000: the times of the first move by 1000.
TEST(Merge, MovesTimesToTheEarliestClock) {
    const Trace merged = merge({rank_trace(0, 5000), rank_trace(1, 4000)});
    check_trace(merged, "merged");
    EXPECT_EQ(merged.t0_ns, 4000);
    EXPECT_THAT(merged.streams[1].events.start_ns, ElementsAre(1100, 1200, 1300));
    EXPECT_THAT(merged.streams[3].events.start_ns, ElementsAre(100, 200, 300));
    EXPECT_THAT(merged.counters[0].time_ns, ElementsAre(1007));
    EXPECT_THAT(merged.counters[1].time_ns, ElementsAre(7));
    // A trace without a wall clock stays where it is.
    EXPECT_THAT(merge({rank_trace(0, 5000), rank_trace(1, 0)}).streams[1].events.start_ns,
                ElementsAre(100, 200, 300));
}

TEST(Merge, RenumbersEverything) {
    const Trace merged = merge({rank_trace(0, 0), rank_trace(1, 0)});
    check_trace(merged, "merged");
    ASSERT_EQ(merged.classes.size(), 2U);
    EXPECT_EQ(merged.text(merged.classes[1].name), "rank 1");
    const TraceStream& stream = merged.streams[3];
    EXPECT_EQ(stream.rank_class, 1U);
    EXPECT_EQ(stream.id, 1U);
    EXPECT_EQ(stream.device, 1);
    EXPECT_EQ(stream.number, 7);
    const Event work = stream.events.row(0);
    EXPECT_EQ(merged.text(work.name), "ncclKernel");
    EXPECT_EQ(merged.text(work.args), R"({"rank":1})");
    EXPECT_EQ(merged.labels[work.label].iteration, 1);
    EXPECT_EQ(merged.text(merged.labels[work.label].module), "mlp 1");
    EXPECT_EQ(merged.text(merged.comm_ops[work.ext].group), "dp");
    EXPECT_EQ(work.binding_pred, event_ref(2, 0));
    EXPECT_EQ(work.correlation, 9U);
    EXPECT_EQ(merged.syncs[merged.streams[2].events.ext[0]].stream, 1);
    EXPECT_EQ(merged.text(NameId{stream.events.ext[2]}), "overhead");
    EXPECT_EQ(merged.flows[1], (Flow{event_ref(2, 0), event_ref(3, 0), FlowKind::launch}));
    EXPECT_EQ(merged.counters[1].rank_class, 1U);
    EXPECT_EQ(merged.text(merged.counters[1].unit), "bytes");
}

// "own 0", "0", "own 1": the communicator "0" of ranks 0-1 is there once.
TEST(Merge, EqualCommunicatorsAreOne) {
    const Trace merged = merge({rank_trace(0, 0), rank_trace(1, 0)});
    ASSERT_EQ(merged.communicators.size(), 3U);
    const auto communicator = [&](std::uint32_t stream, std::uint32_t event) {
        return merged.comm_ops[merged.streams[stream].events.ext[event]].communicator;
    };
    EXPECT_EQ(communicator(1, 0), communicator(3, 0));
    EXPECT_NE(communicator(1, 1), communicator(3, 1));
}

TEST(Merge, MetaKeepsWhatIsEqualAndListsTheRest) {
    EXPECT_EQ(merge({rank_trace(0, 0), rank_trace(1, 0)}).meta,
              R"({"gpu":"H100","merged":[{"distributedInfo":{"rank":0}},{"distributedInfo":{"rank":1}}]})");
    Trace other;
    other.meta = "no object";
    EXPECT_EQ(merge({other, rank_trace(1, 0)}).meta,
              R"({"merged":[{"meta":"no object"},{"gpu":"H100","distributedInfo":{"rank":1}}]})");
}

TEST(Merge, OneOrNoTraceStaysAsItIs) {
    EXPECT_TRUE(merge({}) == Trace{});
    for (unsigned seed = 0; seed < 5; ++seed) {
        const Trace trace = test::random_trace(seed);
        EXPECT_TRUE(merge({trace}) == trace) << seed;
    }
    EXPECT_TRUE(merge({test::recorded_trace()}) == test::recorded_trace());
}

TEST(Merge, ColumnsAreNotCopied) {
    std::vector<Trace> traces{rank_trace(0, 5000), rank_trace(1, 4000)};
    const TimeNs* starts = traces[1].streams[1].events.start_ns.data();
    const std::uint32_t* names = traces[0].streams[1].events.name.data();
    const Trace merged = merge(std::move(traces));
    EXPECT_EQ(merged.streams[3].events.start_ns.data(), starts);
    EXPECT_EQ(merged.streams[1].events.name.data(), names);
}

TEST(Merge, GraphsStayGraphsAndImpossibleClocksAreRefused) {
    Trace graph;
    graph.timed = false;
    EXPECT_FALSE(merge({graph, graph}).timed);
    const auto far = [](TimeNs t0) { return rank_trace(0, t0); };
    EXPECT_THAT(refusal([&] {
                    merge({far(std::numeric_limits<TimeNs>::max()), far(-5)});
                }),
                HasSubstr("one job"));
    EXPECT_THAT(refusal([&] {
                    merge({far(std::numeric_limits<TimeNs>::max()), far(1)});
                }),
                HasSubstr("one job"));
}

} // namespace
} // namespace echosim
