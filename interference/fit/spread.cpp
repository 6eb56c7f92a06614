// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/spread.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace echosim {
namespace {

constexpr double kNoise = 0.045; // s0
constexpr double kTail = 0.05;
constexpr double kUnlike = 1; // weight of all rows together, in samples

// ln S without the prior and the mean, and its weight.
struct Weighted {
    double residual = 0;
    double weight = 0;
};

std::vector<Weighted> residuals_at(std::span<const double> x, const ResidualModel& model) {
    const std::vector<double>& left_out = model.left_out();
    std::vector<double> relevance(left_out.size());
    model.relevance(x, relevance);
    std::vector<Weighted> all(left_out.size());
    const double share = kUnlike / static_cast<double>(left_out.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = {left_out[i], relevance[i] + share};
    std::ranges::sort(all, {}, &Weighted::residual);
    return all;
}

// The smallest residual with at least this share of the weight at or below it; tilt 1: weights v / S.
double quantile(const std::vector<Weighted>& sorted, double share, double tilt) {
    const auto weight = [&](const Weighted& w) { return w.weight * std::exp(-tilt * w.residual); };
    double sum = 0;
    for (const Weighted& w : sorted)
        sum += weight(w);
    double below = 0;
    for (const Weighted& w : sorted) {
        below += weight(w);
        if (below >= share * sum)
            return w.residual;
    }
    return sorted.back().residual;
}

// Without residuals below `low` and above `high`.
double mean_factor(const std::vector<Weighted>& all, double low, double high) {
    double sum = 0, factor = 0;
    for (const Weighted& w : all) {
        if (w.residual < low || w.residual > high)
            continue;
        sum += w.weight;
        factor += w.weight * std::exp(w.residual);
    }
    return factor / sum;
}

} // namespace

SlowdownEstimate with_residual(const SlowdownEstimate& prior, const ResidualPrediction& residual,
                               std::span<const double> x, const ResidualModel& model) {
    const double moved = std::exp(residual.mean);
    if (model.left_out().empty())
        return {prior.factor * moved, prior.low * moved, prior.high * moved, prior.expected * moved,
                EstimateSource::residual};
    const std::vector<Weighted> all = residuals_at(x, model);
    const double centre = quantile(all, 0.5, 1);
    const double low = quantile(all, kTail, 0), high = quantile(all, 1 - kTail, 0);
    const double down = std::hypot(kNoise, std::max(0.0, centre - low));
    const double up = std::hypot(kNoise, std::max(0.0, high - centre));
    const double base = prior.factor * moved;
    SlowdownEstimate estimate;
    estimate.factor = base * std::exp(centre);
    estimate.low = estimate.factor * std::exp(-down);
    estimate.high = estimate.factor * std::exp(up);
    estimate.expected = base * mean_factor(all, low, high);
    estimate.source = EstimateSource::residual;
    return estimate;
}

} // namespace echosim
