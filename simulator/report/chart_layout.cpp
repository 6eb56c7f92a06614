// SPDX-License-Identifier: Apache-2.0
#include "simulator/report/chart_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace echosim {
namespace {

constexpr double kRow = 17;      // height of a row of labels
constexpr double kMargin = 18;   // around everything
constexpr double kKey = 26;      // length of a line sample in the legend
constexpr double kKeyGap = 7;    // between sample and name
constexpr double kEntryGap = 24; // between two entries

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void take(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool empty() const { return low > high; }
};

bool counts(const ChartAxis& axis, double value) {
    return std::isfinite(value) && (axis.scale == AxisScale::linear || value > 0);
}

// Heights of the stacks, or of the single bars.
void take_bars(const Chart& chart, Range& y) {
    std::vector<double> stacks(chart.categories.size(), 0.0);
    for (const ChartSeries& series : chart.series) {
        if (series.style != SeriesStyle::bars)
            continue;
        for (const ChartPoint& p : series.points) {
            if (!std::isfinite(p.y) || p.x < 0 || p.x >= static_cast<double>(stacks.size()))
                continue;
            auto& stack = stacks[static_cast<std::size_t>(p.x)];
            stack = chart.stacked ? stack + p.y : p.y;
            y.take(stack);
        }
    }
}

void make_maps(const Chart& chart, ChartLayout& layout) {
    Range x;
    Range y;
    for (const ChartSeries& series : chart.series) {
        if (series.style == SeriesStyle::bars)
            continue;
        for (const ChartPoint& p : series.points) {
            if (!counts(chart.x, p.x) || !counts(chart.y, p.y))
                continue;
            x.take(p.x);
            y.take(p.y);
        }
    }
    take_bars(chart, y);
    for (const ChartLimit& limit : chart.limits)
        if (counts(chart.y, limit.y))
            y.take(limit.y);
    if (x.empty())
        x = {.low = 0, .high = 1};
    if (y.empty())
        y = {.low = 0, .high = 1};
    layout.x = chart.categories.empty()
                   ? axis_map(chart.x, x.low, x.high)
                   : AxisMap(AxisScale::linear, -0.5, static_cast<double>(chart.categories.size()) - 0.5);
    // room for the label of a limit above its line
    const double most = y.high * (chart.limits.empty() || chart.y.scale != AxisScale::linear ? 1.0 : 1.04);
    layout.y = axis_map(chart.y, y.low, most);
}

void place_legend(const Chart& chart, ChartLayout& layout) {
    double x = layout.left;
    int row = 0;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        if (chart.series[i].name.empty())
            continue;
        const double width = kKey + kKeyGap + svg_text_width(chart.series[i].name, kChartText) + kEntryGap;
        if (x > layout.left && x + width - kEntryGap > layout.right) {
            x = layout.left;
            ++row;
        }
        layout.legend.push_back({.series = i, .x = x, .row = row});
        x += width;
    }
}

} // namespace

std::vector<PlacedLabel> place_labels(const std::vector<PlacedLabel>& labels, double left, double right) {
    std::vector<double> ends; // of the last label in each row
    std::vector<PlacedLabel> placed;
    for (PlacedLabel label : labels) {
        const double half = svg_text_width(label.text, kChartText) / 2;
        label.x = std::max(left + half, std::min(label.x, right - half));
        std::size_t row = 0;
        while (row < ends.size() && ends[row] + 8 > label.x - half)
            ++row;
        if (row == ends.size())
            ends.push_back(0);
        ends[row] = label.x + half;
        label.row = static_cast<int>(row);
        placed.push_back(std::move(label));
    }
    return placed;
}

ChartLayout chart_layout(const Chart& chart) {
    ChartLayout layout;
    make_maps(chart, layout);
    const double height = chart.height;
    layout.y_ticks = axis_ticks(chart.y, layout.y, std::max(2, chart.height / 60));
    double label_width = 0;
    for (const AxisTick& tick : layout.y_ticks)
        label_width = std::max(label_width, svg_text_width(tick.label, kChartText));
    layout.left = kMargin + label_width + 10 + (chart.y.title.empty() ? 0 : 20);
    layout.right = chart.width - kMargin - 10;
    layout.x.span(layout.left, layout.right);
    layout.x_ticks = axis_ticks(chart.x, layout.x, static_cast<int>((layout.right - layout.left) / 72));

    place_legend(chart, layout);
    const int legend_rows = layout.legend.empty() ? 0 : layout.legend.back().row + 1;
    const double below = 22 + (chart.x.title.empty() ? 0 : 20) + kRow * legend_rows + 8;
    layout.bottom = height - kMargin / 2 - below;
    layout.legend_top = height - kMargin / 2 - kRow * legend_rows;

    std::vector<PlacedLabel> labels;
    for (const ChartBand& band : chart.bands)
        labels.push_back({.x = (layout.x.at(band.from) + layout.x.at(band.to)) / 2, .text = band.label});
    layout.bands = place_labels(labels, layout.left, layout.right);
    int rows = 0;
    for (const PlacedLabel& label : layout.bands)
        rows = std::max(rows, label.row + 1);
    const double title = chart.title.empty() ? 0 : 24;
    layout.top = kMargin + title + (chart.subtitle.empty() ? 0 : 18) + kRow * rows + 8;
    layout.bottom = std::max(layout.bottom, layout.top + 40);
    layout.y.span(layout.bottom, layout.top);
    return layout;
}

} // namespace echosim
