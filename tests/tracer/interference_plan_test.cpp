// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/plan.h"

#include "simulator/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace echosim {
namespace {

using ::testing::HasSubstr;

const KernelCase& kernel_named(const std::vector<KernelCase>& kernels, const std::string& name) {
    for (const KernelCase& kernel : kernels)
        if (kernel.name == name)
            return kernel;
    throw std::runtime_error("no kernel " + name);
}

TEST(InterferencePlan, OneGpuMeasuresEveryKernelBesideEveryStandIn) {
    // 17 kernels x (7 CTA counts x 2 rates) x 2 orders
    const BenchPlan plan = make_plan({}, {}, 1);
    EXPECT_EQ(plan.kernels.size(), 17U);
    EXPECT_EQ(plan.comms.size(), 14U);
    EXPECT_EQ(plan.pairs.size(), 476U);
    std::set<std::tuple<std::size_t, std::size_t, LaunchOrder>> different;
    for (const PairCase& pair : plan.pairs)
        different.insert({pair.kernel, pair.comm, pair.order});
    EXPECT_EQ(different.size(), 476U);
}

TEST(InterferencePlan, SeveralGpusMeasureBesideCollectives) {
    // 7 CTA counts x 3 collectives; --stand-in goes back to 14
    EXPECT_EQ(make_plan({}, {}, 8).comms.size(), 21U);
    BenchOptions options;
    options.stand_in = true;
    EXPECT_EQ(make_plan(options, {}, 8).comms.size(), 14U);
}

TEST(InterferencePlan, NamesAndTheirBeginningsChooseKernels) {
    BenchOptions options;
    options.kernels = {"gemm_half", "layer_norm", "gemm_half_wave"};
    const BenchPlan plan = make_plan(options, {}, 1);
    ASSERT_EQ(plan.kernels.size(), 4U); // large, wave, small, layer_norm: each once
    EXPECT_EQ(plan.kernels[3].name, "layer_norm");
    options.kernels = {"layer_nrom"};
    try {
        make_plan(options, {}, 1);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("did you mean \"layer_norm\"?"));
    }
}

TEST(InterferencePlan, CommunicationTakesAtMostHalfOfTheSms) {
    GpuFacts small;
    small.sms = 20;
    BenchOptions options; // 1 2 4 8 fit into 10; 16, 24 and 32 do not
    EXPECT_EQ(make_plan(options, small, 1).comms.size(), 8U);
    options.ctas = {16, 32};
    EXPECT_THROW(make_plan(options, small, 1), InputError);
}

TEST(InterferencePlan, WaveSizesFollowTheGpu) {
    GpuFacts gpu; // 132 SMs = 11 x 12 tiles of 128 x 128
    const auto on_h100 = kernel_named(kernel_cases(gpu), "gemm_half_wave");
    EXPECT_EQ(on_h100.rows * on_h100.columns, 132 * 128 * 128);
    EXPECT_EQ(on_h100.rows, 11 * 128);
    gpu.sms = 108; // 9 x 12
    EXPECT_EQ(kernel_named(kernel_cases(gpu), "gemm_half_wave").rows, 9 * 128);
    EXPECT_EQ(tile_grid(113).columns, 113); // a prime: one row
    // .36 x 108 = 39 blocks of 32 columns: few, below half of the SMs
    EXPECT_EQ(kernel_named(kernel_cases(gpu), "norm_wgrad_few").columns, 39 * 32);
    EXPECT_EQ(wave_blocks(10, gpu), 8 * 108); // 2048 threads / 256
    EXPECT_EQ(wave_blocks(85, gpu), 7344);    // 8.5 x 864
    gpu.threads_per_sm = 1536;
    EXPECT_EQ(wave_blocks(10, gpu), 6 * 108);
}

