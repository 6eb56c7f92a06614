// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

// The linear algebra of gaussian_process.h: n rows z of d standardised features, values y,
//
//   Sigma = K + D,   K_ij = a^2 m(q_ij),   m(q) = (1 + q + q^2 / 3) exp(-q)         (Matern 5/2)
//   q_ij^2 = 5 sum_c ((z_ic - z_jc) / l_c)^2,   D_ii = s^2 / p_i + 1e-8   (p: precision of row i)
//
// with lengths l, amplitude a and noise s. The 1e-8 keeps the likelihood finite when rows repeat exactly.
// Example: d = 1, l = 1, rows 0 and 1: q = sqrt(5) = 2.236, m = 0.524.
namespace echosim {

inline constexpr double kLeastVariance = 1e-8;

struct GpRows {
    std::size_t columns = 0;
    std::vector<double> z; // row-major
    std::vector<double> y;
    std::size_t size() const { return y.size(); }
    std::span<const double> row(std::size_t i) const { return {z.data() + i * columns, columns}; }
};

struct GpScales {
    std::vector<double> length; // l, one a column
    double amplitude = 1;       // a
    double noise = 1;           // s
};

// m(q) of two rows.
double matern52(std::span<const double> a, std::span<const double> b, const std::vector<double>& length);

// What is expected of the scales before any data, as normal distributions of their logarithms.
struct GpExpected {
    GpScales scales;
    double length_sd = 1.5;
    double amplitude_sd = 1.5;
    double noise_sd = 2;
};

// -ln of marginal likelihood times prior of the scales, without constants:
//   1/2 y' Sigma^-1 y + 1/2 ln det Sigma + 1/2 sum ((ln scale - ln expected) / sd)^2
// at = (ln l_1 ... ln l_d, ln a, ln s); fills the gradient. Infinite where Sigma has no Cholesky factor.
// Rasmussen and Williams, Gaussian Processes for Machine Learning, equations 5.8 and 5.9.
double gp_objective(const GpRows& rows, const GpExpected& expected, const std::vector<double>& precision,
                    std::span<const double> at, std::vector<double>& gradient);

// The posterior: mean at x = k(x)' alpha, its variance = a^2 - |L^-1 k(x)|^2, k_i(x) = a^2 m(q(x, z_i)).
struct GpPosterior {
    std::vector<double> lower;            // L, Sigma = L L', packed by rows: L_00, L_10, L_11, L_20, ...
    std::vector<double> alpha;            // Sigma^-1 y
    std::vector<double> inverse_diagonal; // of Sigma^-1
};

// `variance` is the diagonal of D. Adds 1e-10, 1e-9, ... a^2 to the diagonal while rounding leaves Sigma
// without a Cholesky factor.
GpPosterior gp_condition(const GpRows& rows, const GpScales& scales, const std::vector<double>& variance);

} // namespace echosim
