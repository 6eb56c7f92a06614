// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/ridge.h"

#include "interference/fit/residual_json.h"
#include "simulator/core/error.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Eigen::Index;

constexpr std::size_t kMostRows = 1'000'000;
constexpr std::size_t kMostColumns = 64;
constexpr double kLeastWeight = 1e-9;  // of the largest
constexpr double kLeastSquare = 1e-12; // s^2
constexpr double kFreedom = 1;         // nu
constexpr int kRounds = 20;

struct RidgeFit {
    std::vector<double> centre, spread; // of the columns
    std::vector<double> beta;
    double intercept = 0;
    double lambda = 0;
    double mean_variance = 0;       // s^2 / sum p
    std::vector<double> covariance; // s^2 A^-1, row-major
    std::vector<double> weight;     // of the rows of the data
    std::vector<double> precision;  // p
    std::vector<double> left_out;
};

class Ridge final : public ResidualModel {
  public:
    explicit Ridge(RidgeFit fit) : fit_(std::move(fit)) {}

    ResidualPrediction predict(std::span<const double> x) const override {
        const std::size_t d = fit_.centre.size();
        std::vector<double> z(d);
        for (std::size_t c = 0; c < d; ++c)
            z[c] = (x[c] - fit_.centre[c]) / fit_.spread[c];
        ResidualPrediction prediction{fit_.intercept, 0};
        double variance = fit_.mean_variance;
        for (std::size_t c = 0; c < d; ++c) {
            prediction.mean += fit_.beta[c] * z[c];
            for (std::size_t other = 0; other < d; ++other)
                variance += z[c] * fit_.covariance[c * d + other] * z[other];
        }
        prediction.sd = std::sqrt(std::max(0.0, variance));
        return prediction;
    }
    const std::vector<double>& left_out() const override { return fit_.left_out; }
    void relevance(std::span<const double>, std::span<double> weight) const override {
        std::ranges::copy(fit_.weight, weight.begin());
    }
    std::string name() const override { return "ridge"; }
    Json to_json() const override {
        const std::size_t d = fit_.centre.size();
        return {{"name", name()},
                {"centre", fit_.centre},
                {"spread", fit_.spread},
                {"beta", fit_.beta},
                {"intercept", fit_.intercept},
                {"lambda", fit_.lambda},
                {"mean_variance", fit_.mean_variance},
                {"covariance", rows_json(fit_.covariance, d, d)},
                {"weight", fit_.weight},
                {"precision", fit_.precision},
                {"left_out", fit_.left_out}};
    }

  private:
    RidgeFit fit_;
};

// The data with columns in units of their spread.
struct Scaled {
    Matrix z; // a column a row of the data
    Vector y, weight;
    Vector centre, spread;
};

Scaled scaled(const FitData& data) {
    const auto n = static_cast<Index>(data.rows());
    const auto d = static_cast<Index>(data.columns);
    Scaled s;
    s.y = Eigen::Map<const Vector>(data.y.data(), n);
    s.weight = Eigen::Map<const Vector>(data.weight.data(), n);
    const double most = s.weight.maxCoeff();
    s.weight = s.weight.cwiseMax(most > 0 ? kLeastWeight * most : 1.0);
    const Eigen::Map<const Matrix> x(data.x.data(), d, n);
    const double sum = s.weight.sum();
    s.centre = x * s.weight / sum;
    s.z = x.colwise() - s.centre;
    s.spread = (s.z.array().square().matrix() * s.weight / sum).cwiseSqrt();
    for (Index c = 0; c < d; ++c)
        if (!(s.spread(c) > 1e-9 * std::abs(s.centre(c)) + 1e-12)) {
            s.spread(c) = 1;
            s.z.row(c).setZero(); // rounding of the mean is no slope
        }
    s.z = s.spread.cwiseInverse().asDiagonal() * s.z;
    return s;
}

struct Solution {
    Vector beta;
    Vector centre; // of z
    double intercept = 0;
    Matrix inverse; // A^-1
    Vector left_out;
    double loss = std::numeric_limits<double>::infinity(); // sum p r^2
    double lambda = 0;
};

