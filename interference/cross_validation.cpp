// SPDX-License-Identifier: Apache-2.0
#include "interference/cross_validation.h"

#include "simulator/core/error.h"
#include "simulator/core/parallel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>

namespace echosim {
namespace {

constexpr std::size_t kRandomParts = 5;
constexpr double kNoise = 0.045;          // 5-95 % half-width in ln of a kernel that runs again (band.h)
constexpr std::uint64_t kSeed = 20241218; // any will do; fixed, so that figures can be repeated

std::vector<std::size_t> overlapped(const std::vector<InterferenceSample>& samples) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < samples.size(); ++i)
        if (samples[i].overlap > 0)
            rows.push_back(i);
    return rows;
}

// Fisher-Yates with SplitMix64 (Steele, Lea, Flood 2014): the same everywhere.
void shuffle(std::vector<std::size_t>& values) {
    std::uint64_t state = kSeed;
    const auto next = [&] {
        state += 0x9E3779B97F4A7C15ULL;
        std::uint64_t z = state;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31U);
    };
    for (std::size_t i = values.size(); i > 1; --i)
        std::swap(values[i - 1], values[next() % i]);
}

std::string group_of(const InterferenceSample& sample, Fold fold) {
    switch (fold) {
    case Fold::family:
        return sample.family;
    case Fold::communication:
        return sample.communication;
    case Fold::gpu:
        return sample.gpu;
    case Fold::random:
        break;
    }
    return {};
}

// The rows that are left out together.
std::vector<std::vector<std::size_t>> parts_of(const std::vector<InterferenceSample>& samples,
                                               std::vector<std::size_t> rows, Fold fold) {
    std::vector<std::vector<std::size_t>> parts;
    if (fold == Fold::random) {
        shuffle(rows);
        parts.resize(std::min(kRandomParts, rows.size()));
        for (std::size_t i = 0; i < rows.size(); ++i)
            parts[i % parts.size()].push_back(rows[i]);
        return parts;
    }
    std::map<std::string, std::vector<std::size_t>> groups;
    for (const std::size_t row : rows)
        groups[group_of(samples[row], fold)].push_back(row);
    for (auto& [name, group] : groups)
        parts.push_back(std::move(group));
    return parts;
}

bool predictor_has_band(const SlowdownEstimate& estimate) {
    return estimate.high > estimate.low;
}

struct Constant final : SlowdownEstimator {
    explicit Constant(double factor) : value(factor) {}
    SlowdownEstimate estimate(const KernelFootprint&, const CommLoad&, std::string_view) const override {
        return {value, value, value, value, EstimateSource::prior};
    }
    double value;
};

// nullptr: too few samples to fit, the prior of each sample's own GPU stands.
std::unique_ptr<SlowdownEstimator> fitted(const std::vector<InterferenceSample>& samples,
                                          const std::vector<bool>& left_out, const Predictor& predictor) {
    if (predictor.kind == Predictor::Kind::constant)
        return std::make_unique<Constant>(predictor.constant);
    if (predictor.kind == Predictor::Kind::prior)
        return nullptr;
    std::vector<InterferenceSample> training;
    for (std::size_t i = 0; i < samples.size(); ++i)
        if (!left_out[i] && samples[i].overlap > 0)
            training.push_back(samples[i]);
    return training.size() < kFewestSamples ? nullptr : fit_slowdown(training, predictor.fit);
}

CrossPrediction predict(const InterferenceSample& sample, std::size_t index,
                        const SlowdownEstimator* estimator) {
    GpuLimits limits;
    limits.sms = sample.sms;
    const SlowdownEstimate e =
        estimator != nullptr ? estimator->estimate(sample.kernel, sample.load, sample.family)
                             : PriorSlowdown(limits).estimate(sample.kernel, sample.load, sample.family);
    const double factor = of_whole_kernel(e.factor, sample.overlap);
    const double noise = predictor_has_band(e) ? std::exp(kNoise) : 1; // the part alone varies as well
    return {.sample = index,
            .factor = factor,
            .low = std::min(of_whole_kernel(e.low, sample.overlap), factor / noise),
            .high = std::max(of_whole_kernel(e.high, sample.overlap), factor * noise),
            .expected = of_whole_kernel(e.expected, sample.overlap),
            .source = e.source};
}

double percentile(std::vector<double> values, double share) {
    if (values.empty())
        return 0;
    std::ranges::sort(values);
    const double at = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

} // namespace

std::vector<CrossPrediction> cross_predict(const std::vector<InterferenceSample>& samples,
                                           const Predictor& predictor, std::optional<Fold> fold,
                                           int threads) {
    const std::vector<std::size_t> rows = overlapped(samples);
    std::vector<std::vector<std::size_t>> parts{rows};
    if (fold)
        parts = parts_of(samples, rows, *fold);
    std::vector<CrossPrediction> predictions(samples.size());
    std::vector<std::unique_ptr<InputError>> errors(parts.size());
    for_each_index(parts.size(), threads, [&](std::size_t part) {
        std::vector<bool> left_out(samples.size(), false);
        if (fold)
            for (const std::size_t row : parts[part])
                left_out[row] = true;
        try {
            const auto estimator = fitted(samples, left_out, predictor);
            for (const std::size_t row : parts[part])
                predictions[row] = predict(samples[row], row, estimator.get());
        } catch (const InputError& error) {
            errors[part] = std::make_unique<InputError>(error);
        }
    });
    for (const auto& error : errors)
        if (error)
            throw InputError(*error);
    std::vector<CrossPrediction> ordered;
    for (const std::size_t row : rows)
        ordered.push_back(predictions[row]);
    return ordered;
}

CrossFigures figures_of(const std::vector<InterferenceSample>& samples,
                        const std::vector<CrossPrediction>& predictions) {
    CrossFigures figures;
    if (predictions.empty())
        return figures;
    std::vector<double> errors;
    double total = 0, predicted = 0, expected = 0, logs = 0;
    int near = 0, inside = 0;
    for (const CrossPrediction& p : predictions) {
        const InterferenceSample& sample = samples[p.sample];
        const double measured = sample.factor();
        errors.push_back(100 * std::abs(p.factor / measured - 1));
        logs += std::abs(std::log(p.factor / measured));
        near += errors.back() <= 10 ? 1 : 0;
        inside += measured >= p.low && measured <= p.high ? 1 : 0;
        total += sample.time_overlapped;
        predicted += p.factor * sample.time_alone;
        expected += p.expected * sample.time_alone;
    }
    const auto count = static_cast<double>(predictions.size());
    figures.rows = static_cast<int>(predictions.size());
    figures.mean_abs_error_percent = std::accumulate(errors.begin(), errors.end(), 0.0) / count;
    figures.median_abs_error_percent = percentile(errors, 0.5);
    figures.p90_abs_error_percent = percentile(errors, 0.9);
    figures.mean_abs_log_error = logs / count;
    figures.within_10_percent = 100 * near / count;
    figures.total_error_percent = 100 * (predicted / total - 1);
    figures.expected_error_percent = 100 * (expected / total - 1);
    figures.coverage_percent = 100 * inside / count;
    return figures;
}

} // namespace echosim
