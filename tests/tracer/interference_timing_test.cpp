// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/timing.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

TEST(InterferenceTiming, GapsAreTakenOffBothSides) {
    // 1000..11,000 with gaps of 900: 1900..10,100
    const Interval kernel = without_gaps({1000, 11'000}, 900);
    EXPECT_EQ(kernel.begin, 1900);
    EXPECT_EQ(kernel.end, 10'100);
}

TEST(InterferenceTiming, StampsCloserThanTwoGapsAreAnEmptyInterval) {
    const Interval kernel = without_gaps({1000, 2500}, 900); // 1500 < 1800
    EXPECT_EQ(kernel.length(), 0);
    EXPECT_EQ(kernel.begin, 1750);
}

TEST(InterferenceTiming, OverlapIsTheShareOfTheKernel) {
    const Interval kernel{100, 300};
    EXPECT_DOUBLE_EQ(overlap_ratio(kernel, {150, 900}), .75); // 150 of 200, communication second
    EXPECT_DOUBLE_EQ(overlap_ratio(kernel, {0, 180}), .4);    // 80 of 200, communication ends early
    EXPECT_DOUBLE_EQ(overlap_ratio(kernel, {150, 160}), .05); // within the kernel
    EXPECT_DOUBLE_EQ(overlap_ratio(kernel, {0, 1000}), 1);
    EXPECT_DOUBLE_EQ(overlap_ratio(kernel, {300, 400}), 0); // they touch
    EXPECT_DOUBLE_EQ(overlap_ratio(kernel, {500, 600}), 0);
    EXPECT_DOUBLE_EQ(overlap_ratio({100, 100}, {0, 200}), 0);
}

TEST(InterferenceTiming, MedianIsTheMiddle) {
    EXPECT_DOUBLE_EQ(median({5, 1, 9}), 5);
    EXPECT_DOUBLE_EQ(median({4, 1, 9, 2}), 3); // (2 + 4) / 2
    EXPECT_DOUBLE_EQ(median({7}), 7);
}

TEST(InterferenceTiming, LongKernelsTakeTheMedian) {
    EXPECT_DOUBLE_EQ(typical({100e3, 101e3, 400e3}, 1000), 101e3); // 101 steps of the clock
}

TEST(InterferenceTiming, ShortKernelsTakeTheMeanWithoutOutliers) {
    // median 2000 = 2 steps; 40,000 is above three medians: (4 x 2000 + 2 x 3000) / 6
    EXPECT_NEAR(typical({2000, 2000, 3000, 2000, 3000, 2000, 40'000}, 1000), 14'000.0 / 6, 1e-9);
    // below one step most readings are 0: 1 of 4 shows a step
    EXPECT_DOUBLE_EQ(typical({0, 1000, 0, 0}, 1000), 250);
}

} // namespace
} // namespace echosim
