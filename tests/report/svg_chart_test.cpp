// SPDX-License-Identifier: Apache-2.0
#include "simulator/report/svg_chart.h"

#include "simulator/report/chart_layout.h"
#include "simulator/report/svg_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace echosim {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++found;
    return found;
}

Chart two_curves() {
    Chart chart;
    chart.title = "all_reduce <on> \"A & B\"";
    chart.x = {.title = "size", .scale = AxisScale::log2, .unit = AxisUnit::bytes};
    chart.y = {.title = "bus bandwidth (GB/s)"};
    chart.series = {
        {.name = "modelled", .points = {{8, 1}, {1024, 100}, {1048576, 400}}},
        {.name = "measured", .style = SeriesStyle::points, .points = {{1024, 90}, {1048576, 380}}}};
    chart.limits = {{450, "NVLink 450 GB/s"}};
    chart.bands = {{8, 1024, "Tree LL"}, {1024, 1048576, "Ring Simple"}};
    chart.rings = {{1024, 100}};
    return chart;
}

TEST(SvgChart, DrawsWhatItIsGiven) {
    const std::string svg = svg_chart(two_curves());
    EXPECT_EQ(count(svg, "<polyline "), 1U);
    EXPECT_EQ(count(svg, "<circle "), 1U); // the ring; points of the second series are squares
    // background, two measured points, one sample in the legend
    EXPECT_EQ(count(svg, "<rect "), 4U);
    for (const char* text : {"modelled", "measured", "NVLink 450 GB/s", "Tree LL", "Ring Simple", "1 KiB"})
        EXPECT_THAT(svg, HasSubstr(std::string(">") + text + "</text>"));
}

TEST(SvgChart, EscapesTextAndIsTheSameEachTime) {
    const std::string svg = svg_chart(two_curves());
    EXPECT_THAT(svg, HasSubstr("all_reduce &lt;on&gt; &quot;A &amp; B&quot;"));
    EXPECT_THAT(svg, Not(HasSubstr("<on>")));
    EXPECT_EQ(svg, svg_chart(two_curves()));
}

TEST(SvgChart, UsesNothingThatQtCannotDraw) {
    const std::string svg = svg_chart(two_curves());
    for (const char* absent : {"class=", "<style", "style=", "filter", "clip", "foreignObject", "<script",
                               "dominant-baseline", "nan", "inf"})
        EXPECT_THAT(svg, Not(HasSubstr(absent))) << absent;
    EXPECT_THAT(svg, HasSubstr("baseProfile=\"tiny\""));
}

TEST(SvgChart, LeavesOutWhatIsNotFinite) {
    Chart chart = two_curves();
    chart.series[0].points.push_back({2097152, std::numeric_limits<double>::quiet_NaN()});
    chart.series[0].points.push_back({0, 5}); // no place on a logarithmic axis
    EXPECT_EQ(svg_chart(chart), svg_chart(two_curves()));
}

TEST(SvgChart, AnEmptyChartIsStillAPicture) {
    const std::string svg = svg_chart({});
    EXPECT_THAT(svg, HasSubstr("<svg "));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(SvgChart, BarsStandSideBySideOrOnTopOfEachOther) {
    Chart chart;
    chart.categories = {"a", "b"};
    chart.series = {{.name = "x", .style = SeriesStyle::bars, .points = {{0, 1}, {1, 2}}},
                    {.name = "y", .style = SeriesStyle::bars, .points = {{0, 3}, {1, 4}}}};
    // background, four bars, two samples in the legend
    EXPECT_EQ(count(svg_chart(chart), "<rect "), 7U);
    EXPECT_EQ(chart_layout(chart).y.to(), 4); // the largest bar
    chart.stacked = true;
    EXPECT_EQ(chart_layout(chart).y.to(), 6); // the largest stack
}

TEST(ChartLayout, LabelsThatWouldTouchGoToTheNextRow) {
    const std::vector<PlacedLabel> placed = place_labels(
        {{.x = 50, .text = "Tree LL"}, {.x = 60, .text = "Ring LL128"}, {.x = 300, .text = "x"}}, 0, 400);
    EXPECT_EQ(placed[0].row, 0);
    EXPECT_EQ(placed[1].row, 1);
    EXPECT_EQ(placed[2].row, 0);
}

TEST(ChartLayout, LabelsStayWithinTheChart) {
    const std::string text = "a long label";
    const double half = svg_text_width(text, kChartText) / 2;
    const auto placed = place_labels({{.x = 0, .text = text}, {.x = 400, .text = text}}, 0, 400);
    EXPECT_NEAR(placed[0].x, half, 1e-9);
    EXPECT_NEAR(placed[1].x, 400 - half, 1e-9);
}

TEST(ChartLayout, ALegendTooLongForOneRowTakesMore) {
    Chart chart = two_curves();
    for (int i = 0; i < 12; ++i)
        chart.series.push_back({.name = "a series with a rather long name", .points = {{8, 1}, {16, 2}}});
    const ChartLayout layout = chart_layout(chart);
    EXPECT_GT(layout.legend.back().row, 1);
    for (const LegendEntry& entry : layout.legend)
        EXPECT_LT(entry.x + svg_text_width(chart.series[entry.series].name, kChartText), chart.width);
    EXPECT_LT(layout.bottom, chart_layout(two_curves()).bottom);
}

TEST(SvgText, ReplacesWhatXmlDoesNotAllow) {
    EXPECT_EQ(svg_escaped("a\x01"
                          "b\tc"),
              "a?b c");
    EXPECT_EQ(svg_escaped("\xC3\xA9\xFF"), "\xC3\xA9?"); // a whole letter and half of one
}

} // namespace
} // namespace echosim