Solution solve(const Scaled& s, const Vector& p, double lambda) {
    Solution result;
    result.lambda = lambda;
    const double sum = p.sum();
    result.centre = s.z * p / sum;
    result.intercept = p.dot(s.y) / sum;
    const Matrix z = s.z.colwise() - result.centre;
    const Matrix weighted = z * p.asDiagonal();
    const Matrix identity = Matrix::Identity(z.rows(), z.rows());
    const Eigen::LDLT<Matrix> factor(weighted * z.transpose() + lambda * identity);
    result.beta = factor.solve(weighted * s.y);
    result.inverse = factor.solve(identity);
    const Vector leverage =
        p.array() * (z.cwiseProduct(result.inverse * z).colwise().sum().transpose().array() + 1 / sum);
    const Vector residual = s.y.array() - (z.transpose() * result.beta).array() - result.intercept;
    result.left_out = residual.array() / (1 - leverage.array()).max(1e-12);
    result.loss = p.dot(result.left_out.cwiseAbs2());
    return result;
}

Solution best_of_grid(const Scaled& s, const Vector& p) {
    Solution best;
    for (double exponent = 2; exponent >= -4; exponent -= 0.25)
        if (Solution next = solve(s, p, p.sum() * std::pow(10.0, exponent)); next.loss < best.loss)
            best = std::move(next);
    return best;
}

// w lambda of each row for these residuals.
Vector precision_of(const Scaled& s, const Solution& solution) {
    const double square = std::max(solution.loss / static_cast<double>(s.y.size()), kLeastSquare);
    const Vector off = s.weight.cwiseProduct(solution.left_out.cwiseAbs2()) / square;
    return s.weight.array() * (kFreedom + 1) / (kFreedom + off.array());
}

std::vector<double> numbers(const Vector& vector) {
    return {vector.data(), vector.data() + vector.size()};
}

} // namespace

std::unique_ptr<ResidualModel> fit_ridge(const FitData& data) {
    ECHOSIM_CHECK(data.rows() >= 2 && data.columns <= kMostColumns, "two rows and at most 64 columns");
    const Scaled s = scaled(data);
    Vector p = s.weight;
    Solution best = best_of_grid(s, p);
    for (int round = 0; round < kRounds; ++round) {
        p = precision_of(s, best);
        best = best_of_grid(s, p);
    }
    const double square = best.loss / static_cast<double>(s.y.size());
    RidgeFit fit;
    fit.centre = numbers(s.centre + s.spread.cwiseProduct(best.centre));
    fit.spread = numbers(s.spread);
    fit.beta = numbers(best.beta);
    fit.intercept = best.intercept;
    fit.lambda = best.lambda;
    fit.mean_variance = square / p.sum();
    const Matrix covariance = square * best.inverse;
    fit.covariance.assign(covariance.data(), covariance.data() + covariance.size());
    fit.weight = numbers(s.weight);
    fit.precision = numbers(p);
    fit.left_out = numbers(best.left_out);
    return std::make_unique<Ridge>(std::move(fit));
}

std::unique_ptr<ResidualModel> ridge_from_json(const Json& json, const std::string& where,
                                               std::size_t columns) {
    std::vector<Problem> problems;
    ObjectReader reader(json, where, "residual", problems);
    RidgeFit fit;
    std::string name;
    reader.read({.key = "name", .required = true}, name);
    const std::size_t least = columns, most = columns > 0 ? columns : kMostColumns;
    fit.centre = read_numbers(reader, {.key = "centre", .least = least, .most = most});
    const std::size_t d = fit.centre.size();
    fit.spread = read_numbers(reader, {.key = "spread", .least = d, .most = d, .min = 1e-15});
    fit.beta = read_numbers(reader, {.key = "beta", .least = d, .most = d});
    reader.read({.key = "intercept", .required = true, .min = -1e3, .max = 1e3}, fit.intercept);
    reader.read({.key = "lambda", .required = true}, fit.lambda);
    reader.read({.key = "mean_variance", .required = true}, fit.mean_variance);
    fit.covariance = read_rows(reader, {.key = "covariance", .least = d, .most = d}, d);
    fit.left_out = read_numbers(reader, {.key = "left_out", .least = 2, .most = kMostRows});
    const std::size_t n = fit.left_out.size();
    fit.weight = read_numbers(reader, {.key = "weight", .least = n, .most = n, .min = 0});
    fit.precision = read_numbers(reader, {.key = "precision", .least = n, .most = n, .min = 0});
    reader.finish();
    if (!problems.empty())
        throw InputError(std::move(problems));
    return std::make_unique<Ridge>(std::move(fit));
}

} // namespace echosim
