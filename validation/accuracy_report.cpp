// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/gpu.h"
#include "simulator/core/suggest.h"
#include "validation/accuracy.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTables = "table";

bool is_steps(const ValidationReport& report) {
    return report.kind == "steps";
}
bool is_interference(const ValidationReport& report) {
    return report.kind == "interference";
}
bool is_replay(const ValidationReport& report) {
    return report.kind == "replay";
}

Json number(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

bool is_number(const std::string& text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Values of the group among the simulated rows: numbers by size, texts by alphabet.
std::vector<std::string> values_of(const ValidationReport& report, const std::string& group) {
    std::set<std::string> values;
    for (const ValidationRow& row : report.rows) {
        if (!row.error_percent)
            continue;
        if (group == "apart" && !row.apart.empty())
            values.insert(row.apart);
        else if (group != "apart" && row.apart.empty() && row.groups.contains(group))
            values.insert(row.groups.at(group));
    }
    std::vector<std::string> sorted(values.begin(), values.end());
    if (std::ranges::all_of(sorted, is_number))
        std::ranges::stable_sort(sorted, {}, [](const std::string& s) { return s.size(); });
    return sorted;
}

// Without rows there is no error: null, not 0.
Json summary_json(const ValidationSummary& s) {
    const auto figure = [&](double value) { return s.rows > 0 ? Json(value) : Json(nullptr); };
    return {{"rows", s.rows},
            {"skipped", s.skipped},
            {"mean_abs_error_percent", figure(s.mean_abs_error_percent)},
            {"median_abs_error_percent", figure(s.median_abs_error_percent)},
            {"p90_abs_error_percent", figure(s.p90_abs_error_percent)},
            {"bias_percent", figure(s.bias_percent)},
            {"interval_coverage_percent", number(s.interval_coverage_percent)}};
}

std::string summary_line(const std::string& name, const ValidationSummary& s) {
    const std::string inside =
        s.interval_coverage_percent ? fmt::format("{:.0f}", *s.interval_coverage_percent) : "-";
    return fmt::format("  {:<24} {:>6} {:>8} {:>9.1f} {:>9.1f} {:>9.1f} {:>+9.1f} {:>10}\n", name, s.rows,
                       s.skipped, s.mean_abs_error_percent, s.median_abs_error_percent,
                       s.p90_abs_error_percent, s.bias_percent, inside);
}

std::string summary_table(const ValidationReport& report, const ValidationSummary& all) {
    std::string text = fmt::format("  {:<24} {:>6} {:>8} {:>9} {:>9} {:>9} {:>9} {:>10}\n", "|error| in %",
                                   "rows", "skipped", "mean", "median", "p90", "bias", "in 5-95 %");
    text += summary_line("all", all);
    std::vector<std::string> constant; // groups that would repeat the line of all rows
    for (const std::string& group : groups_of_report(report)) {
        if (group == kTables || (is_interference(report) && group == "family"))
            continue; // listed below
        const std::vector<std::string> values = values_of(report, group);
        if (values.size() == 1 && group != "apart")
            constant.push_back(fmt::format("{} {}", group, values.front()));
        if (values.size() < (group == "apart" ? 1U : 2U))
            continue;
        text += fmt::format("{}\n", group);
        for (const std::string& value : values)
            text += summary_line(value, summarise(rows_with(report, group, value)));
    }
    if (!constant.empty())
        text += fmt::format("the same for all: {}\n", join(constant));
    return text;
}

std::string worst_rows(const ValidationReport& report) {
    constexpr std::size_t shown = 15;
    std::vector<const ValidationRow*> worst;
    for (const ValidationRow& row : report.rows)
        if (row.error_percent && row.predicted && row.apart.empty())
            worst.push_back(&row);
    std::ranges::stable_sort(worst, std::ranges::greater{},
                             [](const ValidationRow* r) { return std::abs(*r->error_percent); });
    const char* const unit = is_steps(report) ? "s" : "us";
    const int decimals = is_steps(report) ? 4 : 2;
    std::string text =
        fmt::format("\nworst rows\n  {:>12} {:>12} {:>9}  {}\n", fmt::format("measured {}", unit),
                    fmt::format("predicted {}", unit), "error %", "row");
    for (std::size_t i = 0; i < worst.size() && i < shown; ++i)
        text += fmt::format("  {:>12.{}f} {:>12.{}f} {:>+9.1f}  {}\n", worst[i]->measured, decimals,
                            *worst[i]->predicted, decimals, *worst[i]->error_percent, worst[i]->id);
    return text;
}

// The tables with the largest mean errors, where rows come in tables.
std::string worst_tables(const ValidationReport& report) {
    constexpr std::size_t shown = 10;
    std::vector<std::pair<std::string, ValidationSummary>> tables;
    for (const std::string& name : values_of(report, kTables))
        tables.emplace_back(name, summarise(rows_with(report, kTables, name)));
    if (tables.empty())
        return {};
    std::ranges::stable_sort(tables, std::ranges::greater{},
                             [](const auto& table) { return table.second.mean_abs_error_percent; });
    std::string text = "\nworst tables\n";
    for (std::size_t i = 0; i < tables.size() && i < shown; ++i)
        text += summary_line(tables[i].first, tables[i].second);
    return text;
}

// Texts with the number of rows they hold for, the most frequent first.
std::string counted(const std::string& title, const std::map<std::string, int>& counts) {
    if (counts.empty())
        return {};
    std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, std::ranges::greater{}, [](const auto& item) { return item.second; });
    std::string text = fmt::format("\n{}\n  {:>6}\n", title, "rows");
    for (const auto& [what, count] : sorted)
        text += fmt::format("  {:>6}  {}\n", count, what);
    return text;
}

double share_at(std::vector<double> sorted, double share) {
    return sorted[static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

} // namespace

std::vector<std::string> groups_of_report(const ValidationReport& report) {
    if (is_steps(report))
        return {"confidence", "gpu", "source", "software", "tp", "pp", "recompute", "precision", "gpus"};
    if (is_replay(report))
        return {"constants", "apart"};
    if (is_interference(report))
        return {"class", "kernel class", "overlap", "communication", "gpu", "family"};
    return {"scope", "apart", "link",           "gpu",    "collective", "gpus",
            "nodes", "size",  "dgx-class size", "choice", kTables};
}

Json report_to_json(const ValidationReport& report) {
    Json json = {{"schema", "echosim.validate/1"}, {"kind", report.kind}};
    if (!is_steps(report))
        json["unit"] = is_replay(report) ? "s" : is_interference(report) ? "time / time alone" : "us";
    json["rows"] = Json::array();
    for (const ValidationRow& row : report.rows) {
        json["rows"].push_back({{"id", row.id},
                                {"measured", row.measured > 0 ? Json(row.measured) : Json(nullptr)},
                                {"predicted", number(row.predicted)},
                                {"p05", number(row.p05)},
                                {"p95", number(row.p95)},
                                {"error_percent", number(row.error_percent)},
                                {"skipped", row.skipped.empty() ? Json(nullptr) : Json(row.skipped)},
                                {"notes", row.notes}});
        if (!is_steps(report))
            json["rows"].back()["apart"] = row.apart.empty() ? Json(nullptr) : Json(row.apart);
    }
    json["summary"] = summary_json(summarise(counted_rows(report)));
    Json by = Json::object();
    for (const std::string& group : groups_of_report(report))
        for (const std::string& value : values_of(report, group))
            by[group][value] = summary_json(summarise(rows_with(report, group, value)));
    json["summary"]["by"] = by;
    if (is_steps(report))
        json["residuals"] = residuals_json(report);
    return json;
}

std::string report_text(const ValidationReport& report) {
    const ValidationSummary all = summarise(counted_rows(report));
    const auto apart = std::ranges::count_if(
        report.rows, [](const ValidationRow& row) { return row.error_percent && !row.apart.empty(); });
    std::string text = fmt::format("{} rows simulated, {} skipped", all.rows, all.skipped);
    text += apart > 0 ? fmt::format("; {} more are reported apart.\n", apart) : ".\n";
    if (all.rows + apart > 0) {
        text += "Error = (predicted - measured) / measured; a positive bias is too slow.\n\n";
        text += summary_table(report, all) + worst_tables(report);
        text += is_interference(report) ? "" : worst_rows(report); // with more words below
    }
    std::map<std::string, int> reasons, notes;
    for (const ValidationRow& row : report.rows) {
        if (!row.skipped.empty())
            ++reasons[row.skipped];
        else
            for (const std::string& note : row.notes)
                ++notes[note.substr(0, note.find(" ("))]; // figures of one row are in the JSON
    }
    return text + counted("notes on simulated rows", notes) + counted("skipped", reasons);
}

Json residuals_json(const ValidationReport& report) {
    std::map<std::string, std::vector<double>> ratios;
    for (const ValidationRow& row : report.rows) {
        const auto confidence = row.groups.find("confidence");
        if (!row.predicted || confidence == row.groups.end() || confidence->second != "high")
            continue;
        const std::string& preset = find_gpu(row.groups.at("gpu")).kernel_preset;
        if (!preset.empty())
            ratios[preset].push_back(row.measured / *row.predicted);
    }
    Json json = {{"schema", "echosim.step_residuals/1"}, {"gpus", Json::object()}};
    for (auto& [preset, values] : ratios) {
        std::ranges::sort(values);
        json["gpus"][preset] = {
            {"rows", values.size()}, {"p05", share_at(values, 0.05)}, {"p95", share_at(values, 0.95)}};
    }
    return json;
}

} // namespace echosim
