// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "tests/graph/recorded_trace.h"

#include <gtest/gtest.h>

// Launches take 5 us and their ops start 2 us after them on an idle stream, in all of these recordings.
namespace echosim {
namespace {

using test::HandTrace;
using test::Replayed;

HandTrace one_rank() {
    HandTrace trace;
    trace.rank(0);
    return trace;
}

TEST(GraphFromTrace, HostBoundOpsStartWhereTheHostLaunchesThem) {
    HandTrace trace = one_rank();
    trace.launch({10'000, 5'000}, 7, "first", {17'000, 3'000});
    trace.api("cudaEventQuery", {30'000, 1'000}); // polling is work of the CPU
    trace.launch({40'000, 5'000}, 7, "second", {47'000, 6'000});
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("first"), 17'000);
    EXPECT_EQ(replayed.start("second"), 47'000);
    EXPECT_EQ(replayed.end, 53'000);
    replayed.scale("first", 0.5);
    replayed.scale("second", 0.5);
    EXPECT_EQ(replayed.start("second"), 47'000); // the host is as late as before
    EXPECT_EQ(replayed.end, 50'000);
}

// dominant runs 17..117 us; next, launched long before, follows after a gap of 1 us.
HandTrace busy_stream() {
    HandTrace trace = one_rank();
    trace.launch({10'000, 5'000}, 7, "dominant", {17'000, 100'000});
    trace.launch({20'000, 5'000}, 7, "next", {118'000, 10'000});
    return trace;
}

TEST(GraphFromTrace, ABusyStreamFollowsTheDurationsOfItsOps) {
    Replayed replayed(busy_stream().finish());
    EXPECT_EQ(replayed.start("next"), 118'000);
    replayed.scale("dominant", 0.5); // 17 + 50 + 1
    EXPECT_EQ(replayed.start("next"), 68'000);
    EXPECT_EQ(replayed.end, 78'000);
}

TEST(GraphFromTrace, AStreamSynchronisationHoldsTheHost) {
    HandTrace trace = busy_stream();
    trace.sync({.kind = SyncKind::stream_synchronize, .stream = 7}, {30'000, 100'000}); // 2 us after next
    trace.launch({140'000, 5'000}, 7, "after", {147'000, 1'000});
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("after"), 147'000);
    replayed.scale("dominant", 0.5); // all of it 50 us earlier
    EXPECT_EQ(replayed.start("after"), 97'000);
}

TEST(GraphFromTrace, ASynchronisationOfAnUnknownStreamWaitsForTheThreadsLastLaunch) {
    HandTrace trace = busy_stream();
    trace.sync({.kind = SyncKind::stream_synchronize}, {30'000, 100'000});
    trace.launch({140'000, 5'000}, 7, "after", {147'000, 1'000});
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 synchronisation does not say for which stream"));
    replayed.scale("dominant", 0.5);
    EXPECT_EQ(replayed.start("after"), 97'000);
}

TEST(GraphFromTrace, ADeviceSynchronisationWaitsForAllStreams) {
    HandTrace trace = busy_stream();                                       // stream 7 until 128
    trace.launch({30'000, 5'000}, 9, "other", {37'000, 110'000});          // until 147
    trace.sync({.kind = SyncKind::device_synchronize}, {40'000, 108'000}); // until 148
    trace.launch({150'000, 5'000}, 7, "after", {157'000, 1'000});
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("after"), 157'000);
    replayed.scale("other", 0.1); // ends at 48: stream 7 is what the host waits for, until 128, 19 us less
    EXPECT_EQ(replayed.start("after"), 138'000);
}

TEST(GraphFromTrace, ACopyToTheHostHoldsIt) {
    HandTrace trace = busy_stream(); // until 128
    const std::uint32_t correlation = trace.next_correlation();
    trace.api("cudaMemcpyAsync", {30'000, 103'000}, correlation); // until 133
    trace.op(7, "copy", {129'000, 2'000}, correlation, EventKind::memcpy);
    trace.launch({150'000, 5'000}, 7, "after", {157'000, 1'000});
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("after"), 157'000);
    replayed.scale("dominant", 0.5);
    EXPECT_EQ(replayed.start("after"), 107'000);
}

TEST(GraphFromTrace, FreeingMemoryWaitsForTheDevice) {
    HandTrace trace = busy_stream();          // until 128
    trace.api("cudaFree", {30'000, 110'000}); // 12 us more
    trace.launch({150'000, 5'000}, 7, "after", {157'000, 1'000});
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("after"), 157'000);
    EXPECT_TRUE(replayed.has_note("1 other call returned when the device became idle"));
    replayed.scale("dominant", 0.5);
    EXPECT_EQ(replayed.start("after"), 107'000);
}

TEST(GraphFromTrace, ALaunchThatMetAFullQueueWaitsForAnOp) {
    // 300 ops of 1 us wait behind "dominant" (17..1017); the last launch, 400..1117, returned with op 99
    HandTrace trace = one_rank();
    trace.launch({10'000, 5'000}, 7, "dominant", {17'000, 1'000'000});
    for (int i = 0; i < 300; ++i)
        trace.launch({20'000 + i * 1'000, 1'000}, 7, "op " + std::to_string(i),
                     {1'017'000 + i * 1'000, 1'000});
    trace.launch({400'000, 717'000}, 7, "late", {1'317'000, 1'000});
    trace.launch({1'400'000, 5'000}, 7, "after", {1'407'000, 1'000});
    Replayed replayed(trace.finish());
    EXPECT_TRUE(replayed.has_note("1 launch waited for room in the launch queue"));
    EXPECT_NEAR(static_cast<double>(replayed.start("after")), 1'407'000, 10);
    replayed.scale("dominant", 0.6); // the queue moves 400 us earlier, and the host with it
    EXPECT_NEAR(static_cast<double>(replayed.start("after")), 1'007'000, 10);
}

TEST(GraphFromTrace, ThreadsThatTakeTurnsShareAClock) {
    // thread 2 works while thread 1 is silent, 9 calls in one burst, and waits for the device in the middle
    HandTrace trace = one_rank();
    for (int i = 0; i < 10; ++i)
        trace.launch({10'000 + i * 10'000, 5'000}, 7, "forward " + std::to_string(i),
                     {17'000 + i * 10'000, 3'000});
    trace.launch({110'000, 5'000}, 7, "dominant", {117'000, 100'000}, EventKind::kernel, 2); // until 217
    trace.sync({.kind = SyncKind::stream_synchronize, .stream = 7}, {120'000, 98'000}, 2);   // until 218
    for (int i = 0; i < 8; ++i)
        trace.launch({220'000 + i * 10'000, 5'000}, 7, "backward " + std::to_string(i),
                     {227'000 + i * 10'000, 3'000}, EventKind::kernel, 2);
    trace.launch({310'000, 5'000}, 7, "optimizer", {317'000, 3'000});
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("optimizer"), 317'000);
    EXPECT_TRUE(replayed.has_note("1 thread takes turns"));
    replayed.scale("dominant", 0.5);
    EXPECT_EQ(replayed.start("optimizer"), 267'000);
}

TEST(GraphFromTrace, ThreadsSideBySideDoNotHoldEachOther) {
    // thread 1 waits for stream 7 from 20 to 218; meanwhile thread 2 launches every 20 us
    HandTrace trace = one_rank();
    trace.launch({10'000, 5'000}, 7, "dominant", {17'000, 200'000});
    trace.sync({.kind = SyncKind::stream_synchronize, .stream = 7}, {20'000, 198'000});
    for (int i = 0; i < 3; ++i)
        trace.launch({30'000 + i * 20'000, 5'000}, 9, "load " + std::to_string(i),
                     {37'000 + i * 20'000, 3'000}, EventKind::kernel, 2);
    for (int i = 0; i < 4; ++i)
        trace.launch({220'000 + i * 10'000, 5'000}, 7, "step " + std::to_string(i),
                     {227'000 + i * 10'000, 3'000});
    Replayed replayed(trace.finish());
    EXPECT_EQ(replayed.start("load 2"), 77'000);
    EXPECT_EQ(replayed.start("step 0"), 227'000);
    EXPECT_TRUE(replayed.has_note("1 thread runs side by side"));
    replayed.scale("dominant", 2); // thread 1 comes 200 us later, thread 2 does not
    EXPECT_EQ(replayed.start("load 2"), 77'000);
    EXPECT_EQ(replayed.start("step 0"), 427'000);
}

TEST(GraphFromTrace, RefusesWhatCannotBeReplayed) {
    HandTrace no_device = one_rank();
    no_device.api("cudaMalloc", {10'000, 5'000});
    EXPECT_THROW(graph_from_trace(no_device.finish()), InputError);
    HandTrace no_times = busy_stream();
    no_times.builder().set_timed(false);
    EXPECT_THROW(graph_from_trace(no_times.finish()), InputError);
}

} // namespace
} // namespace echosim
