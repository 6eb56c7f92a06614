// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/gpu_facts.h"

namespace echosim {
namespace {

// Per SM and clock, an addition and a multiplication counted as two.
struct SmRate {
    double half, single;
};

SmRate rate_of(int major, int minor) {
    constexpr double kFmas64 = 128, kFmas128 = 256;
    if (major >= 12)
        return {1024, kFmas128};
    if (major >= 10)
        return {8192, kFmas128};
    if (major == 9)
        return {4096, kFmas128};
    if (major == 8 && minor == 0)
        return {2048, kFmas64};
    if (major == 8)
        return {1024, kFmas128};
    return {1024, kFmas64};
}

} // namespace

BytesPerSecond memory_bandwidth(double memory_clock, int bus_bits) {
    return 2 * memory_clock * bus_bits / 8;
}

FlopsPerSecond half_peak(const GpuFacts& gpu) {
    return rate_of(gpu.compute_major, gpu.compute_minor).half * gpu.clock * gpu.sms;
}

FlopsPerSecond float_peak(const GpuFacts& gpu) {
    return rate_of(gpu.compute_major, gpu.compute_minor).single * gpu.clock * gpu.sms;
}

} // namespace echosim
