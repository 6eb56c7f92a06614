// SPDX-License-Identifier: Apache-2.0
#include "interference/samples/csv_rows.h"
#include "simulator/cli/commands/validate_kinds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <utility>

namespace echosim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFamiliesShown = 5; // with a colour of their own
constexpr std::size_t kLines = 6;         // colour
constexpr std::size_t kLongName = 34;

std::string short_name(const std::string& family) {
    return family.size() <= kLongName ? family : family.substr(0, kLongName - 3) + "...";
}

void add_rows(const ValidationReport& report, const std::vector<FamilyShare>& families, Chart& chart) {
    std::map<std::string, std::size_t> colours;
    std::vector<ChartSeries> points;
    for (const FamilyShare& family : families)
        if (colours.size() < kFamiliesShown) {
            colours[family.family] = colours.size();
            points.push_back({.name = short_name(family.family),
                              .style = SeriesStyle::points,
                              .colour = colours.at(family.family)});
        }
    points.push_back({.name = "other families", .style = SeriesStyle::points, .colour = kFamiliesShown});
    for (const ValidationRow& row : report.rows) {
        if (!row.predicted)
            continue;
        const auto colour = colours.find(row.groups.at("family"));
        const std::size_t index = colour == colours.end() ? points.size() - 1 : colour->second;
        points[index].points.push_back({*row.predicted, row.measured});
    }
    std::ranges::move(points, std::back_inserter(chart.series));
}

// From low to high, the geometric means over rows of like prediction: the bands of all rows would hide them.
void add_bands(const ValidationReport& report, Chart& chart) {
    std::map<long, std::array<double, 4>> bins; // count and sums of ln predicted, ln low, ln high
    constexpr double kBinsPerUnit = 10;         // of ln predicted
    for (const ValidationRow& row : report.rows) {
        if (!row.p05 || !row.p95 || *row.p05 <= 0)
            continue;
        auto& [count, x, low, high] = bins[std::lround(kBinsPerUnit * std::log(*row.predicted))];
        count += 1;
        x += std::log(*row.predicted);
        low += std::log(*row.p05);
        high += std::log(*row.p95);
    }
    std::string name = "5 - 95 %, mean of like rows";
    for (const auto& [bin, sums] : bins) {
        const auto& [count, x, low, high] = sums;
        const double at = std::exp(x / count);
        chart.series.push_back({.name = std::exchange(name, {}),
                                .points = {{at, std::exp(low / count)}, {at, std::exp(high / count)}},
                                .dashed = true,
                                .colour = kLines});
    }
}

} // namespace

KindReport validate_interference_file(const std::string& path, const InterferenceValidateOptions& options) {
    InterferenceReport report = validate_interference(path, options);
    return {path, counted_rows(report.validation), interference_text(report), std::move(report)};
}

bool is_interference_table(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line) && (line.empty() || line[0] == '#')) {
    }
    const CsvRow header = [&] {
        try {
            return CsvReader(line, path).next().value_or(CsvRow{});
        } catch (const InputError&) {
            return CsvRow{};
        }
    }();
    return CsvColumns::matches(header, {{"ground_truth"}, {"overlap_ratio"}, {"DRAM throughput"}}) == 3 ||
           CsvColumns::matches(header, {{"alone_us"}, {"overlapped_us"}, {"ctas"}}) == 3;
}

std::vector<std::string> interference_tables(const std::string& folder) {
    std::vector<std::string> found;
    std::error_code ignored;
    constexpr auto skip = fs::directory_options::skip_permission_denied;
    for (const auto& entry : fs::recursive_directory_iterator(folder, skip, ignored))
        if (entry.is_regular_file(ignored) && entry.path().extension() == ".csv" &&
            is_interference_table(entry.path().string()))
            found.push_back(entry.path().string());
    std::ranges::sort(found);
    return found;
}

Chart interference_chart(const InterferenceReport& report) {
    const auto fifths = std::ranges::find(report.cross, Fold::random, &CrossFold::fold);
    const bool crossed = fifths != report.cross.end();
    const ValidationReport& rows = crossed ? fifths->validation : report.validation;
    Chart chart;
    chart.title = "Slowdown of kernels beside communication";
    chart.subtitle = fmt::format("{} rows; predicted {}", report.figures.rows,
                                 crossed ? "as shipped, in random fifths" : "by " + report.predictor);
    chart.x = {.title = "predicted factor, duration / time alone", .scale = AxisScale::log10};
    chart.y = {.title = "measured factor", .scale = AxisScale::log10};
    double most = 1, least = 1;
    for (const ValidationRow& row : rows.rows)
        if (row.predicted) {
            most = std::max(most, *row.predicted);
            least = std::min(least, *row.predicted);
        }
    chart.x.from = 0.95 * least;
    chart.x.to = 1.05 * most;
    add_rows(rows, crossed ? fifths->families : report.families, chart);
    chart.series.push_back({.name = "predicted = measured",
                            .points = {{*chart.x.from, *chart.x.from}, {*chart.x.to, *chart.x.to}},
                            .colour = kLines});
    add_bands(rows, chart);
    return chart;
}

} // namespace echosim
