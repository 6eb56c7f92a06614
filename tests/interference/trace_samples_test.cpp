// SPDX-License-Identifier: Apache-2.0
#include "interference/occupancy.h"
#include "interference/samples/overlap_sweep.h"
#include "interference/samples/recorder_facts.h"
#include "interference/trace_samples.h"
#include "simulator/catalogue/gpu.h"
#include "simulator/core/error.h"
#include "traces/trace.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace echosim {
namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Kernels [0,10) and [10,20), communications [5,12) and [8,30): 5 ns and 10 ns are covered; the second kernel
// meets the first communication for 2 ns and the second one for 10.
TEST(OverlapSweep, ByHand) {
    const std::vector<WorkInterval> kernels{{0, 10}, {10, 20}};
    const std::vector<WorkInterval> comms{{5, 12}, {8, 30}};
    const OverlapSweep sweep = sweep_overlaps(kernels, comms);
    EXPECT_EQ(sweep.beside_comm, (std::vector<TimeNs>{5, 10}));
    EXPECT_EQ(sweep.beside_kernels, (std::vector<TimeNs>{0, 0}));
    ASSERT_EQ(sweep.pairs.size(), 4U);
    EXPECT_EQ(sweep.pairs[1].time, 2); // first kernel, second communication: [8,10)
    EXPECT_EQ(sweep.pairs[2].time, 2); // second kernel, first communication: [10,12)
    EXPECT_EQ(sweep.pairs[3].time, 10);
    // [0,10) beside [4,6): at most 6 of it; [4,6) is covered
    EXPECT_EQ(sweep_overlaps(std::vector<WorkInterval>{{0, 10}, {4, 6}}, {}).beside_kernels,
              (std::vector<TimeNs>{6, 2}));
}

// Against counting nanosecond by nanosecond.
TEST(OverlapSweep, RandomIntervals) {
    std::mt19937 random(7);
    std::vector<WorkInterval> kernels, comms;
    for (auto* rows : {&kernels, &comms}) {
        for (int i = 0; i < 60; ++i) {
            const TimeNs start = std::uniform_int_distribution<TimeNs>(0, 300)(random);
            rows->push_back({start, start + std::uniform_int_distribution<TimeNs>(1, 40)(random)});
        }
        std::ranges::sort(*rows, {}, &WorkInterval::start);
    }
    const OverlapSweep sweep = sweep_overlaps(kernels, comms);
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        TimeNs covered = 0;
        for (TimeNs t = kernels[k].start; t < kernels[k].end; ++t) {
            covered += std::ranges::any_of(comms, [&](auto c) { return c.start <= t && t < c.end; }) ? 1 : 0;
        }
        EXPECT_EQ(sweep.beside_comm[k], covered) << k;
    }
}

// A100: 256 threads, 64 registers, 32 KiB: 8 by threads, 4 by registers, 4 by shared memory (164 / 33).
TEST(Occupancy, BlocksThatFit) {
    const GpuLimits a100;
    KernelFootprint kernel{.threads_per_block = 256, .registers_per_thread = 64, .shared_bytes = 32 * 1024.0};
    EXPECT_EQ(blocks_that_fit(kernel, a100), 4);
    kernel.registers_per_thread = 32;
    kernel.shared_bytes = 0;
    EXPECT_EQ(blocks_that_fit(kernel, a100), 8);
    kernel.threads_per_block = 32; // 64 by threads, but 32 slots
    EXPECT_EQ(blocks_that_fit(kernel, a100), 32);
    kernel.shared_bytes = 200 * 1024.0; // more than there is: it ran nevertheless
    EXPECT_EQ(blocks_that_fit(kernel, a100), 1);
}

// Half a wave of elementwise blocks takes half of the class's share.
TEST(Occupancy, TypicalHbmShare) {
    const KernelFootprint full{.kernel_class = KernelClass::elementwise, .blocks = 1080, .blocks_per_sm = 5};
    KernelFootprint half = full;
    half.blocks = 270; // of 540 that fit
    EXPECT_DOUBLE_EQ(typical_hbm_share(full, 108), 0.84);
    EXPECT_DOUBLE_EQ(typical_hbm_share(half, 108), 0.42);
}

TEST(RecorderFacts, GpuOfTheHeader) {
    const RecordedGpu kineto = recorded_gpu(
        R"({"deviceProperties":[{"name":"Tesla V100-SXM2-32GB","numSms":80,"sharedMemPerMultiprocessor":98304}],
            "distributedInfo":{"nccl_version":"2.22.3"}})",
        nullptr);
    EXPECT_EQ(kineto.name, "v100-sxm2-32gb");
    EXPECT_EQ(kineto.limits.sms, 80);
    EXPECT_EQ(kineto.limits.shared_bytes_per_sm, 98304);
    EXPECT_GT(kineto.hbm, 0);
    EXPECT_EQ(kineto.nccl_version, "2.22.3");
    EXPECT_EQ(recorded_gpu(R"({"gpus":["NVIDIA H100 80GB HBM3"]})", nullptr).name, "h100-sxm");
    EXPECT_EQ(recorded_gpu(R"({"merged":[{"gpus":["NVIDIA H100 80GB HBM3"]}]})", nullptr).name, "h100-sxm");
    const RecordedGpu other =
        recorded_gpu(R"({"deviceProperties":[{"name":"Prototype 9","numSms":50}]})", nullptr);
    EXPECT_EQ(other.name, "Prototype 9");
    EXPECT_EQ(other.limits.sms, 50);
    EXPECT_EQ(other.hbm, 0);
    EXPECT_EQ(recorded_gpu(R"({"deviceProperties":[{"numSms":50}]})", &find_gpu("h100-sxm")).limits.sms, 132);
    for (const char* odd :
         {"", "[]", "{", R"({"deviceProperties":3})", R"({"deviceProperties":[3],"gpus":[4]})"}) {
        EXPECT_EQ(recorded_gpu(odd, nullptr).name, "") << odd;
    }
}

