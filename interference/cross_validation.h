// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/estimate.h"
#include "interference/learned_slowdown.h"
#include "interference/samples.h"

#include <optional>
#include <string>
#include <vector>

// How well a way of predicting does on samples that it was not fitted to.
namespace echosim {

// What is left out together: kernels of one family; a random fifth (fixed seed); one communication
// configuration; one GPU.
enum class Fold : std::uint8_t { family, random, communication, gpu };

// A way of predicting the factor of the overlapped part.
struct Predictor {
    enum class Kind : std::uint8_t { constant, prior, learned } kind = Kind::prior;
    double constant = 1; // 1 = no interference
    FitOptions fit;      // of Kind::learned
};

// One row: prediction for the whole kernel, as time / time alone.
struct CrossPrediction {
    std::size_t sample = 0; // index into the samples
    double factor = 1, low = 1, high = 1, expected = 1;
    EstimateSource source = EstimateSource::prior;
};

// One prediction for each sample with overlap, in order. `fold` absent: fitted to all and asked about the
// same (in-sample). Independent of the number of threads (0 = one a core).
std::vector<CrossPrediction> cross_predict(const std::vector<InterferenceSample>& samples,
                                           const Predictor& predictor, std::optional<Fold> fold, int threads);

// Figures of a set of predictions. error = (predicted - measured) / measured duration, percent.
struct CrossFigures {
    int rows = 0;
    double mean_abs_error_percent = 0;
    double median_abs_error_percent = 0;
    double p90_abs_error_percent = 0;
    double mean_abs_log_error = 0;     // |ln predicted - ln measured|
    double within_10_percent = 0;      // share of rows, percent
    double total_error_percent = 0;    // sum of predicted over sum of measured durations
    double expected_error_percent = 0; // the same with the expected values
    double coverage_percent = 0;       // rows inside [low, high]
};
CrossFigures figures_of(const std::vector<InterferenceSample>& samples,
                        const std::vector<CrossPrediction>& predictions);

} // namespace echosim
