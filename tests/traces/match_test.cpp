// SPDX-License-Identifier: Apache-2.0
#include "traces/match.h"

#include "tests/traces/align_job.h"
#include "traces/match/shift.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using testing::HasSubstr;

std::uint64_t sequence_of(const Trace& trace, std::size_t stream, std::size_t event) {
    return trace.comm_ops.at(trace.streams.at(stream).events.ext.at(event)).sequence;
}

TEST(Match, EqualNumbersOnACommunicatorMeet) {
    // rank 0 recorded calls 1..10, rank 1 calls 4..10: 7 meet, 3 of rank 0 are alone
    Trace trace =
        record_job({.ranks = 2, .collectives = 10, .first = {0, 3}, .communicator = true, .sequence = true});
    const Matching matching = match_collectives(trace);
    EXPECT_EQ(matching.collectives, 7U);
    EXPECT_EQ(matching.members, 14U);
    EXPECT_EQ(matching.alone, 3U);
    ASSERT_EQ(trace.flows.size(), 7U);
    for (std::uint32_t i = 0; i < 7; ++i) {
        EXPECT_EQ(trace.flows[i], (Flow{event_ref(0, i + 3), event_ref(1, i), FlowKind::collective}));
    }
}

TEST(Match, EqualNumbersOfUnequalCallsAreCountedAndNotMatched) {
    Trace trace = record_job({.ranks = 2, .collectives = 10, .communicator = true, .sequence = true});
    trace.comm_ops.at(trace.streams[1].events.ext[4]).kind = CollectiveKind::all_gather;
    const Matching matching = match_collectives(trace);
    EXPECT_EQ(matching.collectives, 9U);
    EXPECT_EQ(matching.inconsistent, 1U);
}

