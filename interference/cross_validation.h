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

// One row: prediction for the whole kernel, as time / time alone: 1 + overlap (S - 1) with S, its band and
// its mean of the overlapped part. The part alone varies as well, by 4.5 % (band.h): low and high are at
// least that far from the factor. Example: S = 1.2 in [1.1, 1.6], overlap 0.1: 1.02, low min(1.01, 1.02
// / 1.046) = 0.975, high max(1.06, 1.067) = 1.067.
struct CrossPrediction {
    std::size_t sample = 0; // index into the samples
    double factor = 1, low = 1, high = 1, expected = 1;
    EstimateSource source = EstimateSource::prior;
    bool too_few = false; // fewer than kFewestSamples were left to fit: the prior stands
};

// Samples are predicted on a GPU of their own number of SMs, whatever GPU the model was fitted on. A fold
// that leaves fewer than kFewestSamples to fit is predicted with the prior.
//
// One prediction for each sample with overlap, in order. `fold` absent: fitted to all and asked about the
// same (in-sample). Independent of the number of threads (0 = one a core).
std::vector<CrossPrediction> cross_predict(const std::vector<InterferenceSample>& samples,
                                           const Predictor& predictor, std::optional<Fold> fold, int threads);

// The same with a model that exists, such as one read from a file.
std::vector<CrossPrediction> predict_with(const std::vector<InterferenceSample>& samples,
                                          const LearnedSlowdown& model);

// How many groups are left out in turn.
std::size_t groups_of_fold(const std::vector<InterferenceSample>& samples, Fold fold);

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
    bool has_band = false;             // constants have none
    double coverage_percent = 0;       // rows inside [low, high]
};
CrossFigures figures_of(const std::vector<InterferenceSample>& samples,
                        const std::vector<CrossPrediction>& predictions);

} // namespace echosim
