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

// What predicts one part of the samples. Neither: the prior.
struct Fitted {
    std::optional<double> constant;
    std::unique_ptr<LearnedSlowdown> learned;
    bool too_few = false;
};

Fitted fitted(const std::vector<InterferenceSample>& samples, const std::vector<bool>& left_out,
              const Predictor& predictor) {
    Fitted result;
    if (predictor.kind == Predictor::Kind::constant)
        result.constant = predictor.constant;
    if (predictor.kind != Predictor::Kind::learned)
        return result;
    std::vector<InterferenceSample> training;
    for (std::size_t i = 0; i < samples.size(); ++i)
        if (!left_out[i] && samples[i].overlap > 0)
            training.push_back(samples[i]);
    result.too_few = training.size() < kFewestSamples;
    if (!result.too_few)
        result.learned = fit_slowdown(training, predictor.fit);
    return result;
}

GpuLimits limits_of(const InterferenceSample& sample) {
    GpuLimits limits;
    limits.sms = sample.sms;
    return limits;
}

SlowdownEstimate estimate(const InterferenceSample& sample, const SlowdownEstimator& by) {
    return by.estimate(sample.kernel, sample.load, sample.family);
}

CrossPrediction of_whole(const InterferenceSample& sample, std::size_t index, const SlowdownEstimate& e) {
    const double factor = of_whole_kernel(e.factor, sample.overlap);
    return {.sample = index,
            .factor = factor,
            .low = std::min(of_whole_kernel(e.low, sample.overlap), factor * std::exp(-kNoise)),
            .high = std::max(of_whole_kernel(e.high, sample.overlap), factor * std::exp(kNoise)),
            .expected = of_whole_kernel(e.expected, sample.overlap),
            .source = e.source};
}

CrossPrediction predict(const InterferenceSample& sample, std::size_t index, const Fitted& by) {
    CrossPrediction prediction;
    if (by.constant) {
        const double factor = of_whole_kernel(*by.constant, sample.overlap);
        prediction = {.sample = index, .factor = factor, .low = factor, .high = factor, .expected = factor};
    } else if (by.learned) {
        prediction = of_whole(sample, index, estimate(sample, by.learned->on_gpu(limits_of(sample))));
    } else {
        prediction = of_whole(sample, index, estimate(sample, PriorSlowdown(limits_of(sample))));
    }
    prediction.too_few = by.too_few;
    return prediction;
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
            const Fitted by = fitted(samples, left_out, predictor);
            for (const std::size_t row : parts[part])
                predictions[row] = predict(samples[row], row, by);
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

std::vector<CrossPrediction> predict_with(const std::vector<InterferenceSample>& samples,
                                          const LearnedSlowdown& model) {
    std::vector<CrossPrediction> predictions;
    for (const std::size_t row : overlapped(samples))
        predictions.push_back(
            of_whole(samples[row], row, estimate(samples[row], model.on_gpu(limits_of(samples[row])))));
    return predictions;
}

std::size_t groups_of_fold(const std::vector<InterferenceSample>& samples, Fold fold) {
    return parts_of(samples, overlapped(samples), fold).size();
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
        figures.has_band = figures.has_band || p.high > p.low;
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
