// SPDX-License-Identifier: Apache-2.0
#include "tests/validation/row_file.h"
#include "validation/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> keys_of(const Json& object) {
    std::vector<std::string> keys;
    for (const auto& item : object.items())
        keys.push_back(item.key());
    return keys;
}

ValidationRow row_of(const std::string& id, const std::string& gpu, double measured, double predicted) {
    ValidationRow row;
    row.id = id;
    row.measured = measured;
    row.predicted = predicted;
    row.error_percent = 100 * (predicted - measured) / measured;
    row.groups = {{"gpu", gpu}, {"confidence", "high"}, {"tp", "8"}};
    return row;
}

// Two A100 rows (+10 and -20 %), one H100 row (+50 %), one skipped A100 row without a measurement.
ValidationReport small_report() {
    ValidationReport report{"steps",
                            {row_of("first", "a100-sxm-80gb", 1, 1.1),
                             row_of("second", "a100-sxm-80gb", 1, 0.8), row_of("third", "h100-sxm", 2, 3)}};
    report.rows[2].groups["tp"] = "16";
    report.rows[0].p05 = 0.9;
    report.rows[0].p95 = 1.3;
    report.rows[0].notes = {"assumed: something (1 of 2)"};
    report.rows[1].notes = {"assumed: something (2 of 2)"};
    ValidationRow skipped;
    skipped.id = "fourth";
    skipped.skipped = "not modelled yet";
    skipped.groups = {{"gpu", "a100-sxm-80gb"}, {"confidence", "high"}, {"tp", "8"}};
    report.rows.push_back(skipped);
    return report;
}

TEST(ReportToJson, KeysAreThoseOfTheSchema) {
    const Json json = report_to_json(small_report());
    EXPECT_THAT(keys_of(json), ElementsAre("schema", "kind", "rows", "summary", "residuals"));
    EXPECT_EQ(json["schema"], "echosim.validate/1");
    EXPECT_EQ(json["kind"], "steps");
    ASSERT_EQ(json["rows"].size(), 4U); // skipped rows are listed
    for (const Json& row : json["rows"])
        EXPECT_THAT(keys_of(row), ElementsAre("id", "measured", "predicted", "p05", "p95", "error_percent",
                                              "skipped", "notes"));
    EXPECT_THAT(keys_of(json["summary"]),
                ElementsAre("rows", "skipped", "mean_abs_error_percent", "median_abs_error_percent",
                            "p90_abs_error_percent", "bias_percent", "interval_coverage_percent", "by"));
}

TEST(ReportToJson, RowsByHand) {
    const Json rows = report_to_json(small_report())["rows"];
    EXPECT_EQ(rows[0]["id"], "first");
    EXPECT_NEAR(rows[0]["error_percent"].get<double>(), 10, 1e-9);
    EXPECT_EQ(rows[0]["skipped"], nullptr);
    EXPECT_EQ(rows[0]["notes"], Json::array({"assumed: something (1 of 2)"}));
    EXPECT_EQ(rows[1]["p05"], nullptr);
    EXPECT_EQ(rows[3]["skipped"], "not modelled yet");
    EXPECT_EQ(rows[3]["notes"], Json::array());
    for (const char* key : {"measured", "predicted", "p05", "p95", "error_percent"})
        EXPECT_EQ(rows[3][key], nullptr) << key;
}

TEST(ReportToJson, SummaryAndGroupsByHand) {
    const Json summary = report_to_json(small_report())["summary"];
    EXPECT_EQ(summary["rows"], 3);
    EXPECT_EQ(summary["skipped"], 1);
    EXPECT_NEAR(summary["mean_abs_error_percent"].get<double>(), 80.0 / 3, 1e-9); // (10 + 20 + 50) / 3
    EXPECT_NEAR(summary["bias_percent"].get<double>(), 40.0 / 3, 1e-9);
    EXPECT_EQ(summary["interval_coverage_percent"], 100.0); // one row has an interval, 1 is inside
    const Json& a100 = summary["by"]["gpu"]["a100-sxm-80gb"];
    EXPECT_EQ(a100["rows"], 2);
    EXPECT_EQ(a100["skipped"], 1);
    EXPECT_NEAR(a100["mean_abs_error_percent"].get<double>(), 15, 1e-9);
    EXPECT_NEAR(a100["bias_percent"].get<double>(), -5, 1e-9);
    EXPECT_EQ(summary["by"]["gpu"]["h100-sxm"]["rows"], 1);
    EXPECT_THAT(keys_of(summary["by"]["tp"]), ElementsAre("8", "16")); // numbers by size
}

