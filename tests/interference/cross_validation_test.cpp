// SPDX-License-Identifier: Apache-2.0
#include "interference/cross_validation.h"
#include "simulator/core/files.h"
#include "tests/interference/made_samples.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

namespace echosim {
namespace {

constexpr const char* kData = "../shared/data/tables/echo-slowdown/merged_features.csv";

// Time alone 10 s, `overlapped` s beside communication.
InterferenceSample sample_of(double overlapped, double overlap = 1) {
    InterferenceSample s;
    s.family = "a";
    s.load = {.ctas = 8, .hbm_share = 0.1};
    s.time_alone = 10;
    s.time_overlapped = overlapped;
    s.overlap = overlap;
    return s;
}

double fifteen_percent(const KernelFootprint&, const CommLoad&) {
    return std::log(1.15);
}

Predictor learned(bool known_families_only, Fitter fitter = Fitter::ridge) {
    return {.kind = Predictor::Kind::learned,
            .constant = 1,
            .fit = {.fitter = fitter, .known_families_only = known_families_only}};
}

Predictor constant(double factor) {
    return {.kind = Predictor::Kind::constant, .constant = factor, .fit = {}};
}

// Measured 1.0, 1.25, 2.0; predicted 1.09, 1.0, 1.0. Errors: +9, -20, -50 %.
TEST(CrossFigures, ByHand) {
    const std::vector<InterferenceSample> samples = {sample_of(10), sample_of(12.5), sample_of(20)};
    const std::vector<CrossPrediction> predictions = {
        {.sample = 0, .factor = 1.09, .low = 0.9, .high = 1.2, .expected = 1.2},
        {.sample = 1, .factor = 1.0, .low = 0.9, .high = 1.3, .expected = 1.2},
        {.sample = 2, .factor = 1.0, .low = 0.9, .high = 1.9, .expected = 1.2}};
    const CrossFigures f = figures_of(samples, predictions);
    EXPECT_EQ(f.rows, 3);
    EXPECT_NEAR(f.mean_abs_error_percent, 79.0 / 3, 1e-9);
    EXPECT_NEAR(f.median_abs_error_percent, 20, 1e-9);
    EXPECT_NEAR(f.p90_abs_error_percent, 20 + 0.8 * 30, 1e-9); // at 0.9 x 2 = 1.8 of the sorted list
    EXPECT_NEAR(f.mean_abs_log_error, (std::log(1.09) + std::log(1.25) + std::log(2.0)) / 3, 1e-12);
    EXPECT_NEAR(f.total_error_percent, 100 * (30.9 / 42.5 - 1), 1e-9);
    EXPECT_NEAR(f.expected_error_percent, 100 * (36.0 / 42.5 - 1), 1e-9);
    EXPECT_NEAR(f.coverage_percent, 200.0 / 3, 1e-9); // 2.0 is above 1.9
    EXPECT_NEAR(f.within_10_percent, 100.0 / 3, 1e-9);
    EXPECT_TRUE(f.has_band);
    EXPECT_EQ(figures_of(samples, {}).rows, 0);
}

// The constant is of the overlapped part: 1 + 0.5 x 0.2 = 1.1 of the whole. No band.
TEST(CrossPredict, ConstantOfAPartialOverlap) {
    const std::vector<InterferenceSample> samples = {sample_of(10, 0), sample_of(11, 0.5)};
    const auto predictions = cross_predict(samples, constant(1.2), std::nullopt, 1);
    ASSERT_EQ(predictions.size(), 1U); // the first has no overlap
    EXPECT_EQ(predictions[0].sample, 1U);
    EXPECT_NEAR(predictions[0].factor, 1.1, 1e-12);
    const CrossFigures f = figures_of(samples, predictions);
    EXPECT_NEAR(f.mean_abs_error_percent, 0, 1e-9);
    EXPECT_FALSE(f.has_band);
}

// A hundredth of the kernel overlaps: the band of the overlapped part shrinks to nothing, the kernel's own
// noise, exp(.045) = 1.046, stays.
TEST(CrossPredict, BandKeepsTheNoiseOfThePartAlone) {
    const std::vector<InterferenceSample> samples = {sample_of(10, 0.01)};
    const auto predictions = cross_predict(samples, {}, std::nullopt, 1);
    ASSERT_EQ(predictions.size(), 1U);
    EXPECT_LE(predictions[0].low, predictions[0].factor / 1.0460);
    EXPECT_GE(predictions[0].high, predictions[0].factor * 1.0460);
}

// 15 % more than the prior everywhere, families alike in time and shares. A ridge that has seen every family
// finds it, and one that is asked about a family that it has not seen carries it over; one for its own
// families alone leaves that to the prior, 1 / 1.15 - 1 = -13.0 %.
TEST(CrossPredict, LeavesOutFamilies) {
    auto samples = made_samples(60, fifteen_percent);
    const PriorSlowdown prior{GpuLimits{}};
    for (std::size_t i = 0; i < samples.size(); ++i) {
        InterferenceSample& s = samples[i];
        s.kernel.hbm_share = 0.2 + 0.05 * static_cast<double>(i / 2 % 10);
        s.kernel.compute_share = 0.5;
        s.time_overlapped = s.time_alone * 1.15 * prior.factor(s.kernel, s.load);
    }
    const auto error = [&](const Predictor& predictor, Fold fold) {
        return figures_of(samples, cross_predict(samples, predictor, fold, 1)).mean_abs_error_percent;
    };
    EXPECT_LT(error(learned(false), Fold::random), 3);
    EXPECT_LT(error(learned(true), Fold::random), 3);
    EXPECT_LT(error(learned(false), Fold::family), 10);
    EXPECT_NEAR(error(learned(true), Fold::family), 100 * (1 - 1 / 1.15), 1e-6);
    EXPECT_NEAR(error({}, Fold::family), 100 * (1 - 1 / 1.15), 1e-6);
}

TEST(CrossPredict, DoesNotDependOnThreads) {
    const auto samples = made_samples(60, fifteen_percent);
    for (const Fold fold : {Fold::random, Fold::family}) {
        const auto one = cross_predict(samples, learned(false), fold, 1);
        const auto many = cross_predict(samples, learned(false), fold, 5);
        ASSERT_EQ(one.size(), samples.size());
        ASSERT_EQ(many.size(), samples.size());
        for (std::size_t i = 0; i < one.size(); ++i) {
            EXPECT_EQ(one[i].sample, i);
            EXPECT_EQ(one[i].factor, many[i].factor);
            EXPECT_EQ(one[i].high, many[i].high);
        }
    }
}

// 30 samples, 15 of each family: 15 are left to fit, less than 20. Of random fifths 24 are.
TEST(CrossPredict, PriorWhereTooFewAreLeft) {
    const auto samples = made_samples(30, fifteen_percent);
    for (const CrossPrediction& p : cross_predict(samples, learned(false), Fold::family, 1)) {
        EXPECT_TRUE(p.too_few);
        EXPECT_EQ(p.source, EstimateSource::prior);
    }
    for (const CrossPrediction& p : cross_predict(samples, learned(false), Fold::random, 1))
        EXPECT_FALSE(p.too_few);
}

TEST(CrossPredict, CountsTheGroups) {
    auto samples = made_samples(12, fifteen_percent);
    samples[0].communication = "other";
    EXPECT_EQ(groups_of_fold(samples, Fold::family), 2U);
    EXPECT_EQ(groups_of_fold(samples, Fold::communication), 2U);
    EXPECT_EQ(groups_of_fold(samples, Fold::gpu), 1U);
    EXPECT_EQ(groups_of_fold(samples, Fold::random), 5U);
    samples.resize(3);
    EXPECT_EQ(groups_of_fold(samples, Fold::random), 3U);
}

// A model is fitted to one GPU and asked about another: the prior's part is that of the sample's own number
// of SMs, for which 132 / 108 as many make the same CTAs a smaller loss.
TEST(CrossPredict, SamplesAreOnTheirOwnGpu) {
    auto samples = made_samples(60, [](const KernelFootprint&, const CommLoad&) { return 0.0; });
    for (std::size_t i = 0; i < samples.size(); i += 2)
        samples[i].sms = 132;
    const auto prior = cross_predict(samples, {}, std::nullopt, 1);
    GpuLimits limits;
    limits.sms = 132;
    const double expected = PriorSlowdown(limits).factor(samples[0].kernel, samples[0].load);
    EXPECT_NEAR(prior[0].factor, expected, 1e-12);
    EXPECT_LT(expected, PriorSlowdown(GpuLimits{}).factor(samples[0].kernel, samples[0].load));
    const auto model = fit_slowdown(samples, {.fitter = Fitter::ridge});
    EXPECT_NEAR(predict_with(samples, *model)[0].factor,
                model->on_gpu(limits).estimate(samples[0].kernel, samples[0].load, samples[0].family).factor,
                1e-12);
}

// The file of Echo-slowdown: mean |error| of constants on the overlapped part, known from the table itself.
TEST(CrossPredict, ConstantsOnMeasuredSamples) {
    if (!std::filesystem::exists(kData))
        GTEST_SKIP() << kData << " is not there";
    const auto samples = read_interference_csv(read_text_file(kData, 1_GiB), kData).samples;
    const auto figures = [&](double factor) {
        return figures_of(samples, cross_predict(samples, constant(factor), Fold::family, 1));
    };
    EXPECT_EQ(figures(1).rows, 404);
    EXPECT_NEAR(figures(1).mean_abs_error_percent, 16.1, 0.1);
    EXPECT_NEAR(figures(1).total_error_percent, -9.3, 0.1);
    EXPECT_NEAR(figures(1.10).mean_abs_error_percent, 19.0, 0.1);
    EXPECT_NEAR(figures(1.19).mean_abs_error_percent, 22.8, 0.1);
    EXPECT_EQ(groups_of_fold(samples, Fold::family), 24U);
}

} // namespace
} // namespace echosim
