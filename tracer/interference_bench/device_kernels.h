// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// The kernels of the benchmark, as their launches see them. Each takes one argument, a struct by value.
//
// Time stamps. A kernel that stamps itself gets `slots`: its first kSlots blocks write when they began, every
// block writes when it ended (the latest per slot). First begin and last end bound the kernel as a profiler
// does. The slots lie 32 bytes apart, so that the stamps of 100,000 blocks do not queue for one address.
namespace echosim {

constexpr int kSlots = 256;
constexpr int kSlotStride = 4;                       // in words of 8 bytes
constexpr int kSlotWords = 2 * kSlots * kSlotStride; // begins, then ends

struct KernelArguments {
    const float* a;
    const float* b;
    float* c;
    std::int64_t rows, columns, depth;
    unsigned long long* slots;
};

// A stand-in for NCCL's kernel: CTAs of 544 threads and about 96 registers that copy chunk after chunk, each
// no sooner than `period_ns` after the last. One that falls behind does not catch up (beyond `slack_ns`, for
// the steps of the clock), as a link would not.
struct StandInArguments {
    const float* from;
    float* to;
    std::int64_t region;         // of a CTA, in chunks
    std::int64_t chunks_per_cta; // to move in all
    unsigned long long period_ns;
    unsigned long long slack_ns;
    unsigned long long* slots;
};
constexpr int kStandInThreads = 544;
constexpr int kChunkVectors = 4;                                             // of 16 bytes, a thread
constexpr std::int64_t kChunkBytes = 16LL * kChunkVectors * kStandInThreads; // read, and as many written
constexpr std::int64_t kStandInSharedBytes = 82LL * 1024;

// Gates hold the streams until everything is queued. The first opens when the host writes `ticket`; the
// second `delay_ns` after the first. `begin`: where the time of opening goes; null: nowhere. After
// `timeout_ns` a gate gives up and says so.
struct Release {
    unsigned long long ticket, time;
};
struct GateArguments {
    const volatile unsigned long long* host_ticket; // null: follows `release`
    volatile Release* release;
    unsigned long long ticket, delay_ns, timeout_ns;
    unsigned long long* begin;
    unsigned long long* expired;
};

struct StampArguments {
    unsigned long long* to;
};

struct ClockArguments {
    unsigned long long* step; // the smallest step seen in `steps`
    int steps;
};

enum class Filling : std::uint8_t { fp32, fp16, bf16 };
struct FillArguments {
    void* values; // uniform in -1..1
    std::int64_t count;
    Filling filling;
};

enum class DeviceKernel : std::uint8_t {
    elementwise,
    copy,
    row_sum,
    layer_norm,
    column_sum,
    one_block,
    multiply_add,
    stand_in,
    gate,
    stamp,
    clock_step,
    fill
};

// For cudaLaunchKernel and cudaFuncGetAttributes.
const void* device_function(DeviceKernel kernel);

} // namespace echosim
