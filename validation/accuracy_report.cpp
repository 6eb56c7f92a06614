// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/gpu.h"
#include "validation/accuracy.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGroups[] = {"confidence", "gpu",       "source",    "software", "tp",
                                   "pp",         "recompute", "precision", "gpus"};

Json number(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

std::vector<std::string> values_of(const ValidationReport& report, const std::string& group) {
    std::set<std::string> values;
    for (const ValidationRow& row : report.rows)
        if (row.error_percent && row.groups.contains(group))
            values.insert(row.groups.at(group));
    std::vector<std::string> sorted(values.begin(), values.end());
    std::ranges::stable_sort(sorted, {}, [](const std::string& s) { return s.size(); });
    return sorted;
}

Json summary_json(const ValidationSummary& s) {
    return {{"rows", s.rows},
            {"skipped", s.skipped},
            {"mean_abs_error_percent", s.mean_abs_error_percent},
            {"median_abs_error_percent", s.median_abs_error_percent},
            {"p90_abs_error_percent", s.p90_abs_error_percent},
            {"bias_percent", s.bias_percent},
            {"interval_coverage_percent", number(s.interval_coverage_percent)}};
}

std::string summary_line(const std::string& name, const ValidationSummary& s) {
    return fmt::format("  {:<28} {:>5} {:>9.1f} {:>9.1f} {:>9.1f} {:>+9.1f}\n", name, s.rows,
                       s.mean_abs_error_percent, s.median_abs_error_percent, s.p90_abs_error_percent,
                       s.bias_percent);
}

double share_at(std::vector<double> sorted, double share) {
    return sorted[static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

} // namespace

Json report_to_json(const ValidationReport& report) {
    Json json = {{"schema", "echosim.validate/1"}, {"kind", report.kind}, {"rows", Json::array()}};
    for (const ValidationRow& row : report.rows)
        json["rows"].push_back({{"id", row.id},
                                {"measured", row.measured},
                                {"predicted", number(row.predicted)},
                                {"p05", number(row.p05)},
                                {"p95", number(row.p95)},
                                {"error_percent", number(row.error_percent)},
                                {"skipped", row.skipped.empty() ? Json(nullptr) : Json(row.skipped)}});
    json["summary"] = summary_json(summarise(report.rows));
    Json by = Json::object();
    for (const char* group : kGroups)
        for (const std::string& value : values_of(report, group))
            by[group][value] = summary_json(summarise(rows_with(report, group, value)));
    json["summary"]["by"] = by;
    json["residuals"] = residuals_json(report);
    return json;
}

std::string report_text(const ValidationReport& report) {
    const ValidationSummary all = summarise(report.rows);
    std::string text =
        fmt::format("{} rows simulated, {} skipped. Error = (predicted - measured) / measured.\n\n", all.rows,
                    all.skipped);
    text += fmt::format("  {:<28} {:>5} {:>9} {:>9} {:>9} {:>9}\n", "", "rows", "mean |%|", "median", "p90",
                        "bias %");
    text += summary_line("all", all);
    for (const char* group : kGroups) {
        text += fmt::format("{}\n", group);
        for (const std::string& value : values_of(report, group))
            text += summary_line(value, summarise(rows_with(report, group, value)));
    }
    std::vector<ValidationRow> worst;
    std::ranges::copy_if(report.rows, std::back_inserter(worst),
                         [](const ValidationRow& r) { return r.error_percent.has_value(); });
    std::ranges::stable_sort(worst, std::ranges::greater{},
                             [](const ValidationRow& r) { return std::abs(*r.error_percent); });
    text += fmt::format("\nworst rows\n  {:<28} {:>11} {:>11} {:>9}\n", "", "measured s", "predicted s",
                        "error %");
    for (std::size_t i = 0; i < worst.size() && i < 15; ++i)
        text += fmt::format("  {:<28} {:>11.4f} {:>11.4f} {:>+9.1f}\n", worst[i].id, worst[i].measured,
                            *worst[i].predicted, *worst[i].error_percent);
    std::map<std::string, int> reasons;
    for (const ValidationRow& row : report.rows)
        if (!row.skipped.empty())
            ++reasons[row.skipped];
    if (!reasons.empty())
        text += "\nskipped\n";
    for (const auto& [reason, count] : reasons)
        text += fmt::format("  {:>5}  {}\n", count, reason);
    return text;
}

Json residuals_json(const ValidationReport& report) {
    std::map<std::string, std::vector<double>> ratios;
    for (const ValidationRow& row : report.rows)
        if (row.predicted && row.groups.at("confidence") == "high")
            ratios[find_gpu(row.groups.at("gpu")).kernel_preset].push_back(row.measured / *row.predicted);
    Json json = {{"schema", "echosim.step_residuals/1"}, {"gpus", Json::object()}};
    for (auto& [preset, values] : ratios) {
        std::ranges::sort(values);
        json["gpus"][preset] = {
            {"rows", values.size()}, {"p05", share_at(values, 0.05)}, {"p95", share_at(values, 0.95)}};
    }
    return json;
}

} // namespace echosim
