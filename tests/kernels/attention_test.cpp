// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/gpu.h"
#include "simulator/kernels/kernel_models.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

AttentionParameters plain() {
    AttentionParameters p;
    p.ceiling = 1;
    p.kv_prologue = 0;
    p.wave_quantisation = 1;
    p.fixed_us = 0;
    p.memory_efficiency = 1e6; // no memory time
    p.longest = 0;
    p.head_dim_factor = {0.5, 1, 1, 1};
    return p;
}
constexpr KernelMachine kMachine{100e12, 1e12, 100};
// 25 heads x 4096 / 128 = 800 blocks = 8 waves on 100 SMs
constexpr AttentionShape kShape{.seq_q = 4096, .seq_kv = 4096, .heads = 25, .kv_heads = 25, .head_dim = 128};

TEST(AttentionFlops, CausalIsHalfAndBackwardTwoAndAHalfTimes) {
    // 4 x 25 x 4096^2 x 128 / 2 = 107.4e9
    EXPECT_NEAR(attention_flops(kShape), 107.374e9, 1e6);
    AttentionShape other = kShape;
    other.causal = false;
    EXPECT_NEAR(attention_flops(other), 214.748e9, 1e6);
    other.backward = true;
    EXPECT_NEAR(attention_flops(other), 536.871e9, 1e6);
}

TEST(AttentionTime, FullWavesRunAtThePeak) {
    // 107.4e9 / 100e12 = 1073.7 us, at head dimension 64 half the work at half the rate
    EXPECT_NEAR(attention_time(plain(), kMachine, kShape), 1073.74e-6, 0.1e-6);
    AttentionShape narrow = kShape;
    narrow.head_dim = 64;
    EXPECT_NEAR(attention_time(plain(), kMachine, narrow), 1073.74e-6, 0.1e-6);
}

TEST(AttentionTime, HeadDimensionIsInterpolated) {
    // 96 lies half way between 64 (0.5) and 128 (1): 1073.7 x 96 / 128 / 0.75
    AttentionShape shape = kShape;
    shape.head_dim = 96;
    EXPECT_NEAR(attention_time(plain(), kMachine, shape), 1073.74e-6, 0.1e-6);
}

TEST(AttentionTime, LongestBlockIsTheFloorOfASmallGrid) {
    // one head, 32 blocks on 100 SMs: a block of the full length takes 4 x 128 x 128 x 4096 / 1e12 = 268.4 us
    AttentionParameters p = plain();
    p.longest = 1;
    AttentionShape shape = kShape;
    shape.heads = shape.kv_heads = 1;
    EXPECT_NEAR(attention_time(p, kMachine, shape), 268.4e-6, 0.1e-6);
}

TEST(AttentionBytes, GroupedKeysMoveLess) {
    // 2 bytes x (q and o: 2 x 128 x 8 x 64, k and v: 2 x 128 x 2 x 64) = 327,680; backward 4 of each =
    // 655,360
    AttentionShape shape{.seq_q = 128, .seq_kv = 128, .heads = 8, .kv_heads = 2, .head_dim = 64};
    EXPECT_DOUBLE_EQ(attention_bytes(shape), 327680);
    shape.backward = true;
    EXPECT_DOUBLE_EQ(attention_bytes(shape), 655360);
}

double tflops(const char* gpu, double length, bool backward) {
    const KernelTimes times = KernelTimes::for_gpu(find_gpu(gpu), "mcore-2024");
    const KernelTime result = times.attention({.batch = 4,
                                               .seq_q = length,
                                               .seq_kv = length,
                                               .heads = 32,
                                               .kv_heads = 8,
                                               .head_dim = 128,
                                               .backward = backward});
    return result.flops / result.time * 1e-12;
}

// Published rates of long causal sequences, head dimension 128, alone: FlashAttention 2 on A100 190-220
// forward and 160-190 backward; FlashAttention 3 or cuDNN on H100 550-650 and 450-550. In training 6 and 18 %
// less, so with a margin of 10 %:
TEST(AttentionTime, LongSequencesReachPublishedRates) {
    EXPECT_NEAR(tflops("a100-sxm-80gb", 16384, false), 205 / 1.06, 21);
    EXPECT_NEAR(tflops("a100-sxm-80gb", 16384, true), 175 / 1.06, 18);
    EXPECT_NEAR(tflops("h100-sxm", 16384, false), 600 / 1.18, 60);
    EXPECT_NEAR(tflops("h100-sxm", 16384, true), 500 / 1.18, 50);
}

TEST(AttentionTime, GrowsWithEverySize) {
    const KernelTimes times = KernelTimes::for_gpu(find_gpu("h100-sxm"), "mcore-2024");
    double before = 0;
    for (double length = 128; length <= 32768; length += 128) {
        const double time =
            times.attention({.seq_q = length, .seq_kv = length, .heads = 12, .kv_heads = 12, .head_dim = 128})
                .time;
        ASSERT_GT(time, before) << length;
        before = time;
    }
}

} // namespace
} // namespace echosim
