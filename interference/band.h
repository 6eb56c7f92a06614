// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/estimate.h"

#include <cstdint>

// How far kernels lie from the prior's factor S. 5 % of them are below and 5 % above
//   ln low  = ln S - sqrt(s0^2 + (k_lo ln S)^2)
//   ln high = ln S + sqrt(s0^2 + (k_hi ln S)^2 + t^2)
// s0: noise of a measurement; k: error in proportion to the effect; t: tail of the class, kernels that
// communication slows for reasons that the prior does not know.
//
// Constants, fitted to the 404 overlapped rows of Echo-slowdown's merged_features.csv (2 GPUs of 108 SMs,
// all-reduces of 2 MB buckets; all rows):
//                s0    k_lo  k_hi  t      rows  measured / S, 95 % quantile
//   full_grid    .045  .5    .5    .5      87   1.6
//   memory       .045  .5    .5    .6     197   1.7
//   few_blocks   .065  .5    .5    2.9     96   17
//   norm_wgrad   .045  .8    .75   0       24   2.3
// s0: 90 % quantile of |ln(time / time)| of the 215 rows without overlap; few_blocks, kernels of 4 us: 5 %
// quantile of the overlapped rows. t: 95 to 96 % quantile of what each class needs. The k of the first three
// are not told by these data, where their S is below 1.03: .5 holds 19-40 % for GEMMs of which the prior says
// 30 % (arXiv 2507.03114), and 1.70 of which it says 1.84 (NVIDIA forum 337991).
// k_lo of norm_wgrad holds the 1.70 of 53 such kernels in two recorded A100 traces (docs/models.md).
// These bands hold 92 % of the rows. Fitted without the family of each row in turn (t at the 96 % quantile of
// the other families; norm_wgrad, one family, from the 2-4 times of NCCL issue 338: k_lo .37, k_hi .26 and
// t .5 of full_grid) they hold 87 %. Both count the noise of the part that is not overlapped.
//
// Example: S = 1.3, full_grid: ln S = .262, low = exp(.262 - sqrt(.045^2 + .131^2)) = 1.13,
// high = exp(.262 + sqrt(.045^2 + .131^2 + .5^2)) = 2.19.
namespace echosim {

enum class BandClass : std::uint8_t {
    full_grid,  // fills the GPU and is limited by its SMs
    memory,     // fills the GPU and takes more than .6 of the HBM bandwidth
    few_blocks, // fewer blocks than half the SMs, or an occupancy ratio of at most .55
    norm_wgrad  // gradients of norm weights
};
BandClass band_class_of(const KernelFootprint& kernel, double sms);

// The factor S >= 1 with its band. `expected` is the mean of the distribution that is lognormal on each side
// of S, half of the kernels on each: with d = ln S - ln low and e = ln high - ln S over 1.645,
//   S (exp(d^2 / 2) Phi(-d) + exp(e^2 / 2) Phi(e)),   at most 2 S
// (few-block kernels: the tail is no lognormal; their mean, weighted by time, is 2.2).
// Example above: d = .084, e = .315, expected = 1.3 (1.004 x .467 + 1.051 x .624) = 1.46.
SlowdownEstimate with_band(double factor, BandClass band_class);

} // namespace echosim
