// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/calibrate_interference.h"
#include "simulator/cli/printable.h"
#include "simulator/cli/text_table.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

constexpr std::size_t kFamiliesShown = 12;
constexpr std::size_t kUnexplainedShown = 10;

std::string title_of(const InterferenceFold& fold) {
    switch (fold.fold) {
    case Fold::family:
        return fmt::format("Families left out, one of {} at a time", fold.groups);
    case Fold::random:
        return "Random fifths left out";
    case Fold::communication:
        return fmt::format("Communication configurations left out, one of {} at a time", fold.groups);
    case Fold::gpu:
        break;
    }
    return fmt::format("GPUs left out, one of {} at a time", fold.groups);
}

std::string sources_text(const InterferenceData& data, const TextStyle& style) {
    TextTable table({{"file"}, {"what"}, {"samples", Align::right}, {"overlapped", Align::right}, {""}});
    for (const InterferenceSource& source : data.sources) {
        table.add({printable_line(source.path), source.what, std::to_string(source.samples),
                   std::to_string(source.overlapped), source.remark});
    }
    return fmt::format("{}\n\n{}", style.bold("Read"), table.text(style, 2));
}

std::string families_text(const InterferenceAssessment& assessment, const TextStyle& style, bool every) {
    TextTable table({{"family"},
                     {"class"},
                     {"samples", Align::right},
                     {"median", Align::right},
                     {"p90", Align::right},
                     {"share of error", Align::right},
                     {"prior", Align::right},
                     {"learned", Align::right}});
    const std::size_t shown =
        every ? assessment.families.size() : std::min(kFamiliesShown, assessment.families.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const FamilyFigures& row = assessment.families[i];
        table.add({printable_line(row.family), row.kernel_class, std::to_string(row.samples),
                   fmt::format("{:.2f}", row.median_factor), fmt::format("{:.2f}", row.p90_factor),
                   fmt::format("{:.1f} %", row.no_interference), fmt::format("{:.1f} %", row.prior),
                   fmt::format("{:.1f} %", row.learned)});
    }
    std::string text = fmt::format("\n{}\n", style.bold("Kernel families"));
    text += wrap("  median and p90: time overlapped / time alone; share of error: of what assuming no "
                 "interference gets wrong; prior, learned: mean error, learned in random fifths",
                 style.width, 2);
    text += "\n\n" + table.text(style, 2);
    if (shown < assessment.families.size()) {
        text += fmt::format("  and {} more; -v shows all\n", assessment.families.size() - shown);
    }
    return text;
}

std::string fold_text(const InterferenceAssessment& assessment, std::size_t index, const TextStyle& style) {
    const InterferenceFold& fold = assessment.folds[index];
    std::string text = fmt::format("\n{}\n", style.bold(title_of(fold)));
    if (!fold.not_possible.empty()) {
        text += wrap("  learned models: not possible: " + fold.not_possible, style.width, 2) + "\n";
    }
    TextTable table({{""},
                     {"mean error", Align::right},
                     {"median", Align::right},
                     {"p90", Align::right},
                     {"|ln|", Align::right},
                     {"within 10 %", Align::right},
                     {"total time", Align::right},
                     {"in band", Align::right}});
    for (const InterferenceWay& way : assessment.ways) {
        const CrossFigures& row = way.figures[index];
        if (row.rows == 0) {
            continue;
        }
        const bool banded = way.predictor.kind != Predictor::Kind::constant;
        table.add({way.name, fmt::format("{:.2f} %", row.mean_abs_error_percent),
                   fmt::format("{:.2f} %", row.median_abs_error_percent),
                   fmt::format("{:.1f} %", row.p90_abs_error_percent),
                   fmt::format("{:.3f}", row.mean_abs_log_error),
                   fmt::format("{:.0f} %", row.within_10_percent),
                   fmt::format("{:+.1f} %", row.total_error_percent),
                   banded ? fmt::format("{:.0f} %", row.coverage_percent) : std::string("-")});
    }
    return text + "\n" + table.text(style, 2);
}

// Names of samples begin with the path of their file: its last part is enough for people.
std::string short_name(const InterferenceSample& sample, const InterferenceData& data) {
    for (const InterferenceSource& source : data.sources) {
        if (sample.id.starts_with(source.path)) {
            return std::filesystem::path(source.path).filename().string() +
                   sample.id.substr(source.path.size());
        }
    }
    return sample.id;
}

