// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusal.h"
#include "tests/traces/sample_trace.h"
#include "traces/chrome_json.h"
#include "traces/kineto.h"
#include "traces/merge.h"

#include <filesystem>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

// What chrome_json.h writes, kineto.h reads back.
namespace echosim {
namespace {

using Write = std::function<void(const Trace&, const std::string&)>;

void perfetto(const Trace& trace, const std::string& path) {
    write_perfetto(trace, path);
}
void chrome(const Trace& trace, const std::string& path) {
    write_chrome(trace, path);
}

// The first line that differs, so that a failure can be read.
std::string difference(const Trace& before, const Trace& after) {
    const std::vector<std::string> a = test::spelled_out(before);
    const std::vector<std::string> b = test::spelled_out(after);
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
        const std::string& left = i < a.size() ? a[i] : "nothing";
        const std::string& right = i < b.size() ? b[i] : "nothing";
        if (left != right) {
            return "line " + std::to_string(i) + ":\n" + left + "\n" + right;
        }
    }
    return "none";
}

void expect_round_trip(const Trace& trace, const Write& write, const std::string& ending = ".json") {
    const std::string path = test::temporary_path(ending);
    write(trace, path);
    const Imported back = read_trace_events(path);
    std::filesystem::remove(path);
    check_trace(back.trace, "read back");
    EXPECT_EQ(difference(trace, back.trace), "none");
    EXPECT_TRUE(back.report.warnings.empty()) << back.report.warnings.begin()->first;
    std::uint64_t kernels = 0;
    for (const TraceStream& stream : trace.streams) {
        for (const EventKind kind : stream.events.kind) {
            kernels += kind == EventKind::kernel || kind == EventKind::comm ? 1U : 0U;
        }
    }
    EXPECT_EQ(back.report.kernels, kernels);
}

TEST(RoundTrip, ASimulatedTimeline) {
    expect_round_trip(test::small_trace(), perfetto);
    expect_round_trip(test::small_trace(), perfetto, ".json.gz");
    for (const int rank : {0, 3, 5}) {
        expect_round_trip(select_ranks(test::small_trace(), {rank}), chrome);
    }
}

TEST(RoundTrip, ARecordedRank) {
    expect_round_trip(test::recorded_trace(), perfetto);
    expect_round_trip(test::recorded_trace(), chrome);
    expect_round_trip(test::recorded_trace(), chrome, ".json.gz");
}

TEST(RoundTrip, RecordedRanksTogether) {
    Trace other = test::recorded_trace();
    other.classes[0].ranks = {{5, 1, 1}};
    other.t0_ns += 12'345;
    const Trace both = merge({test::recorded_trace(), other});
    expect_round_trip(both, perfetto);
    expect_round_trip(select_ranks(both, {5}), chrome);
}

TEST(RoundTrip, AnyTrace) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        SCOPED_TRACE(seed);
        const Trace trace = test::random_trace(seed);
        expect_round_trip(trace, perfetto);
        if (!trace.classes.empty()) {
            const int rank = static_cast<int>(trace.classes[0].ranks.front().first);
            const Trace one = select_ranks(trace, {rank});
            if (one.classes.size() == 1) {
                expect_round_trip(one, chrome);
            }
        }
    }
}

// Two kernels of one stream overlap: they are on two threads in the file and on one stream again.
TEST(RoundTrip, OverlapsComeBackToTheirStream) {
    TraceBuilder builder;
    const auto stream =
        builder.add_stream(builder.add_class("rank 0", -1, {0}), StreamKind::compute, "stream 7");
    builder.set_origin(stream, 0, 7);
    const auto first = builder.add_event(stream, {.start = 0, .duration = 10, .name = builder.name("a")});
    const auto second = builder.add_event(stream, {.start = 5, .duration = 10, .name = builder.name("b")});
    builder.add_event(stream,
                      {.start = 6, .duration = 20, .name = builder.name("c"), .binding_pred = second});
    builder.add_flow(second, first, FlowKind::control);
    const Trace trace = builder.finish();
    expect_round_trip(trace, perfetto);
    expect_round_trip(trace, chrome);
}

TEST(RoundTrip, NamesOfAnyKind) {
    TraceBuilder builder;
    builder.set_meta("\"no object\"");
    const auto rank = builder.add_class("class \"\\ \xe2\x82\xac", -1, {7});
    const auto stream = builder.add_stream(rank, StreamKind::other, "\t\n\x01");
    builder.add_event(stream, {.name = builder.name("void f<\"x\\y\">\n\x7f")});
    builder.add_event(
        stream, {.name = builder.name("a"), .kind = EventKind::other, .ext = builder.name("cat \"").value});
    builder.add_event(
        stream, {.name = builder.name("b"), .kind = EventKind::instant, .ext = builder.name("\t").value});
    for (const char* category : {"kernel", "cpu_op", "ac2g"}) { // words of the profiler for other kinds
        const std::uint32_t ext = builder.name(category).value;
        builder.add_event(stream, {.name = builder.name("c"), .kind = EventKind::other, .ext = ext});
        builder.add_event(stream, {.name = builder.name("d"), .kind = EventKind::instant, .ext = ext});
        builder.add_event(stream,
                          {.duration = 4, .name = builder.name("e"), .kind = EventKind::instant, .ext = ext});
    }
    builder.add_sample(builder.add_counter(rank, "same", "unit \""), -5, -0.0);
    builder.add_sample(builder.add_counter(rank, "same", "value"), 5, 5e-324);
    builder.add_counter(rank, "without samples", "");
    const Trace trace = builder.finish();
    expect_round_trip(trace, perfetto);
    expect_round_trip(trace, chrome);
}

TEST(RoundTrip, AGraphAndAnEmptyTrace) {
    Trace graph;
    graph.timed = false;
    expect_round_trip(graph, perfetto);
    expect_round_trip(Trace{}, perfetto);
}

} // namespace
} // namespace echosim
