// SPDX-License-Identifier: Apache-2.0
// Regression bands on the published step tables: a little wider than what the model reaches today, so that a
// change that costs accuracy is seen. They are not the claims of accuracy, which are made on layouts left out
// of the fit.
#include "validation/accuracy.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

namespace echosim {
namespace {

std::string data_file(const std::string& name) {
    return "../shared/data/" + name;
}

#define SKIP_WITHOUT(path)                                                                                   \
    if (!std::filesystem::exists(path))                                                                      \
    GTEST_SKIP() << path << " is not here"

std::string worst_of(const std::vector<ValidationRow>& rows) {
    const ValidationRow* worst = nullptr;
    for (const ValidationRow& row : rows)
        if (row.error_percent &&
            (worst == nullptr || std::abs(*row.error_percent) > std::abs(*worst->error_percent)))
            worst = &row;
    return worst == nullptr ? "no row"
                            : "worst row: " + worst->id + " " + std::to_string(*worst->error_percent) + " %";
}

std::map<std::string, std::vector<ValidationRow>> grouped(const std::vector<ValidationRow>& rows,
                                                          const std::vector<std::string>& keys) {
    std::map<std::string, std::vector<ValidationRow>> groups;
    for (const ValidationRow& row : rows) {
        if (!row.error_percent)
            continue;
        std::string name;
        for (const std::string& key : keys)
            name += key + " " + row.groups.at(key) + " ";
        groups[name].push_back(row);
    }
    return groups;
}

// Today: 198 rows, 5.9 % over the 100 of high confidence.
TEST(MeasuredSteps, CalibrationRowsStayInTheirBands) {
    const std::string path = data_file("steps_calibration.json");
    SKIP_WITHOUT(path);
    const ValidationReport report = validate_steps(path, {});
    const ValidationSummary all = summarise(report.rows);
    EXPECT_EQ(all.rows, 198);
    EXPECT_EQ(all.skipped, 82);

    const std::vector<ValidationRow> high = rows_with(report, "confidence", "high");
    const ValidationSummary summary = summarise(high);
    EXPECT_EQ(summary.rows, 100);
    EXPECT_LE(summary.mean_abs_error_percent, 8) << worst_of(high);
    for (const auto& [gpu, rows] : grouped(high, {"gpu"}))
        EXPECT_LE(summarise(rows).mean_abs_error_percent, 12) << gpu << worst_of(rows);
    for (const auto& [family, rows] : grouped(high, {"gpu", "tp", "pp", "recompute"})) {
        if (rows.size() >= 4) {
            EXPECT_LE(std::abs(summarise(rows).bias_percent), 30) << family << worst_of(rows);
        }
    }
}

// A row is either simulated or has a reason; ids stay in the order of the file.
TEST(MeasuredSteps, EveryRowIsListedOnce) {
    const std::string path = data_file("steps_other_frameworks.json");
    SKIP_WITHOUT(path);
    const ValidationReport report = validate_steps(path, {});
    ASSERT_EQ(report.rows.size(), 236U);
    std::set<std::string> ids;
    for (const ValidationRow& row : report.rows) {
        EXPECT_NE(row.predicted.has_value(), !row.skipped.empty()) << row.id;
        ids.insert(row.id);
    }
    EXPECT_EQ(ids.size(), 236U);
}

// Today: 10.7 % over 720 small steps of one node.
TEST(MeasuredSteps, SingleNodeRowsStayInTheirBand) {
    const std::string path = data_file("steps_vtrain_single.json");
    SKIP_WITHOUT(path);
    const ValidationReport report = validate_steps(path, {});
    const ValidationSummary summary = summarise(report.rows);
    EXPECT_EQ(summary.rows, 720);
    EXPECT_LE(summary.mean_abs_error_percent, 14) << worst_of(report.rows);
}

// Small host-bound tests, most of them with deterministic kernels: far from what the model is made for, and
// predicted three times too fast. Only what is read and skipped is held here, not the error.
TEST(MeasuredSteps, RunsOfMegatronsCiAreRead) {
    const std::string path = data_file("megatron_ci_runs.json");
    SKIP_WITHOUT(path);
    const ValidationReport report = validate_steps(path, {});
    ASSERT_EQ(report.rows.size(), 422U);
    EXPECT_EQ(std::ranges::count(report.rows, "scope of the row: unsupported", &ValidationRow::skipped), 98);
    EXPECT_GE(summarise(report.rows).rows, 182); // more as more features are modelled
    for (const ValidationRow& row : report.rows)
        EXPECT_NE(row.predicted.has_value(), !row.skipped.empty()) << row.id;
}

} // namespace
} // namespace echosim
