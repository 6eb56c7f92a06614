// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json.h"

#include "simulator/core/error.h"
#include "tests/traces/sample_trace.h"
#include "traces/timeline_file.h"

#include <array>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <zlib.h>

namespace echosim {
namespace {

using nlohmann::json;

std::string text_of(const Trace& trace) {
    std::ostringstream out;
    write_perfetto(trace, out);
    return out.str();
}

std::vector<json> events_of(const Trace& trace, const std::string& phase) {
    const json document = json::parse(text_of(trace));
    std::vector<json> events;
    for (const json& event : document.at("traceEvents")) {
        if (event.at("ph") == phase) {
            events.push_back(event);
        }
    }
    return events;
}

std::map<std::string, json> metadata_of(const std::vector<json>& events, int pid, int tid) {
    std::map<std::string, json> found;
    for (const json& event : events) {
        if (event.at("pid") == pid && event.at("tid") == tid) {
            found[event.at("name")] = event.at("args");
        }
    }
    return found;
}

TEST(Perfetto, NamesAndOrdersProcessesAndThreads) {
    const auto metadata = events_of(test::small_trace(), "M");
    const auto process = metadata_of(metadata, 1, 0);
    EXPECT_EQ(process.at("process_name").at("name"), "rank 0 (stage 0, stands for 4 ranks)");
    EXPECT_EQ(process.at("process_sort_index").at("sort_index"), 0);
    EXPECT_EQ(process.at("process_labels").at("labels"), "ranks 0-3");
    // Threads are numbered behind the two processes: 3 .. 7.
    EXPECT_EQ(metadata_of(metadata, 1, 4).at("thread_name").at("name"), "tp");
    EXPECT_EQ(metadata_of(metadata, 1, 4).at("thread_sort_index").at("sort_index"), 16);
    EXPECT_EQ(metadata_of(metadata, 2, 6).at("thread_name").at("name"), "compute");
}

TEST(Perfetto, SortsRanksByNumberNotByText) {
    TraceBuilder builder;
    builder.add_class("c", -1, {10});
    builder.add_class("c", -1, {9});
    const auto metadata = events_of(builder.finish(), "M");
    EXPECT_EQ(metadata_of(metadata, 1, 0).at("process_name").at("name"), "rank 10");
    EXPECT_EQ(metadata_of(metadata, 1, 0).at("process_sort_index").at("sort_index"), 1);
    EXPECT_EQ(metadata_of(metadata, 2, 0).at("process_sort_index").at("sort_index"), 0);
}

// The gemm lasts 2.5 us and 2 us alone: slowdown 1.25.
TEST(Perfetto, EventsHaveTheirFields) {
    const std::string text = text_of(test::small_trace());
    EXPECT_THAT(text, testing::HasSubstr(R"("ts":1.000,"dur":2.500,)"));
    const auto events = events_of(test::small_trace(), "X");
    ASSERT_EQ(events.size(), 5U);
    const json& gemm = events[0];
    EXPECT_EQ(gemm.at("name"), "gemm");
    EXPECT_EQ(gemm.at("cat"), "kernel");
    EXPECT_EQ(
        gemm.at("args"),
        json::parse(R"({"phase":"forward","iteration":0,"micro_batch":3,"chunk":1,"layer":17,"module":"mlp",
                              "alone_us":2.0,"slowdown":1.25,"provenance":"measured"})"));
    const json& all_reduce = events[1].at("args");
    EXPECT_EQ(all_reduce.at("bytes"), 33'554'432);
    EXPECT_EQ(all_reduce.at("algorithm"), to_string(Algorithm::nvls));
    EXPECT_EQ(all_reduce.at("protocol"), to_string(Protocol::simple));
    EXPECT_EQ(all_reduce.at("channels"), 16);
    EXPECT_EQ(all_reduce.at("group"), "tp");
    EXPECT_EQ(all_reduce.at("provenance"), "fitted");
    EXPECT_FALSE(events[2].at("args").contains("algorithm")); // a send has none
    EXPECT_EQ(events[2].at("args").at("peer"), 4);
}

TEST(Perfetto, KeepsEveryNanosecond) {
    TraceBuilder builder;
    const auto stream = builder.add_stream(builder.add_class("c", 0, {0}), StreamKind::compute, "s");
    builder.add_event(stream, {.start = -1'001, .duration = 7});
    builder.add_event(stream, {.start = 9'000'000'000'000'000'001, .duration = 1'000});
    const std::string text = text_of(builder.finish());
    EXPECT_THAT(text, testing::HasSubstr(R"("ts":-1.001,"dur":0.007)"));
    EXPECT_THAT(text, testing::HasSubstr(R"("ts":9000000000000000.001,"dur":1.000)"));
}

// On each thread starts never go back, and events nest or follow each other.
TEST(Perfetto, ThreadsAreMonotoneAndNested) {
    for (unsigned seed = 0; seed < 4; ++seed) {
        const Trace trace = test::random_trace(seed);
        const auto events = events_of(trace, "X");
        EXPECT_EQ(events.size() + events_of(trace, "i").size(), trace.event_count());
        std::map<std::pair<int, int>, double> last_start;
        std::map<std::pair<int, int>, std::vector<double>> open;
        for (const json& event : events) {
            const std::pair<int, int> track{event.at("pid"), event.at("tid")};
            const double start = event.at("ts");
            const double end = start + event.at("dur").get<double>();
            EXPECT_TRUE(!last_start.contains(track) || last_start[track] <= start);
            last_start[track] = start;
            while (!open[track].empty() && open[track].back() <= start + 1e-6) {
                open[track].pop_back();
            }
            EXPECT_TRUE(open[track].empty() || end <= open[track].back() + 1e-6);
            open[track].push_back(end);
        }
    }
}

// Two events overlap by 5 ns: the second goes to a thread of its own; the third nests in the first.
TEST(Perfetto, OverlapsGoToAFurtherThread) {
    TraceBuilder builder;
    const auto stream = builder.add_stream(builder.add_class("c", 0, {0}), StreamKind::compute, "compute");
    builder.add_event(stream, {.start = 0, .duration = 10});
    const auto second = builder.add_event(stream, {.start = 5, .duration = 10});
    builder.add_event(stream, {.start = 6, .duration = 4});
    const auto fourth = builder.add_event(stream, {.start = 20, .duration = 1});
    builder.add_flow(second, fourth, FlowKind::p2p);
    const Trace trace = builder.finish();
    const auto events = events_of(trace, "X");
    EXPECT_EQ(events[0].at("tid"), 2);
    EXPECT_EQ(events[1].at("tid"), 3);
    EXPECT_EQ(events[2].at("tid"), 2);
    EXPECT_EQ(events[3].at("tid"), 2);
    EXPECT_EQ(metadata_of(events_of(trace, "M"), 1, 3).at("thread_name").at("name"), "compute (overlap 1)");
    EXPECT_EQ(events_of(trace, "s")[0].at("tid"), 3);
}

// Every arrow has one start and one end, both inside an event of its thread, and does not go back in time.
TEST(Perfetto, FlowsPairUp) {
    for (unsigned seed = 0; seed < 4; ++seed) {
        const Trace trace = test::random_trace(seed);
        const auto starts = events_of(trace, "s");
        const auto ends = events_of(trace, "f");
        ASSERT_EQ(starts.size(), trace.flows.size());
        ASSERT_EQ(ends.size(), trace.flows.size());
        std::set<int> ids;
        for (std::size_t i = 0; i < starts.size(); ++i) {
            EXPECT_TRUE(ids.insert(starts[i].at("id").get<int>()).second);
            EXPECT_EQ(starts[i].at("id"), ends[i].at("id"));
            EXPECT_EQ(starts[i].at("name"), ends[i].at("name"));
            EXPECT_EQ(starts[i].at("cat"), ends[i].at("cat"));
            EXPECT_EQ(ends[i].at("bp"), "e");
            EXPECT_LE(starts[i].at("ts").get<double>(), ends[i].at("ts").get<double>());
        }
    }
}

// The receive waits from 6.0 us, the send starts at 7.5 us: the arrow arrives at 7.5 us inside the receive
// (6.0-8.5).
TEST(Perfetto, AnArrowArrivesInsideTheReceive) {
    const auto ends = events_of(test::small_trace(), "f");
    EXPECT_EQ(ends[0].at("ts"), 7.5);
    EXPECT_EQ(ends[0].at("tid"), 7);
}

TEST(Perfetto, CountersHaveUnits) {
    const auto samples = events_of(test::small_trace(), "C");
    ASSERT_EQ(samples.size(), 2U);
    EXPECT_EQ(samples[1].at("name"), "memory");
    EXPECT_EQ(samples[1].at("ts"), 4.0);
    EXPECT_EQ(samples[1].at("args"), json::parse(R"({"bytes":2.5e9})")); // one series
    EXPECT_EQ(samples[1].at("counter"), 0);
}

TEST(Perfetto, StrangeNamesStayJson) {
    TraceBuilder builder;
    const std::string name = "void gemm<\"x\\y\">\n\x01\x7f \xe2\x82\xac";
    const auto stream = builder.add_stream(builder.add_class("c", 0, {0}), StreamKind::compute, "s\"\t");
    builder.add_event(stream, {.name = builder.name(name)});
    builder.add_event(stream, {.name = builder.name("\xff"
                                                    "bad")});
    builder.set_meta("not json \"");
    const Trace trace = builder.finish();
    const auto events = events_of(trace, "X");
    EXPECT_EQ(events[0].at("name"), name);
    EXPECT_EQ(events[1].at("name"), "\xef\xbf\xbd"
                                    "bad");
    EXPECT_EQ(json::parse(text_of(trace)).at("otherData").at("echosim"), "not json \"");
}

TEST(Perfetto, MetadataAndEmptyTraces) {
    EXPECT_EQ(json::parse(text_of(test::small_trace())).at("otherData").at("echosim").at("job"), "gpt3-1.3b");
    EXPECT_TRUE(json::parse(text_of(Trace{})).at("traceEvents").empty());
}

TEST(Perfetto, SameBytesTwice) {
    EXPECT_EQ(text_of(test::random_trace(4)), text_of(test::random_trace(4)));
}

std::string gunzip(const std::string& path) {
    gzFile file = gzopen(path.c_str(), "rb");
    std::string text;
    std::array<char, 4096> part{};
    for (int got = gzread(file, part.data(), part.size()); got > 0;
         got = gzread(file, part.data(), part.size())) {
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    EXPECT_EQ(gzclose(file), Z_OK);
    return text;
}

TEST(Perfetto, FilesAreTheSameTextPlainAndCompressed) {
    const Trace trace = test::long_trace(20'000); // several times the writer's buffer
    const std::string plain = test::temporary_path(".json");
    const std::string compressed = test::temporary_path(".json.gz");
    write_timeline(trace, plain);
    write_timeline(trace, compressed);
    const auto bytes = test::read_bytes(plain);
    const std::string expected = text_of(trace);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
    EXPECT_EQ(gunzip(compressed), expected);
    EXPECT_LT(std::filesystem::file_size(compressed), bytes.size() / 5);
    std::filesystem::remove(plain);
    std::filesystem::remove(compressed);
}

// 5 events + 2 x 2 flow ends + 2 samples = 11.
TEST(Perfetto, RefusesTooManyEventsUnlessForced) {
    std::ostringstream out;
    EXPECT_THROW(write_perfetto(test::small_trace(), out, {.force = false, .max_events = 10}), InputError);
    EXPECT_TRUE(out.str().empty());
    write_perfetto(test::small_trace(), out, {.force = true, .max_events = 10});
    std::ostringstream fits;
    write_perfetto(test::small_trace(), fits, {.force = false, .max_events = 11});
    EXPECT_EQ(out.str(), fits.str());
}

TEST(Timeline, FormatFollowsTheEnding) {
    EXPECT_NO_THROW(check_timeline_path("a.json.gz"));
    EXPECT_THROW(check_timeline_path("a.nsys-rep"), InputError);
    EXPECT_THROW(check_timeline_path("json"), InputError);
    EXPECT_THROW(write_perfetto(Trace{}, "a.txt"), InputError);
    const std::string path = test::temporary_path(".etr");
    write_timeline(test::small_trace(), path);
    EXPECT_TRUE(read_etr(path) == test::small_trace());
    std::filesystem::remove(path);
}

} // namespace
} // namespace echosim
