// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/gp_likelihood.h"

#include "simulator/core/error.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

namespace echosim {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Eigen::Index;

const double kRootOf5 = std::sqrt(5.0);

// q of two rows.
double distance(std::span<const double> a, std::span<const double> b, const std::vector<double>& length) {
    double sum = 0;
    for (std::size_t c = 0; c < a.size(); ++c) {
        const double difference = (a[c] - b[c]) / length[c];
        sum += difference * difference;
    }
    return kRootOf5 * std::sqrt(sum);
}

// Lower triangles, diagonal excluded: q_ij and exp(-q_ij).
struct Pairs {
    Matrix q;
    Matrix decay;
};

Pairs pairs_of(const GpRows& rows, const std::vector<double>& length) {
    const auto n = static_cast<Index>(rows.size());
    Pairs pairs{Matrix(n, n), Matrix(n, n)};
    for (std::size_t j = 0; j < rows.size(); ++j)
        for (std::size_t i = j + 1; i < rows.size(); ++i) {
            const double q = distance(rows.row(i), rows.row(j), length);
            pairs.q(static_cast<Index>(i), static_cast<Index>(j)) = q;
            pairs.decay(static_cast<Index>(i), static_cast<Index>(j)) = std::exp(-q);
        }
    return pairs;
}

// The lower triangle of Sigma.
Matrix sigma_of(const Pairs& pairs, double amplitude, const Vector& variance) {
    const Index n = variance.size();
    Matrix sigma(n, n);
    for (Index j = 0; j < n; ++j) {
        sigma(j, j) = amplitude * amplitude + variance(j);
        for (Index i = j + 1; i < n; ++i) {
            const double q = pairs.q(i, j);
            sigma(i, j) = amplitude * amplitude * (1 + q + q * q / 3) * pairs.decay(i, j);
        }
    }
    return sigma;
}

GpScales scales_at(std::span<const double> at, std::size_t columns) {
    GpScales scales;
    for (std::size_t c = 0; c < columns; ++c)
        scales.length.push_back(std::exp(at[c]));
    scales.amplitude = std::exp(at[columns]);
    scales.noise = std::exp(at[columns + 1]);
    return scales;
}

// The prior of the scales and its gradient.
double surprise(const GpExpected& expected, std::span<const double> at, std::vector<double>& gradient) {
    const std::size_t columns = expected.scales.length.size();
    double sum = 0;
    const auto add = [&](std::size_t i, double likely, double sd) {
        const double off = (at[i] - std::log(likely)) / sd;
        gradient[i] = off / sd;
        sum += 0.5 * off * off;
    };
    for (std::size_t c = 0; c < columns; ++c)
        add(c, expected.scales.length[c], expected.length_sd);
    add(columns, expected.scales.amplitude, expected.amplitude_sd);
    add(columns + 1, expected.scales.noise, expected.noise_sd);
    return sum;
}

// 1/2 tr(G dSigma/d at), G = Sigma^-1 - alpha alpha' (its lower triangle is given):
//   d K_ij / d ln l_c = a^2 5/3 (1 + q) exp(-q) ((z_ic - z_jc) / l_c)^2
//   d K / d ln a = 2 K,   d D / d ln s = 2 D
void add_slope(const GpRows& rows, const GpScales& scales, const Pairs& pairs, const Matrix& g,
               std::vector<double>& gradient) {
    const std::size_t d = rows.columns;
    const double square = scales.amplitude * scales.amplitude;
    std::vector<double> of_length(d, 0.0);
    double of_amplitude = 0;
    for (std::size_t j = 0; j < rows.size(); ++j) {
        const auto column = static_cast<Index>(j);
        const std::span<const double> b = rows.row(j);
        of_amplitude += g(column, column) * square;
        for (std::size_t i = j + 1; i < rows.size(); ++i) {
            const auto line = static_cast<Index>(i);
            const double q = pairs.q(line, column);
            const double weighted = g(line, column) * square * pairs.decay(line, column);
            of_amplitude += 2 * weighted * (1 + q + q * q / 3);
            const std::span<const double> a = rows.row(i);
            for (std::size_t c = 0; c < d; ++c)
                of_length[c] += weighted * (1 + q) * (a[c] - b[c]) * (a[c] - b[c]);
        }
    }
    for (std::size_t c = 0; c < d; ++c)
        gradient[c] += 5.0 / 3.0 * of_length[c] / (scales.length[c] * scales.length[c]);
    gradient[d] += of_amplitude;
}

// The lower triangle of the inverse of L L'.
Matrix inverse_of(const Eigen::LLT<Matrix>& factor) {
    const Index n = factor.matrixLLT().rows();
    Matrix half = Matrix::Identity(n, n);
    factor.matrixL().solveInPlace(half);
    Matrix inverse = Matrix::Zero(n, n);
    inverse.selfadjointView<Eigen::Lower>().rankUpdate(half.transpose());
    return inverse;
}

} // namespace

double matern52(std::span<const double> a, std::span<const double> b, const std::vector<double>& length) {
    const double q = distance(a, b, length);
    return (1 + q + q * q / 3) * std::exp(-q);
}

double gp_objective(const GpRows& rows, const GpExpected& expected, const std::vector<double>& precision,
                    std::span<const double> at, std::vector<double>& gradient) {
    const GpScales scales = scales_at(at, rows.columns);
    const auto n = static_cast<Index>(rows.size());
    const Eigen::Map<const Vector> y(rows.y.data(), n);
    const Eigen::Map<const Vector> p(precision.data(), n);
    const Vector from_noise = scales.noise * scales.noise * p.cwiseInverse();
    const Vector variance = from_noise.array() + kLeastVariance;
    const Pairs pairs = pairs_of(rows, scales.length);
    const Eigen::LLT<Matrix> factor(sigma_of(pairs, scales.amplitude, variance));
    if (factor.info() != Eigen::Success)
        return std::numeric_limits<double>::infinity();
    const Vector alpha = factor.solve(y);
    const double value = surprise(expected, at, gradient) + 0.5 * y.dot(alpha) +
                         factor.matrixLLT().diagonal().array().log().sum();
    Matrix g = inverse_of(factor);
    g.selfadjointView<Eigen::Lower>().rankUpdate(alpha, -1);
    add_slope(rows, scales, pairs, g, gradient);
    gradient[rows.columns + 1] += g.diagonal().dot(from_noise);
    return value;
}

GpPosterior gp_condition(const GpRows& rows, const GpScales& scales, const std::vector<double>& variance) {
    const auto n = static_cast<Index>(rows.size());
    Vector diagonal = Eigen::Map<const Vector>(variance.data(), n);
    const Pairs pairs = pairs_of(rows, scales.length);
    const double square = scales.amplitude * scales.amplitude;
    Eigen::LLT<Matrix> factor(sigma_of(pairs, scales.amplitude, diagonal));
    for (double jitter = 1e-10; factor.info() != Eigen::Success; jitter *= 10) {
        ECHOSIM_CHECK(jitter < 1, "a covariance with that much noise has a Cholesky factor");
        diagonal.array() += jitter * square;
        factor.compute(sigma_of(pairs, scales.amplitude, diagonal));
    }
    const Vector alpha = factor.solve(Eigen::Map<const Vector>(rows.y.data(), n));
    const Vector inverse = inverse_of(factor).diagonal();
    GpPosterior posterior;
    posterior.alpha.assign(alpha.data(), alpha.data() + n);
    posterior.inverse_diagonal.assign(inverse.data(), inverse.data() + n);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j <= i; ++j)
            posterior.lower.push_back(factor.matrixLLT()(i, j));
    return posterior;
}

} // namespace echosim
