// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusal.h"
#include "tests/traces/kineto_file.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::HasSubstr;

TEST(Kineto, ReadsARecordedStep) {
    const Imported imported = import_text(small_trace());
    const Trace& trace = imported.trace;
    EXPECT_EQ(imported.report.format, "Kineto");
    EXPECT_EQ(imported.report.events, 5U);
    EXPECT_EQ(imported.report.complete_events, 4U);
    EXPECT_EQ(imported.report.kernels, 2U);
    EXPECT_TRUE(imported.report.warnings.empty());
    EXPECT_EQ(trace.t0_ns, 1700000000000000000 + 1000500); // base, and 1000.5 us of the first event
    ASSERT_EQ(trace.classes.size(), 1U);
    EXPECT_EQ(trace.text(trace.classes[0].name), "rank 5");
    EXPECT_EQ(expand_ranks(trace.classes[0].ranks), std::vector<int>{5});
    ASSERT_EQ(trace.streams.size(), 3U);
    EXPECT_EQ(trace.text(trace.streams[0].name), "thread 11");
    EXPECT_EQ(trace.streams[0].kind, StreamKind::host);
    EXPECT_EQ(trace.text(trace.streams[1].name), "stream 7");
    EXPECT_EQ(trace.streams[1].kind, StreamKind::compute);
    EXPECT_EQ(trace.streams[1].device, 0);
    EXPECT_EQ(trace.streams[2].number, 20);
    EXPECT_EQ(trace.streams[2].kind, StreamKind::tp_comm);
    EXPECT_THAT(trace.meta, HasSubstr(R"("world_size":8)"));
}

TEST(Kineto, KeepsWhatColumnsHoldOutOfTheArgs) {
    const Trace trace = import_text(small_trace()).trace;
    const Event op = event_named(trace, "aten::mm");
    EXPECT_EQ(op.kind, EventKind::host);
    EXPECT_EQ(op.start, 0);
    EXPECT_EQ(op.duration, 20000);
    EXPECT_EQ(op.correlation, 5U); // its external id
    EXPECT_EQ(trace.text(op.args), R"({"Input Dims":[[8,4],[4,2]]})");
    const Event call = event_named(trace, "cudaLaunchKernel");
    EXPECT_EQ(call.kind, EventKind::api);
    EXPECT_EQ(call.start, 4500); // 1005 - 1000.5 us
    EXPECT_EQ(call.correlation, 77U);
    EXPECT_EQ(trace.text(call.args), R"({"External id":5,"cbid":211})");
    const Event kernel = event_named(trace, "sm90_gemm");
    EXPECT_EQ(kernel.start, 29500);
    EXPECT_EQ(kernel.duration, 55250);
    EXPECT_EQ(trace.text(kernel.args), R"({"warps per SM":12})");
    const KernelLaunch launch{{132, 1, 1}, {384, 1, 1}, 168, 213248};
    EXPECT_EQ(trace.launches.at(kernel.ext), launch);
}

TEST(Kineto, ReadsTheMetadataOfCommunication) {
    const Trace trace = import_text(small_trace()).trace;
    const Event event = event_named(trace, "ncclDevKernel_AllReduce");
    ASSERT_EQ(event.kind, EventKind::comm);
    const CommOp& op = trace.comm_ops.at(event.ext);
    EXPECT_EQ(op.kind, CollectiveKind::all_reduce);
    EXPECT_EQ(op.bytes, 4194304U * 2); // elements of two bytes
    EXPECT_EQ(op.dtype, DType::bf16);
    EXPECT_EQ(op.algorithm, Algorithm::ring);
    EXPECT_EQ(op.protocol, Protocol::ll);
    EXPECT_EQ(op.group_size, 8U);
    const TraceCommunicator& group = trace.communicators.at(op.communicator);
    EXPECT_EQ(trace.text(group.name), "0");
    EXPECT_EQ(trace.text(group.description), "TENSOR_MODEL_PARALLEL_GROUP");
    EXPECT_EQ(expand_ranks(group.ranks).size(), 8U);
    EXPECT_EQ(event.args, kNoName);
}

