// SPDX-License-Identifier: Apache-2.0
#include "validation/interference_accuracy.h"

#include "interference/fit/xgboost_library.h"
#include "interference/make_slowdown.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "validation/interference_rows.h"

#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

constexpr Bytes kMaxCsv = 1_GiB;

struct NamedPredictor {
    std::string name;
    Predictor predictor;
};

NamedPredictor constant(std::string name, double factor) {
    return {std::move(name), {.kind = Predictor::Kind::constant, .constant = factor, .fit = {}}};
}

NamedPredictor learned(std::string name, Fitter fitter, bool known_families_only) {
    return {std::move(name),
            {.kind = Predictor::Kind::learned,
             .constant = 1,
             .fit = {.fitter = fitter, .known_families_only = known_families_only}}};
}

std::vector<NamedPredictor> fixed_predictors() {
    return {constant("no interference", 1),
            constant("constant 1.10", 1.10),
            constant("constant 1.19", 1.19),
            {"prior", {}}};
}

// The last is the one that ships. Boosted trees where XGBoost is installed.
std::vector<NamedPredictor> all_predictors(std::vector<std::string>& notes) {
    std::vector<NamedPredictor> all = fixed_predictors();
    all.push_back(learned("ridge", Fitter::ridge, false));
    all.push_back(learned("gaussian process", Fitter::gaussian_process, false));
    try {
        load_xgboost("boosted trees");
        all.push_back(learned("boosted trees", Fitter::boosted_trees, false));
    } catch (const InputError& error) {
        notes.push_back(fmt::format("boosted trees are left out: {}", error.problems().front().message));
    }
    all.push_back(learned("shipped", Fitter::gaussian_process, true));
    return all;
}

struct Chosen {
    std::string name;
    std::vector<CrossPrediction> predictions;
};

Chosen predict_chosen(const std::vector<InterferenceSample>& samples,
                      const InterferenceValidateOptions& options, std::vector<std::string>& notes) {
    using Kind = InterferenceChoice::Kind;
    const InterferenceChoice choice = read_interference(options.interference, "--set interference");
    NamedPredictor chosen{"prior", {}};
    if (choice.kind == Kind::file) {
        const auto model =
            LearnedSlowdown::from_json_text(read_text_file(choice.path), choice.path, GpuLimits{});
        notes.push_back(fmt::format("{} was fitted to {} samples: figures are in-sample for those that are "
                                    "among them; --cross leaves them out",
                                    choice.path, model->facts().samples));
        return {choice.path, predict_with(samples, *model)};
    }
    if (choice.kind == Kind::off)
        chosen = constant("no interference", 1);
    if (choice.kind == Kind::constant)
        chosen = constant(fmt::format("constant {:.4g}", choice.factor), choice.factor);
    return {chosen.name, cross_predict(samples, chosen.predictor, std::nullopt, options.threads)};
}

std::vector<Fold> possible_folds(const std::vector<InterferenceSample>& samples) {
    std::vector<Fold> folds{Fold::family, Fold::random};
    for (const Fold fold : {Fold::communication, Fold::gpu})
        if (groups_of_fold(samples, fold) > 1)
            folds.push_back(fold);
    return folds;
}

// A model that stands for its own families alone leaves a family that is left out to the prior: no fit.
bool is_prior(const Predictor& predictor, Fold fold) {
    return predictor.kind == Predictor::Kind::learned && predictor.fit.known_families_only &&
           fold == Fold::family;
}

CrossFold cross_validate(const std::vector<InterferenceSample>& samples,
                         const std::vector<NamedPredictor>& predictors, Fold fold, int threads) {
    CrossFold result;
    result.fold = fold;
    result.groups = groups_of_fold(samples, fold);
    for (const NamedPredictor& p : predictors) {
        const std::vector<CrossPrediction> predictions =
            cross_predict(samples, is_prior(p.predictor, fold) ? Predictor{} : p.predictor, fold, threads);
        result.predictors.push_back({p.name, figures_of(samples, predictions)});
        if (&p != &predictors.back())
            continue;
        result.validation = report_of(samples, predictions);
        result.families = family_shares(samples, predictions);
    }
    return result;
}

void cross_validate_all(const InterferenceValidateOptions& options, InterferenceReport& report) {
    const std::vector<NamedPredictor> predictors = all_predictors(report.notes);
    for (const Fold fold : possible_folds(report.samples))
        report.cross.push_back(cross_validate(report.samples, predictors, fold, options.threads));
    const CrossFold& shown = report.cross.front();
    report.predictor = "as shipped, the row's family left out (the prior)";
    report.validation = shown.validation;
    report.families = shown.families;
    report.figures = shown.predictors.back().figures;
}

} // namespace

InterferenceReport validate_interference(const std::string& data_path,
                                         const InterferenceValidateOptions& options) {
    InterferenceSamples read = read_interference_csv(read_text_file(data_path, kMaxCsv), data_path);
    InterferenceReport report;
    report.samples = std::move(read.samples);
    report.notes = std::move(read.notes);
    for (const NamedPredictor& p : fixed_predictors())
        report.baselines.push_back(
            {p.name, figures_of(report.samples,
                                cross_predict(report.samples, p.predictor, std::nullopt, options.threads))});
    if (options.cross) {
        cross_validate_all(options, report);
        return report;
    }
    const Chosen chosen = predict_chosen(report.samples, options, report.notes);
    report.predictor = chosen.name;
    report.validation = report_of(report.samples, chosen.predictions);
    report.families = family_shares(report.samples, chosen.predictions);
    report.figures = figures_of(report.samples, chosen.predictions);
    return report;
}

} // namespace echosim