TEST(RecorderFacts, BusFactor) {
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_reduce, 8), 1.75);
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_reduce, 0), 2);
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_gather, 2), 0.5);
    EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::broadcast, 8), 1);
}

// One H100 rank: a compute stream 7 and NCCL's stream 20.
class TraceSamples : public testing::Test {
  protected:
    TraceSamples() {
        builder_.set_meta(R"({"deviceProperties":[{"name":"NVIDIA H100 80GB HBM3","numSms":132}]})");
        rank_ = builder_.add_class("rank 3", 0, {3});
        compute_ = stream(StreamKind::compute, "stream 7", 7);
        comm_ = stream(StreamKind::comm, "stream 20", 20);
    }
    std::uint32_t stream(StreamKind kind, const char* name, int number) {
        const std::uint32_t row = builder_.add_stream(rank_, kind, name);
        builder_.set_origin(row, 0, number);
        return row;
    }
    void kernel(TimeNs start, TimeNs duration, std::uint32_t blocks = 264,
                const char* name = "my_gemm_bf16") {
        const auto launch = builder_.add_launch({{blocks, 1, 1}, {256, 1, 1}, 128, 100'000});
        builder_.add_event(compute_, event(start, duration, name, EventKind::kernel, launch));
    }
    // 24 CTAs, 64 MiB; `duration` of 1 ms is 67.1 GB/s, bus bandwidth x 1.75 over 8 ranks
    void all_reduce(TimeNs start, TimeNs duration) {
        CommOp op;
        op.kind = CollectiveKind::all_reduce;
        op.bytes = 64_MiB;
        op.group_size = 8;
        Event row =
            event(start, duration, "ncclDevKernel_AllReduce", EventKind::comm, builder_.add_comm_op(op));
        row.args = builder_.name(
            R"({"grid":[24,1,1],"block":[544,1,1],"registers per thread":96,"shared memory":83968})");
        builder_.add_event(comm_, row);
    }
    Event event(TimeNs start, TimeNs duration, const char* name, EventKind kind, std::uint32_t ext) {
        Event row;
        row.start = start;
        row.duration = duration;
        row.name = builder_.name(name);
        row.kind = kind;
        row.ext = ext;
        row.provenance = Provenance::measured;
        return row;
    }
    TracePairs pairs(const Gpu* gpu = nullptr) { return find_pairs(builder_.finish(), "t.json", gpu); }

    TraceBuilder builder_;
    std::uint32_t rank_ = 0, compute_ = 0, comm_ = 0;
};

// Alone 100,000, 100,010 and 100,301 ns: median 100,010. Beside an all-reduce of [2 ms, 3 ms) one run takes
// 150,015 ns: 1.5; one reaches into it with its last 50,000 of 125,000 ns: overlap .4, and the kernel was
// first.
TEST_F(TraceSamples, AloneAndOverlapped) {
    kernel(0, 100'000);
    kernel(200'000, 100'010);
    kernel(400'000, 100'301);
    kernel(1'925'000, 125'000);
    all_reduce(2'000'000, 1'000'000);
    kernel(2'500'000, 150'015);
    kernel(2'700'000, 90'001, 132); // another grid: never alone
    const TracePairs found = pairs();
    EXPECT_EQ(found.gpu, "h100-sxm");
    EXPECT_EQ(found.kernels, 6U);
    EXPECT_EQ(found.communications, 1U);
    EXPECT_EQ(found.kernels_overlapped, 3U);
    EXPECT_EQ(found.without_partner, 1U);
    ASSERT_EQ(found.samples.size(), 2U);
    const InterferenceSample& first = found.samples[0];
    const InterferenceSample& second = found.samples[1];
    EXPECT_DOUBLE_EQ(first.time_alone, 100.010e-6);
    EXPECT_DOUBLE_EQ(first.overlap, 0.4);
    EXPECT_TRUE(first.load.kernel_first);
    EXPECT_NEAR(second.factor(), 1.5, 1e-12);
    EXPECT_DOUBLE_EQ(second.overlap, 1);
    EXPECT_FALSE(second.load.kernel_first);
    EXPECT_DOUBLE_EQ(second.load.ctas, 24);
    // 2.5 x 1.75 x 64 MiB / 1 ms / 3.35 TB/s
    EXPECT_NEAR(second.load.hbm_share, 2.5 * 1.75 * 67.108864e9 / 3.35e12, 1e-3);
    EXPECT_EQ(second.communication, "all_reduce 24 CTAs 64.0 MiB and more");
    EXPECT_EQ(second.family, "my_gemm_bf");
    EXPECT_EQ(second.id, "t.json: rank 3 stream 7, kernel at 2.500000 ms");
    EXPECT_DOUBLE_EQ(second.kernel.blocks, 264);
    EXPECT_EQ(second.kernel.threads_per_block, 256);
    // 100,000 bytes of the 164 KiB that stand for what the file does not say: 1 fits
    EXPECT_DOUBLE_EQ(second.kernel.blocks_per_sm, 1);
    EXPECT_TRUE(second.kernel.tensor_cores);
}

// Half of a kernel beside 24 CTAs that hold the SMs, the other half beside none: counted for what is covered.
// Two all-reduces, each over a half: 24 CTAs at any time, not 48.
TEST_F(TraceSamples, OneAfterTheOther) {
    for (TimeNs i = 0; i < 3; ++i) {
        kernel(i * 200'000, 100'001);
    }
    all_reduce(1'000'000, 50'000);
    all_reduce(1'050'000, 50'001);
    kernel(1'000'000, 100'001);
    const TracePairs found = pairs();
    ASSERT_EQ(found.samples.size(), 1U);
    EXPECT_NEAR(found.samples[0].load.ctas, 24, 1e-9);
    EXPECT_DOUBLE_EQ(found.samples[0].overlap, 1);
}

TEST_F(TraceSamples, LeavesOutWhatIsNotComparable) {
    const std::uint32_t other = stream(StreamKind::compute, "stream 8", 8);
    for (TimeNs i = 0; i < 3; ++i) {
        kernel(i * 2'000'000, 100'001);                            // good
        kernel(i * 2'000'000 + 200'000, 100'001 + i * 90'000, 11); // varies from 100 to 280 us alone
        kernel(i * 2'000'000 + 600'000, 100'001, 12);              // ran faster beside communication
    }
    all_reduce(10'000'000, 5'000'000);
    kernel(10'100'000, 110'001);
    kernel(10'300'000, 110'001, 11);
    kernel(10'500'000, 50'001, 12);
    kernel(10'700'000, 110'001); // shares half of its time with a kernel of stream 8
    builder_.add_event(other, event(10'750'000, 200'000, "beside", EventKind::kernel,
                                    builder_.add_launch({{1, 1, 1}, {32, 1, 1}, 8, 0})));
    const TracePairs found = pairs();
    ASSERT_EQ(found.samples.size(), 1U);
    EXPECT_NEAR(found.samples[0].factor(), 1.1, 1e-4);
    std::string notes;
    for (const std::string& note : found.notes) {
        notes += note + "\n";
    }
    EXPECT_TRUE(has(notes, "2 kernels left out: other kernels ran beside them")) << notes;
    EXPECT_TRUE(has(notes, "1 overlapped kernels left out: their time alone varies")) << notes;
    EXPECT_TRUE(has(notes, "1 overlapped kernels left out: as a rule they ran faster")) << notes;
}

// Whole microseconds: a kernel of 9 us is off by up to 11 %.
TEST_F(TraceSamples, ClockOfMicroseconds) {
    for (TimeNs i = 0; i < 3; ++i) {
        kernel(i * 200'000, 9'000);
        kernel(i * 200'000 + 100'000, 10'000, 11);
    }
    all_reduce(1'000'000, 1'000'000);
    kernel(1'100'000, 12'000);
    kernel(1'200'000, 13'000, 11);
    const TracePairs found = pairs();
    ASSERT_EQ(found.samples.size(), 1U);
    EXPECT_DOUBLE_EQ(found.samples[0].time_alone, 10e-6);
}

TEST_F(TraceSamples, CopyBetweenGpusHoldsNoSm) {
    for (TimeNs i = 0; i < 3; ++i) {
        kernel(i * 200'000, 100'001);
    }
    builder_.add_event(comm_, event(1'000'000, 200'001, "Memcpy PtoP", EventKind::memcpy,
                                    builder_.add_copy({CopyKind::peer_to_peer, 67'000'000})));
    kernel(1'050'000, 105'001);
    const TracePairs found = pairs();
    ASSERT_EQ(found.samples.size(), 1U);
    EXPECT_DOUBLE_EQ(found.samples[0].load.ctas, 0);
    EXPECT_NEAR(found.samples[0].load.hbm_share, 0.1, 1e-3); // 335 GB/s of 3.35 TB/s
}

TEST_F(TraceSamples, RefusesWhatMeasuresNothing) {
    EXPECT_THROW(pairs(), InputError); // no kernels
    Trace simulated;
    simulated.timed = false;
    EXPECT_THROW(find_pairs(simulated, "g.etr"), InputError);
}

TEST_F(TraceSamples, NoCommunicationNoPairs) {
    kernel(0, 100'001);
    EXPECT_TRUE(pairs().samples.empty());
}

} // namespace
} // namespace echosim
