// SPDX-License-Identifier: Apache-2.0
#include "tests/validation/row_file.h"
#include "validation/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::SizeIs;

ValidationRow simulated(double measured, double predicted) {
    ValidationRow row;
    row.measured = measured;
    row.predicted = predicted;
    row.error_percent = 100 * (predicted - measured) / measured;
    return row;
}

ValidationRow skipped(const std::string& reason) {
    ValidationRow row;
    row.skipped = reason;
    return row;
}

// Errors +10, -20, +30, -2 %: absolute 2, 10, 20, 30.
TEST(Summarise, ByHand) {
    const ValidationSummary s = summarise(
        {simulated(1, 1.1), simulated(1, 0.8), simulated(10, 13), simulated(100, 98), skipped("no")});
    EXPECT_EQ(s.rows, 4);
    EXPECT_EQ(s.skipped, 1);
    EXPECT_NEAR(s.mean_abs_error_percent, 15.5, 1e-9); // (2 + 10 + 20 + 30) / 4
    EXPECT_NEAR(s.median_abs_error_percent, 15, 1e-9); // between 10 and 20
    EXPECT_NEAR(s.p90_abs_error_percent, 27, 1e-9);    // place 0.9 x 3 = 2.7: 20 + 0.7 x 10
    EXPECT_NEAR(s.bias_percent, 4.5, 1e-9);            // (10 - 20 + 30 - 2) / 4
    EXPECT_FALSE(s.interval_coverage_percent.has_value());
}

// Of three rows with an interval two measurements lie inside (one on the edge); the row without does not
// count.
TEST(Summarise, Coverage) {
    std::vector<ValidationRow> rows = {simulated(1, 1), simulated(2, 2), simulated(3, 3), simulated(4, 4)};
    rows[0].p05 = 0.9, rows[0].p95 = 1.1;
    rows[1].p05 = 2.0, rows[1].p95 = 2.2;
    rows[2].p05 = 3.1, rows[2].p95 = 3.3;
    const ValidationSummary s = summarise(rows);
    ASSERT_TRUE(s.interval_coverage_percent.has_value());
    EXPECT_NEAR(*s.interval_coverage_percent, 200.0 / 3, 1e-9);
}

TEST(Summarise, OneRowAndNone) {
    const ValidationSummary one = summarise({simulated(2, 1)});
    EXPECT_NEAR(one.mean_abs_error_percent, 50, 1e-9);
    EXPECT_NEAR(one.median_abs_error_percent, 50, 1e-9);
    EXPECT_NEAR(one.p90_abs_error_percent, 50, 1e-9);
    EXPECT_NEAR(one.bias_percent, -50, 1e-9);
    const ValidationSummary none = summarise({skipped("no")});
    EXPECT_EQ(none.rows, 0);
    EXPECT_EQ(none.skipped, 1);
    EXPECT_EQ(none.mean_abs_error_percent, 0);
}

TEST(RowsWith, PicksTheRowsOfAGroup) {
    ValidationReport report{"steps", {simulated(1, 1), simulated(1, 2), skipped("no"), simulated(1, 3)}};
    report.rows[0].groups["gpu"] = "a100";
    report.rows[1].groups["gpu"] = "h100";
    report.rows[2].groups["gpu"] = "a100";
    EXPECT_THAT(rows_with(report, "gpu", "a100"), SizeIs(2));
    EXPECT_THAT(rows_with(report, "gpu", "b200"), SizeIs(0));
    EXPECT_THAT(rows_with(report, "tp", "1"), SizeIs(0)); // the fourth row has no groups at all
}

TEST(ValidateSteps, SameForAnyNumberOfThreads) {
    Json rows = Json::array();
    for (const int micro : {1, 2, 4, 8})
        for (const char* recompute : {"none", "full", "half"}) {
            Json row = dense_row();
            row["id"] = recompute + std::to_string(micro);
            row["micro_batch"] = micro;
            row["recompute"] = recompute;
            rows.push_back(row);
        }
    const RowFile file(rows);
    const std::string one = report_to_json(validate_steps(file.path(), {.threads = 1})).dump();
    EXPECT_EQ(one, report_to_json(validate_steps(file.path(), {.threads = 2})).dump());
    EXPECT_EQ(one, report_to_json(validate_steps(file.path(), {.threads = 64})).dump());
    EXPECT_EQ(one, report_to_json(validate_steps(file.path(), {})).dump());
    EXPECT_NE(one.find("full8"), std::string::npos);
}

TEST(ValidateSteps, InterferenceReachesTheRun) {
    const Json row = dense_row_with(R"({"dp_comm_overlap": true})");
    const RowFile file(Json::array({row}));
    ValidateOptions slow;
    slow.interference = "constant:2";
    const double with = *validate_steps(file.path(), slow).rows.at(0).predicted;
    EXPECT_GT(with, *validate_steps(file.path(), {}).rows.at(0).predicted);
}

} // namespace
} // namespace echosim
