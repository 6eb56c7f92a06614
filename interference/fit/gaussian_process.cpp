// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/gaussian_process.h"

#include "interference/fit/gp_likelihood.h"
#include "interference/fit/lbfgs.h"
#include "interference/fit/residual_json.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 2000;
constexpr std::size_t kRowsForScales = 500;
constexpr std::size_t kMostColumns = 64;
constexpr double kFreedom = 1; // nu
constexpr double kLeastWeight = 1e-9;
constexpr double kLength = 0.3; // expected, in sd of the column
constexpr double kBroad = 0.5;  // of the first curve, against which outliers show
constexpr int kFirstRounds = 4;
constexpr double kAmplitude = 1;
constexpr double kAmplitudeSd = 0.1; // of its logarithm
constexpr double kNoise = 0.05;
constexpr double kLeastNoise = 1e-6;
constexpr int kRounds = 10; // of the alternation

// What a model is made of; the posterior follows from it.
struct GpFit {
    std::size_t columns = 0;
    int rows_of_data = 0;
    std::vector<double> x; // row-major
    std::vector<double> y;
    std::vector<double> weight;
    std::vector<double> variance; // of the noise of each row
    std::vector<double> centre;   // of the columns
    std::vector<double> spread;
    GpScales scales;
};

std::vector<double> standardised(const GpFit& fit, std::span<const double> x) {
    std::vector<double> z(x.begin(), x.end());
    for (std::size_t i = 0; i < z.size(); ++i) {
        const std::size_t column = i % fit.columns;
        z[i] = (z[i] - fit.centre[column]) / fit.spread[column];
    }
    return z;
}

GpRows rows_of(const GpFit& fit) {
    return {fit.columns, standardised(fit, fit.x), fit.y};
}

class GaussianProcess final : public ResidualModel {
  public:
    explicit GaussianProcess(GpFit fit)
        : fit_(std::move(fit)), rows_(rows_of(fit_)),
          posterior_(gp_condition(rows_, fit_.scales, fit_.variance)), left_out_(fit_.y.size()) {
        for (std::size_t i = 0; i < left_out_.size(); ++i)
            left_out_[i] = posterior_.alpha[i] / posterior_.inverse_diagonal[i];
    }

    ResidualPrediction predict(std::span<const double> x) const override {
        const std::vector<double> z = standardised(fit_, x);
        const double square = fit_.scales.amplitude * fit_.scales.amplitude;
        std::vector<double> solved(rows_.size()); // L^-1 k
        double mean = 0, known = 0;
        for (std::size_t i = 0, at = 0; i < solved.size(); ++i, ++at) {
            const double k = square * matern52(z, rows_.row(i), fit_.scales.length);
            mean += k * posterior_.alpha[i];
            double rest = k;
            for (std::size_t j = 0; j < i; ++j, ++at)
                rest -= posterior_.lower[at] * solved[j];
            solved[i] = rest / posterior_.lower[at];
            known += solved[i] * solved[i];
        }
        return {mean, std::sqrt(std::max(0.0, square - known))};
    }
    const std::vector<double>& left_out() const override { return left_out_; }
    void relevance(std::span<const double> x, std::span<double> weight) const override {
        const std::vector<double> z = standardised(fit_, x);
        for (std::size_t i = 0; i < weight.size(); ++i) {
            const double m = matern52(z, rows_.row(i), fit_.scales.length);
            weight[i] = fit_.weight[i] * m * m;
        }
    }
    std::string name() const override { return "gaussian_process"; }
    Json to_json() const override {
        return {{"name", name()},
                {"rows_of_data", fit_.rows_of_data},
                {"centre", fit_.centre},
                {"spread", fit_.spread},
                {"length", fit_.scales.length},
                {"amplitude", fit_.scales.amplitude},
                {"noise", fit_.scales.noise},
                {"y", fit_.y},
                {"weight", fit_.weight},
                {"variance", fit_.variance},
                {"x", rows_json(fit_.x, fit_.y.size(), fit_.columns)}};
    }

