// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/report/chart_axis.h"
#include "simulator/report/svg_chart.h"
#include "simulator/report/svg_writer.h"

#include <string>
#include <vector>

// Where the parts of a chart go: nothing overlaps, whatever the texts are.
namespace echosim {

constexpr double kChartText = 12; // px

struct PlacedLabel {
    double x = 0; // centre
    int row = 0;
    std::string text = {};
};

struct LegendEntry {
    std::size_t series = 0;
    double x = 0;
    int row = 0;
};

struct ChartLayout {
    double left = 0, right = 0, top = 0, bottom = 0; // of the plot
    AxisMap x{AxisScale::linear, 0, 1};
    AxisMap y{AxisScale::linear, 0, 1};
    std::vector<AxisTick> x_ticks, y_ticks;
    std::vector<PlacedLabel> bands;
    std::vector<LegendEntry> legend;
    double legend_top = 0;
};

ChartLayout chart_layout(const Chart& chart);

// Labels of given centres on as few rows as needed for them not to touch, each within [left, right].
std::vector<PlacedLabel> place_labels(const std::vector<PlacedLabel>& labels, double left, double right);

} // namespace echosim