TEST(Kineto, TimesAreTakenFromTheDigits) {
    const auto with_time = [](std::string_view time) {
        const Imported imported =
            import_text(R"([{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)" + std::string(time) +
                        R"(,"dur":"1e-3"}])");
        EXPECT_TRUE(imported.report.warnings.empty()) << time;
        EXPECT_EQ(event_named(imported.trace, "k").duration, 1); // 1e-3 us
        return imported.trace.t0_ns;
    };
    EXPECT_EQ(with_time("1708722576381804.123"), 1708722576381804123); // no double holds it
    EXPECT_EQ(with_time(R"("1774000000001000.5")"), 1774000000001000500);
    EXPECT_EQ(with_time("1774000000001000507"), 1774000000001000507); // an integer of 19 digits: nanoseconds
    EXPECT_EQ(with_time("1.5e3"), 1500000);
    EXPECT_EQ(with_time("-2.0005"), -2001); // to the nearest nanosecond
}

TEST(Kineto, WallClockTimesDoNotNeedTheBase) {
    const Trace trace = import_text(R"({"baseTimeNanoseconds":1700000000000000000,"traceEvents":[
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1774000000001000500,"dur":1}]})")
                            .trace;
    EXPECT_EQ(trace.t0_ns, 1774000000001000500);
}

TEST(Kineto, KeysMayComeInAnyOrder) {
    const Imported imported = import_text(
        R"({"traceEvents":[{"args":{"stream":3,"device":1,"correlation":9},"dur":2,"ts":1,"tid":3,"pid":1,"name":"k","cat":"kernel","ph":"X"}],
            "baseTimeNanoseconds":1700000000000000000,"distributedInfo":{"rank":2}})");
    EXPECT_EQ(imported.trace.t0_ns, 1700000000000001000);
    EXPECT_EQ(imported.trace.text(imported.trace.classes.at(0).name), "rank 2");
    EXPECT_EQ(imported.trace.streams.at(0).device, 1);
    EXPECT_EQ(imported.report.kernels, 1U);
}

TEST(Kineto, ReadsMarksLineEndsAndMembersOfGzip) {
    std::string dos;
    for (const char c : small_trace()) {
        dos += c == '\n' ? "\r\n" : std::string(1, c);
    }
    EXPECT_EQ(import_text("\xef\xbb\xbf" + dos).report.kernels, 2U);
    const std::string text = small_trace();
    const std::string members = gzip_member(text.substr(0, 700)) + gzip_member(text.substr(700));
    EXPECT_EQ(import_text(members, "trace.json.gz").trace, import_text(text).trace);
    EXPECT_EQ(import_text(members + std::string(512, '\0'), "padded.gz").report.kernels, 2U);
}

TEST(Kineto, RefusesGzipThatWasCutOffWithTheOffsetInTheFile) {
    const std::string member = gzip_member(small_trace());
    const std::string path = temporary_file(member.substr(0, 400), "cut.json.gz");
    EXPECT_THAT(refusal([&] { read_trace_events(path); }), HasSubstr(path + ":400: the compressed data end"));
    const std::string other = temporary_file(member + "text", "behind.json.gz");
    EXPECT_THAT(refusal([&] { read_trace_events(other); }),
                HasSubstr(other + ":" + std::to_string(member.size()) + ": bytes that are not gzip"));
}

