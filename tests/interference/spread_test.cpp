// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/spread.h"

#include "tests/interference/residual_data.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <utility>

namespace echosim {
namespace {

// Left-out residuals and relevances as given.
class Given final : public ResidualModel {
  public:
    Given(std::vector<double> left_out, std::vector<double> relevance)
        : left_out_(std::move(left_out)), relevance_(std::move(relevance)) {}
    ResidualPrediction predict(std::span<const double>) const override { return {}; }
    const std::vector<double>& left_out() const override { return left_out_; }
    void relevance(std::span<const double>, std::span<double> weight) const override {
        std::ranges::copy(relevance_, weight.begin());
    }
    std::string name() const override { return "given"; }
    nlohmann::ordered_json to_json() const override { return {}; }

  private:
    std::vector<double> left_out_, relevance_;
};

SlowdownEstimate spread(const Given& model, double mean = 0) {
    return with_residual({.factor = 1.2, .low = 1.1, .high = 1.5, .expected = 1.25}, {mean, 0.1}, {}, model);
}

// S / 1.2 = 1, 1, 3 with equal weights: weights 1, 1, 1/3 of the median make 1 the factor; mean 5/3; 95 % of
// the weight is at 3 only: ln(high / factor) = sqrt(0.045^2 + (ln 3)^2) = 1.0995; low = exp(-0.045).
TEST(Spread, WeighsByRelativeError) {
    const SlowdownEstimate e = spread(Given({0, std::log(3.0), 0}, {5, 5, 5}));
    EXPECT_NEAR(e.factor, 1.2, 1e-12);
    EXPECT_NEAR(e.expected, 1.2 * 5 / 3, 1e-12);
    EXPECT_NEAR(e.high, 1.2 * std::exp(1.09953), 1e-4);
    EXPECT_NEAR(e.low, 1.2 * std::exp(-0.045), 1e-12);
    EXPECT_EQ(e.source, EstimateSource::residual);
}

// 1, 2 and 4 with equal weights, as v / S: 1, 1/2, 1/4: half of 7/4 is reached at 1. The error of 1 is
// (0 + 1/2 + 3/4) / 3 = 0.417; that of 2, the plain median, (1 + 0 + 1/2) / 3 = 0.5.
TEST(Spread, TheFactorIsBelowTheMedianOfASkewedSpread) {
    const SlowdownEstimate e = spread(Given({0, std::log(2.0), std::log(4.0)}, {5, 5, 5}));
    EXPECT_NEAR(e.factor, 1.2, 1e-12);
    EXPECT_NEAR(e.expected, 1.2 * 7 / 3, 1e-12);
}

TEST(Spread, MovesWithTheMean) {
    const Given model({0, 0.1, -0.1}, {5, 5, 5});
    const SlowdownEstimate at = spread(model), moved = spread(model, 0.5);
    EXPECT_NEAR(moved.factor, at.factor * std::exp(0.5), 1e-12);
    EXPECT_NEAR(moved.low, at.low * std::exp(0.5), 1e-12);
    EXPECT_NEAR(moved.high, at.high * std::exp(0.5), 1e-12);
    EXPECT_NEAR(moved.expected, at.expected * std::exp(0.5), 1e-12);
}

// Twenty rows, relevance 10 for the ten calm ones and 0 for the ten wild ones: of the weight 101 the wild
// have 10 / 20 = 0.5, less than 5 %. With relevance 0 everywhere they have half of it.
TEST(Spread, NeighboursCountAndWithoutAnyAllRowsDo) {
    std::vector<double> left_out(20), relevance(20);
    for (std::size_t i = 0; i < 10; ++i) {
        left_out[i] = 0.001 * static_cast<double>(i);
        left_out[10 + i] = 2;
        relevance[i] = 10;
    }
    EXPECT_LT(spread(Given(left_out, relevance)).high, 1.2 * 1.1);
    EXPECT_GT(spread(Given(left_out, std::vector<double>(20))).high, 1.2 * 7); // exp 2 = 7.4
}

// One of forty rows is wild, at S / 1.2 = 20: it has 2.5 % of the weight, and the mean leaves it out.
TEST(Spread, TheMeanLeavesOutTheEnds) {
    std::vector<double> left_out(40, 0.0);
    left_out[7] = std::log(20.0);
    EXPECT_NEAR(spread(Given(left_out, std::vector<double>(40, 5.0))).expected, 1.2, 1e-12);
    left_out[8] = left_out[9] = left_out[7]; // three hold 7.5 %: they count, (37 + 3 x 20) / 40 = 2.425
    EXPECT_NEAR(spread(Given(left_out, std::vector<double>(40, 5.0))).expected, 1.2 * 2.425, 1e-12);
}

TEST(Spread, IsNeverEmpty) {
    const SlowdownEstimate e = spread(Given({0, 0, 0}, {5, 5, 5}));
    EXPECT_NEAR(std::log(e.high / e.factor), 0.045, 1e-12);
    EXPECT_NEAR(std::log(e.factor / e.low), 0.045, 1e-12);
}

TEST(Spread, WithoutResidualsThePriorsBandMoves) {
    const SlowdownEstimate e = spread(Given({}, {}), std::log(2.0));
    EXPECT_NEAR(e.factor, 2.4, 1e-12);
    EXPECT_NEAR(e.low, 2.2, 1e-12);
    EXPECT_NEAR(e.high, 3, 1e-12);
    EXPECT_NEAR(e.expected, 2.5, 1e-12);
}

} // namespace
} // namespace echosim
