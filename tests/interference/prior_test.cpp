// SPDX-License-Identifier: Apache-2.0
#include "interference/prior.h"
#include "simulator/catalogue/gpu.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace echosim {
namespace {

constexpr double kKiB = 1024;

const PriorSlowdown& a100() {
    static const PriorSlowdown prior(limits_of(find_gpu("a100-sxm-80gb")));
    return prior;
}
const PriorSlowdown& h100() {
    static const PriorSlowdown prior(limits_of(find_gpu("h100-sxm")));
    return prior;
}
const PriorSlowdown& v100() {
    static const PriorSlowdown prior(limits_of(find_gpu("v100-sxm2-32gb")));
    return prior;
}

// 256 x 128 tiles, one block an SM: its 230 registers a thread leave no room for a CTA of NCCL.
KernelFootprint gemm(double blocks) {
    return {.kernel_class = KernelClass::gemm,
            .time = 1e-3,
            .hbm_share = 0.1,
            .compute_share = 0.7,
            .blocks = blocks,
            .blocks_per_sm = 1,
            .threads_per_block = 256,
            .registers_per_thread = 230,
            .shared_bytes = 144 * kKiB,
            .tensor_cores = true};
}
KernelFootprint streaming(double hbm_share) { // 16 blocks of 128 threads fill an SM
    return {.kernel_class = KernelClass::elementwise,
            .time = 1e-4,
            .hbm_share = hbm_share,
            .blocks = 1e6,
            .blocks_per_sm = 16,
            .threads_per_block = 128,
            .registers_per_thread = 32};
}
CommLoad beside(double ctas, double hbm_share) {
    return {.ctas = ctas, .hbm_share = hbm_share};
}
void expect_inside(double measured, const SlowdownEstimate& e) {
    EXPECT_GE(measured, e.low);
    EXPECT_LE(measured, e.high);
}

// arXiv 2507.03114: compute beside default NCCL on A100 is slower by 18.9 % in the mean, 40.0 % at most.
// 3072 blocks on 108 SMs, 24 CTAs: x = 28.44, x' = 3072 / 84 = 36.57; z = .2:
// S_sm = (.8 x 37 + .2 x 36.57) / (.8 x 29 + .2 x 28.44) = 36.914 / 28.889 = 1.2778.
// h = 2.5 x 230 GB/s / 2039 GB/s = .28, u = .1: S_mem = max(1.042, .38 / .92) = 1.042.
// b = .7 / .8 = .875: S = ((.875^4 1.2778^4 + .125^4 1.042^4) / (.875^4 + .125^4))^(1/4) = 1.2777, and clock
// 1.02: 1.303.
TEST(PriorAnchors, LargeGemmBesideDefaultNccl) {
    const SlowdownEstimate e = a100().estimate(gemm(3072), beside(24, 0.28), "");
    EXPECT_NEAR(e.factor, 1.303, 0.001);
    EXPECT_GT(e.factor, 1.19);
    EXPECT_LT(e.factor, 1.40);
    expect_inside(1.19, e);
    expect_inside(1.40, e);
}

// NVIDIA forum 337991: GEMM of 132 blocks beside an all-gather of 24 CTAs on 132 SMs. x = 1, x' = 132 / 108 =
// 1.222: S_sm = .8 x 2 + .2 x 1.222 = 1.844; b = .9 (u = 0) and no clock loss without HBM traffic. The kernel
// measured 1.70, part of it after the communication.
TEST(PriorAnchors, GemmOfOneWaveNeedsASecond) {
    KernelFootprint kernel = gemm(132);
    kernel.hbm_share = 0;
    const SlowdownEstimate e = h100().estimate(kernel, beside(24, 0), "");
    EXPECT_NEAR(e.factor, 1.844, 0.001);
    expect_inside(1.70, e);
    kernel.persistent = true; // the same with 132 tiles in 132 blocks
    kernel.tiles = 132;
    EXPECT_NEAR(h100().factor(kernel, beside(24, 0)), 1.844, 0.001);
}

// coconet issue 6: GEMM of many waves beside an all-reduce, ring, Simple, 24 channels on 8 V100: 49 -> 110 ms
// = 2.24 times. 80 / 56 = 1.429 of SMs; h = 2.5 x 130 / 900 = .36: S_mem = 1.054; clock 1.02: 1.46. The band
// reaches exp(.377 + sqrt(.045^2 + .189^2 + .5^2)) = 2.49.
TEST(PriorAnchors, GemmOnV100Beside24Channels) {
    KernelFootprint kernel = gemm(0);
    const SlowdownEstimate e = v100().estimate(kernel, beside(24, 0.36), "");
    EXPECT_NEAR(e.factor, 1.457, 0.002);
    EXPECT_NEAR(e.high, 2.49, 0.01);
    expect_inside(2.24, e);
}

// Data parallelism over InfiniBand under tensor parallelism 8, one communicator a GPU, H100: 4 CTAs,
// h = 2.5 x 48 GB/s / 3350 GB/s = .036: 132 / 128 = 1.031, clock 1 + .02 x .36 = 1.007: 1.038.
TEST(PriorAnchors, DataParallelUnderTensorParallel) {
    const SlowdownEstimate e = h100().estimate(gemm(0), beside(4, 0.036), "");
    EXPECT_NEAR(e.factor, 1.038, 0.001);
    expect_inside(1.03, e);
    expect_inside(1.05, e);
    // persistent kernels of 2000 to 3999 tiles: 1.0 to 1.07 each, about the same in the mean
    double sum = 0;
    for (int tiles = 2000; tiles < 4000; ++tiles) {
        KernelFootprint kernel = gemm(132);
        kernel.persistent = true;
        kernel.tiles = tiles;
        sum += h100().factor(kernel, beside(4, 0.036));
    }
    EXPECT_GT(sum / 2000, 1.03);
    EXPECT_LT(sum / 2000, 1.05);
}

TEST(PriorSlowdown, KernelsThatYieldSmsLoseThemInProportion) {
    // stream-K: 132 / 108 = 1.222 whatever the waves; with fewer tiles than SMs left, nothing
    KernelFootprint kernel = gemm(132);
    kernel.hbm_share = 0;
    kernel.yields_sms = kernel.persistent = true;
    kernel.tiles = 264;
    EXPECT_NEAR(h100().factor(kernel, beside(24, 0)), 1.222, 0.001);
    kernel.tiles = 100;
    EXPECT_DOUBLE_EQ(h100().factor(kernel, beside(24, 0)), 1);
}

TEST(PriorSlowdown, TailOfTheLastWaveHidesOrShowsLostSms) {
    // A100, no HBM traffic, 4 CTAs: 432 blocks are 4 waves, on 104 SMs 4.15: (.8 x 5 + .2 x 4.15) / 4 = 1.208
    KernelFootprint kernel = gemm(432);
    kernel.hbm_share = 0;
    EXPECT_NEAR(a100().factor(kernel, beside(4, 0)), 1.208, 0.001);
    // 416 blocks are 3.85 or 4.00 waves: (.8 x 4 + .2 x 4) / (.8 x 4 + .2 x 3.85) = 1.007
    kernel.blocks = 416;
    EXPECT_NEAR(a100().factor(kernel, beside(4, 0)), 1.007, 0.001);
}

TEST(PriorSlowdown, KernelFirstKeepsItsSmsForItsFirstWave) {
    KernelFootprint kernel = gemm(108); // x = 1: all blocks are placed
    kernel.hbm_share = 0;
    CommLoad load = beside(24, 0);
    load.kernel_first = true;
    EXPECT_DOUBLE_EQ(a100().factor(kernel, load), 1);
    // x = 2: the second wave needs 108 / 84 = 1.286: (1 + .8 x 2 + .2 x 1.286) / 2 = 1.429; communication
    // first: (.8 x 3 + .2 x 2.571) / 2 = 1.457
    kernel.blocks = 216;
    EXPECT_NEAR(a100().factor(kernel, load), 1.429, 0.001);
    load.kernel_first = false;
    EXPECT_NEAR(a100().factor(kernel, load), 1.457, 0.001);
}

TEST(PriorSlowdown, CtasThatFitBesideTheBlocksTakeTheirThreads) {
    // 256 threads of 32 registers leave room for 544 of 96 (60,416 of 65,536) and 60 KiB for 82: the 24 CTAs
    // take 24 x 544 / 2048 = 6.375 SMs; many waves, 108 / 101.625 = 1.063
    KernelFootprint kernel{
        .time = 1e-3, .threads_per_block = 256, .registers_per_thread = 32, .shared_bytes = 60 * kKiB};
    const CommFootprint comm{.ctas = 24};
    CommLoad load = load_of(kernel, {&comm, 1}, false);
    EXPECT_EQ(load.ctas_fitting, 24);
    EXPECT_NEAR(a100().factor(kernel, load), 1.063, 0.001);
    kernel.registers_per_thread = 64; // 68,608: 108 / 84
    load = load_of(kernel, {&comm, 1}, false);
    EXPECT_EQ(load.ctas_fitting, 0);
    EXPECT_NEAR(a100().factor(kernel, load), 1.286, 0.001);
    kernel.registers_per_thread = 32;
    kernel.shared_bytes = 100 * kKiB; // + 82: on H100 (228), not on A100 (164)
    EXPECT_EQ(load_of(kernel, {&comm, 1}, false).ctas_fitting, 0);
    EXPECT_EQ(load_of(kernel, {&comm, 1}, false, h100().limits()).ctas_fitting, 24);
}

TEST(PriorSlowdown, SharesTheMemoryBandwidth) {
    // copy engines, u = .85, h = .3: 1.15 / .92 = 1.25, b = .15:
    // ((.15^4 + .85^4 1.25^4) / (.15^4 + .85^4))^(1/4) = 1.2498
    EXPECT_NEAR(a100().factor(streaming(0.85), beside(0, 0.3)), 1.2498, 0.0002);
    // below saturation .15 x .3 = 4.5 %; b = .5 takes half of it: ((1 + 1.045^4) / 2)^(1/4) = 1.0236
    EXPECT_NEAR(a100().factor(streaming(0.5), beside(0, 0.3)), 1.0236, 0.0005);
}

TEST(PriorSlowdown, GradientsOfNormWeights) {
    // 40 blocks, 24 % of the SMs: no waves lost; b = 1 - .38, h = .07: S_mem = 1.0105, mixed 1.0013;
    // x (1 + 2) = 3.004
    KernelFootprint kernel{.kernel_class = KernelClass::norm_wgrad, .time = 1e-4, .hbm_share = 0.38};
    kernel.blocks = 40;
    EXPECT_NEAR(a100().factor(kernel, beside(2, 0.07)), 3.004, 0.001);
    EXPECT_NEAR(a100().factor(kernel, beside(1, 0.07)), 3.004, 0.001);
    EXPECT_NEAR(a100().factor(kernel, beside(0.25, 0)), 1.5, 0.001);
    EXPECT_NEAR(a100().factor(kernel, beside(0, 0.07)), 1.0013, 0.001); // copy engines hold no SM
    // 81 blocks, x = .75: half of it, 1 + 2 x .5
    kernel.blocks = 81;
    EXPECT_NEAR(a100().factor(kernel, beside(2, 0.07)), 2 * 1.0013, 0.001);
    // 10 waves fill the GPU: S_sm = (.7 x 11 + .3 x 10.19) / 10 = 1.0757, with S_mem by b = .62: 1.0683
    kernel.blocks = 1080;
    EXPECT_NEAR(a100().factor(kernel, beside(2, 0.07)), 1.0683, 0.001);
}

TEST(PriorSlowdown, OccupancyStandsForAGridThatIsNotKnown) {
    KernelFootprint kernel{.time = 1e-5};
    kernel.occupancy_ratio = 0.3; // few blocks: 24 CTAs find other SMs
    EXPECT_DOUBLE_EQ(waves_of(kernel, 108), 0.3);
    EXPECT_DOUBLE_EQ(a100().factor(kernel, beside(24, 0)), 1);
    kernel.occupancy_ratio = 0.9; // many waves: 108 / 84
    EXPECT_DOUBLE_EQ(waves_of(kernel, 108), 0);
    EXPECT_NEAR(a100().factor(kernel, beside(24, 0)), 1.286, 0.001);
}

TEST(PriorSlowdown, LimitsFollowTheArchitecture) {
    EXPECT_EQ(v100().limits().shared_bytes_per_sm, 96 * kKiB);
    EXPECT_EQ(a100().limits().shared_bytes_per_sm, 164 * kKiB);
    EXPECT_EQ(h100().limits().shared_bytes_per_sm, 228 * kKiB);
    EXPECT_EQ(h100().limits().sms, 132);
    EXPECT_EQ(limits_of(find_gpu("b200-sxm")).sms, 148);
    EXPECT_EQ(limits_of(find_gpu("rtx-4090")).threads_per_sm, 1536);
    EXPECT_EQ(limits_of(find_gpu("mi300x")).shared_bytes_per_sm, 64 * kKiB);
}

} // namespace
} // namespace echosim
