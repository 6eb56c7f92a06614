// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/estimate.h"

// How far kernels lie from the prior's factor S: 5-95 % in ln S, by what kind of kernel it is,
//   low  = ln S - sqrt(s0^2 + (k_lo ln S)^2)
//   high = ln S + sqrt(s0^2 + (k_hi ln S)^2 + t^2)
// s0 = .045: run-to-run noise, the 90 % quantile of |ln(time / time)| of the 215 kernels without overlap in
// Echo-slowdown's merged_features.csv.
namespace echosim {

enum class BandClass : std::uint8_t {
    full_grid,  // fills the GPU, limited by its SMs
    memory,     // fills the GPU, more than .6 of the HBM bandwidth alone
    few_blocks, // fewer than half as many blocks as SMs, or an occupancy ratio of at most .55
    norm_wgrad  // gradients of norm weights
};
BandClass band_class_of(const KernelFootprint& kernel, double sms);

// factor >= 1. `expected` is the mean of ...
SlowdownEstimate with_band(double factor, BandClass band_class);

} // namespace echosim
