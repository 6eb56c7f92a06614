// SPDX-License-Identifier: Apache-2.0
#include "validation/interference_accuracy.h"
#include "validation/interference_rows.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using testing::HasSubstr;

constexpr const char* kData = "../shared/data/tables/echo-slowdown/merged_features.csv";

// A file of Echo-slowdown's columns that disappears with the object.
class SampleFile {
  public:
    explicit SampleFile(const std::string& rows)
        : path_((std::filesystem::temp_directory_path() /
                 fmt::format("echosim_samples_{}.csv",
                             testing::UnitTest::GetInstance()->current_test_info()->name()))
                    .string()) {
        std::ofstream(path_) << "id,kShortName,ground_truth,duration,overlap_ratio,slowdown,Compute "
                                "throughput,SM,Memory throughput,DRAM throughput,Achieved "
                                "occupancy,Maximum occupancy,L1 hit rate,L2 hit rate\n"
                             << rows;
    }
    ~SampleFile() { std::filesystem::remove(path_); }
    SampleFile(const SampleFile&) = delete;
    SampleFile& operator=(const SampleFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::string row(int id, const std::string& name, int alone, int beside, double overlap) {
    return fmt::format("{},{},{},{},{},0,80,108,20,20,60,62.5,0,50\n", id, name, alone, beside, overlap);
}

// Two families of GEMMs and one row that overlaps nothing.
std::string three_rows() {
    return row(1, "ampere_sgemm_128x64_tn", 100000, 120000, 1) + row(2, "magma_sgemmEx", 200000, 200000, 1) +
           row(3, "ampere_sgemm_128x64_tn", 100000, 101000, 0);
}

// 1.2 and 1.0 predicted as 1.1: -8.33 and +10 %; of the total, (110 + 220) / 320 = +3.125 %.
TEST(InterferenceAccuracy, Constant) {
    const SampleFile file(three_rows());
    const InterferenceReport report = validate_interference(file.path(), {.interference = "constant:1.1"});
    ASSERT_EQ(report.validation.rows.size(), 3U);
    EXPECT_NEAR(report.validation.rows[0].measured, 1.2, 1e-12);
    EXPECT_NEAR(*report.validation.rows[0].predicted, 1.1, 1e-12);
    EXPECT_NEAR(*report.validation.rows[0].error_percent, -100.0 / 12, 1e-9);
    EXPECT_FALSE(report.validation.rows[0].p05); // a constant has no band
    EXPECT_EQ(report.validation.rows[2].skipped, "no overlap with communication");
    EXPECT_NEAR(report.figures.mean_abs_error_percent, (100.0 / 12 + 10) / 2, 1e-9);
    EXPECT_NEAR(report.figures.total_error_percent, 3.125, 1e-9);
    EXPECT_EQ(report.predictor, "constant 1.1");
    EXPECT_EQ(report.baselines.size(), 4U);
}

// Without interference the first family has all of the error: 20 of 120 us, and 120 of 320 us of the time.
TEST(InterferenceAccuracy, SharesOfTheFamilies) {
    const SampleFile file(three_rows());
    const InterferenceReport report = validate_interference(file.path(), {.interference = "off"});
    ASSERT_EQ(report.families.size(), 2U);
    EXPECT_EQ(report.families[0].family, "ampere_sgemm_tn");
    EXPECT_EQ(report.families[0].kernel_class, "gemm");
    EXPECT_NEAR(report.families[0].error_share, 100, 1e-9);
    EXPECT_NEAR(report.families[0].no_effect_share, 100, 1e-9);
    EXPECT_NEAR(report.families[0].time_share, 37.5, 1e-9);
    EXPECT_NEAR(report.families[0].total_share, -6.25, 1e-9); // -20 / 320
    EXPECT_NEAR(report.families[1].error_share, 0, 1e-9);
}

// A prior has a band; the kernel is a GEMM that fills the GPU, 2 CTAs of 108 SMs: a few percent.
TEST(InterferenceAccuracy, PriorIsTheDefault) {
    const SampleFile file(three_rows());
    const InterferenceReport report = validate_interference(file.path(), {});
    const ValidationRow& gemm = report.validation.rows[0];
    EXPECT_GT(*gemm.predicted, 1);
    EXPECT_LT(*gemm.predicted, 1.1);
    EXPECT_LT(*gemm.p05, *gemm.predicted / 1.04);
    EXPECT_GT(*gemm.p95, *gemm.predicted * 1.04);
    EXPECT_EQ(gemm.groups.at("class"), "big grid");
    EXPECT_EQ(gemm.groups.at("overlap"), "over 0.9");
    EXPECT_EQ(report.predictor, "prior");
}

TEST(InterferenceAccuracy, OverlapGroups) {
    EXPECT_EQ(overlap_group(0.49), "under 0.5");
    EXPECT_EQ(overlap_group(0.5), "0.5 - 0.9");
    EXPECT_EQ(overlap_group(0.9), "0.5 - 0.9");
    EXPECT_EQ(overlap_group(0.91), "over 0.9");
}

// Two samples are too few for every fit: the table has all ways all the same, each learned one the prior's.
TEST(InterferenceAccuracy, CrossOfTooFewSamples) {
    const SampleFile file(three_rows());
    const InterferenceReport report = validate_interference(file.path(), {.cross = true});
    ASSERT_EQ(report.cross.size(), 2U); // one communication configuration, one GPU
    EXPECT_EQ(report.cross[0].fold, Fold::family);
    EXPECT_EQ(report.cross[0].groups, 2U);
    const auto& predictors = report.cross[1].predictors;
    ASSERT_GE(predictors.size(), 7U);
    EXPECT_EQ(predictors.back().name, "shipped");
    EXPECT_EQ(predictors.back().figures.mean_abs_error_percent, predictors[3].figures.mean_abs_error_percent);
    EXPECT_THAT(report.cross[1].validation.rows[0].notes,
                testing::Contains(HasSubstr("fewer than 20 samples were left to fit")));
}

TEST(InterferenceAccuracy, Documents) {
    const SampleFile file(three_rows());
    const InterferenceReport report = validate_interference(file.path(), {.cross = true});
    const nlohmann::ordered_json json = interference_to_json(report);
    EXPECT_EQ(json.at("schema"), "echosim.validate/1");
    EXPECT_EQ(json.at("kind"), "interference");
    EXPECT_EQ(json.at("rows").size(), 3U);
    EXPECT_EQ(json.at("summary").at("rows"), 2);
    EXPECT_EQ(json.at("summary").at("by").at("family").size(), 2U);
    EXPECT_EQ(json.at("cross").at("random").at("predictors").at(0).at("name"), "no interference");
    EXPECT_TRUE(json.at("baselines").at(0).at("interval_coverage_percent").is_null());
    const std::string text = interference_text(report);
    EXPECT_THAT(text, HasSubstr("2 rows simulated, 1 skipped"));
    EXPECT_THAT(text, HasSubstr("random fifths"));
    EXPECT_THAT(text, HasSubstr("ampere_sgemm_tn, 100.0 us, overlap 1.00, HBM 20 %"));
}

// Bounds with room above docs/validation.md, section Interference.
TEST(InterferenceAccuracy, MeasuredSamplesOutOfSample) {
    if (!std::filesystem::exists(kData))
        GTEST_SKIP() << kData << " is not there";
    const InterferenceReport prior = validate_interference(kData, {});
    EXPECT_EQ(prior.figures.rows, 404);
    EXPECT_LE(prior.figures.mean_abs_error_percent, 14);
    EXPECT_LT(prior.figures.mean_abs_error_percent, prior.baselines[0].figures.mean_abs_error_percent);
    EXPECT_GE(prior.figures.coverage_percent, 85);
    EXPECT_LE(prior.figures.coverage_percent, 95);
}

} // namespace
} // namespace echosim
