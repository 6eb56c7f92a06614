// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/gaussian_process.h"
#include "interference/fit/ridge.h"
#include "interference/fit/spread.h"
#include "tests/interference/residual_data.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace echosim {
namespace {

// Made measurements with a known slowdown. A kernel of G blocks, one an SM, on M = 108 SMs, that uses a share
// u of the HBM bandwidth, beside c CTAs that need a share h = 0.004 c of it:
//
//   waves      w = ceil(G / M), w' = ceil(G / (M - c)), smoothed: 0.7 w + 0.3 max(1, G / M)
//   bandwidth  max(1, (u + h) / 0.92)
//   S = the larger of the two
//
// Measured: S exp(noise), noise of sd 0.02; the prior is 1, so y = ln S + noise.
struct Made {
    double c = 0, u = 0, blocks = 0;
};

double smooth_waves(double x) {
    return 0.7 * std::ceil(x) + 0.3 * std::max(1.0, x);
}

double slowdown(const Made& k) {
    const double waves = smooth_waves(k.blocks / (108 - k.c)) / smooth_waves(k.blocks / 108);
    return std::max(waves, std::max(1.0, (k.u + 0.004 * k.c) / 0.92));
}

std::vector<double> features(const Made& k) {
    return {k.c / 108, k.u, k.blocks / (108 - k.c), std::ceil(k.blocks / (108 - k.c))};
}

// Grids of three to five waves alone: one wave more beside communication, or not.
Made draw_kernel(Draw& draw) {
    return {4 + std::floor(21 * draw.uniform()), draw.uniform(), 324 + std::floor(216 * draw.uniform())};
}

FitData measured(std::size_t rows, double noise, std::uint64_t seed) {
    FitData data;
    Draw draw(seed);
    for (std::size_t i = 0; i < rows; ++i) {
        const Made k = draw_kernel(draw);
        add_row(data, features(k), std::log(slowdown(k)) + noise * draw.normal());
    }
    return data;
}

SlowdownEstimate estimate(const ResidualModel& model, const std::vector<double>& x) {
    return with_residual({}, model.predict(x), x, model);
}

TEST(Synthetic, GaussianProcessFindsTheFunctionWithinFivePercent) {
    const auto model = fit_gaussian_process(measured(300, 0.02, 1));
    Draw draw(2);
    double sum = 0;
    int within = 0;
    for (int i = 0; i < 200; ++i) {
        const Made k = draw_kernel(draw);
        const double error = std::abs(estimate(*model, features(k)).factor / slowdown(k) - 1);
        sum += error;
        within += error < 0.05 ? 1 : 0;
    }
    EXPECT_LT(sum / 200, 0.025);
    EXPECT_GE(within, 180);
}

// 5-95 %: 90 % of what is measured next.
TEST(Synthetic, BandHoldsNineOfTen) {
    const auto model = fit_gaussian_process(measured(300, 0.08, 3));
    Draw draw(4);
    int inside = 0;
    for (int i = 0; i < 400; ++i) {
        const Made k = draw_kernel(draw);
        const double next = slowdown(k) * std::exp(0.08 * draw.normal());
        const SlowdownEstimate e = estimate(*model, features(k));
        inside += next >= e.low && next <= e.high ? 1 : 0;
    }
    EXPECT_GE(inside, 340); // 85 %
    EXPECT_LE(inside, 380); // 95 %
}

// A twentieth of the rows ten times as slow: the rest is still found, with an error of some percent (taken as
// signal they would cost 16 %).
TEST(Synthetic, GrossOutliers) {
    FitData data = measured(300, 0.02, 5);
    for (std::size_t i = 0; i < 300; i += 20)
        data.y[i] += std::log(10.0);
    const auto model = fit_gaussian_process(data);
    Draw draw(6);
    double sum = 0;
    for (int i = 0; i < 100; ++i) {
        const Made k = draw_kernel(draw);
        sum += std::abs(estimate(*model, features(k)).factor / slowdown(k) - 1);
    }
    EXPECT_LT(sum / 100, 0.08);
}

// ln S = 0.8 c / M + 0.3 u: what a line can say, from 40 samples.
TEST(Synthetic, RidgeFindsALogLinearFunction) {
    const auto truth = [](const Made& k) { return 0.8 * k.c / 108 + 0.3 * k.u; };
    FitData data;
    Draw draw(7);
    for (int i = 0; i < 40; ++i) {
        const Made k = draw_kernel(draw);
        add_row(data, features(k), truth(k) + 0.02 * draw.normal());
    }
    const auto model = fit_ridge(data);
    for (int i = 0; i < 50; ++i) {
        const Made k = draw_kernel(draw);
        EXPECT_NEAR(estimate(*model, features(k)).factor / std::exp(truth(k)), 1, 0.05);
    }
}

} // namespace
} // namespace echosim
