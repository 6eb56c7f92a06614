// SPDX-License-Identifier: Apache-2.0
#include "simulator/report/svg_chart.h"

#include "simulator/report/chart_layout.h"
#include "simulator/report/svg_writer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace echosim {
namespace {

// Colours that people with any colour vision can tell apart (Okabe and Ito 2008), darkest first.
constexpr std::array<std::string_view, 7> kPalette = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#56b4e9", "#e69f00", "#222222"};
constexpr std::array<SvgMark, 4> kMarks = {SvgMark::circle, SvgMark::square, SvgMark::triangle,
                                           SvgMark::diamond};
constexpr std::string_view kInk = "#222222";
constexpr std::string_view kSoft = "#555555";
constexpr std::string_view kGrid = "#e6e6e6";
constexpr double kRow = 17;

class ChartPainter {
  public:
    explicit ChartPainter(const Chart& chart)
        : chart_(chart), at_(chart_layout(chart)), svg_(chart.width, chart.height, chart.title) {}

    std::string paint() {
        headings();
        axes();
        bands();
        bars();
        for (std::size_t i = 0; i < chart_.series.size(); ++i)
            if (chart_.series[i].style == SeriesStyle::line)
                svg_.path(points_of(chart_.series[i]), stroke_of(i));
        for (const ChartPoint& p : chart_.rings)
            if (at_.x.shows(p.x) && at_.y.shows(p.y))
                svg_.mark(SvgMark::ring, {at_.x.at(p.x), at_.y.at(p.y)}, kInk);
        for (std::size_t i = 0; i < chart_.series.size(); ++i)
            if (chart_.series[i].style == SeriesStyle::points)
                for (const SvgPoint& p : points_of(chart_.series[i]))
                    svg_.mark(kMarks[i % kMarks.size()], p, colour_of(i));
        limits();
        legend();
        return svg_.finish();
    }

  private:
    std::string_view colour_of(std::size_t series) const {
        return kPalette[chart_.series[series].colour.value_or(series) % kPalette.size()];
    }

    SvgStroke stroke_of(std::size_t series) const {
        return {.colour = colour_of(series),
                .width = 2,
                .dashes = chart_.series[series].dashed ? std::string_view("6 4") : std::string_view()};
    }

    std::vector<SvgPoint> points_of(const ChartSeries& series) const {
        std::vector<SvgPoint> points;
        for (const ChartPoint& p : series.points)
            if (at_.x.shows(p.x) && at_.y.shows(p.y))
                points.push_back({at_.x.at(p.x), at_.y.at(p.y)});
        return points;
    }

    void headings() {
        double y = 34;
        if (!chart_.title.empty())
            svg_.text({at_.left, y}, chart_.title, {.size = 17, .colour = kInk, .bold = true});
        y += chart_.title.empty() ? 0 : 20;
        if (!chart_.subtitle.empty())
            svg_.text({at_.left, y}, chart_.subtitle, {.size = 12, .colour = kSoft});
    }

    void axes() {
        for (const AxisTick& tick : at_.y_ticks) {
            const double y = at_.y.at(tick.value);
            svg_.line({at_.left, y}, {at_.right, y}, {.colour = kGrid});
            svg_.text({at_.left - 8, y + 4}, tick.label, {.colour = kSoft, .anchor = SvgAnchor::end});
        }
        if (chart_.categories.empty()) {
            for (const AxisTick& tick : at_.x_ticks) {
                const double x = at_.x.at(tick.value);
                svg_.line({x, at_.bottom}, {x, at_.bottom + 5}, {.colour = kSoft});
                x_label(x, tick.label);
            }
        } else {
            for (std::size_t i = 0; i < chart_.categories.size(); ++i)
                x_label(at_.x.at(static_cast<double>(i)), chart_.categories[i]);
        }
        svg_.line({at_.left, at_.bottom}, {at_.right, at_.bottom}, {.colour = kSoft});
        svg_.text({(at_.left + at_.right) / 2, at_.bottom + 40}, chart_.x.title,
                  {.colour = kInk, .anchor = SvgAnchor::middle});
        svg_.text({24, (at_.top + at_.bottom) / 2}, chart_.y.title,
                  {.colour = kInk, .anchor = SvgAnchor::middle, .upwards = true});
    }

