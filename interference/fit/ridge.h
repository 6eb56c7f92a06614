// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/fit/residual.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

// Ridge regression as the residual model: for some 20 to 200 samples.
//
//   z = (x - centre) / sd of each column (a constant column: sd = 1, and z = 0 in the data)
//   minimise  sum_i p_i (y_i - b - z_i' beta)^2 + lambda |beta|^2      (the intercept b is not penalised)
//   centre = mean of x weighted by p, so that b = mean of y weighted by p
//   A = Z' P Z + lambda I,   beta = A^-1 Z' P y
//   leverage  h_i = p_i (1 / sum p + z_i' A^-1 z_i)
//   left out  r_i = (y_i - prediction_i) / (1 - h_i)
//
// lambda / sum p is the one of 10^-4, 10^-3.75 ... 10^2 with the least sum of p_i r_i^2 (left-out residuals
// in closed form: Allen 1974; sd and p stay those of the whole data). The precision p_i of a row is its
// weight w_i, reduced for rows that are far off, as for Student-t noise with nu = 1 (the data have heavy
// tails; see gaussian_process.h), and iterated:
//
//   p_i = w_i (nu + 1) / (nu + w_i r_i^2 / s^2),   s^2 = sum p r^2 / n
//
// The sd of a mean is that of the posterior: sd(x)^2 = s^2 (1 / sum p + z' A^-1 z). Relevance is w_i.
//
// Example: y = 1, 3 at x = 0, 2 with p = 1: mean 1, sd 1, z = -1, 1, b = 2; for lambda = 2 (1 a row), A = 4,
// beta = (-1 + 3) / 4 = 0.5: the prediction at x = 2 is 2.5, h = 1/2 + 1/4, left out 0.5 / 0.25 = 2.
// Weights below 1e-9 of the largest count as that.
namespace echosim {

std::unique_ptr<ResidualModel> fit_ridge(const FitData& data);

// What to_json() wrote. Throws InputError that starts with `where`. `columns`: so many must it take; 0 = any.
std::unique_ptr<ResidualModel> ridge_from_json(const nlohmann::ordered_json& json, const std::string& where,
                                               std::size_t columns = 0);

} // namespace echosim
