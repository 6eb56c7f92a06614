// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/xgboost_library.h"
#include "simulator/cli/commands/calibrate_interference.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace echosim {
namespace {

constexpr std::size_t kFewestToFit = 20;

Fitter chosen_fitter(const Invocation& invocation) {
    const std::string text = invocation.value("--fitter").value_or("gaussian_process");
    return text == "ridge"           ? Fitter::ridge
           : text == "boosted_trees" ? Fitter::boosted_trees
                                     : Fitter::gaussian_process;
}

InterferenceWay constant_way(std::string name, double factor) {
    return {std::move(name), {.kind = Predictor::Kind::constant, .constant = factor, .fit = {}}, {}};
}

// A learned model is asked what it makes of families that it has not seen.
InterferenceWay learned_way(std::string name, Fitter fitter) {
    return {std::move(name), {.kind = Predictor::Kind::learned, .constant = 1, .fit = {fitter, false}}, {}};
}

void add_ways(Fitter chosen, InterferenceAssessment& result) {
    result.ways.push_back(constant_way("no interference", 1));
    result.ways.push_back(constant_way("constant 1.10", 1.10));
    result.ways.push_back(constant_way("constant 1.19", 1.19));
    result.prior = result.ways.size();
    result.ways.push_back({"prior", {}, {}});
    result.ways.push_back(learned_way("ridge", Fitter::ridge));
    result.ways.push_back(learned_way("gaussian process", Fitter::gaussian_process));
    if (chosen == Fitter::boosted_trees) {
        load_xgboost("--fitter");
        result.ways.push_back(learned_way("boosted trees", chosen));
    }
    result.learned = chosen == Fitter::ridge ? 4 : chosen == Fitter::gaussian_process ? 5 : 6;
}

std::string group_of(const InterferenceSample& sample, Fold fold) {
    return fold == Fold::family ? sample.family : fold == Fold::gpu ? sample.gpu : sample.communication;
}

// The folds that the data allow: families and random fifths always, the others with two groups or more.
void add_folds(const InterferenceData& data, InterferenceAssessment& result) {
    for (const Fold fold : {Fold::family, Fold::random, Fold::communication, Fold::gpu}) {
        InterferenceFold row{.fold = fold, .groups = 5, .not_possible = {}};
        if (fold != Fold::random) {
            std::map<std::string, std::size_t> groups;
            for (const InterferenceSample& sample : data.samples) {
                ++groups[group_of(sample, fold)];
            }
            row.groups = static_cast<int>(groups.size());
            const auto largest = std::ranges::max_element(groups, {}, [](const auto& g) { return g.second; });
            if (groups.size() < 2 && fold != Fold::family) {
                continue;
            }
            if (const std::size_t rest = data.samples.size() - largest->second; rest < kFewestToFit) {
                row.not_possible = fmt::format("{} of {} samples are of \"{}\": {} are left to fit to",
                                               largest->second, data.samples.size(), largest->first, rest);
            }
        }
        result.folds.push_back(std::move(row));
    }
}

using Predictions = std::vector<CrossPrediction>;

void predict(const InterferenceData& data, InterferenceAssessment& result, Predictions& learned,
             Predictions& prior, Console& console) {
    for (std::size_t w = 0; w < result.ways.size(); ++w) {
        InterferenceWay& way = result.ways[w];
        const bool fitted = way.predictor.kind == Predictor::Kind::learned;
        Predictions fixed; // what is not fitted says the same in every fold
        if (!fitted) {
            fixed = cross_predict(data.samples, way.predictor, std::nullopt, 0);
        }
        for (const InterferenceFold& fold : result.folds) {
            if (fitted && !fold.not_possible.empty()) {
                way.figures.emplace_back();
                continue;
            }
            console.detail(fmt::format("{}: {} groups", way.name, fold.groups));
            const Predictions made =
                fitted ? cross_predict(data.samples, way.predictor, fold.fold, 0) : fixed;
            way.figures.push_back(figures_of(data.samples, made));
            if (w == result.learned && fold.fold == Fold::random) {
                learned = made;
            }
        }
        if (w == result.prior) {
            prior = fixed;
        }
    }
}

double error_of(const InterferenceSample& sample, double factor) {
    return std::abs(factor / sample.factor() - 1);
}

void add_families(const InterferenceData& data, const Predictions& learned, const Predictions& prior,
                  InterferenceAssessment& result) {
    struct Sums {
        std::vector<double> factors;
        double none = 0, prior = 0, learned = 0;
        std::string kernel_class;
    };
    std::map<std::string, Sums> sums;
    double all = 0;
    for (std::size_t i = 0; i < learned.size(); ++i) {
        const InterferenceSample& sample = data.samples[learned[i].sample];
        Sums& of = sums[sample.family];
        of.kernel_class = to_string(sample.kernel.kernel_class);
        of.factors.push_back(sample.factor());
        of.none += error_of(sample, 1);
        of.prior += error_of(sample, prior[i].factor);
        of.learned += error_of(sample, learned[i].factor);
        all += error_of(sample, 1);
    }
    for (auto& [family, sum] : sums) {
        Sums& of = sum;
        std::ranges::sort(of.factors);
        const auto n = static_cast<double>(of.factors.size());
        const auto at = [&](double q) { return of.factors[static_cast<std::size_t>(q * (n - 1) + 0.5)]; };
        result.families.push_back({family, of.kernel_class, static_cast<int>(of.factors.size()), at(0.5),
                                   at(0.9), all > 0 ? 100 * of.none / all : 0, 100 * of.prior / n,
                                   100 * of.learned / n});
    }
    std::ranges::stable_sort(result.families, std::greater<>(), &FamilyFigures::no_interference);
}

void add_unexplained(const InterferenceData& data, const Predictions& learned,
                     InterferenceAssessment& result) {
    for (const CrossPrediction& prediction : learned) {
        const double factor = data.samples[prediction.sample].factor();
        if (factor < prediction.low || factor > prediction.high) {
            const double edge = factor < prediction.low ? prediction.low : prediction.high;
            result.unexplained.push_back({prediction.sample, prediction, std::abs(std::log(factor / edge))});
        }
    }
    std::ranges::stable_sort(result.unexplained, std::greater<>(), &UnexplainedSample::distance);
}

// Of those that are not fitted, the one with the least mean error in the fold that decides.
const InterferenceWay& best_baseline(const InterferenceAssessment& result) {
    const auto error = [&](const InterferenceWay& way) {
        return way.figures[result.gate].mean_abs_error_percent;
    };
    const auto end = result.ways.begin() + static_cast<std::ptrdiff_t>(result.prior) + 1;
    return *std::ranges::min_element(result.ways.begin(), end, {}, error);
}

std::string option_of(const InterferenceWay& way) {
    if (way.predictor.kind == Predictor::Kind::prior) {
        return "prior";
    }
    return way.predictor.constant == 1 ? "off" : fmt::format("constant:{:.2f}", way.predictor.constant);
}

std::string advice(const InterferenceAssessment& result) {
    const InterferenceWay& best = best_baseline(result);
    const InterferenceWay& prior = result.ways[result.prior];
    if (&best == &prior) {
        return {};
    }
    return fmt::format("on these data {} is better than the prior (mean error {:.2f} %, prior {:.2f} %): "
                       "--set interference={}",
                       best.name, best.figures[result.gate].mean_abs_error_percent,
                       prior.figures[result.gate].mean_abs_error_percent, option_of(best));
}

void judge(InterferenceAssessment& result) {
    const Fold fold = result.known_families ? Fold::random : Fold::family;
    const auto gate = std::ranges::find(result.folds, fold, &InterferenceFold::fold);
    result.gate = static_cast<std::size_t>(gate - result.folds.begin());
    const InterferenceWay& learned = result.ways[result.learned];
    const InterferenceWay& best = best_baseline(result);
    const double best_error = best.figures[result.gate].mean_abs_error_percent;
    result.advice = advice(result);
    if (!gate->not_possible.empty()) {
        result.verdict = fmt::format(
            "the learned model cannot be tested on families that it has not seen: {}", gate->not_possible);
        return;
    }
    const double error = learned.figures[result.gate].mean_abs_error_percent;
    result.accepted = error < best_error;
    result.verdict = fmt::format(
        "the learned model ({}) {} {}, the best of what is not fitted, on {}: mean error {:.2f} %, {} {:.2f} "
        "%",
        learned.name, result.accepted ? "beats" : "does not beat",
        best.predictor.kind == Predictor::Kind::prior ? "the prior" : best.name,
        result.known_families ? "samples of known families (random fifths)" : "families that it has not seen",
        error, best.predictor.kind == Predictor::Kind::prior ? "prior" : best.name, best_error);
}

} // namespace

InterferenceAssessment assess_interference(const InterferenceData& data, const Invocation& invocation,
                                           Console& console) {
    InterferenceAssessment result;
    result.known_families = invocation.has("--known-families");
    add_ways(chosen_fitter(invocation), result);
    add_folds(data, result);
    Predictions learned, prior;
    predict(data, result, learned, prior, console);
    add_families(data, learned, prior, result);
    add_unexplained(data, learned, result);
    judge(result);
    return result;
}

} // namespace echosim