    void x_label(double x, const std::string& text) {
        svg_.text({x, at_.bottom + 20}, text, {.colour = kSoft, .anchor = SvgAnchor::middle});
    }

    void bands() {
        for (const PlacedLabel& label : at_.bands)
            svg_.text({label.x, at_.top - 8 - kRow * label.row}, label.text,
                      {.size = kChartText, .colour = kSoft, .anchor = SvgAnchor::middle});
        for (std::size_t i = 0; i + 1 < chart_.bands.size(); ++i) {
            const double x = at_.x.at(chart_.bands[i].to);
            svg_.line({x, at_.top}, {x, at_.bottom}, {.colour = "#999999", .dashes = "2 4"});
        }
    }

    void bars() {
        std::size_t groups = 0;
        for (const ChartSeries& series : chart_.series)
            groups += series.style == SeriesStyle::bars ? 1U : 0U;
        if (groups == 0 || chart_.categories.empty())
            return;
        const double slot = (at_.right - at_.left) / static_cast<double>(chart_.categories.size());
        const double width = 0.72 * slot / (chart_.stacked ? 1.0 : static_cast<double>(groups));
        std::vector<double> tops(chart_.categories.size(), 0.0);
        double offset = -0.36 * slot;
        for (std::size_t i = 0; i < chart_.series.size(); ++i) {
            if (chart_.series[i].style != SeriesStyle::bars)
                continue;
            for (const ChartPoint& p : chart_.series[i].points)
                bar(p, tops, {.x = offset, .y = width}, colour_of(i));
            offset += chart_.stacked ? 0 : width;
        }
    }

    // `place`: left edge from the middle of the category, width.
    void bar(const ChartPoint& p, std::vector<double>& tops, SvgPoint place, std::string_view colour) {
        if (!at_.y.shows(p.y) || p.x < 0 || p.x >= static_cast<double>(tops.size()))
            return;
        double& top = tops[static_cast<std::size_t>(p.x)];
        const double from = chart_.stacked ? top : 0.0;
        top = from + p.y;
        const double start = at_.y.shows(from) ? at_.y.at(from) : at_.bottom;
        const double end = at_.y.at(from + p.y);
        svg_.rectangle({at_.x.at(p.x) + place.x, std::min(start, end)}, {place.y, std::abs(start - end)},
                       colour);
    }

    void limits() {
        for (const ChartLimit& limit : chart_.limits) {
            if (!at_.y.shows(limit.y))
                continue;
            const double y = at_.y.at(limit.y);
            svg_.line({at_.left, y}, {at_.right, y}, {.colour = kSoft, .width = 1.2, .dashes = "8 4 2 4"});
            svg_.text({at_.left + 8, y - 6}, limit.label, {.colour = kSoft});
        }
    }

    void legend() {
        for (const LegendEntry& entry : at_.legend) {
            const double y = at_.legend_top + kRow * entry.row + 6;
            const ChartSeries& series = chart_.series[entry.series];
            if (series.style == SeriesStyle::line)
                svg_.line({entry.x, y}, {entry.x + 26, y}, stroke_of(entry.series));
            else if (series.style == SeriesStyle::points)
                svg_.mark(kMarks[entry.series % kMarks.size()], {entry.x + 13, y}, colour_of(entry.series));
            else
                svg_.rectangle({entry.x + 8, y - 5}, {12, 10}, colour_of(entry.series));
            svg_.text({entry.x + 33, y + 4}, series.name, {.colour = kInk});
        }
    }

    const Chart& chart_;
    ChartLayout at_;
    SvgWriter svg_;
};

} // namespace

std::string svg_chart(const Chart& chart) {
    return ChartPainter(chart).paint();
}

} // namespace echosim
