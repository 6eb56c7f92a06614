// SPDX-License-Identifier: Apache-2.0
#include "interference/estimate.h"

#include <array>
#include <gtest/gtest.h>

namespace echosim {
namespace {

constexpr double kKiB = 1024;

KernelFootprint kernel_of(int registers, double blocks_per_sm) {
    return {.blocks = 1e4,
            .blocks_per_sm = blocks_per_sm,
            .threads_per_block = 256,
            .registers_per_thread = registers,
            .shared_bytes = 16 * kKiB};
}

TEST(LoadOf, SumsWhatRunsBeside) {
    const std::array<CommFootprint, 3> comms{
        {{.ctas = 24, .hbm_share = 0.25, .nvlink_share = 0.5},
         {.ctas = 4, .hbm_share = 0.0625, .nic_share = 0.75, .high_priority = true},
         {.ctas = 0, .hbm_share = 0.125}}}; // a copy engine
    const CommLoad load = load_of(kernel_of(255, 1), comms, true);
    EXPECT_EQ(load.ctas, 28);
    EXPECT_EQ(load.hbm_share, 0.4375);
    EXPECT_EQ(load.nvlink_share, 0.5);
    EXPECT_EQ(load.nic_share, 0.75);
    EXPECT_TRUE(load.kernel_first);
    EXPECT_TRUE(load.high_priority);
    EXPECT_TRUE(load.any());
    const CommLoad none = load_of(kernel_of(255, 1), {}, false);
    EXPECT_FALSE(none.any() || none.kernel_first || none.high_priority);
}

// A CTA of 544 threads, 96 registers each (52,224) and 82 KiB on an SM of 2048 threads, 65,536 registers and
// 164 KiB.
TEST(LoadOf, CountsCtasThatFit) {
    const CommFootprint comm{.ctas = 24};
    const auto fitting = [&](const KernelFootprint& kernel) {
        return load_of(kernel, {&comm, 1}, false).ctas_fitting;
    };
    EXPECT_EQ(fitting(kernel_of(32, 1)), 24); // 256 x 32 = 8,192 registers more
    EXPECT_EQ(fitting(kernel_of(64, 1)), 0);  // 16,384 more: 68,608
    EXPECT_EQ(fitting(kernel_of(8, 5)), 24);  // 5 x 256 + 544 = 1,824 threads, 80 + 82 KiB
    EXPECT_EQ(fitting(kernel_of(8, 6)), 0);   // 2,080 threads
    KernelFootprint few = kernel_of(8, 6);
    few.blocks = 108; // one block on each of the SMs
    EXPECT_EQ(fitting(few), 24);
    KernelFootprint large = kernel_of(32, 1);
    large.shared_bytes = 83 * kKiB;
    EXPECT_EQ(fitting(large), 0);
}

TEST(LoadOf, WithoutALaunchConfigurationOccupancyTells) {
    const CommFootprint comm{.ctas = 2};
    KernelFootprint kernel;
    EXPECT_EQ(load_of(kernel, {&comm, 1}, false).ctas_fitting, 0); // nothing is known: no room
    kernel.occupancy_ratio = 0.9;
    EXPECT_EQ(load_of(kernel, {&comm, 1}, false).ctas_fitting, 0);
    kernel.occupancy_ratio = 0.5;
    EXPECT_EQ(load_of(kernel, {&comm, 1}, false).ctas_fitting, 2);
}

TEST(OfWholeKernel, InterpolatesByOverlap) {
    EXPECT_DOUBLE_EQ(of_whole_kernel(1.6, 0.5), 1.3);
    EXPECT_DOUBLE_EQ(of_whole_kernel(1.6, 0), 1);
    EXPECT_DOUBLE_EQ(of_whole_kernel(1.6, 1), 1.6);
}

} // namespace
} // namespace echosim
