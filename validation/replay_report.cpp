// SPDX-License-Identifier: Apache-2.0
#include "validation/replay_report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRanksShown = 16;
constexpr std::size_t kRowsShown = 5;
constexpr std::size_t kNotesShown = 10;

Json number(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json rank_json(const ReplayRank& rank) {
    return {{"rank", rank.name},
            {"ops", rank.ops},
            {"span_measured_s", rank.span_measured},
            {"span_predicted_s", rank.span_predicted},
            {"busy_measured_s", rank.busy_measured},
            {"busy_predicted_s", rank.busy_predicted},
            {"idle_share_measured", rank.idle_measured},
            {"idle_share_predicted", rank.idle_predicted},
            {"idle_worst_points", number(rank.idle_worst_points)},
            {"start_error_mean_s", number(rank.start_mean)},
            {"start_error_median_abs_s", rank.start_median},
            {"start_error_p95_abs_s", rank.start_p95},
            {"start_error_worst_abs_s", rank.start_worst}};
}

std::string milliseconds(Seconds value) {
    return fmt::format("{:.3f}", value * 1e3);
}

// With a sign, unless it is zero to the last decimal that is shown.
std::string signed_text(double value, int decimals) {
    std::string text = fmt::format("{:+.{}f}", value, decimals);
    return text.find_first_of("123456789") == std::string::npos ? text.substr(1) : text;
}

// The rows that count, the worst first.
std::string rows_text(const ReplayReport& report) {
    std::vector<ValidationRow> rows = counted_rows(report.validation);
    std::erase_if(rows, [](const ValidationRow& row) { return !row.error_percent; });
    const ValidationSummary all = summarise(rows);
    std::string text =
        fmt::format("  {:<26} {:>12} {:>12} {:>9}\n", "", "measured s", "predicted s", "error %");
    std::ranges::stable_sort(rows, std::ranges::greater{},
                             [](const ValidationRow& row) { return std::abs(*row.error_percent); });
    for (std::size_t i = 0; i < rows.size() && i < kRowsShown; ++i)
        text += fmt::format("  {:<26} {:>12.6f} {:>12.6f} {:>9}\n", rows[i].id, rows[i].measured,
                            *rows[i].predicted, signed_text(*rows[i].error_percent, 3));
    if (rows.size() > 1)
        text += fmt::format("  {} rows, the worst first: mean |error| {:.3f} %, median {:.3f} %, bias {} %\n",
                            all.rows, all.mean_abs_error_percent, all.median_abs_error_percent,
                            signed_text(all.bias_percent, 3));
    for (const std::string& value : {std::string("fitted"), std::string("held out")}) {
        const ValidationSummary part = summarise(rows_with(report.validation, "constants", value));
        if (part.rows > 0 && part.rows < all.rows)
            text += fmt::format("  constants {}: {} rows, mean |error| {:.3f} %\n", value, part.rows,
                                part.mean_abs_error_percent);
    }
    return text;
}

// The mean of the errors is known of measured pipelines only.
std::string ranks_text(const ReplayReport& report) {
    const bool means =
        std::ranges::any_of(report.ranks, [](const ReplayRank& rank) { return rank.start_mean.has_value(); });
    const auto mean = [&](const std::string& text) { return means ? fmt::format(" {:>9}", text) : text; };
    std::string text = fmt::format("\n  {:<12} {:>9} {:>18} {:>8} {:>{}}\n  {:<12} {:>9} {:>9} {:>8} {:>8}{} "
                                   "{:>10} {:>9} {:>9}\n",
                                   "", "busy", "idle share %", "worst", "start error ms", means ? 40 : 30,
                                   "rank", "ms", "measured", "replayed", "points", mean(means ? "mean" : ""),
                                   "median abs", "95 % abs", "worst abs");
    for (std::size_t i = 0; i < report.ranks.size() && i < kRanksShown; ++i) {
        const ReplayRank& r = report.ranks[i];
        const double points = r.idle_worst_points.value_or(100 * (r.idle_predicted - r.idle_measured));
        text += fmt::format(
            "  {:<12} {:>9.2f} {:>9.2f} {:>8.2f} {:>8}{} {:>10} {:>9} {:>9}\n", r.name, r.busy_measured * 1e3,
            100 * r.idle_measured, 100 * r.idle_predicted, signed_text(points, 2),
            mean(r.start_mean ? signed_text(*r.start_mean * 1e3, 3) : std::string()),
            milliseconds(r.start_median), milliseconds(r.start_p95), milliseconds(r.start_worst));
    }
    if (report.ranks.size() > kRanksShown)
        text += fmt::format("  and {} more; --json lists all\n", report.ranks.size() - kRanksShown);
    return text;
}

std::string details_text(const ReplayReport& report) {
    std::string text;
    if (!report.worst.empty())
        text += fmt::format("\nworst starts\n  {:>12} {:>12} {:>9}  {}\n", "measured ms", "predicted ms",
                            "off ms", "op");
    for (const ReplayOp& op : report.worst)
        text += fmt::format("  {:>12.3f} {:>12.3f} {:>9}  {}: {}\n", op.measured * 1e3, op.predicted * 1e3,
                            signed_text((op.predicted - op.measured) * 1e3, 3), op.rank, op.id);
    if (!report.constants.empty())
        text += "\nconstants taken from the recording\n";
    for (const ReplayConstant& constant : report.constants)
        text += fmt::format("  {:<22} {:>9} ms  {}\n", constant.name, milliseconds(constant.value),
                            constant.meaning);
    if (!report.notes.empty())
        text += "\nnotes\n";
    for (std::size_t i = 0; i < report.notes.size() && i < kNotesShown; ++i)
        text += fmt::format("  {}\n", report.notes[i]);
    if (report.notes.size() > kNotesShown)
        text += fmt::format("  and {} more; --json lists all\n", report.notes.size() - kNotesShown);
    return text;
}

std::string skipped_text(const ReplayReport& report) {
    std::string text;
    for (const ValidationRow& row : report.validation.rows)
        if (!row.skipped.empty())
            text += fmt::format("  skipped: {}: {}\n", row.id, row.skipped);
    return text;
}

} // namespace

Json replay_to_json(const ReplayReport& report) {
    Json json = report_to_json(report.validation);
    json["source"] = {{"path", report.path}, {"what", report.what}};
    json["constants"] = Json::array();
    for (const ReplayConstant& constant : report.constants)
        json["constants"].push_back(
            {{"name", constant.name}, {"value_s", constant.value}, {"meaning", constant.meaning}});
    json["ranks"] = Json::array();
    for (const ReplayRank& rank : report.ranks)
        json["ranks"].push_back(rank_json(rank));
    json["worst_starts"] = Json::array();
    for (const ReplayOp& op : report.worst)
        json["worst_starts"].push_back(
            {{"rank", op.rank}, {"op", op.id}, {"measured_s", op.measured}, {"predicted_s", op.predicted}});
    json["notes"] = report.notes;
    return json;
}

std::string replay_text(const ReplayReport& report) {
    return report.what + "\n\n" + rows_text(report) + skipped_text(report) + ranks_text(report) +
           details_text(report);
}

} // namespace echosim
