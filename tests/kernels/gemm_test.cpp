// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/gpu.h"
#include "simulator/kernels/kernel_models.h"
#include "simulator/kernels/kernel_preset.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

// Round figures: 100 SMs of 1 TFLOP/s each, 1 TB/s, all tiles equally good, nothing but the tile model.
GemmParameters plain() {
    GemmParameters p;
    p.ceiling = 1;
    p.k_prologue = 0;
    p.wave_quantisation = 1;
    p.fixed_us = 0;
    p.memory_efficiency = 1;
    p.overlap_power = 100; // the larger of compute and memory
    p.tile_efficiency = {1, 1, 1, 1};
    p.split_cost = 1000; // no split of k
    p.long_slowdown = 0;
    return p;
}
constexpr KernelMachine kMachine{100e12, 1e12, 100};

TEST(GemmTime, FullWaveOfTilesRunsAtThePeak) {
    // 2560 x 1280 = 10 x 10 tiles of 256 x 128 = one wave on 100 SMs; 2 x 2560 x 1280 x 4096 / 100e12 = 268.4
    // us
    EXPECT_NEAR(gemm_time(plain(), kMachine, {.m = 2560, .n = 1280, .k = 4096}, 1), 268.435e-6, 0.01e-6);
}

TEST(GemmTime, TileBeyondTheWaveCostsAnother) {
    // Only 256 x 128 is any good. 2560 x 1280: one wave of 2 x 256 x 128 x 4096 / 1e12 = 268.4 us. One row
    // more: 11 x 10 tiles of 256 x 128 (or 21 x 5 of the other orientation), two waves, 536.9 us.
    GemmParameters p = plain();
    p.tile_efficiency = {1, 0.01, 0.01, 0.01};
    EXPECT_NEAR(gemm_time(p, kMachine, {.m = 2560, .n = 1280, .k = 4096}, 1), 268.435e-6, 0.01e-6);
    EXPECT_NEAR(gemm_time(p, kMachine, {.m = 2561, .n = 1280, .k = 4096}, 1), 536.871e-6, 0.01e-6);
    // with half of the quantisation: (2 + 1.05 or 1.1 waves) / 2, the fewer tiles are 21 x 5 = 105: 1.525 x
    // 268.4
    p.wave_quantisation = 0.5;
    EXPECT_NEAR(gemm_time(p, kMachine, {.m = 2561, .n = 1280, .k = 4096}, 1), 409.364e-6, 0.01e-6);
}

TEST(GemmTime, PrologueActsLikeMoreK) {
    GemmParameters p = plain();
    p.k_prologue = 1024; // 268.4 us x (4096 + 1024) / 4096
    EXPECT_NEAR(gemm_time(p, kMachine, {.m = 2560, .n = 1280, .k = 4096}, 1), 335.544e-6, 0.01e-6);
}

TEST(GemmTime, ThinProductIsBoundByMemory) {
    // 16 x 8192 x 8192: 2 (16 x 8192 + 8192 x 8192 + 16 x 8192) = 134.74 MB at 1 TB/s = 134.7 us.
    // Compute, 64 x 64 tiles: 128 tiles, 2 waves of 2 x 64 x 64 x 8192 / 1e12 = 67.1 us.
    // Together 134.7 x (1 + (134.2 / 134.7)^100)^(1 / 100) = 135.5 us.
    EXPECT_NEAR(gemm_time(plain(), kMachine, {.m = 16, .n = 8192, .k = 8192}, 1), 135.5e-6, 0.3e-6);
}

TEST(GemmTime, SplittingKFillsTheGpu) {
    // 256 x 128 with k = 65536: the best tiling without a split is 8 tiles of 64 x 64, 2 x 64 x 64 x 65536 /
    // 1e12 = 536.9 us. Free splits by 8 give 64 blocks in one wave: 67.1 us.
    GemmParameters p = plain();
    p.split_cost = 0;
    EXPECT_NEAR(gemm_time(p, kMachine, {.m = 256, .n = 128, .k = 65536}, 1), 67.1e-6, 0.1e-6);
}

TEST(GemmTime, LongKernelsSlowDown) {
    GemmParameters p = plain();
    p.long_slowdown = 0.2;
    p.long_us = 268.435; // at the half point: + 0.1
    EXPECT_NEAR(gemm_time(p, kMachine, {.m = 2560, .n = 1280, .k = 4096}, 1), 295.279e-6, 0.02e-6);
}

TEST(GemmShape, WeightGradientMovesItsAccumulatorTwice) {
    // 2 x (4 x 8 + 8 x 2) + 2 x 4 x 2 = 112 bytes; with an fp32 accumulator 96 + 8 x 8 = 160
    EXPECT_DOUBLE_EQ(gemm_bytes({.m = 4, .n = 2, .k = 8}), 112);
    EXPECT_DOUBLE_EQ(gemm_bytes({.m = 4, .n = 2, .k = 8, .pass = GemmPass::wgrad, .accumulate_fp32 = true}),
                     160);
    EXPECT_DOUBLE_EQ(gemm_flops({.m = 4, .n = 2, .k = 8, .batch = 3}), 384);
}

