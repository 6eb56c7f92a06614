// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/recorded_trace.h"

#include <gtest/gtest.h>

// Dependencies between streams and ranks. Launches take 5 us and their ops start 2 us after them on an idle
// stream.
namespace echosim {
namespace {

using test::HandTrace;
using test::Replayed;

HandTrace one_rank() {
    HandTrace trace;
    trace.rank(0);
    return trace;
}

// Two ops that settle the launch latency: without them the median would be that of ops that waited.
void settle_latency(HandTrace& trace) {
    trace.launch({1'000, 5'000}, 11, "a", {8'000, 1'000});
    trace.launch({11'000, 5'000}, 11, "b", {18'000, 1'000});
    trace.launch({21'000, 5'000}, 11, "c", {28'000, 1'000});
}

TEST(GraphFromTraceEdges, ARecordedEventJoinsTwoStreams) {
    HandTrace trace = one_rank();
    settle_latency(trace);
    trace.launch({30'000, 5'000}, 7, "producer", {37'000, 100'000}); // until 137
    const std::uint32_t record =
        trace.sync({.kind = SyncKind::event_record, .stream = 7, .event = 5}, {36'000, 500});
    trace.launch({40'000, 5'000}, 7, "later", {138'000, 60'000}); // behind the record
    trace.sync({.kind = SyncKind::stream_wait_event, .stream = 9, .event = 5, .recorded_by = record},
               {46'000, 500});
    trace.launch({50'000, 5'000}, 9, "consumer", {140'000, 10'000}); // 3 us after the producer
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 dependency between streams by a recorded event"));
    EXPECT_EQ(replayed.start("consumer"), 140'000);
    replayed.scale("producer", 0.5); // ends at 87
    EXPECT_EQ(replayed.start("consumer"), 90'000);
    replayed.scale("later", 10); // the event was recorded before it
    EXPECT_EQ(replayed.start("consumer"), 90'000);
}

TEST(GraphFromTraceEdges, AnEventThatIsRecordedAgainMeansTheLastRecordBeforeTheWait) {
    HandTrace trace = one_rank();
    settle_latency(trace);
    trace.launch({30'000, 5'000}, 7, "first", {37'000, 50'000}); // until 87
    trace.sync({.kind = SyncKind::event_record, .stream = 7, .event = 5}, {36'000, 500});
    trace.launch({40'000, 5'000}, 7, "second", {88'000, 50'000}); // until 138
    trace.sync({.kind = SyncKind::event_record, .stream = 7, .event = 5}, {46'000, 500});
    trace.sync({.kind = SyncKind::stream_wait_event, .stream = 9, .event = 5}, {47'000, 500});
    trace.launch({50'000, 5'000}, 9, "consumer", {139'000, 10'000});
    trace.launch({60'000, 5'000}, 7, "third", {139'000, 1'000});
    trace.sync({.kind = SyncKind::event_record, .stream = 7, .event = 5}, {66'000, 500});
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("consumer"), 139'000);
    replayed.scale("second", 0.5);
    EXPECT_EQ(replayed.start("consumer"), 114'000);
}

// A simulated timeline has no calls, but names what an op waited for.
TEST(GraphFromTraceEdges, ANamedPredecessorIsADependency) {
    HandTrace trace = one_rank();
    const std::uint64_t backward = trace.op(7, "backward", {0, 100'000});
    trace.op(9, "first bucket", {20'000, 10'000});
    const std::uint64_t bucket = trace.op(9, "last bucket", {100'000, 10'000});
    trace.builder().set_binding_pred(bucket, backward);
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("last bucket"), 100'000);
    replayed.scale("backward", 2); // ends at 200
    EXPECT_EQ(replayed.start("last bucket"), 200'000);
    EXPECT_EQ(replayed.start("first bucket"), 20'000);
}

TEST(GraphFromTraceEdges, ADependencyThatTheTimesContradictIsNotUsed) {
    HandTrace trace = one_rank();
    settle_latency(trace);
    trace.launch({30'000, 5'000}, 7, "producer", {37'000, 100'000});
    trace.sync({.kind = SyncKind::event_record, .stream = 7, .event = 5}, {36'000, 500});
    trace.sync({.kind = SyncKind::stream_wait_event, .stream = 9, .event = 5}, {46'000, 500});
    trace.launch({50'000, 5'000}, 9, "early", {57'000, 10'000}); // 80 us before the producer ends
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 recorded dependency is contradicted"));
    EXPECT_EQ(replayed.start("early"), 57'000);
}

TEST(GraphFromTraceEdges, AWaitForAnUnknownEventMeansTheStreamThatEndedLastBeforeTheOp) {
    HandTrace trace = one_rank();
    settle_latency(trace);
    trace.launch({30'000, 5'000}, 7, "producer", {37'000, 100'000}); // until 137
    trace.launch({40'000, 5'000}, 8, "still at work", {47'000, 400'000});
    trace.sync({.kind = SyncKind::stream_wait_event}, {46'000, 500});
    trace.launch({50'000, 5'000}, 9, "consumer", {138'000, 10'000});
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 dependency between streams inferred of a wait"));
    EXPECT_EQ(replayed.start("consumer"), 138'000);
    replayed.scale("producer", 0.5);
    EXPECT_EQ(replayed.start("consumer"), 88'000);
}

TEST(GraphFromTraceEdges, AnOpThatStartsLateRightAfterAnotherWaitedForIt) {
    HandTrace trace = one_rank();
    settle_latency(trace);
    trace.launch({30'000, 5'000}, 7, "producer", {37'000, 100'000});
    trace.launch({50'000, 5'000}, 9, "consumer", {138'000, 10'000}); // no wait in the file
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 dependency inferred: an op started late"));
    replayed.scale("producer", 0.5);
    EXPECT_EQ(replayed.start("consumer"), 88'000);
}

TEST(GraphFromTraceEdges, WhatNothingExplainsIsSaid) {
    HandTrace trace = one_rank();
    settle_latency(trace);
    trace.launch({30'000, 5'000}, 7, "first", {37'000, 3'000});
    trace.launch({50'000, 5'000}, 7, "late", {157'000, 10'000}); // 100 us after its launch
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 op started later than everything known allows, by 100.0 us"));
    EXPECT_EQ(replayed.start("late"), 57'000);
}

TEST(GraphFromTraceEdges, WorkOfBeforeTheRecordingOccupiesItsStream) {
    HandTrace trace = one_rank();
    settle_latency(trace);
    trace.launch({30'000, 5'000}, 7, "first", {937'000, 3'000}); // 900 us after its launch, nothing else runs
    trace.launch({40'000, 5'000}, 7, "second", {941'000, 3'000});
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 stream was busy with work of before the recording"));
    EXPECT_EQ(replayed.start("first"), 937'000);
    EXPECT_EQ(replayed.start("second"), 941'000);
}

TEST(GraphFromTraceStreams, OpsWithoutCallsKeepTheTimeBetweenThem) {
    HandTrace trace = one_rank();
    trace.op(7, "one", {10'000, 100'000});
    trace.op(7, "two", {150'000, 10'000}); // 40 us later
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("2 device ops have no call in the file"));
    EXPECT_EQ(replayed.start("one"), 10'000);
    EXPECT_EQ(replayed.start("two"), 150'000);
    replayed.scale("one", 0.5);
    EXPECT_EQ(replayed.start("two"), 100'000);
}

TEST(GraphFromTraceStreams, TheTimeBetweenOpsWithoutCallsMayBeLong) {
    HandTrace trace = one_rank();
    trace.op(7, "one", {10'000, 100'000});
    trace.op(7, "two", {5'000'110'000, 10'000}); // 5 s later
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("two"), 5'000'110'000);
    replayed.scale("one", 0.5);
    EXPECT_EQ(replayed.start("two"), 5'000'060'000);
}

TEST(GraphFromTraceStreams, AGraphIsOneLaunchOfManyOps) {
    HandTrace trace = one_rank();
    settle_latency(trace);
    const std::uint32_t correlation = trace.next_correlation();
    trace.api("cudaGraphLaunch", {30'000, 10'000}, correlation); // until 40
    trace.op(7, "n1", {42'000, 50'000}, correlation);            // until 92
    trace.op(7, "n2", {93'000, 50'000}, correlation);            // until 143
    trace.op(9, "n3", {93'000, 20'000}, correlation);            // beside n2, after n1
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("n2"), 93'000);
    EXPECT_EQ(replayed.start("n3"), 93'000);
    replayed.scale("n1", 0.5); // until 67
    EXPECT_EQ(replayed.start("n2"), 68'000);
    EXPECT_EQ(replayed.start("n3"), 68'000);
}

TEST(GraphFromTraceStreams, OpsThatOverlapOnAStreamOverlapAgain) {
    HandTrace trace = one_rank();
    settle_latency(trace);
    trace.launch({30'000, 5'000}, 7, "primary", {37'000, 100'000});   // until 137
    trace.launch({40'000, 5'000}, 7, "secondary", {134'000, 10'000}); // 3 us before
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 op overlaps"));
    EXPECT_EQ(replayed.start("secondary"), 134'000);
    replayed.scale("primary", 0.5);
    EXPECT_EQ(replayed.start("secondary"), 84'000);
}

TEST(GraphFromTraceStreams, ManyStreamsAndManyOps) {
    // 40 streams, 40,000 ops (more than a block holds): 10 us apart, each 1 us
    HandTrace trace = one_rank();
    for (int i = 0; i < 40'000; ++i)
        trace.launch({10'000 + i * 10'000, 5'000}, i % 40,
                     "op " + std::to_string(i % 1'000 + i / 20'000 * 1'000), {17'000 + i * 10'000, 1'000});
    Replayed replayed(trace.finish());
    replayed.run();
    EXPECT_EQ(replayed.end, 17'000 + 39'999 * TimeNs{10'000} + 1'000);
    EXPECT_EQ(replayed.step.graphs[0]->streams.size(), 40U);
    EXPECT_GT(replayed.step.graphs[0]->blocks.size(), 1U);
}

// Rank 0 comes to the collective at 17, rank 1 at 117: it takes 20 us alone.
Trace two_ranks() {
    HandTrace trace;
    trace.rank(0);
    trace.launch({10'000, 5'000}, 7, "reduce 0", {17'000, 120'000}, EventKind::comm);
    const std::uint64_t first = event_ref(1, 0);
    trace.launch({20'000, 5'000}, 7, "after 0", {138'000, 1'000});
    trace.rank(1);
    trace.launch({10'000, 5'000}, 7, "dominant", {17'000, 99'000});
    const std::uint64_t last =
        trace.launch({20'000, 5'000}, 7, "reduce 1", {117'000, 20'000}, EventKind::comm);
    trace.launch({30'000, 5'000}, 7, "after 1", {138'000, 1'000});
    trace.flow(first, last);
    return trace.finish();
}

TEST(GraphFromTraceRanks, MatchedCollectivesStartWithTheLastAndTakeItsTime) {
    Replayed replayed(two_ranks());
    EXPECT_TRUE(replayed.has_note("1 collective is matched across ranks"));
    auto ops = replayed.run();
    EXPECT_EQ(ops.at("reduce 0").start, 17'000);
    EXPECT_EQ(ops.at("reduce 0").duration, 120'000);
    EXPECT_EQ(ops.at("reduce 1").duration, 20'000);
    EXPECT_EQ(ops.at("after 0").start, 138'000);
    replayed.scale("dominant", 0.0); // rank 1 is there at 27, as soon as it is launched: 27 + 20 + 1
    ops = replayed.run();
    EXPECT_EQ(ops.at("reduce 0").duration, 30'000);
    EXPECT_EQ(ops.at("after 0").start, 48'000);
    EXPECT_EQ(ops.at("after 1").start, 48'000);
}

TEST(GraphFromTraceRanks, HalfACollectiveIsHalfForAllMembers) {
    Replayed replayed(two_ranks());
    replayed.scale("reduce 0", 0.5);
    replayed.scale("reduce 1", 0.5);
    const auto ops = replayed.run();
    EXPECT_EQ(ops.at("after 0").start, 128'000); // 117 + 10 + 1
    EXPECT_EQ(ops.at("after 1").start, 128'000);
    EXPECT_EQ(replayed.end, 129'000);
}

TEST(GraphFromTraceRanks, WithoutPeersTheRecordedDurationStands) {
    HandTrace trace = one_rank();
    trace.launch({10'000, 5'000}, 7, "reduce", {17'000, 120'000}, EventKind::comm);
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 communication kernel has no peers in the recording"));
    EXPECT_EQ(replayed.run().at("reduce").duration, 120'000);
}

} // namespace
} // namespace echosim
