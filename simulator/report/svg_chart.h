// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

// The one chart writer: lines, points and bars over linear or logarithmic axes, as an SVG picture that
// browsers, librsvg and QtSvg draw alike (svg_writer.h). The same chart gives the same text.
namespace echosim {

enum class AxisScale : std::uint8_t { linear, log2, log10 };
// How the ticks are written: 5000, 4 KiB, 5 ms. Values are plain numbers, bytes or seconds.
enum class AxisUnit : std::uint8_t { plain, bytes, seconds };

struct ChartAxis {
    std::string title = {}; // with its unit: "bus bandwidth (GB/s)"
    AxisScale scale = AxisScale::linear;
    AxisUnit unit = AxisUnit::plain;
    // Range; by default that of the data, a linear axis from 0 when nothing is negative. On a logarithmic
    // axis values that are not positive are left out.
    std::optional<double> from = {}, to = {};
};

struct ChartPoint {
    double x = 0; // for bars: index of the category
    double y = 0;
};

enum class SeriesStyle : std::uint8_t { line, points, bars };

struct ChartSeries {
    std::string name = {}; // in the legend; empty = not there
    SeriesStyle style = SeriesStyle::line;
    std::vector<ChartPoint> points = {}; // ascending in x for a line; what is not finite is left out
    bool dashed = false;
    std::optional<std::size_t> colour = {}; // of the palette; default: the number of the series
};

// A value that nothing can pass, drawn across the chart.
struct ChartLimit {
    double y = 0;
    std::string label;
};

// A part of the x axis with a name above the chart, and a line where it ends.
struct ChartBand {
    double from = 0;
    double to = 0;
    std::string label;
};

struct Chart {
    std::string title;
    std::string subtitle;
    ChartAxis x, y;
    std::vector<std::string> categories; // names under bars, instead of the ticks of x
    bool stacked = false;                // bars of one category on top of each other, else side by side
    std::vector<ChartSeries> series;
    std::vector<ChartLimit> limits;
    std::vector<ChartBand> bands;
    std::vector<ChartPoint> rings; // points of interest on a line, such as a switch of algorithm
    int width = 960;               // px
    int height = 540;
};

std::string svg_chart(const Chart& chart);

} // namespace echosim