  private:
    GpFit fit_;
    GpRows rows_;
    GpPosterior posterior_;
    std::vector<double> left_out_;
};

// Indices of `most` of `count` rows, evenly spaced; all when there are no more.
std::vector<std::size_t> evenly(std::size_t count, std::size_t most) {
    std::vector<std::size_t> rows(std::min(count, most));
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = count > most ? i * count / most : i;
    return rows;
}

std::vector<double> picked(const std::vector<double>& values, const std::vector<std::size_t>& rows,
                           std::size_t columns) {
    std::vector<double> result;
    for (const std::size_t row : rows)
        for (std::size_t c = 0; c < columns; ++c)
            result.push_back(values[row * columns + c]);
    return result;
}

// Mean and sd of each column.
void measure_columns(GpFit& fit) {
    const auto n = static_cast<double>(fit.y.size());
    for (std::size_t c = 0; c < fit.columns; ++c) {
        double sum = 0, squares = 0;
        for (std::size_t i = c; i < fit.x.size(); i += fit.columns)
            sum += fit.x[i];
        const double mean = sum / n;
        for (std::size_t i = c; i < fit.x.size(); i += fit.columns)
            squares += (fit.x[i] - mean) * (fit.x[i] - mean);
        const double sd = std::sqrt(squares / n);
        fit.centre.push_back(mean);
        fit.spread.push_back(sd > 1e-9 * std::abs(mean) + 1e-12 ? sd : 1.0);
    }
}

GpFit chosen_rows(const FitData& data) {
    GpFit fit;
    fit.columns = data.columns;
    fit.rows_of_data = static_cast<int>(data.rows());
    const std::vector<std::size_t> rows = evenly(data.rows(), kMostRows);
    fit.x = picked(data.x, rows, data.columns);
    fit.y = picked(data.y, rows, 1);
    fit.weight = picked(data.weight, rows, 1);
    for (double& weight : fit.weight)
        weight = std::max(weight, kLeastWeight);
    measure_columns(fit);
    return fit;
}

std::vector<double> variance_of(const GpScales& scales, const std::vector<double>& precision) {
    std::vector<double> variance;
    for (const double p : precision)
        variance.push_back(scales.noise * scales.noise / p + kLeastVariance);
    return variance;
}

// Rows, and the precision w lambda of each.
struct Robust {
    GpRows rows;
    std::vector<double> weight;
    std::vector<double> precision;
};

// lambda for the posterior of these scales; the largest change of its logarithm.
double reweigh(Robust& robust, const GpScales& scales) {
    const std::vector<double> variance = variance_of(scales, robust.precision);
    const GpPosterior posterior = gp_condition(robust.rows, scales, variance);
    double change = 0;
    for (std::size_t i = 0; i < variance.size(); ++i) {
        const double off = variance[i] * posterior.alpha[i]; // y - mean
        const double unsure = variance[i] - variance[i] * variance[i] * posterior.inverse_diagonal[i];
        const double square = off * off + std::max(0.0, unsure);
        const double lambda =
            (kFreedom + 1) / (kFreedom + square * robust.weight[i] / (scales.noise * scales.noise));
        const double precision = robust.weight[i] * lambda;
        change = std::max(change, std::abs(std::log(precision / robust.precision[i])));
        robust.precision[i] = precision;
    }
    return change;
}

GpExpected expected_scales(std::size_t columns) {
    GpExpected expected;
    expected.scales.length.assign(columns, kLength);
    expected.scales.amplitude = kAmplitude;
    expected.scales.noise = kNoise;
    expected.amplitude_sd = kAmplitudeSd;
    return expected;
}

