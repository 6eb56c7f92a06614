// SPDX-License-Identifier: Apache-2.0
#include "validation/replay_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

constexpr TimeNs kUs = 1'000;

// One rank with two kernels: 100-150 us and 160-200 us; the replay starts the second at 170 us.
Trace small_trace() {
    TraceBuilder builder;
    const std::uint32_t rank = builder.add_class("rank 0", -1, {0});
    const std::uint32_t stream = builder.add_stream(rank, StreamKind::compute, "stream 7");
    builder.add_event(stream, {.start = 100 * kUs, .duration = 50 * kUs, .name = builder.name("gemm")});
    builder.add_event(stream, {.start = 160 * kUs, .duration = 40 * kUs, .name = builder.name("norm")});
    return builder.finish();
}

ReplayComparison small_comparison() {
    ReplayComparison comparison;
    ReplayRow row;
    row.rank_class = 0;
    row.name = "rank 0";
    row.recorded = {100 * kUs, 90 * kUs, 0, 10 * kUs};
    row.replayed = {110 * kUs, 90 * kUs, 0, 20 * kUs};
    row.errors = {2, 0, 10 * kUs, 10 * kUs, 0, 0, 0};
    comparison.ranks = {row};
    comparison.total = row;
    comparison.total.rank_class = kNoRow;
    comparison.total.name = "total";
    comparison.ops = {{event_ref(0, 0), 100 * kUs, 50 * kUs}, {event_ref(0, 1), 170 * kUs, 40 * kUs}};
    comparison.notes = {"inferred from times"};
    return comparison;
}

TEST(ReplayReport, OfATrace) {
    const ReplayReport report = replay_report_of(small_trace(), small_comparison(), "step.json");
    EXPECT_EQ(report.what, "recorded trace of 1 rank, 2 ops of the GPUs");
    ASSERT_EQ(report.validation.rows.size(), 2U);
    EXPECT_NEAR(report.validation.rows[0].error_percent.value(), 10, 1e-9); // 110 against 100
    EXPECT_EQ(report.validation.rows[1].apart, "single ranks");
    EXPECT_EQ(counted_rows(report.validation).size(), 1U);
    ASSERT_EQ(report.ranks.size(), 1U);
    EXPECT_DOUBLE_EQ(report.ranks[0].idle_measured, 0.1);
    EXPECT_NEAR(report.ranks[0].idle_predicted, 20.0 / 110, 1e-12);
    ASSERT_EQ(report.worst.size(), 1U); // the first kernel starts where it did
    EXPECT_EQ(report.worst[0].id, "norm on stream 7");
    EXPECT_NEAR(report.worst[0].measured, 60e-6, 1e-12); // from the first kernel
    EXPECT_NEAR(report.worst[0].predicted, 70e-6, 1e-12);
}

// The replay starts the second kernel 10 us late; names without their parameters, long ones with dots.
TEST(ReplayReport, NamesOfTheWorstStartsAreReadable) {
    const auto shown = [](const std::string& name) {
        Trace trace = small_trace();
        trace.streams[0].events.name[1] = trace.strings.intern(name).value;
        return replay_report_of(trace, small_comparison(), "step.json").worst.at(0).id;
    };
    EXPECT_EQ(shown("void at::f<(int)4>(float*, (anonymous namespace)::g)"), "at::f<(int)4> on stream 7");
    EXPECT_EQ(shown("(lambda)"), "(lambda) on stream 7");
    EXPECT_EQ(shown(")"), ") on stream 7");
    EXPECT_EQ(shown(std::string(60, 'k')), std::string(60, 'k') + " on stream 7");
    EXPECT_EQ(shown(std::string(61, 'k')), std::string(57, 'k') + "... on stream 7");
}

