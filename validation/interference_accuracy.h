// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/cross_validation.h"
#include "validation/accuracy.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// Predicted against measured slowdown of kernels beside communication. The unit is a factor: measured =
// duration / time alone of the whole kernel (1.0 = no effect), predicted likewise. Samples without overlap
// are skipped.
//
// Without `cross` one predictor is validated, `interference`. With it, every way of predicting is tested on
// samples that it was not fitted to, a kernel family at a time and in random fifths (also a communication
// configuration and a GPU at a time where there are several). The rows are then those of the way that ships,
// a Gaussian process for the families that it was fitted to and the prior for others, with the row's family
// left out: so they are the prior's. Learned models by themselves are asked about every family.
namespace echosim {

struct InterferenceValidateOptions {
    int threads = 0; // 0 = one a core
    bool cross = false;
    std::string interference = "prior"; // off, constant:F, prior or a model file; not with `cross`
};

// A way of predicting and how well it does.
struct PredictorFigures {
    std::string name;
    CrossFigures figures;
};

// What one family weighs. Shares are of the sum over all rows, percent.
struct FamilyShare {
    std::string family;
    std::string kernel_class;
    int rows = 0;
    double time_share = 0;      // of the measured durations
    double no_effect_share = 0; // of |error| of "no interference"
    double error_share = 0;     // of |error| of the prediction
    double total_share = 0;     // (predicted - measured durations) / all measured durations, signed
    CrossFigures figures;       // of the prediction
};

// All ways of predicting in one kind of fold, and the rows of the way that ships.
struct CrossFold {
    Fold fold = Fold::family;
    std::size_t groups = 0;
    std::vector<PredictorFigures> predictors;
    ValidationReport validation;
    std::vector<FamilyShare> families;
};

struct InterferenceReport {
    ValidationReport validation;
    std::vector<InterferenceSample> samples;
    std::string predictor;                   // of the rows, in words
    CrossFigures figures;                    // of the rows
    std::vector<FamilyShare> families;       // of the rows, largest share of the error first
    std::vector<PredictorFigures> baselines; // not fitted, to compare with
    std::vector<CrossFold> cross;            // with `cross`
    std::vector<std::string> notes;          // what the file does not say, and what could not be done
};

// Results do not depend on the number of threads. Throws InputError when the file holds no samples.
InterferenceReport validate_interference(const std::string& data_path,
                                         const InterferenceValidateOptions& options);

nlohmann::ordered_json interference_to_json(const InterferenceReport& report); // schema echosim.validate/1
std::string interference_text(const InterferenceReport& report);
std::string to_words(Fold fold); // "family", "random", "communication", "gpu"

} // namespace echosim