std::string unexplained_text(const InterferenceData& data, const InterferenceAssessment& assessment,
                             const TextStyle& style, bool every) {
    const std::size_t all = assessment.unexplained.size();
    std::string text =
        fmt::format("\n{}\n  {} of {} samples lie outside the 5-95 % band of the learned model "
                    "(random fifths)\n",
                    style.bold("Not explained"), all, data.samples.size());
    if (all == 0) {
        return text;
    }
    TextTable table({{"measured", Align::right},
                     {"band"},
                     {"alone", Align::right},
                     {"overlap", Align::right},
                     {"family"},
                     {"sample"}});
    const std::size_t shown = every ? all : std::min(kUnexplainedShown, all);
    for (std::size_t i = 0; i < shown; ++i) {
        const UnexplainedSample& row = assessment.unexplained[i];
        const InterferenceSample& sample = data.samples[row.sample];
        table.add({fmt::format("{:.2f}", sample.factor()),
                   fmt::format("{:.2f} - {:.2f}", row.prediction.low, row.prediction.high),
                   format_time(sample.time_alone), fmt::format("{:.0f} %", 100 * sample.overlap),
                   printable_line(sample.family), printable_line(short_name(sample, data))});
    }
    text += "\n" + table.text(style, 2);
    return shown < all ? text + fmt::format("  and {} more; -v shows all\n", all - shown) : text;
}

Json figures_json(const CrossFigures& row, bool banded) {
    Json json = {{"rows", row.rows},
                 {"mean_abs_error_percent", row.mean_abs_error_percent},
                 {"median_abs_error_percent", row.median_abs_error_percent},
                 {"p90_abs_error_percent", row.p90_abs_error_percent},
                 {"mean_abs_log_error", row.mean_abs_log_error},
                 {"within_10_percent", row.within_10_percent},
                 {"total_error_percent", row.total_error_percent},
                 {"expected_error_percent", row.expected_error_percent},
                 {"interval_coverage_percent", nullptr}};
    if (banded) {
        json["interval_coverage_percent"] = row.coverage_percent;
    }
    return json;
}

Json folds_json(const InterferenceAssessment& assessment) {
    Json folds = Json::array();
    for (std::size_t i = 0; i < assessment.folds.size(); ++i) {
        const InterferenceFold& fold = assessment.folds[i];
        Json ways = Json::array();
        for (const InterferenceWay& way : assessment.ways) {
            Json row = {{"name", way.name}};
            if (way.figures[i].rows > 0) {
                row.update(figures_json(way.figures[i], way.predictor.kind != Predictor::Kind::constant));
            }
            ways.push_back(std::move(row));
        }
        folds.push_back({{"left_out", fold_key(fold.fold)}, {"groups", fold.groups}, {"predictors", ways}});
        folds.back()["not_possible"] = fold.not_possible.empty() ? Json() : Json(fold.not_possible);
    }
    return folds;
}

} // namespace

std::string fold_key(Fold fold) {
    switch (fold) {
    case Fold::family:
        return "family";
    case Fold::random:
        return "random";
    case Fold::communication:
        return "communication";
    case Fold::gpu:
        break;
    }
    return "gpu";
}

std::string interference_text(const InterferenceData& data, const InterferenceAssessment& assessment,
                              const Console& console) {
    const TextStyle& style = console.style();
    std::string text = sources_text(data, style);
    text += families_text(assessment, style, console.verbose());
    for (std::size_t i = 0; i < assessment.folds.size(); ++i) {
        text += fold_text(assessment, i, style);
    }
    text += unexplained_text(data, assessment, style, console.verbose());
    if (!data.notes.empty()) {
        text += fmt::format("\n{}\n", style.bold("Notes"));
        for (const std::string& note : data.notes) {
            text += wrap("  " + note, style.width, 4) + "\n";
        }
    }
    return text;
}

Json interference_document(const InterferenceData& data, const InterferenceAssessment& assessment) {
    Json sources = Json::array(), families = Json::array(), unexplained = Json::array();
    for (const InterferenceSource& source : data.sources) {
        sources.push_back({{"file", source.path},
                           {"format", source.what},
                           {"samples", source.samples},
                           {"overlapped", source.overlapped}});
    }
    for (const FamilyFigures& row : assessment.families) {
        families.push_back({{"family", row.family},
                            {"class", row.kernel_class},
                            {"samples", row.samples},
                            {"median_factor", row.median_factor},
                            {"p90_factor", row.p90_factor},
                            {"share_of_error_percent", row.no_interference},
                            {"prior_mean_abs_error_percent", row.prior},
                            {"learned_mean_abs_error_percent", row.learned}});
    }
    for (const UnexplainedSample& row : assessment.unexplained) {
        const InterferenceSample& sample = data.samples[row.sample];
        unexplained.push_back({{"id", sample.id},
                               {"kernel", sample.kernel_name},
                               {"family", sample.family},
                               {"measured", sample.factor()},
                               {"p05", row.prediction.low},
                               {"p95", row.prediction.high},
                               {"overlap", sample.overlap},
                               {"time_alone_us", sample.time_alone * 1e6}});
    }
    return {{"schema", "echosim.calibrate/1"},
            {"kind", "interference"},
            {"sources", sources},
            {"rows", data.samples.size()},
            {"families", families},
            {"cross_validation", folds_json(assessment)},
            {"unexplained", unexplained},
            {"gate",
             {{"left_out", fold_key(assessment.folds[assessment.gate].fold)},
              {"learned", assessment.ways[assessment.learned].name},
              {"passed", assessment.accepted},
              {"verdict", assessment.verdict},
              {"advice", assessment.advice.empty() ? Json() : Json(assessment.advice)}}},
            {"notes", data.notes}};
}

} // namespace echosim