TEST(ReportToJson, WithoutSimulatedRowsErrorsAreNull) {
    ValidationReport report = small_report();
    report.rows.erase(report.rows.begin(), report.rows.begin() + 3);
    const Json summary = report_to_json(report)["summary"];
    EXPECT_EQ(summary["rows"], 0);
    EXPECT_EQ(summary["skipped"], 1);
    EXPECT_EQ(summary["mean_abs_error_percent"], nullptr);
    EXPECT_EQ(summary["bias_percent"], nullptr);
    EXPECT_EQ(summary["by"], Json::object());
    EXPECT_EQ(report_to_json({"steps", {}})["rows"], Json::array());
}

TEST(ReportToJson, OddRowsGiveNoInfinity) {
    const RowFile file(
        Json::array({dense_row_with(R"({"iter_time_s": 1e-320})"), dense_row_with(R"({"gpu": "x"})"),
                     dense_row_with(R"({"iter_time_s": 1e6})"), dense_row()}));
    const Json json = report_to_json(validate_steps(file.path(), {}));
    for (const Json& row : json["rows"])
        for (const char* key : {"measured", "predicted", "error_percent"})
            EXPECT_TRUE(row[key].is_null() || std::isfinite(row[key].get<double>())) << row;
    EXPECT_TRUE(std::isfinite(json["summary"]["mean_abs_error_percent"].get<double>()));
}

// measured / predicted of the A100 rows: 1 / 1.1 = 0.909 and 1 / 0.8 = 1.25; of the H100 row 2 / 3.
TEST(Residuals, ByHand) {
    const Json json = residuals_json(small_report());
    EXPECT_EQ(json["schema"], "echosim.step_residuals/1");
    EXPECT_EQ(json["gpus"]["a100"]["rows"], 2);
    EXPECT_NEAR(json["gpus"]["a100"]["p05"].get<double>(), 1 / 1.1, 1e-9);
    EXPECT_NEAR(json["gpus"]["a100"]["p95"].get<double>(), 1.25, 1e-9);
    EXPECT_NEAR(json["gpus"]["h100"]["p95"].get<double>(), 2.0 / 3, 1e-9);
}

TEST(Residuals, OnlyRowsOfHighConfidence) {
    ValidationReport report = small_report();
    report.rows[0].groups["confidence"] = "low";
    report.rows[1].groups.erase("confidence");
    EXPECT_THAT(keys_of(residuals_json(report)["gpus"]), ElementsAre("h100"));
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

TEST(ReportText, TablesAreAlignedAndComplete) {
    const std::string text = report_text(small_report());
    EXPECT_THAT(text,
                AllOf(HasSubstr("3 rows simulated, 1 skipped.\n"), HasSubstr("a positive bias is too slow"),
                      HasSubstr("     2  assumed: something\n"), HasSubstr("     1  not modelled yet\n"),
                      Not(HasSubstr("nan"))));
    std::size_t width = 0;
    int tabular = 0;
    for (const std::string& line : lines_of(text))
        if (line.starts_with("  |error|") || line.starts_with("  all ") || line.starts_with("  a100-sxm") ||
            line.starts_with("  h100-sxm")) {
            if (width == 0)
                width = line.size();
            EXPECT_EQ(line.size(), width) << line;
            ++tabular;
        }
    EXPECT_EQ(tabular, 4); // header, all, two GPUs
}

TEST(ReportText, WorstRowFirst) {
    const std::string text = report_text(small_report());
    const std::string line = "        2.0000       3.0000     +50.0  third\n";
    EXPECT_THAT(text, HasSubstr("error %  row\n" + line));
    EXPECT_LT(text.find("-20.0  second"), text.find("+10.0  first"));
}

TEST(ReportText, GroupsOfOneValueTakeOneLine) {
    const std::string text = report_text(small_report());
    EXPECT_THAT(text, HasSubstr("the same for all: confidence high\n"));
    EXPECT_THAT(text, Not(HasSubstr("  high ")));
    EXPECT_THAT(text, AllOf(HasSubstr("\ntp\n  8 "), HasSubstr("\n  16 ")));
}

TEST(ReportText, NothingSimulated) {
    EXPECT_EQ(report_text({"steps", {}}), "0 rows simulated, 0 skipped.\n");
}

} // namespace
} // namespace echosim
