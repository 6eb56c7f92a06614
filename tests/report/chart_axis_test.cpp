// SPDX-License-Identifier: Apache-2.0
#include "simulator/report/chart_axis.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace echosim {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(const ChartAxis& axis, const AxisMap& map, int most) {
    std::vector<std::string> texts;
    for (const AxisTick& tick : axis_ticks(axis, map, most))
        texts.push_back(tick.label);
    return texts;
}

TEST(ChartAxis, LinearStartsAtZeroAndEndsAtARoundValue) {
    // 430 / 8 = 53.75 -> steps of 100, and 430 rounds up to 500
    const ChartAxis axis;
    const AxisMap map = axis_map(axis, 12, 430);
    EXPECT_EQ(map.from(), 0);
    EXPECT_EQ(map.to(), 500);
    EXPECT_THAT(labels(axis, map, 8), ElementsAre("0", "100", "200", "300", "400", "500"));
}

TEST(ChartAxis, LinearKeepsNegativeValues) {
    const AxisMap map = axis_map(ChartAxis{}, -3, 4); // 7 / 8 -> steps of 1
    EXPECT_EQ(map.from(), -3);
    EXPECT_EQ(map.to(), 4);
}

TEST(ChartAxis, BytesAreLabelledAtRoundPowersOfTwo) {
    const ChartAxis axis{.scale = AxisScale::log2, .unit = AxisUnit::bytes};
    const AxisMap map = axis_map(axis, 8, 8589934592.0); // 2^3 .. 2^33
    // at most 8 labels: every 5th power of two
    EXPECT_THAT(labels(axis, map, 8), ElementsAre("32 B", "1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"));
}

TEST(ChartAxis, DecadesAndTimes) {
    const ChartAxis axis{.scale = AxisScale::log10, .unit = AxisUnit::seconds};
    EXPECT_THAT(labels(axis, axis_map(axis, 1e-6, 1e-3), 8), ElementsAre("1 us", "10 us", "100 us", "1 ms"));
}

TEST(ChartAxis, MapsToPixelsLinearlyInTheLogarithm) {
    AxisMap map(AxisScale::log2, 1, 1024);
    map.span(100, 300);
    EXPECT_NEAR(map.at(1), 100, 1e-9);
    EXPECT_NEAR(map.at(32), 200, 1e-9); // 2^5 of 2^10: half way
    EXPECT_NEAR(map.at(1024), 300, 1e-9);
    EXPECT_FALSE(map.shows(0));
    EXPECT_FALSE(map.shows(std::numeric_limits<double>::quiet_NaN()));
}

TEST(ChartAxis, OneValueStillGivesARange) {
    const AxisMap linear = axis_map(ChartAxis{}, 0, 0);
    EXPECT_GT(linear.to(), linear.from());
    const AxisMap log = axis_map({.scale = AxisScale::log2}, 4096, 4096);
    EXPECT_EQ(log.from(), 2048);
    EXPECT_EQ(log.to(), 8192);
}

} // namespace
} // namespace echosim
