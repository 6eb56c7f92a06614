// SPDX-License-Identifier: Apache-2.0
#include "traces/trace.h"

#include "simulator/core/error.h"
#include "tests/traces/sample_trace.h"
#include "traces/crc32c.h"
#include "traces/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace echosim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(StringPool, StoresEachTextOnce) {
    StringPool pool;
    EXPECT_EQ(pool.intern("gemm").value, 0U);
    EXPECT_EQ(pool.intern("").value, 1U);
    EXPECT_EQ(pool.intern("gemm").value, 0U);
    const StringPool copy = pool;
    for (int i = 0; i < 10'000; ++i) {
        EXPECT_EQ(pool.intern("name " + std::to_string(i)).value, static_cast<std::uint32_t>(i + 2));
    }
    EXPECT_EQ(pool.size(), 10'002U);
    EXPECT_EQ(pool[NameId{5002}], "name 5000");
    EXPECT_EQ(pool.intern("name 9999").value, 10'001U);
    EXPECT_EQ(copy.size(), 2U);
    EXPECT_THROW(static_cast<void>(copy[NameId{2}]), std::out_of_range);
}

TEST(Ranks, AreKeptAsRanges) {
    EXPECT_THAT(compact_ranks({0, 8, 16, 24, 1, 2, 3, 40}),
                ElementsAre(RankRange{0, 4, 8}, RankRange{1, 3, 1}, RankRange{40, 1, 1}));
    EXPECT_THAT(compact_ranks({5}), ElementsAre(RankRange{5, 1, 1}));
    EXPECT_TRUE(compact_ranks({}).empty());
    const std::vector<int> ranks{3, 2, 1, 7, 7, 9, 12, 15, 18, 100};
    EXPECT_EQ(expand_ranks(compact_ranks(ranks)), ranks);
}

// Events come in the order 30, 10, 20 on one stream; sorted they are 1, 2, 0 of the insertion order.
TEST(TraceBuilder, SortsByStartAndRenumbersReferences) {
    TraceBuilder builder;
    const auto stream = builder.add_stream(builder.add_class("c", 0, {0}), StreamKind::compute, "s");
    const auto late = builder.add_event(stream, {.start = 30, .duration = 1});
    const auto early = builder.add_event(stream, {.start = 10, .duration = 1});
    const auto middle = builder.add_event(stream, {.start = 20, .duration = 1, .binding_pred = early});
    builder.set_binding_pred(late, middle);
    builder.add_flow(early, late, FlowKind::p2p);
    const Trace trace = builder.finish();
    const EventColumns& events = trace.streams[0].events;
    EXPECT_THAT(events.start_ns, ElementsAre(10, 20, 30));
    EXPECT_THAT(events.binding_pred, ElementsAre(kNoEvent, event_ref(0, 0), event_ref(0, 1)));
    EXPECT_EQ(trace.flows[0].from, event_ref(0, 0));
    EXPECT_EQ(trace.flows[0].to, event_ref(0, 2));
}

TEST(TraceBuilder, SharesLabelsAndNumbersStreamsWithinTheirClass) {
    TraceBuilder builder;
    const auto a = builder.add_class("a", 0, {0});
    const auto b = builder.add_class("b", 1, {1});
    builder.add_stream(a, StreamKind::compute, "compute");
    builder.add_stream(b, StreamKind::compute, "compute");
    builder.add_stream(a, StreamKind::copy, "copy");
    EXPECT_EQ(builder.add_label({.iteration = 1, .layer = 2}), 0U);
    EXPECT_EQ(builder.add_label({.iteration = 2, .layer = 1}), 1U);
    EXPECT_EQ(builder.add_label({.iteration = 1, .layer = 2}), 0U);
    const Trace trace = builder.finish();
    EXPECT_EQ(trace.streams[0].id, 0U);
    EXPECT_EQ(trace.streams[1].id, 0U);
    EXPECT_EQ(trace.streams[2].id, 1U);
    EXPECT_EQ(trace.labels.size(), 2U);
}

std::string complaint(const Trace& trace) {
    try {
        check_trace(trace, "t");
        return "none";
    } catch (const InputError& error) {
        return error.what();
    }
}

TEST(CheckTrace, NamesWhatIsWrong) {
    const Trace good = test::small_trace();
    EXPECT_EQ(complaint(good), "none");
    Trace bad = good;
    bad.streams[1].events.name[0] = 999;
    EXPECT_THAT(complaint(bad), HasSubstr("t: stream 1: event 0"));
    bad = good;
    bad.streams[0].events.dur_ns[0] = -1;
    EXPECT_THAT(complaint(bad), HasSubstr("duration -1 ns"));
    bad = good;
    bad.streams[0].events.ext[0] = 0; // a kernel has no row of the comm-op table
    EXPECT_THAT(complaint(bad), HasSubstr("ext row 0 of 0"));
    bad = good;
    bad.streams[0].events.label.clear();
    EXPECT_THAT(complaint(bad), HasSubstr("columns of 1 and 0 events"));
    bad = good;
    bad.flows[0].to = event_ref(4, 1);
    EXPECT_THAT(complaint(bad), HasSubstr("t: flow 0"));
    bad = good;
    bad.counters[0].value.push_back(1);
    EXPECT_THAT(complaint(bad), HasSubstr("2 times, 3 values"));
    bad = good;
    bad.streams[2].rank_class = 2;
    EXPECT_THAT(complaint(bad), HasSubstr("class 2 of 2"));
    bad = good;
    bad.classes[0].ranks = {{0, 0xffffffffU, 1}};
    EXPECT_THAT(complaint(bad), HasSubstr("t: class 0"));
}

// Check value of the algorithm (RFC 3720, B.4 has 32 zeros and 32 ones too).
TEST(Crc32c, MatchesPublishedValues) {
    const auto crc = [](const std::string& text) { return crc32c(std::as_bytes(std::span(text))); };
    EXPECT_EQ(crc("123456789"), 0xe3069283U);
    EXPECT_EQ(crc(std::string(32, '\0')), 0x8a9136aaU);
    EXPECT_EQ(crc(std::string(32, '\xff')), 0x62a8ab43U);
    EXPECT_EQ(crc32c({}), 0U);
}

TEST(JsonString, EscapesWhatJsonForbids) {
    EXPECT_EQ(json_string("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
    EXPECT_EQ(json_string(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
    EXPECT_EQ(json_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
              "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    // No UTF-8: a lone continuation, an overlong slash, a surrogate, a sequence that is cut off.
    EXPECT_EQ(json_string("\x80"), R"("\ufffd")");
    EXPECT_EQ(json_string("\xc0\xaf"), R"("\ufffd\ufffd")");
    EXPECT_EQ(json_string("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");
    EXPECT_EQ(json_string("x\xe2\x82"), R"("x\ufffd\ufffd")");
}

} // namespace
} // namespace echosim