// Scales that maximise the likelihood for these precisions, from `scales` on.
GpScales climbed(const Robust& robust, const GpExpected& expected, const GpScales& scales, int iterations) {
    const std::size_t d = robust.rows.columns;
    std::vector<double> at;
    for (const double length : scales.length)
        at.push_back(std::log(length));
    at.push_back(std::log(scales.amplitude));
    at.push_back(std::log(scales.noise));
    const SmoothFunction objective = [&](const std::vector<double>& point, std::vector<double>& gradient) {
        return gp_objective(robust.rows, expected, robust.precision, point, gradient);
    };
    at = minimise(objective, at, iterations).at;
    GpScales better;
    for (std::size_t c = 0; c < d; ++c)
        better.length.push_back(std::exp(at[c]));
    better.amplitude = std::exp(at[d]);
    better.noise = std::max(kLeastNoise, std::exp(at[d + 1]));
    return better;
}

GpScales learned_scales(Robust& robust) {
    const GpExpected expected = expected_scales(robust.rows.columns);
    GpScales scales = expected.scales;
    scales.noise = 2 * kNoise;
    GpScales broad = scales;
    broad.length.assign(expected.scales.length.size(), kBroad);
    for (int round = 0; round < kFirstRounds; ++round)
        reweigh(robust, broad);
    for (int round = 0; round < kRounds; ++round) {
        if (round == 0 || round == 2 || round == 5)
            scales = climbed(robust, expected, scales, 15);
        if (reweigh(robust, scales) < 1e-3 && round >= 5)
            break;
    }
    return scales;
}

} // namespace

std::unique_ptr<ResidualModel> fit_gaussian_process(const FitData& data) {
    ECHOSIM_CHECK(data.rows() >= 2 && data.columns <= kMostColumns, "two rows and at most 64 columns");
    GpFit fit = chosen_rows(data);
    Robust all{rows_of(fit), fit.weight, fit.weight};
    if (fit.y.size() > kRowsForScales) {
        const std::vector<std::size_t> rows = evenly(fit.y.size(), kRowsForScales);
        const std::vector<double> weight = picked(fit.weight, rows, 1);
        Robust some{
            {fit.columns, picked(all.rows.z, rows, fit.columns), picked(fit.y, rows, 1)}, weight, weight};
        fit.scales = learned_scales(some);
        for (int round = 0; round < kRounds && reweigh(all, fit.scales) > 1e-2;)
            ++round;
    } else {
        fit.scales = learned_scales(all);
    }
    fit.variance = variance_of(fit.scales, all.precision);
    return std::make_unique<GaussianProcess>(std::move(fit));
}

std::unique_ptr<ResidualModel> gaussian_process_from_json(const Json& json, const std::string& where,
                                                          std::size_t columns) {
    std::vector<Problem> problems;
    ObjectReader reader(json, where, "residual", problems);
    GpFit fit;
    std::string name;
    reader.read({.key = "name", .required = true}, name);
    reader.read({.key = "rows_of_data", .required = true, .min = 2, .max = 1e9}, fit.rows_of_data);
    fit.centre = read_numbers(
        reader, {.key = "centre", .least = columns, .most = columns > 0 ? columns : kMostColumns});
    fit.columns = fit.centre.size();
    const auto one_each = [&](std::string_view key) {
        return read_numbers(
            reader, {.key = key, .least = fit.columns, .most = fit.columns, .min = 1e-15, .max = 1e12});
    };
    fit.spread = one_each("spread");
    fit.scales.length = one_each("length");
    reader.read({.key = "amplitude", .required = true, .min = 1e-9, .max = 1e3}, fit.scales.amplitude);
    reader.read({.key = "noise", .required = true, .min = kLeastNoise, .max = 1e3}, fit.scales.noise);
    fit.y = read_numbers(reader, {.key = "y", .least = 2, .most = kMostRows, .min = -1e3, .max = 1e3});
    const std::size_t n = fit.y.size();
    fit.weight = read_numbers(reader, {.key = "weight", .least = n, .most = n, .min = 1e-9, .max = 1e9});
    fit.variance =
        read_numbers(reader, {.key = "variance", .least = n, .most = n, .min = kLeastVariance, .max = 1e18});
    fit.x = read_rows(reader, {.key = "x", .least = n, .most = n}, fit.columns);
    reader.finish();
    if (!problems.empty())
        throw InputError(std::move(problems));
    return std::make_unique<GaussianProcess>(std::move(fit));
}

} // namespace echosim
