// SPDX-License-Identifier: Apache-2.0
#include "tests/tracer/fake_gpu/fake_gpu.h"
#include "tracer/interference_bench/measure.h"
#include "tracer/interference_bench/nccl_comm.h"
#include "tracer/interference_bench/stand_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// The whole measurement on a GPU whose times are known (fake_gpu.h): kernels of our own 200 us, GEMMs 150 us,
// slower by 1 % for each CTA of communication beside them.
namespace echosim {
namespace {

using ::testing::HasSubstr;

BenchOptions options_for(const std::string& kernel, int ctas) {
    BenchOptions options;
    options.kernels = {kernel};
    options.ctas = {ctas};
    options.hbm_per_cta = {.012};
    options.collectives = {CollectiveKind::all_gather};
    options.repeats = 5;
    return options;
}

Measured beside_stand_in(const BenchOptions& options, std::vector<std::string>* lines = nullptr) {
    const GpuFacts gpu = facts_of(0);
    StandInSource source(gpu, clock_step());
    return measure(make_plan(options, gpu, 1), options, gpu, source, [&](const std::string& line) {
        if (lines != nullptr)
            lines->push_back(line);
    });
}

Measured beside_nccl(const BenchOptions& options, int gpus) {
    const GpuFacts gpu = facts_of(0);
    const NcclLibrary nccl;
    NcclSource source(nccl, gpus, gpu);
    return measure(make_plan(options, gpu, gpus), options, gpu, source, [](const std::string&) {});
}

TEST(InterferenceMeasure, FactsAreThoseOfTheDevice) {
    fake::reset({});
    const GpuFacts gpu = facts_of(0);
    EXPECT_EQ(gpu.name, "Fake H100");
    EXPECT_EQ(gpu.sms, 132);
    EXPECT_NEAR(gpu.hbm_bandwidth, 3352e9, 1e9);
    EXPECT_NEAR(half_peak(gpu), 989e12, 1e12);
}

TEST(InterferenceMeasure, OwnKernelBesideTheStandIn) {
    fake::reset({});
    std::vector<std::string> lines;
    const Measured measured = beside_stand_in(options_for("layer_norm", 20), &lines);
    ASSERT_EQ(measured.samples.size(), 2U);
    // communication first: 200 us x 1.2 for 20 CTAs, overlapped all along
    const BenchSample& second = measured.samples[0];
    EXPECT_EQ(second.order, LaunchOrder::comm_first);
    EXPECT_NEAR(second.alone, 200e-6, 1e-9);
    EXPECT_NEAR(second.overlapped, 240e-6, 2e-9);
    EXPECT_DOUBLE_EQ(second.overlap, 1);
    // kernel first: 5 us alone, the other 195 us x 1.2 = 234; overlap 234 / 239
    const BenchSample& first = measured.samples[1];
    EXPECT_EQ(first.order, LaunchOrder::kernel_first);
    EXPECT_NEAR(first.overlapped, 239e-6, 10e-9);
    EXPECT_NEAR(first.overlap, 234.0 / 239, 1e-4);
    EXPECT_EQ(first.launch.name, "echosim_layer_norm");
    EXPECT_EQ(first.launch.grid[0], 16384U);
    EXPECT_EQ(first.launch.blocks_per_sm, 8); // 2048 / 256
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_THAT(lines[0], HasSubstr("[1/2] layer_norm beside stand-in, 20 CTAs x 1.2 % of HBM, comm_first"));
    EXPECT_THAT(lines[0], HasSubstr("(x 1.20), overlap 1.00"));
}

TEST(InterferenceMeasure, StandInKeepsItsRateAndOutlastsTheKernel) {
    fake::reset({});
    const BenchSample sample = beside_stand_in(options_for("copy_large", 10)).samples[0];
    // 10 CTAs x .012
    EXPECT_NEAR(sample.comm.hbm_share, .12, .001);
    EXPECT_EQ(sample.comm.nccl, "stand-in");
    EXPECT_EQ(sample.comm.ctas, 10);
    EXPECT_EQ(sample.comm.threads, 544);
    EXPECT_EQ(sample.comm.shared_bytes, 82U * 1024 + 16);
    // wanted 4 x 200 + 100 = 900 us
    EXPECT_NEAR(sample.comm_alone, 900e-6, 180e-6);
    // slower by 1.1 during the kernel's 220 us: 220 us do the work of 200, so 20 us later
    EXPECT_NEAR(sample.comm_overlapped - sample.comm_alone, 20e-6, .1e-6);
}

TEST(InterferenceMeasure, GapsAroundALibrarysKernelAreTakenOff) {
    fake::reset({.gap = 1300});
    const Measured measured = beside_stand_in(options_for("gemm_half_large", 20));
    const BenchSample& sample = measured.samples[0];
    EXPECT_NEAR(sample.alone, 150e-6, 1e-9); // stamps are 150 + 2 x 1.3 us apart
    EXPECT_NEAR(sample.overlapped, 180e-6, 2e-9);
    EXPECT_DOUBLE_EQ(sample.overlap, 1);
    EXPECT_EQ(sample.launch.name, "fake_gemm(float const*)");
    EXPECT_EQ(sample.launch.grid[0], 132U);
    EXPECT_EQ(sample.launch.block[0], 384U);
    EXPECT_EQ(sample.launch.registers, 90);
    EXPECT_EQ(sample.launch.shared_bytes, 1024U); // 1000 dynamic, 24 static
    // 2 x 8192^3 flops in 150 us are more than the peak: at most 1
    EXPECT_DOUBLE_EQ(sample.shares.compute, 1);
    EXPECT_THAT(measured.notes.back(), HasSubstr("clock step 32 ns, gap between kernels 1300 ns"));
}

TEST(InterferenceMeasure, OldDriverLeavesTheLaunchOpen) {
    fake::reset({.driver_tells = false});
    const BenchSample sample = beside_stand_in(options_for("gemm_float_small", 1)).samples[0];
    EXPECT_EQ(sample.launch.name, "cublas_gemm_float_small");
    EXPECT_EQ(sample.launch.grid[0], 0U);
    EXPECT_NEAR(sample.overlapped, 151.5e-6, 2e-9);
}

TEST(InterferenceMeasure, NcclOnFourGpus) {
    fake::reset({.gpus = 4});
    const Measured measured = beside_nccl(options_for("layer_norm", 24), 4);
    ASSERT_EQ(measured.samples.size(), 2U);
    const BenchSample& sample = measured.samples[0];
    EXPECT_NEAR(sample.overlapped, 248e-6, 2e-9); // 200 x 1.24
    EXPECT_DOUBLE_EQ(sample.overlap, 1);
    EXPECT_EQ(sample.comm.nccl, "2.28.9");
    EXPECT_EQ(sample.comm.ctas, 24);
    EXPECT_EQ(sample.comm.threads, 640);
    EXPECT_EQ(sample.comm.registers, 90);
    // wanted 900 us = 20 + bytes / (100 B/ns): 88 MB; all-gather: bus = 3/4 of bytes / time, HBM 2.5 x that
    const double bytes = static_cast<double>(sample.comm.bytes);
    EXPECT_NEAR(sample.comm_alone, 20e-6 + bytes / 100e9, 2e-9);
    EXPECT_NEAR(sample.comm.hbm_share, 2.5 * .75 * bytes / sample.comm_alone / facts_of(0).hbm_bandwidth,
                1e-6);
    EXPECT_GT(sample.comm_alone, 700e-6);
}

TEST(InterferenceMeasure, NcclsCtasAreTakenAtTheirWordWhereTheDriverDoesNotTell) {
    fake::reset({.gpus = 2, .driver_tells = false});
    const BenchSample sample = beside_nccl(options_for("one_block", 8), 2).samples[0];
    EXPECT_EQ(sample.comm.ctas, 8);
    EXPECT_EQ(sample.comm.threads, 0);
}

TEST(InterferenceMeasure, NothingIsLeftBehind) {
    fake::reset({.gpus = 2});
    BenchOptions options = options_for("gemm_half_small", 4);
    options.ctas = {4, 8};
    EXPECT_EQ(beside_nccl(options, 2).samples.size(), 4U);
    EXPECT_EQ(beside_stand_in(options).samples.size(), 4U);
    EXPECT_EQ(fake::counts().streams, 0);
    EXPECT_EQ(fake::counts().buffers, 0);
    EXPECT_EQ(fake::counts().graphs, 0);
    EXPECT_EQ(fake::counts().comms, 0);
    EXPECT_GT(fake::counts().captures, 0);
}

} // namespace
} // namespace echosim