TEST(Match, TheShiftIsFoundByTheEnds) {
    // calls 0..39 against 5..31 of the same job on a clock 11.56 s ahead: 27 meet
    Trace trace = record_job({.ranks = 2,
                              .offsets = {0, 11'560'000'000},
                              .first = {0, 5},
                              .last = {40, 32},
                              .communicator = true});
    const Matching matching = match_collectives(trace);
    EXPECT_EQ(matching.collectives, 27U);
    ASSERT_FALSE(trace.flows.empty());
    EXPECT_EQ(trace.flows.front(), (Flow{event_ref(0, 5), event_ref(1, 0), FlowKind::collective}));
    // numbered by the place in the longer sequence, from 1 on
    EXPECT_EQ(sequence_of(trace, 0, 5), 6U);
    EXPECT_EQ(sequence_of(trace, 1, 0), 6U);
    EXPECT_EQ(sequence_of(trace, 0, 0), 1U);
}

TEST(Match, RanksOfSeveralGroupsWithoutCommunicatorsFindTheirGroup) {
    // two groups of 3 ranks: 40 collectives each
    Trace trace = record_job({.ranks = 6, .group = 3});
    const Matching matching = match_collectives(trace);
    EXPECT_EQ(matching.collectives, 80U);
    EXPECT_EQ(matching.members, 240U);
    EXPECT_EQ(trace.flows.size(), 160U);
    for (const Flow& flow : trace.flows) {
        EXPECT_EQ(stream_of(flow.from) / 3, stream_of(flow.to) / 3);
    }
    EXPECT_EQ(sequence_of(trace, 0, 0), 0U) << "a number without a communicator says nothing";
}

TEST(Match, UnrelatedRecordingsDoNotMeet) {
    Trace trace = record_job({.ranks = 2, .group = 1});
    const Matching matching = match_collectives(trace);
    EXPECT_EQ(matching.collectives, 0U);
    EXPECT_EQ(matching.alone, 80U);
    EXPECT_TRUE(trace.flows.empty());
    ASSERT_EQ(matching.notes.size(), 1U);
    EXPECT_THAT(matching.notes[0], HasSubstr("rank 0 and rank 1"));
}

TEST(Match, RegularCallsWithoutABeginningAreAmbiguous) {
    // every period looks the same: which of the 40 calls are the 30 of rank 1 cannot be told
    JobRecording job{.ranks = 2, .first = {0, 4}, .last = {40, 34}, .step_jitter = 0};
    Trace trace = record_job(job);
    const Matching matching = match_collectives(trace);
    EXPECT_EQ(matching.collectives, 0U);
    ASSERT_EQ(matching.notes.size(), 1U);
    EXPECT_THAT(matching.notes[0], HasSubstr("several shifts"));

    // equally many calls: both recordings began and ended at the border of a step
    Trace whole = record_job({.ranks = 2, .step_jitter = 0});
    EXPECT_EQ(match_collectives(whole).collectives, 40U);
}

TEST(Match, SendsMeetTheirReceives) {
    TraceBuilder builder;
    for (int rank = 0; rank < 2; ++rank) {
        const std::uint32_t cls = builder.add_class("rank " + std::to_string(rank), -1, {rank});
        const std::uint32_t stream = builder.add_stream(cls, StreamKind::p2p, "stream 9");
        for (int i = 0; i < 4; ++i) { // 0 sends, receives, sends, receives; 1 the other way round
            CommOp op;
            op.kind = CollectiveKind::send_recv;
            op.bytes = 4096;
            op.peer = 1 - rank;
            op.direction = (i + rank) % 2 == 0 ? Direction::send : Direction::receive;
            builder.add_event(stream, {.start = i * 1'000'000,
                                       .duration = 100'000 + i,
                                       .name = builder.name("ncclDevKernel_SendRecv"),
                                       .kind = EventKind::comm,
                                       .ext = builder.add_comm_op(op)});
        }
    }
    Trace trace = builder.finish();
    const Matching matching = match_collectives(trace);
    EXPECT_EQ(matching.pairs, 4U);
    EXPECT_EQ(matching.collectives, 0U);
    EXPECT_EQ(matching.alone, 0U);
    EXPECT_THAT(trace.flows,
                testing::UnorderedElementsAre(Flow{event_ref(0, 0), event_ref(1, 0), FlowKind::p2p},
                                              Flow{event_ref(0, 2), event_ref(1, 2), FlowKind::p2p},
                                              Flow{event_ref(1, 1), event_ref(0, 1), FlowKind::p2p},
                                              Flow{event_ref(1, 3), event_ref(0, 3), FlowKind::p2p}));
}

TEST(Match, AGraphWithoutTimesMeetsByItsOrder) {
    Trace trace = record_job({.ranks = 3, .communicator = false});
    trace.timed = false;
    for (TraceStream& stream : trace.streams) {
        std::fill(stream.events.start_ns.begin(), stream.events.start_ns.end(), 0);
    }
    EXPECT_EQ(match_collectives(trace).collectives, 40U);
}

TEST(Match, CommunicatorsNamedByAnAddressMeetByTheirOrder) {
    Trace trace = record_job({.ranks = 2, .communicator = true});
    trace.communicators.clear();
    for (std::size_t rank = 0; rank < 2; ++rank) { // an address of the process, no ranks
        const NameId name = trace.strings.intern("9459410" + std::to_string(rank));
        trace.communicators.push_back({name, kNoName, {}});
        for (const std::uint32_t row : trace.streams[rank].events.ext) {
            trace.comm_ops.at(row).communicator = static_cast<std::uint32_t>(rank);
        }
    }
    EXPECT_EQ(match_collectives(trace).collectives, 40U);
}

TEST(Match, ASecondTimeNothingChanges) {
    Trace trace = record_job({.ranks = 3, .communicator = true});
    match_collectives(trace);
    const Trace once = trace;
    EXPECT_EQ(match_collectives(trace).collectives, 0U);
    EXPECT_EQ(trace, once);
}

} // namespace
} // namespace echosim
