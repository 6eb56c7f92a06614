// SPDX-License-Identifier: Apache-2.0
#include "validation/replay.h"

#include "simulator/core/error.h"
#include "tests/graph/recorded_trace.h"
#include "traces/import.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using test::HandTrace;

// Rank 0: 10 .. 60 us; a collective from 22 to 52, of which 10 beside a kernel (17..32).
HandTrace rank_with_communication() {
    HandTrace trace;
    trace.rank(0);
    trace.launch({10'000, 5'000}, 7, "kernel", {17'000, 15'000});
    trace.launch({15'000, 5'000}, 9, "reduce", {22'000, 30'000}, EventKind::comm);
    trace.launch({50'000, 1'000}, 7, "last", {53'000, 7'000});
    return trace;
}

TEST(Replay, ComparesTimesOfARank) {
    const ReplayComparison comparison = replay(rank_with_communication().finish());
    ASSERT_EQ(comparison.ranks.size(), 1U);
    const ReplayRow& row = comparison.ranks[0];
    EXPECT_EQ(row.name, "rank 0");
    EXPECT_EQ(row.recorded.span, 50'000);    // 10 .. 60
    EXPECT_EQ(row.recorded.busy, 42'000);    // 17 .. 52, 53 .. 60
    EXPECT_EQ(row.recorded.exposed, 20'000); // 32 .. 52
    EXPECT_EQ(row.recorded.idle, 8'000);
    EXPECT_EQ(row.replayed.span, 50'000);
    EXPECT_EQ(row.replayed.busy, 42'000);
    EXPECT_EQ(row.replayed.exposed, 20'000);
    EXPECT_EQ(row.replayed.idle, 8'000);
    EXPECT_EQ(row.errors.ops, 3U);
    EXPECT_EQ(row.errors.start_worst, 0);
    EXPECT_DOUBLE_EQ(row.span_error_percent(), 0.0);
    EXPECT_EQ(comparison.total.recorded.span, 50'000);
    EXPECT_EQ(comparison.ops.size(), 3U);
    EXPECT_FALSE(comparison.notes.empty()); // the collective has no peers
}

TEST(Replay, TellsByHowMuchItMisses) {
    // nothing says why "late" starts 100 us late: it is replayed 98 us earlier, 2 us after its launch at 25
    HandTrace trace;
    trace.rank(0);
    trace.launch({0, 5'000}, 7, "a", {7'000, 1'000});
    trace.launch({10'000, 5'000}, 7, "b", {17'000, 1'000});
    trace.launch({20'000, 5'000}, 7, "late", {125'000, 75'000}); // until 200, replayed until 102
    const ReplayComparison comparison = replay(trace.finish());
    EXPECT_EQ(comparison.total.recorded.span, 200'000);
    EXPECT_EQ(comparison.total.replayed.span, 102'000);
    EXPECT_DOUBLE_EQ(comparison.total.span_error_percent(), -49.0);
    EXPECT_EQ(comparison.total.errors.start_worst, 98'000);
    EXPECT_EQ(comparison.total.errors.start_median, 0);
    EXPECT_EQ(comparison.total.errors.duration_worst, 0);
}

TEST(Replay, RefusesATraceWithoutDeviceWork) {
    HandTrace trace;
    trace.rank(0);
    trace.api("cudaMalloc", {10'000, 5'000});
    EXPECT_THROW(replay(trace.finish()), InputError);
}

TEST(Replay, CollectivesThatWouldWaitInACircleAreNotMatched) {
    HandTrace trace;
    for (int rank = 0; rank < 2; ++rank) { // the first of rank 0 is said to meet the second of rank 1
        trace.rank(rank);
        trace.launch({10'000, 5'000}, 7, "one", {17'000, 15'000}, EventKind::comm);
        trace.launch({15'000, 5'000}, 7, "two", {33'000, 15'000}, EventKind::comm);
    }
    // streams: 0 and 2 the threads, 1 and 3 those of the device
    trace.flow(event_ref(1, 0), event_ref(3, 1));
    trace.flow(event_ref(1, 1), event_ref(3, 0));
    const ReplayComparison comparison = replay(trace.finish());
    EXPECT_EQ(comparison.total.replayed.span, 38'000); // 10 .. 48
    EXPECT_NE(comparison.notes.at(0).find("in a circle"), std::string::npos);
}

// The 8-rank DLRM step of 2023 (V100, Kineto without synchronisation records).
TEST(Replay, EightRanksOfDlrm) {
    const std::string folder = "../shared/data/inputs/kineto/dlrm_8rank";
    if (!std::filesystem::is_directory(folder))
        GTEST_SKIP() << folder << " is absent";
    const ReplayComparison comparison = replay(import_trace({folder}).trace);
    ASSERT_EQ(comparison.ranks.size(), 8U);
    EXPECT_LT(std::abs(comparison.total.span_error_percent()), 1.0);
    for (const ReplayRow& row : comparison.ranks) {
        EXPECT_LT(std::abs(row.span_error_percent()), 1.0) << row.name;
        EXPECT_LT(row.errors.start_p95, 50'000) << row.name; // of spans of 11 to 20 ms
    }
}

} // namespace
} // namespace echosim
