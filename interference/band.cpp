// SPDX-License-Identifier: Apache-2.0
#include "interference/band.h"

#include "interference/prior.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace echosim {
namespace {

constexpr double kMemoryBound = 0.6; // of the HBM bandwidth
constexpr double kFewBlocks = 0.5;   // of the SMs
constexpr double kNormal95 = 1.6449; // 95 % quantile of the normal distribution
constexpr double kMostExpected = 2;  // of the factor

struct Tails {
    double noise = 0; // s0
    double low = 0;   // k_lo
    double high = 0;  // k_hi
    double tail = 0;  // t
};

constexpr Tails tails_of(BandClass band_class) {
    switch (band_class) {
    case BandClass::full_grid:
        return {0.045, 0.5, 0.5, 0.5};
    case BandClass::memory:
        return {0.045, 0.5, 0.5, 0.6};
    case BandClass::few_blocks:
        return {0.065, 0.5, 0.5, 2.9};
    case BandClass::norm_wgrad:
        break;
    }
    return {0.045, 0.8, 0.75, 0};
}

double normal_cdf(double x) {
    return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

} // namespace

BandClass band_class_of(const KernelFootprint& kernel, double sms) {
    const double x = waves_of(kernel, sms);
    if (kernel.kernel_class == KernelClass::norm_wgrad && x > 0 && x < 1)
        return BandClass::norm_wgrad;
    if (kernel.blocks > 0 ? kernel.blocks < kFewBlocks * sms : x > 0)
        return BandClass::few_blocks;
    return kernel.hbm_share > kMemoryBound ? BandClass::memory : BandClass::full_grid;
}

SlowdownEstimate with_band(double factor, BandClass band_class) {
    const Tails tails = tails_of(band_class);
    const double s = std::log(factor);
    const double below = std::hypot(tails.noise, tails.low * s);
    const double above = std::hypot(tails.noise, tails.high * s, tails.tail);
    const double d = below / kNormal95, e = above / kNormal95;
    const double mean = std::exp(d * d / 2) * normal_cdf(-d) + std::exp(e * e / 2) * normal_cdf(e);
    return {.factor = factor,
            .low = factor * std::exp(-below),
            .high = factor * std::exp(above),
            .expected = factor * std::min(kMostExpected, mean),
            .source = EstimateSource::prior};
}

} // namespace echosim
