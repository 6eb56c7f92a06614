// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/estimate.h"
#include "interference/fit/residual.h"

#include <span>

// What the residual of one kernel may be, beyond its mean: locally weighted left-out residuals (conformal
// prediction: Lei, G'Sell, Rinaldo, Tibshirani, Wasserman 2018; weights: Tibshirani, Foygel Barber, Candes,
// Ramdas 2019). Row i of the data says that the factor could have been
//
//   S_i = S_prior exp(mean(x) + r_i)      r_i: left-out residual of the row
//
// and says so with weight v_i = relevance_i(x) + 1 / n: its relevance, which includes its own weight, and its
// part of one sample that stands for "unlike all others". Near many rows the spread is that of the
// neighbours; where none is near, that of all rows. Of these weighted S_i:
//
//   factor     their weighted median with weights v_i / S_i: no other number has a smaller expected relative
//              error |factor - S| / S
//   expected   their weighted mean, from the 5 % to the 95 % point: the largest residuals of all kernels are
//              not those of this one. Of the Echo-slowdown data in random fifths, total of the expected
//              values: +0.7 % (with all residuals +2.7 %), by ridge, to which all rows are equally relevant,
//              +7.8 %
//              (+42 %)
//   low, high  5 % and 95 % of the weight are below; s0 = 0.045 is the 5-95 % half-width of a measurement
//              that is repeated (rows without overlap of the Echo-slowdown data):
//              ln low  = ln factor - sqrt(s0^2 + max(0, ln factor - ln S_5%)^2),  high likewise
//
// Example: three equal rows, S = 1, 1, 3: weights 1, 1, 1/3: factor 1, expected 1.67, high =
// exp(sqrt(0.045^2 + 1.099^2)) = 3.0.
namespace echosim {

// `prior` with the residual at x. A model without left-out residuals keeps the prior's band, moved.
SlowdownEstimate with_residual(const SlowdownEstimate& prior, const ResidualPrediction& residual,
                               std::span<const double> x, const ResidualModel& model);

} // namespace echosim
