// SPDX-License-Identifier: Apache-2.0
#include "tests/validation/row_file.h"
#include "validation/collective_accuracy.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

constexpr const char* kData = "../shared/data/nccl_tests.json";

Json table_of(const std::string& name, int gpus, const std::string& collective, bool degraded = false) {
    return {
        {"table", name},    {"hardware", "H100"},   {"network", "NVLink"},      {"gpu", "h100-sxm"},
        {"nodes", 1},       {"gpus", gpus},         {"gpus_per_node", 8},       {"nvlink_domain_gpus", 8},
        {"fabric", "none"}, {"degraded", degraded}, {"collective", collective}, {"nccl_version", "2.29.2"}};
}

// Four tables of one H100 node, one of them degraded, each measured at three sizes.
Json small_file() {
    Json json = {{"tables",
                  {table_of("A", 8, "all_reduce"), table_of("B", 8, "all_gather"),
                   table_of("C", 4, "all_reduce"), table_of("D", 4, "all_gather", true)}},
                 {"rows", Json::array()}};
    for (const char* table : {"A", "B", "C", "D"})
        for (const int shift : {10, 20, 28})
            json["rows"].push_back({{"id", std::string(table) + "/" + std::to_string(1 << shift)},
                                    {"table", table},
                                    {"bytes", 1 << shift},
                                    {"dtype", "half"},
                                    {"time_us", 10 + (1 << shift) * 4e-6}});
    return json;
}

TEST(CollectiveAccuracy, EveryRowIsPredicted) {
    const RowFile file(small_file());
    const ValidationReport report = validate_collectives(file.path(), {});
    ASSERT_EQ(report.rows.size(), 12U);
    for (const ValidationRow& row : report.rows) {
        ASSERT_TRUE(row.predicted) << row.id << row.skipped;
        EXPECT_NEAR(*row.error_percent, 100 * (*row.predicted / row.measured - 1), 1e-9);
        EXPECT_FALSE(row.p05);
        EXPECT_EQ(row.groups.at("link"), "NVLink");
    }
    EXPECT_EQ(report.rows[0].groups.at("size"), "< 4 MiB");
    EXPECT_EQ(report.rows[2].groups.at("size"), ">= 4 MiB");
    EXPECT_EQ(report.rows[9].apart, "degraded");
    const Json json = report_to_json(report);
    EXPECT_EQ(json["kind"], "collectives");
    EXPECT_EQ(json["unit"], "us");
    EXPECT_EQ(json["summary"]["rows"], 9); // without the degraded table
    EXPECT_EQ(json["summary"]["by"]["apart"]["degraded"]["rows"], 3);
    EXPECT_FALSE(json["summary"]["by"]["collective"].contains("degraded"));
    EXPECT_THAT(report_text(report), HasSubstr("9 rows simulated, 0 skipped; 3 more are reported apart."));
}

// A PCIe table alone of its kind: without it nothing is known of that GPU on PCIe.
TEST(CollectiveAccuracy, LeftAloneIsAssumed) {
    Json json = small_file();
    Json pcie = table_of("P", 2, "all_reduce");
    pcie["nvlink_domain_gpus"] = 1;
    json["tables"].push_back(pcie);
    json["rows"].push_back({{"id", "P/1024"}, {"table", "P"}, {"bytes", 1024}, {"time_us", 12}});
    const RowFile file(json);
    const ValidationReport report = validate_collectives(file.path(), {.cross = true});
    EXPECT_EQ(report.rows.back().apart, "assumed");
    EXPECT_EQ(report.rows[0].apart, "");
    EXPECT_EQ(report.rows[9].apart, "degraded");
}

TEST(CollectiveAccuracy, CrossIsTheSameForAnyNumberOfThreads) {
    const RowFile file(small_file());
    const Json one = report_to_json(validate_collectives(file.path(), {.threads = 1, .cross = true}));
    const Json four = report_to_json(validate_collectives(file.path(), {.threads = 4, .cross = true}));
    EXPECT_EQ(one, four);
    // constants fitted without the row are others than the presets
    EXPECT_NE(one, report_to_json(validate_collectives(file.path(), {})));
}

TEST(CollectiveAccuracy, CrossDoesNotSeeWhatItPredicts) {
    Json changed = small_file();
    for (Json& row : changed["rows"])
        if (row["table"] == "A")
            row["time_us"] = 3 * row["time_us"].get<double>();
    const RowFile before(small_file()), after(changed);
    const ValidationReport a = validate_collectives(before.path(), {.cross = true});
    const ValidationReport b = validate_collectives(after.path(), {.cross = true});
    EXPECT_EQ(a.rows[0].predicted, b.rows[0].predicted); // A itself is left out
    EXPECT_NE(a.rows[6].predicted, b.rows[6].predicted); // C learns from A
}

double mean_of(const ValidationReport& report, const std::string& group, const std::string& value,
               int least_rows) {
    const ValidationSummary summary = summarise(rows_with(report, group, value));
    EXPECT_GE(summary.rows, least_rows) << group << " " << value;
    return summary.mean_abs_error_percent;
}

// 1,892 single-node rows, cross-validated; docs/validation.md has the figures.
TEST(CollectiveAccuracyData, CrossValidatedErrorsStayWithinTheirBands) {
    if (!std::filesystem::exists(kData))
        GTEST_SKIP() << kData << " is not there";
    const ValidationReport report = validate_collectives(kData, {.cross = true});
    EXPECT_LE(mean_of(report, "scope", "single node", 1800), 6);
    EXPECT_LE(mean_of(report, "dgx-class size", ">= 4 MiB, one node", 600), 5);
    EXPECT_LE(mean_of(report, "scope", "multi-node InfiniBand/RoCE", 200), 17);
    EXPECT_EQ(summarise(counted_rows(report)).skipped, 0);
}

} // namespace
} // namespace echosim