// Measured alone (aiconfigurator tables): A100 8192 x 8192 at m = 4096 takes 2194 us and at m = 16384 8557
// us; H100 m = 8192 1404.8 us; B200 m = 32768 2737 us. The preset adds its derating for sustained training.
struct Golden {
    const char* gpu;
    const char* preset;
    double m, measured;
};
class GemmGolden : public testing::TestWithParam<Golden> {};

TEST_P(GemmGolden, IsWithinTenPercentOfTheTable) {
    const Golden& golden = GetParam();
    const KernelTimes times = KernelTimes::for_gpu(find_gpu(golden.gpu), "mcore-2024");
    const KernelTime result = times.gemm({.m = golden.m, .n = 8192, .k = 8192});
    const double alone = result.time / load_kernel_preset(golden.preset).derate_matmul;
    EXPECT_NEAR(alone / golden.measured, 1, 0.10);
    EXPECT_EQ(result.provenance, Provenance::fitted);
}

INSTANTIATE_TEST_SUITE_P(Tables, GemmGolden,
                         testing::Values(Golden{"a100-sxm-80gb", "a100", 4096, 2194.3e-6},
                                         Golden{"a100-sxm-80gb", "a100", 16384, 8557.2e-6},
                                         Golden{"h100-sxm", "h100", 8192, 1404.8e-6},
                                         Golden{"b200-sxm", "b200", 32768, 2737.4e-6}));

// A larger product never takes less: the best of non-decreasing choices is non-decreasing. Steps of a whole
// wave are allowed: one more row of output adds at most one wave, so at most a factor of two.
TEST(GemmTime, NeverFallsWithMoreRows) {
    for (const char* gpu : {"v100-sxm2-32gb", "a100-sxm-80gb", "h100-sxm", "b200-sxm", "gb200", "mi300x"}) {
        const KernelTimes times = KernelTimes::for_gpu(find_gpu(gpu), "mcore-2024");
        for (const double n : {512.0, 4096.0, 10240.0}) {
            for (const double k : {512.0, 8192.0}) {
                double before = 0;
                for (double m = 1; m <= 65536; m += m < 4096 ? 1 : 509) {
                    const double time = times.gemm({.m = m, .n = n, .k = k}).time;
                    ASSERT_GE(time, before * (1 - 1e-12)) << gpu << " m=" << m << " n=" << n << " k=" << k;
                    ASSERT_TRUE(before == 0 || time < 2 * before)
                        << gpu << " m=" << m << " n=" << n << " k=" << k;
                    before = time;
                }
            }
        }
    }
}

TEST(GemmTime, NeverBeatsThePeakOrTheMemory) {
    for (const Gpu& gpu : all_gpus()) {
        const KernelTimes times = KernelTimes::for_gpu(gpu, "mcore-2024");
        for (const double edge : {64.0, 1024.0, 16384.0}) {
            const KernelTime result = times.gemm({.m = edge, .n = edge, .k = edge, .dtype = DType::fp16});
            EXPECT_GT(result.time, result.flops / peak_flops(gpu, DType::fp16)) << gpu.name;
            EXPECT_GT(result.time, result.bytes / gpu.memory_bandwidth) << gpu.name;
        }
    }
}

TEST(GemmTime, EmptyProductTakesNoTime) {
    const KernelTimes times = KernelTimes::for_gpu(find_gpu("h100-sxm"), "mcore-2024");
    EXPECT_EQ(times.gemm({.m = 0, .n = 4096, .k = 4096}).time, 0);
}

TEST(GemmTime, EightBitsIsFasterWhereTheGpuHasThem) {
    const GemmShape half{.m = 8192, .n = 8192, .k = 8192};
    GemmShape eight = half;
    eight.dtype = DType::fp8;
    const KernelTimes h100 = KernelTimes::for_gpu(find_gpu("h100-sxm"), "mcore-2024");
    EXPECT_NEAR(h100.gemm(half).time / h100.gemm(eight).time, 1.85,
                0.1); // twice the peak, .92 of the efficiency
    const KernelTimes a100 = KernelTimes::for_gpu(find_gpu("a100-sxm-80gb"), "mcore-2024");
    EXPECT_NEAR(a100.gemm(half).time / a100.gemm(eight).time, 1.0, 0.01);
}

TEST(GemmTime, VoltaRunsBfloat16AsHalf) {
    const KernelTimes v100 = KernelTimes::for_gpu(find_gpu("v100-sxm2-32gb"), "megatron-2020");
    const GemmShape half{.m = 4096, .n = 4096, .k = 4096, .dtype = DType::fp16};
    GemmShape brain = half;
    brain.dtype = DType::bf16;
    EXPECT_DOUBLE_EQ(v100.gemm(half).time, v100.gemm(brain).time);
}

} // namespace
} // namespace echosim
