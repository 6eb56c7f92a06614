// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "validation/interference_accuracy.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

std::string figures_header(const std::string& what) {
    return fmt::format("  {:<22} {:>5} {:>6} {:>7} {:>7} {:>9} {:>9} {:>8} {:>9} {:>8}\n", what, "rows",
                       "mean", "median", "p90", "|ln err|", "in 10 %", "total", "expected", "in band");
}

std::string figures_line(const std::string& name, const CrossFigures& f) {
    return fmt::format(
        "  {:<22} {:>5} {:>6.1f} {:>7.1f} {:>7.1f} {:>9.3f} {:>9.0f} {:>+8.1f} {:>+9.1f} {:>8}\n", name,
        f.rows, f.mean_abs_error_percent, f.median_abs_error_percent, f.p90_abs_error_percent,
        f.mean_abs_log_error, f.within_10_percent, f.total_error_percent, f.expected_error_percent,
        f.has_band ? fmt::format("{:.0f}", f.coverage_percent) : "-");
}

std::string predictors_text(const std::string& title, const std::vector<PredictorFigures>& predictors) {
    std::string text = "\n" + title + "\n" + figures_header("|error| in %");
    for (const PredictorFigures& p : predictors)
        text += figures_line(p.name, p.figures);
    return text;
}

std::string families_text(const std::vector<FamilyShare>& families) {
    std::string text =
        fmt::format("\nfamilies, by their share of the error\n  {:>5} {:>8} {:>9} {:>11} {:>8} "
                    "{:>8}  {:<12} {}\n",
                    "rows", "time %", "error %", "no effect %", "total %", "mean %", "class", "family");
    for (const FamilyShare& f : families)
        text += fmt::format("  {:>5} {:>8.1f} {:>9.1f} {:>11.1f} {:>+8.2f} {:>8.1f}  {:<12} {}\n", f.rows,
                            f.time_share, f.error_share, f.no_effect_share, f.total_share,
                            f.figures.mean_abs_error_percent, f.kernel_class, f.family);
    return text + "  time: share of the measured durations; error, no effect: share of the sum of |error| of "
                  "the\n  prediction and of no interference; total: what it adds to the error of the total "
                  "time\n";
}

std::string known_of(const InterferenceSample& sample) {
    const KernelFootprint& k = sample.kernel;
    std::string text = fmt::format("{}, {:.1f} us, overlap {:.2f}, HBM {:.0f} %", sample.family,
                                   sample.time_alone * 1e6, sample.overlap, 100 * k.hbm_share);
    if (k.compute_share > 0)
        text += fmt::format(", compute {:.0f} %", 100 * k.compute_share);
    if (k.occupancy_ratio > 0)
        text += fmt::format(", occupancy ratio {:.2f}", k.occupancy_ratio);
    if (k.blocks > 0)
        text += fmt::format(", {:.0f} blocks", k.blocks);
    return sample.communication.empty() ? text : text + "; " + sample.communication;
}

// By |ln predicted / measured|: a factor of 10 that is predicted as 1 is as bad as the reverse.
std::string worst_text(const InterferenceReport& report) {
    constexpr std::size_t shown = 15;
    std::vector<std::size_t> worst;
    const std::vector<ValidationRow>& rows = report.validation.rows;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].predicted)
            worst.push_back(i);
    std::ranges::stable_sort(worst, std::ranges::greater{}, [&](std::size_t i) {
        return std::abs(std::log(*rows[i].predicted / rows[i].measured));
    });
    std::string text = fmt::format("\nworst rows, by |ln (predicted / measured)|\n  {:>8} {:>9} {:>14}  {}\n",
                                   "measured", "predicted", "5-95 %", "row");
    for (std::size_t n = 0; n < worst.size() && n < shown; ++n) {
        const ValidationRow& row = rows[worst[n]];
        const std::string band =
            row.p05 && row.p95 ? fmt::format("{:.2f} - {:.2f}", *row.p05, *row.p95) : "-";
        text += fmt::format("  {:>8.2f} {:>9.2f} {:>14}  {}: {}\n", row.measured, *row.predicted, band,
                            row.id, known_of(report.samples[worst[n]]));
    }
    return text;
}