TEST(ReplayReport, ZeroHasNoSignAndUnknownMeansNoColumn) {
    ReplayComparison comparison = small_comparison();
    comparison.total.replayed.span -= 10 * kUs; // as recorded: 100 us
    ReplayReport report = replay_report_of(small_trace(), comparison, "step.json");
    report.validation.rows[0].error_percent = -1e-9;
    EXPECT_THAT(replay_text(report), AllOf(HasSubstr(" 0.000\n"), Not(HasSubstr("-0.000"))));
    EXPECT_THAT(replay_text(report), Not(HasSubstr("mean ")));
    report.ranks[0].start_mean = 10e-6;
    EXPECT_THAT(replay_text(report), AllOf(HasSubstr("mean median abs"), HasSubstr("+0.010")));
}

TEST(ReplayReport, NothingMeasured) {
    ReplayComparison comparison = small_comparison();
    comparison.total.recorded.span = 0;
    const ReplayReport report = replay_report_of(small_trace(), comparison, "step.json");
    EXPECT_EQ(report.validation.rows[0].skipped, "the recorded span is zero");
    EXPECT_FALSE(report.validation.rows[0].error_percent);
    EXPECT_THAT(replay_text(report), HasSubstr("skipped: total: the recorded span is zero"));
}

TEST(ReplayReport, Json) {
    const Json json = replay_to_json(replay_report_of(small_trace(), small_comparison(), "step.json"));
    EXPECT_EQ(json["schema"], "echosim.validate/1");
    EXPECT_EQ(json["kind"], "replay");
    EXPECT_EQ(json["unit"], "s");
    EXPECT_EQ(json["source"]["path"], "step.json");
    ASSERT_EQ(json["rows"].size(), 2U);
    EXPECT_EQ(json["rows"][0]["id"], "total");
    EXPECT_NEAR(json["rows"][0]["predicted"].get<double>(), 110e-6, 1e-12);
    EXPECT_TRUE(json["rows"][0]["p05"].is_null());
    EXPECT_TRUE(json["rows"][0]["skipped"].is_null());
    EXPECT_EQ(json["summary"]["rows"], 1);
    EXPECT_NEAR(json["summary"]["by"]["apart"]["single ranks"]["bias_percent"].get<double>(), 10, 1e-9);
    EXPECT_EQ(json["ranks"][0]["rank"], "rank 0");
    EXPECT_TRUE(json["ranks"][0]["start_error_mean_s"].is_null());
    EXPECT_NEAR(json["ranks"][0]["start_error_p95_abs_s"].get<double>(), 10e-6, 1e-12);
    EXPECT_EQ(json["worst_starts"].size(), 1U);
    EXPECT_EQ(json["notes"], Json::array({"inferred from times"}));
}

TEST(ReplayReport, TextFitsOneScreen) {
    const ReplayReport report = replay_pipeline("traces/samples/pipeline_pp2");
    const std::string text = replay_text(report);
    EXPECT_THAT(text, AllOf(HasSubstr("1F1B pipeline of 2 stages, 3 micro-batches, 2 iterations"),
                            HasSubstr("iteration 3"), HasSubstr("-1.961"), HasSubstr("rank 1"),
                            HasSubstr("constants held out: 1 rows")));
    std::size_t longest = 0, lines = 0;
    for (std::size_t at = 0; at < text.size(); ++lines) {
        const std::size_t end = text.find('\n', at);
        longest = std::max(longest, end - at);
        at = end + 1;
    }
    EXPECT_LE(lines, 40U);
    EXPECT_LE(longest, 110U);
}

TEST(ReplayReport, NoMoreThanSixteenRanksAsText) {
    ReplayComparison comparison = small_comparison();
    comparison.ranks.resize(40, comparison.ranks[0]);
    const ReplayReport report = replay_report_of(small_trace(), comparison, "step.json");
    EXPECT_THAT(replay_text(report), HasSubstr("and 24 more; --json lists all"));
    EXPECT_EQ(replay_to_json(report)["ranks"].size(), 40U);
}

} // namespace
} // namespace echosim
