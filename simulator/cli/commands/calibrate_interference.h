// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/cross_validation.h"
#include "simulator/cli/console.h"
#include "simulator/cli/parse.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// `echosim calibrate interference`: measured pairs in, a model of the slowdown out, if it is better than the
// prior.
namespace echosim {

// One argument of the command line, or one file of a folder.
struct InterferenceSource {
    std::string path;
    std::string what; // "CSV", "Kineto trace", ...
    std::size_t samples = 0;
    std::size_t overlapped = 0;
    std::string remark = {}; // of a trace: kernels, communications and what had no partner
};

struct InterferenceData {
    std::vector<InterferenceSample> samples; // those with overlap only
    std::vector<InterferenceSource> sources;
    std::vector<std::string> notes;
};

// Reads CSV files, traces and folders of either. Throws InputError; also when fewer than 25 samples overlap
// communication.
InterferenceData read_interference_data(const Invocation& invocation);

// A way of predicting, with its figures for each fold.
struct InterferenceWay {
    std::string name; // "no interference", "constant 1.10", "prior", "gaussian_process", ...
    Predictor predictor;
    std::vector<CrossFigures> figures; // one a fold
};

struct InterferenceFold {
    Fold fold = Fold::family;
    int groups = 0;
    std::string not_possible; // why it has no figures; empty: it has
};

// Figures of the samples of one family, worst share of the error first.
struct FamilyFigures {
    std::string family;
    std::string kernel_class;
    int samples = 0;
    double median_factor = 1, p90_factor = 1;
    double no_interference = 0; // sum of |error| of "no interference", percent of that of all samples
    double prior = 0;           // mean |error| in percent
    double learned = 0;         // likewise, in random fifths
};

// A sample outside the 5-95 % band of the model that was fitted without it.
struct UnexplainedSample {
    std::size_t sample = 0;
    CrossPrediction prediction;
    double distance = 0; // |ln(measured / nearest end of the band)|
};

struct InterferenceAssessment {
    std::vector<InterferenceFold> folds;
    std::vector<InterferenceWay> ways;
    std::size_t learned = 0; // the way that would be written
    std::size_t prior = 0;
    std::vector<FamilyFigures> families;
    std::vector<UnexplainedSample> unexplained; // worst first
    bool known_families = false;                // --known-families
    std::size_t gate = 0;                       // the fold that decides
    bool accepted = false;
    std::string verdict; // one sentence with the figures
    std::string advice;  // when no interference or a constant beats the prior; else empty
};

// Cross-validates every way. Throws InputError for --fitter boosted_trees without XGBoost.
InterferenceAssessment assess_interference(const InterferenceData& data, const Invocation& invocation,
                                           Console& console);

std::string fold_key(Fold fold); // "family", "random", "communication", "gpu"
std::string interference_text(const InterferenceData& data, const InterferenceAssessment& assessment,
                              const Console& console);
nlohmann::ordered_json interference_document(const InterferenceData& data,
                                             const InterferenceAssessment& assessment);

int run_calibrate_interference(const Invocation& invocation, Console& console);

} // namespace echosim
