// SPDX-License-Identifier: Apache-2.0
#include "traces/align.h"

#include "tests/traces/align_job.h"
#include "traces/align/spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace echosim {
namespace {

using testing::HasSubstr;

Alignment aligned(Trace& trace) {
    match_collectives(trace);
    Alignment alignment = measure_alignment(trace);
    if (alignment.trusted && needs_alignment(alignment)) {
        apply_alignment(trace, alignment);
    }
    return alignment;
}

TEST(Spread, MedianDeviationAndPercentile) {
    // median of 1, 2, 3, 4, 100 is 3; deviations 2, 1, 0, 1, 97: median 1; rank 0.95 * 4 = 3.8 -> 97
    const Spread spread = spread_of({100, 1, 3, 2, 4});
    EXPECT_EQ(spread.median, 3);
    EXPECT_EQ(spread.deviation, 1);
    EXPECT_EQ(spread.worst, 97);
    EXPECT_EQ(median_of({1, 2, 4, 9}), 3); // (2 + 4) / 2
    EXPECT_EQ(spread_of({}).median, 0);
}

TEST(Spread, NoiseIsATwoPercentOfLongCollectives) {
    EXPECT_EQ(end_noise(1'000'000), 50'000);   // 2 % of 1 ms is 20 us: at least 50 us
    EXPECT_EQ(end_noise(10'000'000), 200'000); // 2 % of 10 ms
}

TEST(Spread, TimesInWords) {
    EXPECT_EQ(time_text(12), "12 ns");
    EXPECT_EQ(time_text(-3'400), "-3.4 us");
    EXPECT_EQ(time_text(1'500'000), "1.500 ms");
    EXPECT_EQ(time_text(11'560'000'000), "11.560000 s");
}

TEST(Align, InjectedOffsetsAreRecovered) {
    for (const TimeNs offset : {-5'000'000LL, 250'000LL, 1'600'000LL, 11'560'000'000LL}) {
        const Trace truth = record_job({.seed = 3});
        Trace trace = record_job({.offsets = {0, offset, 0, -offset}, .seed = 3});
        const Alignment alignment = aligned(trace);
        ASSERT_TRUE(alignment.trusted) << alignment.reason;
        EXPECT_TRUE(alignment.applied);
        // ends differ by up to 2 us on each of two ranks: the median by less
        EXPECT_NEAR(static_cast<double>(alignment.ranks[1].offset), static_cast<double>(offset), 2'000);
        EXPECT_NEAR(static_cast<double>(alignment.ranks[3].offset), static_cast<double>(-offset), 2'000);
        EXPECT_EQ(alignment.ranks[2].offset, 0) << "the clock of the first rank's node stays as it is";
        EXPECT_LE(alignment.ranks[1].residual, 2'000);
        EXPECT_EQ(alignment.ranks[1].collectives, 40U);
        for (std::size_t s = 0; s < 4; ++s) {
            for (std::size_t i = 0; i < 40; ++i) {
                // up to the place of the earliest event, which does not move
                const TimeNs first =
                    truth.streams[0].events.start_ns[0] - trace.streams[0].events.start_ns[0];
                EXPECT_NEAR(static_cast<double>(trace.streams[s].events.start_ns[i] + first),
                            static_cast<double>(truth.streams[s].events.start_ns[i]), 4'000);
            }
        }
    }
}

TEST(Align, RecordingsThatBeginInTheMiddle) {
    Trace trace = record_job(
        {.ranks = 3, .offsets = {0, -2'000'000'000, 40'000}, .first = {0, 7, 3}, .last = {33, 40, 36}});
    const Alignment alignment = aligned(trace);
    ASSERT_TRUE(alignment.trusted) << alignment.reason;
    EXPECT_NEAR(static_cast<double>(alignment.ranks[1].offset), -2e9, 2'000);
    EXPECT_NEAR(static_cast<double>(alignment.ranks[2].offset), 40'000, 2'000);
}

TEST(Align, RanksOfOneClockStayAsTheyAre) {
    Trace trace = record_job({});
    const Trace before = trace;
    const Alignment alignment = aligned(trace);
    EXPECT_TRUE(alignment.trusted);
    EXPECT_FALSE(alignment.applied);
    EXPECT_EQ(trace.streams, before.streams);
}

TEST(Align, RanksOfANodeGetOneOffset) {
    // 4 ranks on a second node, 3 ms ahead
    Trace trace = record_job({.ranks = 6, .offsets = {0, 0, 3'000'000, 3'000'000, 3'000'000, 3'000'000}});
    const Alignment alignment = aligned(trace);
    ASSERT_TRUE(alignment.trusted) << alignment.reason;
    EXPECT_EQ(alignment.ranks[1].offset, 0);
    EXPECT_NEAR(static_cast<double>(alignment.ranks[2].offset), 3e6, 2'000);
    for (std::size_t rank = 3; rank < 6; ++rank) {
        EXPECT_EQ(alignment.ranks[rank].offset, alignment.ranks[2].offset);
    }
}

TEST(Align, OffsetsAddUpAlongTheTree) {
    // groups {0, 1} and {1, 2} as communicators of two: ranks 0 and 2 share none
    Trace first = record_job({.ranks = 2, .offsets = {0, 1'000'000}, .communicator = true});
    TraceBuilder builder;
    std::vector<std::uint32_t> classes;
    for (int rank = 0; rank < 3; ++rank) {
        classes.push_back(builder.add_class("rank " + std::to_string(rank), -1, {rank}));
    }
    const std::array<TimeNs, 3> offsets{0, 1'000'000, 5'000'000};
    for (int pair = 0; pair < 2; ++pair) {
        const std::uint32_t row = builder.add_communicator(
            {builder.name(std::to_string(pair)), kNoName, compact_ranks({pair, pair + 1})});
        for (int member = pair; member < pair + 2; ++member) {
            const auto place = static_cast<std::size_t>(member);
            const std::uint32_t stream = builder.add_stream(classes[place], StreamKind::comm, "stream");
            for (int i = 0; i < 6; ++i) {
                CommOp op;
                op.communicator = row;
                builder.add_event(stream, {.start = i * 10'000'000 + i * i * 700'000 + offsets[place],
                                           .duration = 500'000,
                                           .kind = EventKind::comm,
                                           .ext = builder.add_comm_op(op)});
            }
        }
    }
    Trace trace = builder.finish();
    const Alignment alignment = aligned(trace);
    ASSERT_TRUE(alignment.trusted) << alignment.reason;
    EXPECT_EQ(alignment.ranks[1].offset, 1'000'000);
    EXPECT_EQ(alignment.ranks[2].offset, 5'000'000); // 1 ms + 4 ms
    EXPECT_EQ(alignment.ranks[2].collectives, 6U);
}

TEST(Align, UnrelatedRecordingsAreRefused) {
    Trace unrelated = record_job({.ranks = 2, .group = 1});
    EXPECT_FALSE(aligned(unrelated).trusted);
    // a communicator says that they belong together, the ends say that they do not
    Trace named = record_job({.ranks = 2, .communicator = true, .group = 1});
    for (CommOp& op : named.comm_ops) {
        op.communicator = 0;
    }
    const Alignment alignment = aligned(named);
    EXPECT_FALSE(alignment.trusted);
    EXPECT_THAT(alignment.reason, HasSubstr("rank 0 and rank 1: the ends of 40 matched collectives deviate"));
    EXPECT_FALSE(alignment.applied);
}

TEST(Align, FourCollectivesAreTooFew) {
    Trace four = record_job({.ranks = 2, .collectives = 4});
    EXPECT_THAT(aligned(four).reason, HasSubstr("only 4 matched collectives, 5 are needed"));
    Trace five = record_job({.ranks = 2, .collectives = 5});
    EXPECT_TRUE(aligned(five).trusted);
}

TEST(Align, BroadcastsLetTheirRootGo) {
    Trace trace = record_job({.ranks = 2, .kind = CollectiveKind::broadcast});
    const Alignment alignment = aligned(trace);
    EXPECT_FALSE(alignment.trusted);
    EXPECT_THAT(alignment.reason, HasSubstr("shares no collective"));
}

TEST(Align, TimesAtTheEdgeOfTheRangeDoNotOverflow) {
    Trace trace = record_job({.ranks = 2});
    for (TimeNs& start : trace.streams[1].events.start_ns) {
        start = std::numeric_limits<TimeNs>::max();
    }
    EXPECT_FALSE(aligned(trace).trusted);
    for (TimeNs& start : trace.streams[0].events.start_ns) {
        start = std::numeric_limits<TimeNs>::min();
    }
    trace.flows.clear();
    aligned(trace);
}

TEST(Align, TheEarliestEventKeepsItsPlaceAndTheWallClockMoves) {
    Trace trace = record_job({.ranks = 2, .offsets = {0, -7'000'000'000}});
    trace.t0_ns = 1'700'000'000'000'000'000;
    const TimeNs first = trace.streams[1].events.start_ns[0]; // 7 s before rank 0
    const TimeNs wall = trace.t0_ns + trace.streams[0].events.start_ns[0];
    ASSERT_TRUE(aligned(trace).applied);
    // rank 1 moved 7 s later, to within its own jitter of rank 0
    const TimeNs now = std::min(trace.streams[0].events.start_ns[0], trace.streams[1].events.start_ns[0]);
    EXPECT_EQ(now, first);
    EXPECT_EQ(trace.t0_ns + trace.streams[0].events.start_ns[0], wall) << "rank 0 is the reference";
}

} // namespace
} // namespace echosim
