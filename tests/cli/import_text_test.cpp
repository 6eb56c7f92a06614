// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/import_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

namespace echosim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A kernel of 2 ms and communication of `communication`, side by side.
Imported imported(bool timed, TimeNs kernel, TimeNs communication) {
    TraceBuilder builder;
    builder.set_timed(timed);
    const std::uint32_t rank = builder.add_class("rank 0", -1, {0});
    const std::uint32_t stream = builder.add_stream(rank, StreamKind::compute, "stream 7");
    const std::uint32_t other = builder.add_stream(rank, StreamKind::comm, "stream 20");
    builder.add_event(stream, {.duration = kernel, .name = builder.name("gemm")});
    const std::uint32_t op = builder.add_comm_op({.kind = CollectiveKind::all_reduce, .dtype = DType::bf16});
    builder.add_event(
        other, {.duration = communication, .name = builder.name("nccl"), .kind = EventKind::comm, .ext = op});
    Imported result;
    result.trace = builder.finish();
    result.report.format = "Chakra ET";
    result.report.events = 2;
    result.report.kernels = 2;
    return result;
}

std::string text_of(const Imported& imported) {
    const ImportSummary summary{
        .paths = {"job.et"}, .imported = &imported, .figures = figures_of(imported.trace), .written = ""};
    return import_text(summary, {});
}

TEST(ImportText, TimesOverlapDurationsDoNot) {
    // Busy for 3 ms: 2 ms lie within 3 ms. Without times: 2 + 3 ms of work.
    const std::string timed = text_of(imported(true, 2'000'000, 3'000'000));
    EXPECT_THAT(timed, AllOf(HasSubstr("GPU busy"), HasSubstr("span"), HasSubstr("3.00 ms        3.00 ms")));
    const std::string graph = text_of(imported(false, 2'000'000, 3'000'000));
    EXPECT_THAT(graph, AllOf(HasSubstr("times      none: durations only"), HasSubstr("GPU work"),
                             HasSubstr("5.00 ms        3.00 ms"), Not(HasSubstr("span"))));
}

TEST(ImportText, NothingThatIsZeroThroughout) {
    const std::string none = text_of(imported(false, 0, 0));
    EXPECT_THAT(none,
                AllOf(HasSubstr("none, nor durations"), Not(HasSubstr("GPU work")), Not(HasSubstr("0 s"))));
    EXPECT_THAT(none, AllOf(HasSubstr("events     2\n"), HasSubstr("2, 1 of them communication")));
}

TEST(ImportText, WithoutTimesDurationsAreAddedUpAndTheSpanIsNotKnown) {
    const auto document = [](const Imported& some) {
        return import_document(
            {.paths = {"job.et"}, .imported = &some, .figures = figures_of(some.trace), .written = ""});
    };
    const auto graph = document(imported(false, 2'000'000, 3'000'000)); // 2 + 3 ms
    EXPECT_TRUE(graph["span_s"].is_null());
    EXPECT_DOUBLE_EQ(graph["classes"][0]["busy_s"].get<double>(), 5e-3);
    EXPECT_DOUBLE_EQ(graph["classes"][0]["communication_s"].get<double>(), 3e-3);
    EXPECT_TRUE(document(imported(false, 0, 0))["classes"][0]["busy_s"].is_null());
}

TEST(ImportText, TheProfilersOwnRecordsDoNotReachIntoTheSpan) {
    TraceBuilder builder;
    const std::uint32_t rank = builder.add_class("rank 0", -1, {0});
    const std::uint32_t gpu = builder.add_stream(rank, StreamKind::compute, "stream 7");
    const std::uint32_t own = builder.add_stream(rank, StreamKind::host, "Traces");
    builder.add_event(
        gpu, {.start = 100, .duration = 50, .name = builder.name("gemm"), .kind = EventKind::kernel});
    builder.add_event(
        own, {.start = 9'000, .name = builder.name("Record Window End"), .kind = EventKind::instant});
    const TraceFigures figures = figures_of(builder.finish());
    EXPECT_EQ(figures.first, 100);
    EXPECT_EQ(figures.span, 50); // 100 to 150
}

TEST(ImportText, CountsWhatTheTraceKeepsBesideTheRecords) {
    Imported some = imported(true, 1, 1);
    some.report.kernels = 3; // one of them twice
    EXPECT_THAT(text_of(some), HasSubstr("kernels    2 (3 records), 1 of them communication"));
}

TEST(ImportText, TimesSince1970AreNoWallClock) {
    Imported some = imported(true, 1, 1);
    some.trace.t0_ns = 1'000'000;
    EXPECT_THAT(text_of(some), Not(HasSubstr("  recorded ")));
    some.trace.t0_ns = 1'700'000'000'000'000'000; // 14 November 2023
    EXPECT_THAT(text_of(some), HasSubstr("recorded   2023-11-14 22:13:20.000 UTC"));
}

TEST(ImportText, CommandsNameAllFilesAndStandForTheShell) {
    const Imported some = imported(true, 1, 1);
    const std::string text = import_text({.paths = {"my job/0.json", "it's.json"},
                                          .imported = &some,
                                          .figures = figures_of(some.trace),
                                          .written = "",
                                          .align = false},
                                         {});
    EXPECT_THAT(text, HasSubstr("echosim import 'my job/0.json' 'it'\\''s.json' --align off -o job.etr"));
    EXPECT_THAT(text, HasSubstr("validate replay 'my job/0.json' 'it'\\''s.json' --align off"));
    EXPECT_THAT(text_of(imported(true, 0, 0)), Not(HasSubstr("validate replay"))); // no work of the GPU
}

TEST(ImportText, WarningsInColumnsAndNotesWithSums) {
    Imported some = imported(true, 1, 1);
    some.report.warn("missing_time", 1200);
    some.report.warn("word_of_the_future", 3);
    ImportReport other;
    for (const std::uint64_t count : {3U, 4U}) {
        other.note_counts("{} of {} kernels are {}", {count, 10});
    }
    some.report.add(other);
    EXPECT_THAT(text_of(some), AllOf(HasSubstr("\n  1,200  missing_time        events without a time\n"
                                               "      3  word_of_the_future\n"),
                                     HasSubstr("\n  7 of 20 kernels are {}\n")));
}

} // namespace
} // namespace echosim
