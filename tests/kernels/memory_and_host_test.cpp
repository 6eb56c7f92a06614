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

// A launch-bound layer of Megatron-DeepSpeed with full recomputation, TP > 1: 28 element-wise kernels, 28
// GEMMs (8 a forward, run twice, and 12 backward) and 6 collectives: 28 x 36 + 28 x 55 + 6 x 60 us = 2.9 ms.
// vTrain measured 3.4-3.6 ms including what happens once a micro-batch.
TEST(HostCosts, ALaunchBoundLayerOfMegatronDeepSpeedTakesThreeMilliseconds) {
    const HostCosts costs = host_costs("megatron-deepspeed");
    const Seconds layer = 28 * costs.kernel_launch + 28 * costs.gemm_launch + 6 * costs.collective_launch;
    EXPECT_NEAR(layer, 2.9e-3, 0.1e-3);
}

TEST(HostCosts, EverySetLiesBetweenASingleOpAndTheSlowestMeasuredLoop) {
    for (const char* software :
         {"megatron-2020", "megatron-2022", "megatron-deepspeed", "mcore-2024", "mcore-2025"}) {
        const HostCosts costs = host_costs(software);
        EXPECT_GE(costs.kernel_launch, 5_us) << software;
        EXPECT_LE(costs.kernel_launch, 36_us) << software;
        EXPECT_GE(costs.collective_launch, 15_us) << software;
        EXPECT_LE(costs.collective_launch, 90_us) << software;
        EXPECT_GT(costs.gemm_launch, costs.kernel_launch) << software;
    }
    EXPECT_DOUBLE_EQ(host_costs("something else").kernel_launch, host_costs("mcore-2024").kernel_launch);
}

} // namespace
} // namespace echosim