Json figures_json(const CrossFigures& f) {
    const auto figure = [&](double value) { return f.rows > 0 ? Json(value) : Json(nullptr); };
    return {{"rows", f.rows},
            {"mean_abs_error_percent", figure(f.mean_abs_error_percent)},
            {"median_abs_error_percent", figure(f.median_abs_error_percent)},
            {"p90_abs_error_percent", figure(f.p90_abs_error_percent)},
            {"mean_abs_log_error", figure(f.mean_abs_log_error)},
            {"within_10_percent", figure(f.within_10_percent)},
            {"total_error_percent", figure(f.total_error_percent)},
            {"expected_error_percent", figure(f.expected_error_percent)},
            {"interval_coverage_percent", f.has_band ? Json(f.coverage_percent) : Json(nullptr)}};
}

Json predictors_json(const std::vector<PredictorFigures>& predictors) {
    Json json = Json::array();
    for (const PredictorFigures& p : predictors) {
        Json entry = {{"name", p.name}};
        entry.update(figures_json(p.figures));
        json.push_back(std::move(entry));
    }
    return json;
}

Json families_json(const std::vector<FamilyShare>& families) {
    Json json = Json::array();
    for (const FamilyShare& f : families) {
        Json entry = {{"family", f.family},
                      {"kernel_class", f.kernel_class},
                      {"time_share_percent", f.time_share},
                      {"error_share_percent", f.error_share},
                      {"no_effect_share_percent", f.no_effect_share},
                      {"total_share_percent", f.total_share}};
        entry.update(figures_json(f.figures));
        json.push_back(std::move(entry));
    }
    return json;
}

Json cross_json(const std::vector<CrossFold>& folds) {
    Json json = Json::object();
    for (const CrossFold& fold : folds)
        json[to_words(fold.fold)] = {{"groups", fold.groups},
                                     {"predictors", predictors_json(fold.predictors)},
                                     {"summary", report_to_json(fold.validation).at("summary")},
                                     {"families", families_json(fold.families)}};
    return json;
}

std::string fold_title(const CrossFold& fold) {
    switch (fold.fold) {
    case Fold::family:
        return fmt::format("each kernel family predicted without it ({})", fold.groups);
    case Fold::random:
        return fmt::format("random fifths ({})", fold.groups);
    case Fold::communication:
        return fmt::format("each communication configuration predicted without it ({})", fold.groups);
    case Fold::gpu:
        return fmt::format("each GPU predicted without it ({})", fold.groups);
    }
    return {};
}

} // namespace

std::string to_words(Fold fold) {
    switch (fold) {
    case Fold::family:
        return "family";
    case Fold::random:
        return "random";
    case Fold::communication:
        return "communication";
    case Fold::gpu:
        return "gpu";
    }
    return {};
}

Json interference_to_json(const InterferenceReport& report) {
    Json json = report_to_json(report.validation);
    json["predictor"] = report.predictor;
    json["figures"] = figures_json(report.figures);
    json["families"] = families_json(report.families);
    json["baselines"] = predictors_json(report.baselines);
    if (!report.cross.empty())
        json["cross"] = cross_json(report.cross);
    json["notes"] = report.notes;
    return json;
}

std::string interference_text(const InterferenceReport& report) {
    std::string text = fmt::format("factor of the whole kernel, duration / time alone, predicted by: {}\n",
                                   report.predictor) +
                       report_text(report.validation);
    if (report.figures.rows == 0)
        return text;
    if (report.cross.empty()) {
        std::vector<PredictorFigures> all = report.baselines;
        all.push_back({"this: " + report.predictor, report.figures});
        text += predictors_text("against what needs no fit", all);
    }
    for (const CrossFold& fold : report.cross)
        text += predictors_text(fold_title(fold), fold.predictors);
    text += "  total: error of the sum of the durations; expected: the same with expected values\n";
    text += families_text(report.families);
    for (const CrossFold& fold : report.cross)
        if (fold.fold == Fold::random)
            text += "\nrandom fifths, as shipped: " + families_text(fold.families).substr(1);
    text += worst_text(report);
    for (const std::string& note : report.notes)
        text += "\nnote: " + note;
    return report.notes.empty() ? text : text + "\n";
}

} // namespace echosim
