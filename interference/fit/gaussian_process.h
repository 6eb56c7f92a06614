// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/fit/residual.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

// Gaussian process as the residual model: for some hundred samples; knows where it knows nothing.
//
//   y_i = g(z_i) + noise_i,   z = (x - mean) / sd of each column (a constant column: sd = 1)
//   g ~ GP(0, a^2 m(q)), Matern 5/2 with a length of its own for each column (gp_likelihood.h)
//   noise_i ~ s / sqrt(w_i) Student-t with nu = 1 degree of freedom
//
// The heavy tail of the noise is that of the data: most kernels are slowed by nothing, a few by 2 to 29
// times, and no feature tells which. As a scale mixture of normals: the noise has variance
// s^2 / (w_i lambda_i), and the expected lambda given the posterior of g is
//
//   lambda_i = (nu + 1) / (nu + w_i E(y_i - g_i)^2 / s^2)
//
// so that a row 10 s away from the curve counts 2 / 101 of one on it. Lengths, a and s maximise marginal
// likelihood times a prior of their logarithms for given lambda, and the two steps alternate (expectation
// maximisation; Jylanki, Vanhatalo, Vehtari 2011 compare it with other ways). The prior is weak for lengths
// (about 0.3 sd of the column) and s (about 0.05); a is held near 1, because what nobody has measured can be
// three times as slow, however calm the data are. The first lambda are against a curve of
// length 0.5: with the short lengths that outliers call for they would pass for signal.
//
// Far from the data the mean goes to 0, the prior, and the sd to a. left_out() is in closed form,
// r_i = alpha_i / (Sigma^-1)_ii, with scales and lambda of the whole data (Rasmussen and Williams, equation
// 5.12); relevance is w_i m(q)^2.
//
// Of more than 2000 rows an evenly spaced 2000 are taken, and of more than 500 rows the scales are learned
// from 500. Weights below 1e-9 count as 1e-9. No random numbers: the same data, the same model.
namespace echosim {

std::unique_ptr<ResidualModel> fit_gaussian_process(const FitData& data);

// What to_json() wrote: rows, noise and scales; the rest follows from them. Throws InputError that starts
// with `where`. `columns`: so many must it take; 0 = any.
std::unique_ptr<ResidualModel> gaussian_process_from_json(const nlohmann::ordered_json& json,
                                                          const std::string& where, std::size_t columns = 0);

} // namespace echosim