TEST(Kineto, RefusesWhatIsNoTrace) {
    const auto message = [](std::string_view content, const std::string& name = "x.json") {
        return refusal([&] { import_text(content, name); });
    };
    EXPECT_THAT(message(""), HasSubstr("x.json:0: the file is empty"));
    EXPECT_THAT(message(" \n"), HasSubstr("nothing but white space"));
    EXPECT_THAT(message(R"({"architectures":["Llama"],"hidden_size":4096})"),
                HasSubstr(R"(it has "architectures", "hidden_size" but no list "traceEvents")"));
    EXPECT_THAT(message("[1,2,3]"), HasSubstr("none of the 3 entries"));
    EXPECT_THAT(message("hello"), HasSubstr("x.json:0: this is no JSON document"));
    EXPECT_THAT(message(std::string("\x00\x01\x02", 3)), HasSubstr("binary file"));
    EXPECT_THAT(message("SQLite format 3"), HasSubstr("SQLite database"));
    EXPECT_THAT(message("NVIDIA", "run.nsys-rep"), HasSubstr("nsys export --type sqlite"));
    EXPECT_THAT(message(R"({"traceEvents":[]} {"a":1})"), HasSubstr("x.json:19: text follows the end"));
    EXPECT_THAT(refusal([] { read_trace_events("/nowhere/x.json"); }), HasSubstr("cannot be read"));
    EXPECT_THAT(refusal([] { read_trace_events("tests"); }), HasSubstr("is a folder"));
}

TEST(Kineto, AnEmptyTraceIsEmpty) {
    const Imported imported = import_text(R"({"traceEvents": []})");
    EXPECT_EQ(imported.report.events, 0U);
    EXPECT_EQ(imported.trace.event_count(), 0U);
}

TEST(Kineto, CountsWhatIsOddAndKeepsTheWork) {
    const std::string kernel =
        R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":5,"args":{"stream":7,"correlation":4}})";
    const Imported imported = import_text(
        "[" + kernel + "," + kernel + "," +
        R"({"ph":"X","cat":"kernel","name":"n","pid":0,"tid":7,"ts":12,"dur":-5,"args":{"stream":7,"correlation":5}},
           {"ph":"X","cat":"kernel","name":"m","pid":0,"tid":7,"ts":30},
           {"ph":"X","cat":"kernel","name":"t","pid":0,"tid":7,"dur":1},
           {"ph":"?","name":"q"}, 7, {"ph":"B","name":"b","pid":1,"tid":1,"ts":1}, {"ph":"E","pid":2,"tid":2,"ts":9}])");
    const std::map<std::string, std::uint64_t> expected{
        {"duplicate_event", 1},   {"missing_duration", 1}, {"missing_time", 1},
        {"negative_duration", 1}, {"not_an_event", 1},     {"unclosed_begin", 1},
        {"unknown_phase", 1},     {"unmatched_end", 1},    {"overlapping_kernels", 1}};
    EXPECT_EQ(imported.report.warnings, expected); // n begins at 12, k runs to 15
    EXPECT_EQ(imported.report.events, 9U);
    EXPECT_EQ(imported.report.kernels, 5U); // as in the file: the duplicate too
    EXPECT_EQ(imported.trace.event_count(), 5U);
    EXPECT_EQ(event_named(imported.trace, "n").duration, 0);
}

TEST(Kineto, NamesAreUnescaped) {
    const Trace trace = import_text(small_trace(R"(gem\u007fm \"\u4e2d\ud83d\ude00\\)")).trace;
    event_named(trace, "gem\x7fm \"\xe4\xb8\xad\xf0\x9f\x98\x80\\");
}

TEST(Kineto, ManyPiecesAreOneTrace) {
    std::string text = "[";
    constexpr int kEvents = 150000; // 20 MB: three pieces
    for (int i = 0; i < kEvents; ++i) {
        text += R"({"ph":"X","cat":"kernel","name":"kernel )" + std::to_string(i % 1000) +
                R"( [{]}\"","pid":0,"tid":7,"ts":)" + std::to_string(10 * i) +
                R"(,"dur":5,"args":{"stream":7,"correlation":)" + std::to_string(i + 1) + "}},\n";
    }
    text += R"({"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}}])";
    const Imported imported = import_text(text);
    EXPECT_EQ(imported.report.kernels, std::uint64_t{kEvents});
    EXPECT_TRUE(imported.report.warnings.empty());
    const EventColumns& events = imported.trace.streams.at(0).events;
    ASSERT_EQ(events.size(), std::size_t{kEvents});
    EXPECT_TRUE(std::is_sorted(events.correlation.begin(), events.correlation.end()));
    EXPECT_EQ(imported.trace.text(NameId{events.name[1999]}), "kernel 999 [{]}\"");
}

} // namespace
} // namespace echosim
