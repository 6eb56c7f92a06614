// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/import_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
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
        .source = "job.et", .imported = &imported, .figures = figures_of(imported.trace), .written = ""};
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
