// SPDX-License-Identifier: Apache-2.0
#include "interference/band.h"

#include "interference/prior.h"

#include <algorithm>
#include <cmath>

namespace echosim {
namespace {

constexpr double kNoise = 0.045;
constexpr double kMemoryBound = 0.6;
constexpr double kFewRatio = 0.55;

struct Tails {
    double low = 1;  // k_lo
    double high = 1; // k_hi
    double tail = 0; // t
};

constexpr Tails tails_of(BandClass band_class) {
    switch (band_class) {
    case BandClass::full_grid:
        return {1, 1, 0.4};
    case BandClass::memory:
        return {1, 1, 0.5};
    case BandClass::few_blocks:
        return {1, 1, 2.3};
    case BandClass::norm_wgrad:
        break;
    }
    return {0.4, 0.8, 0};
}

} // namespace

BandClass band_class_of(const KernelFootprint& kernel, double sms) {
    if (kernel.kernel_class == KernelClass::norm_wgrad)
        return BandClass::norm_wgrad;
    if (kernel.blocks > 0 ? kernel.blocks < 0.5 * sms
                          : kernel.occupancy_ratio > 0 && kernel.occupancy_ratio <= kFewRatio)
        return BandClass::few_blocks;
    return kernel.hbm_share > kMemoryBound ? BandClass::memory : BandClass::full_grid;
}

SlowdownEstimate with_band(double factor, BandClass band_class) {
    const Tails tails = tails_of(band_class);
    const double s = std::log(factor), lo = tails.low * s, hi = tails.high * s;
    SlowdownEstimate estimate{.factor = factor};
    estimate.low = std::exp(s - std::sqrt(kNoise * kNoise + lo * lo));
    estimate.high = std::exp(s + std::sqrt(kNoise * kNoise + hi * hi + tails.tail * tails.tail));
    estimate.expected = factor;
    return estimate;
}

} // namespace echosim
