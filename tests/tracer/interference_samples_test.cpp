// SPDX-License-Identifier: Apache-2.0
#include "interference/samples.h"
#include "tracer/interference_bench/pacing.h"
#include "tracer/interference_bench/samples_csv.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

BenchSample gemm_sample() {
    BenchSample sample;
    sample.kernel = {"gemm_half_large", Program::gemm_half, KernelClass::gemm, 8192, 8192, 8192};
    sample.launch = {
        "void gemm<bf16, 128, 256>(float const*, \"x\")", {132, 1, 1}, {384, 1, 1}, 168, 200'000, 1};
    sample.comm = {{false, CollectiveKind::all_gather, 24, 0}, "2.21.5", 20, 64_MiB, .125, 640, 96, 83'968};
    sample.order = LaunchOrder::kernel_first;
    sample.high_priority = true;
    sample.shares = {.08, .74};
    sample.alone = 1500e-6;
    sample.overlapped = 1800.5e-6;
    sample.overlap = .975;
    sample.comm_alone = 6100e-6;
    sample.comm_overlapped = 6200e-6;
    sample.repeats = 30;
    return sample;
}

TEST(InterferenceSamples, CsvIsReadBackAsItWas) {
    const std::vector<BenchSample> written = {gemm_sample()};
    const std::string text = samples_csv(written, {}, std::vector<std::string>{"two GPUs, \"quoted\""});
    const InterferenceSamples read = read_interference_csv(text, "samples.csv");
    ASSERT_EQ(read.samples.size(), 1U);
    const InterferenceSample& sample = read.samples[0];
    EXPECT_EQ(sample.kernel_name, written[0].launch.name);
    EXPECT_EQ(sample.gpu, "h100-sxm"); // the catalogue knows the driver's name
    EXPECT_EQ(sample.nccl_version, "2.21.5");
    EXPECT_EQ(sample.sms, 132);
    EXPECT_EQ(sample.kernel.kernel_class, KernelClass::gemm);
    EXPECT_EQ(sample.kernel.blocks, 132);
    EXPECT_EQ(sample.kernel.threads_per_block, 384);
    EXPECT_EQ(sample.kernel.registers_per_thread, 168);
    EXPECT_EQ(sample.kernel.shared_bytes, 200'000);
    EXPECT_EQ(sample.kernel.blocks_per_sm, 1);
    EXPECT_TRUE(sample.kernel.tensor_cores);
    EXPECT_TRUE(sample.kernel.persistent);
    EXPECT_EQ(sample.kernel.tiles, 2048); // 8192 / 256 x 8192 / 128
    EXPECT_NEAR(sample.kernel.hbm_share, .08, 1e-9);
    EXPECT_NEAR(sample.kernel.compute_share, .74, 1e-9);
    EXPECT_EQ(sample.load.ctas, 20);
    EXPECT_NEAR(sample.load.hbm_share, .125, 1e-9);
    EXPECT_TRUE(sample.load.kernel_first);
    EXPECT_TRUE(sample.load.high_priority);
    EXPECT_NEAR(sample.time_alone, 1500e-6, 1e-12);
    EXPECT_NEAR(sample.factor(), 1800.5 / 1500, 1e-9);
    EXPECT_NEAR(sample.overlap, .975, 1e-9);
    EXPECT_NEAR(sample.comm_time_alone, 6100e-6, 1e-12);
    EXPECT_NEAR(sample.comm_time_overlapped, 6200e-6, 1e-12);
}

TEST(InterferenceSamples, EveryColumnIsKnownToTheReader) {
    const std::vector<BenchSample> written = {gemm_sample()};
    const InterferenceSamples read = read_interference_csv(samples_csv(written, {}, {}), "samples.csv");
    for (const std::string& note : read.notes)
        EXPECT_EQ(note.find("ignored"), std::string::npos) << note;
}

TEST(InterferenceSamples, WhatIsNotKnownTakesTheReadersDefaults) {
    BenchSample sample = gemm_sample(); // an old driver: neither the GEMM's launch nor NCCL's is known
    sample.launch = {"cublas_gemm_half_large"};
    sample.comm.threads = sample.comm.registers = 0;
    sample.comm.shared_bytes = 0;
    sample.order = LaunchOrder::comm_first;
    sample.high_priority = false;
    const InterferenceSamples read =
        read_interference_csv(samples_csv(std::vector<BenchSample>{sample}, {}, {}), "samples.csv");
    ASSERT_EQ(read.samples.size(), 1U);
    EXPECT_EQ(read.samples[0].kernel.blocks, 0);
    EXPECT_EQ(read.samples[0].kernel.registers_per_thread, 0);
    EXPECT_FALSE(read.samples[0].kernel.persistent);
    EXPECT_FALSE(read.samples[0].load.kernel_first);
    EXPECT_FALSE(read.samples[0].load.high_priority);
}

TEST(InterferenceSamples, PersistentGemmsAreThoseWithMoreTilesThanBlocks) {
    const GpuFacts gpu;
    const KernelCase large = gemm_sample().kernel;
    EXPECT_EQ(persistent_tiles(large, {"", {132, 1, 1}, {384, 1, 1}, 168, 0, 1}, gpu), 2048);
    // a block a tile: 2048 blocks are more than the 132 that fit at once
    EXPECT_EQ(persistent_tiles(large, {"", {64, 32, 1}, {384, 1, 1}, 168, 0, 1}, gpu), 0);
    // 1408 x 1536 = 6 x 12 tiles of 256 x 128 by 132 blocks: smaller tiles, one a block
    const KernelCase wave{"", Program::gemm_half, KernelClass::gemm, 1408, 1536, 4096};
    EXPECT_EQ(persistent_tiles(wave, {"", {12, 11, 1}, {256, 1, 1}, 128, 0, 1}, gpu), 0);
    const KernelCase copy{"", Program::copy, KernelClass::copy, 16384, 4096, 1};
    EXPECT_EQ(persistent_tiles(copy, {"", {132, 1, 1}, {256, 1, 1}, 32, 0, 8}, gpu), 0);
}

TEST(InterferencePacing, PeriodIsTrafficOverRate) {
    const GpuFacts gpu;
    // a chunk: 544 threads x 4 x 16 B = 34,816 B read and as many written; .012 x 3350 GB/s = 40.2 GB/s
    EXPECT_EQ(pacing_of(.012, gpu, 32).period, 1732);  // 69,632 / 40.2
    EXPECT_EQ(pacing_of(.012, gpu, 32).slack, 1732);   // a period
    EXPECT_EQ(pacing_of(.012, gpu, 1024).slack, 2048); // two steps of a coarse clock
    EXPECT_EQ(pacing_of(.003, gpu, 32).period, 6929);
}

TEST(InterferencePacing, ChunksMoveTheBytesAskedFor) {
    EXPECT_EQ(chunks_for(69'632 * 8 * 10, 8), 10);
    EXPECT_EQ(traffic_of(10, 8), 69'632U * 80);
    EXPECT_EQ(chunks_for(1, 32), 1);            // never none
    EXPECT_EQ(region_chunks(256_MiB, 32), 240); // 268,435,456 / (34,816 x 32) = 240.9
    EXPECT_EQ(region_chunks(1000, 32), 1);
}

TEST(InterferencePacing, BusBandwidthAsNcclTestsDefinesIt) {
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_reduce, 8), 1.75);
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_gather, 8), .875);
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::reduce_scatter, 2), .5);
    EXPECT_DOUBLE_EQ(hbm_per_bus_byte(nullptr), 2.5);
    EXPECT_DOUBLE_EQ(hbm_per_bus_byte("Ring"), 2.5);
    EXPECT_DOUBLE_EQ(hbm_per_bus_byte("NVLS,Ring"), 1.5);
}

} // namespace
} // namespace echosim
