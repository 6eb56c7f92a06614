// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/gpu.h"
#include "simulator/kernels/host_cost.h"
#include "simulator/kernels/kernel_models.h"
#include "simulator/kernels/kernel_preset.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

TEST(MemoryTime, IsAFixedTimeAndTheAchievableBandwidth) {
    // 2 us + 100 MB / 800 GB/s = 127 us
    EXPECT_NEAR(memory_time(2, 800e9, 100e6), 127e-6, 1e-12);
}

// The residual addition of 4096 tokens x 8192 x 3 tensors x 2 bytes = 201 MB: vidur measures 113 us on A100
// (87 % of 2039 GB/s), the preset adds 5 % for cold caches in training.
TEST(MemoryTime, ResidualAdditionOnA100) {
    const KernelTimes times = KernelTimes::for_gpu(find_gpu("a100-sxm-80gb"), "mcore-2024");
    const KernelTime result =
        times.memory_bound({.kernel_class = KernelClass::elementwise, .bytes = 6.0 * 4096 * 8192});
    EXPECT_NEAR(result.time, 113e-6 * 1.05, 8e-6);
    EXPECT_DOUBLE_EQ(result.bytes, 201326592);
    EXPECT_EQ(times.memory_bound({}).time, 0);
}

TEST(MemoryTime, EveryClassIsSlowerThanTheDataSheet) {
    for (const Gpu& gpu : all_gpus()) {
        const KernelTimes times = KernelTimes::for_gpu(gpu, "mcore-2024");
        for (std::size_t i = 0; i < kKernelClasses; ++i) {
            const KernelTime result =
                times.memory_bound({.kernel_class = static_cast<KernelClass>(i), .bytes = 1e9});
            EXPECT_GT(result.time, 1e9 / gpu.memory_bandwidth) << gpu.name;
            EXPECT_LT(result.time, 6e9 / gpu.memory_bandwidth) << gpu.name;
        }
    }
}

TEST(HostCosts, NewerSoftwareLaunchesFaster) {
    double before = 1;
    for (const char* software :
         {"megatron-2020", "megatron-2022", "megatron-2023", "mcore-2024", "mcore-2025"}) {
        const HostCosts costs = host_costs(software);
        EXPECT_LT(costs.kernel_launch, before) << software;
        EXPECT_GE(costs.kernel_launch, 3_us);
        EXPECT_LE(costs.kernel_launch, 10_us);
        EXPECT_GE(costs.collective_launch, 15_us);
        EXPECT_LE(costs.collective_launch, 30_us);
        before = costs.kernel_launch;
    }
    EXPECT_DOUBLE_EQ(host_costs("something else").kernel_launch, host_costs("mcore-2024").kernel_launch);
}

} // namespace
} // namespace echosim
