// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/fit/features.h"
#include "interference/fit/residual.h"

#include <memory>
#include <string>
#include <vector>

// The file of a learned slowdown, schema echosim.interference/1 (docs/formats.md): what it was fitted to, and
// the residual model. Reading what was written gives the same predictions to the bit.
namespace echosim {

struct Gpu;

struct ModelGpu {
    std::string name; // as the samples name it; empty: not known
    double sms = 0;
};
struct ModelFamily {
    std::string name;
    int samples = 0;
};
// How it did on samples that it was not fitted to; percent.
struct ModelFigures {
    std::string left_out; // "family", "random", "communication", "gpu"
    int rows = 0;
    double mean_abs_error_percent = 0;
    double prior_mean_abs_error_percent = 0; // of the prior alone on the same rows
    double total_error_percent = 0;
    double coverage_percent = 0; // rows inside the 5-95 % band
};

// What a model was made from.
struct ModelFacts {
    std::string written_by;         // "echosim 0.6.0"; empty: not said
    std::vector<std::string> files; // that the samples were read from
    int samples = 0;
    std::vector<ModelGpu> gpus;
    std::vector<std::string> nccl_versions;
    std::vector<std::string> communication; // configurations in words
    std::vector<ModelFamily> families;      // in the order of their names
    std::vector<KernelClass> classes;       // ascending
    std::vector<ModelFigures> figures;
};

// Ends of a feature in the data.
struct FeatureRange {
    double low = 0, high = 0;
};
// One communication configuration of the data, as features.
struct ModelLoad {
    double ctas = 0;      // c / M
    double hbm_share = 0; // h / BW
};

inline constexpr std::size_t kMostLoads = 16;

struct ModelFile {
    ModelFacts facts;
    // "scope" of the file: the prior stands for families that are not in the data. Else the residual is for
    // all kernels ("all").
    bool known_families_only = true;
    // The features that vary in the data, in the order of the residual's columns, and their ranges (none: not
    // known).
    std::vector<Feature> columns;
    std::vector<FeatureRange> ranges;
    std::vector<ModelLoad> loads; // none where the residual does not depend on CTAs and HBM traffic
    std::shared_ptr<const ResidualModel> residual;
};

std::string model_file_text(const ModelFile& file);

// Also takes XGBoost's own JSON (boosted_trees.h), whose facts are empty. Throws InputError that starts with
// `where`: wrong syntax, keys that are not known (with a suggestion) or missing, values out of range, another
// version of the features, boosted trees without XGBoost.
ModelFile read_model_file(const std::string& text, const std::string& where);

// Slowdowns depend on the number of SMs: a model is for the GPUs that it was fitted to and for those with as
// many SMs. Throws InputError that names both; a model that names no GPU is for all.
void check_gpu(const ModelFacts& facts, const Gpu& gpu, const std::string& where);

} // namespace echosim