TEST(InterferencePlan, WorkAndSharesByHand) {
    const GpuFacts gpu; // 3350 GB/s, 4096 x 132 x 1.83 GHz = 989.4 TFLOPS
    const std::vector<KernelCase> kernels = kernel_cases(gpu);
    const KernelCase gemm = kernel_named(kernels, "gemm_half_large");
    EXPECT_DOUBLE_EQ(work_of(gemm, gpu).flops, 2.0 * 8192 * 8192 * 8192); // 1.0995e12
    EXPECT_DOUBLE_EQ(work_of(gemm, gpu).bytes, 3.0 * 8192 * 8192 * 2);
    // in 1.5 ms: 1.0995e12 / 1.5e-3 / 989.4e12 = .741; .4027 GB / 1.5e-3 / 3350e9 = .0801
    EXPECT_NEAR(shares_of(gemm, gpu, 1.5e-3).compute, .741, .001);
    EXPECT_NEAR(shares_of(gemm, gpu, 1.5e-3).hbm, .0801, .0001);
    // 16384 x 4096 floats, two read, one written: 805 MB; at .9 of the bandwidth 267 us, and 3
    const KernelCase elementwise = kernel_named(kernels, "elementwise_large");
    EXPECT_DOUBLE_EQ(work_of(elementwise, gpu).bytes, 805'306'368);
    EXPECT_NEAR(expected_time(elementwise, gpu), 270.1e-6, .1e-6);
    EXPECT_DOUBLE_EQ(shares_of(elementwise, gpu, 1e-9).hbm, 1); // never above the peak
    // one wave of 1056 blocks x 256 threads x 8 sums x 4096 steps x 2
    EXPECT_DOUBLE_EQ(work_of(kernel_named(kernels, "multiply_add_wave"), gpu).flops,
                     1056.0 * 256 * 8 * 4096 * 2);
}

TEST(InterferencePlan, PeaksAndBandwidthOfDataSheets) {
    GpuFacts gpu;
    EXPECT_NEAR(half_peak(gpu), 989e12, 1e12);
    EXPECT_NEAR(float_peak(gpu), 61.8e12, .1e12); // 256 x 132 x 1.83 GHz
    gpu.compute_major = 8;
    gpu.sms = 108;
    gpu.clock = 1.41e9;
    EXPECT_NEAR(half_peak(gpu), 312e12, 1e12); // A100
    EXPECT_NEAR(float_peak(gpu), 19.5e12, .1e12);
    EXPECT_NEAR(memory_bandwidth(2.619e9, 5120), 3352e9, 1e9);
    EXPECT_NEAR(memory_bandwidth(1.593e9, 5120), 2039e9, 1e9); // A100 80 GB
}

TEST(InterferencePlan, CommunicationOutlastsAndOrdersHoldBackTheSecond) {
    EXPECT_NEAR(wanted_comm_time(1e-3), 4.1e-3, 1e-9); // 4 x 1 ms + 100 us
    EXPECT_NEAR(head_start(LaunchOrder::comm_first, true, 1e-3), 20e-6, 1e-12);
    EXPECT_NEAR(head_start(LaunchOrder::comm_first, false, 1e-3), 50e-6, 1e-12);
    EXPECT_NEAR(head_start(LaunchOrder::kernel_first, true, 1e-3), 5e-6, 1e-12);
    EXPECT_NEAR(head_start(LaunchOrder::kernel_first, true, 8e-6), 2e-6, 1e-12); // a quarter of 8 us
    for (const KernelCase& kernel : kernel_cases({})) { // also at four times its time
        const Seconds alone = expected_time(kernel, {});
        EXPECT_GT(wanted_comm_time(alone), head_start(LaunchOrder::comm_first, false, alone) + 4 * alone);
    }
}

TEST(InterferencePlan, DurationCountsEveryRepeat) {
    BenchOptions options;
    options.kernels = {"elementwise_large"};
    options.ctas = {4};
    options.hbm_per_cta = {.012};
    const GpuFacts gpu;
    // kernel 270.1 us; communication 4 x 270.1 + 100 = 1180.5 us; flush 100 MiB at 3350 GB/s = 31.3 us.
    // a repeat: 270.1 + 2 x 1180.5 + 3 x (31.3 + 150) = 3175 us; 2 orders x 33 repeats + 3 s = 3.2096 s
    const Seconds all = expected_duration(make_plan(options, gpu, 1), options, gpu);
    EXPECT_NEAR(all, 3.2096, .0005);
}

TEST(InterferencePlan, DryRunSaysWhatAndHowLong) {
    const std::string text = describe(make_plan({}, {}, 1), {}, {});
    EXPECT_THAT(text, HasSubstr("476 pairs = 17 kernels x 14 communications x 2 orders, 30 repeats each"));
    EXPECT_THAT(text, HasSubstr("minutes"));
    EXPECT_THAT(text, HasSubstr("stand-in, 24 CTAs x 1.2 % of HBM"));
    EXPECT_THAT(describe(make_plan({}, {}, 2), {}, {}), HasSubstr("reduce_scatter, 24 CTAs"));
    EXPECT_THAT(kernel_list({}), HasSubstr("1408 x 1536 x 4096"));
}

} // namespace
} // namespace echosim
