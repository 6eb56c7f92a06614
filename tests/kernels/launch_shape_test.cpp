// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernels/launch_shape.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

constexpr KernelTime kAlone{.time = 1e-3, .flops = 100e9, .bytes = 500e6};

const Gpu& a100() {
    return find_gpu("a100-sxm-80gb"); // 108 SMs, 312 TFLOP/s, 2.039 TB/s
}
const Gpu& h100() {
    return find_gpu("h100-sxm"); // 132 SMs
}

TEST(LaunchShape, SharesAreOfThePeaks) {
    // 500 MB in 1 ms = 500 GB/s of 2039 GB/s; 100 GFLOP in 1 ms = 100 of 312 TFLOP/s
    const KernelFootprint f = footprint_of(GemmShape{.m = 4096, .n = 4096, .k = 4096}, kAlone, a100());
    EXPECT_NEAR(f.hbm_share, 500e9 / 2039e9, 1e-9);
    EXPECT_NEAR(f.compute_share, 100.0 / 312.0, 1e-9);
    EXPECT_EQ(f.time, 1e-3);
    EXPECT_TRUE(f.tensor_cores);
    // more than the data sheet promises is all of it
    EXPECT_EQ(footprint_of(MemoryShape{.bytes = 1e9}, {.time = 1e-4, .bytes = 1e9}, a100()).hbm_share, 1.0);
    // nothing is known of a kernel that takes no time
    EXPECT_EQ(footprint_of(MemoryShape{.bytes = 0}, {}, a100()).hbm_share, 0.0);
}

TEST(LaunchShape, AnAmpereGemmHasABlockATile) {
    // 8192 x 12288: the long edge along n, 8192 / 128 x 12288 / 256 = 64 x 48 = 3072 tiles
    const KernelFootprint f = footprint_of(GemmShape{.m = 8192, .n = 12288, .k = 12288}, kAlone, a100());
    EXPECT_EQ(f.kernel_class, KernelClass::gemm);
    EXPECT_EQ(f.blocks, 3072);
    EXPECT_FALSE(f.persistent);
    EXPECT_EQ(f.blocks_per_sm, 1);
    EXPECT_EQ(f.threads_per_block, 256);
    EXPECT_EQ(f.shared_bytes, 3 * 64 * 2 * (256 + 128)); // 147 KB
}

TEST(LaunchShape, SmallGemmsTakeSmallerTilesThenSplitTheSum) {
    // 1536 x 1024: 6 x 8 = 48 tiles of 256 x 128, 12 x 8 = 96 of 128 x 128, 12 x 16 = 192 of 128 x 64 >= 108
    const KernelFootprint small = footprint_of(GemmShape{.m = 1536, .n = 1024, .k = 4096}, kAlone, a100());
    EXPECT_EQ(small.blocks, 192);
    EXPECT_EQ(small.blocks_per_sm, 2);
    // 256 x 128: 4 x 2 = 8 tiles of 64 x 64, times 8 = 64 >= 54
    EXPECT_EQ(footprint_of(GemmShape{.m = 256, .n = 128, .k = 65536}, kAlone, a100()).blocks, 64);
    // a batch fills the GPU: 96 x 2048 x 128 is 8 x 1 tiles each
    EXPECT_EQ(footprint_of(GemmShape{.m = 2048, .n = 128, .k = 2048, .batch = 96}, kAlone, a100()).blocks,
              96 * 8);
}

TEST(LaunchShape, HopperLoopsOverTheTiles) {
    const KernelFootprint f = footprint_of(GemmShape{.m = 8192, .n = 12288, .k = 12288}, kAlone, h100());
    EXPECT_TRUE(f.persistent);
    EXPECT_EQ(f.tiles, 3072);
    EXPECT_EQ(f.blocks, 132);
    EXPECT_EQ(f.threads_per_block, 384);
    EXPECT_FALSE(f.yields_sms); // its tiles are dealt out before it starts
}

TEST(LaunchShape, AttentionByBlocksOf128Rows) {
    // 2048 / 128 = 16 blocks x 12 heads x 2 sequences
    AttentionShape shape{
        .batch = 2, .seq_q = 2048, .seq_kv = 4096, .heads = 12, .kv_heads = 12, .head_dim = 128};
    const KernelFootprint forward = footprint_of(shape, kAlone, a100());
    EXPECT_EQ(forward.blocks, 384);
    EXPECT_EQ(forward.blocks_per_sm, 2);
    EXPECT_FALSE(forward.persistent);
    const KernelFootprint hopper = footprint_of(shape, kAlone, h100());
    EXPECT_TRUE(hopper.persistent);
    EXPECT_TRUE(hopper.yields_sms); // causal: tiles from a counter
    EXPECT_EQ(hopper.blocks, 132);
    EXPECT_EQ(hopper.tiles, 384);
    // backward: blocks of key rows, 32 x 12 x 2
    shape.backward = true;
    const KernelFootprint backward = footprint_of(shape, kAlone, h100());
    EXPECT_EQ(backward.blocks, 768);
    EXPECT_FALSE(backward.persistent);
    EXPECT_EQ(backward.blocks_per_sm, 1);
}

TEST(LaunchShape, KernelsBoundByMemoryHaveManyBlocks) {
    // 100 MiB at 2 KiB a block
    const double bytes = 100 * 1024.0 * 1024.0;
    const auto with = [&](KernelClass kernel_class) {
        return footprint_of(MemoryShape{kernel_class, bytes}, kAlone, a100());
    };
    EXPECT_EQ(with(KernelClass::elementwise).blocks, 51200);
    EXPECT_EQ(with(KernelClass::elementwise).blocks_per_sm, 16);
    EXPECT_EQ(with(KernelClass::elementwise).compute_share, 0); // not known
    EXPECT_FALSE(with(KernelClass::elementwise).tensor_cores);
    // norms loop over rows: 4 blocks an SM, 6400 tiles of 16 KiB
    EXPECT_TRUE(with(KernelClass::norm).persistent);
    EXPECT_EQ(with(KernelClass::norm).blocks, 432);
    EXPECT_EQ(with(KernelClass::norm).tiles, 6400);
    // gradients of norm weights: 100 blocks of 4 an SM, a quarter of a wave
    EXPECT_EQ(with(KernelClass::norm_wgrad).blocks, 100);
    // Adam: 100 MiB / (65536 x 28) = 57.1
    EXPECT_EQ(with(KernelClass::optimizer).blocks, 58);
}

} // namespace
} // namespace echosim
