// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <string>

namespace echosim {

// What the plan needs to know of a GPU. The defaults are those of an H100 SXM, for plans made without a GPU.
struct GpuFacts {
    std::string name = "NVIDIA H100 80GB HBM3";
    int sms = 132;
    int compute_major = 9;
    int compute_minor = 0;
    int threads_per_sm = 2048;
    double clock = 1.83e9; // of the SMs under load, Hz
    BytesPerSecond hbm_bandwidth = 3.35e12;
    Bytes l2_bytes = 50_MiB;
    Bytes memory_bytes = 80_GiB;
};

// Bandwidth of memory whose bus transfers twice a clock: 2 x clock x bits / 8. H100 SXM: 2619 MHz, 5120 bit:
// 3,352 GB/s.
BytesPerSecond memory_bandwidth(double memory_clock, int bus_bits);

// Peak of all SMs: flops of one SM in one clock x clock x SMs. fp16 and bf16 on tensor cores with fp32 sums,
// dense; fp32 on the ordinary pipe. H100: 4096 x 1.83 GHz x 132 = 989 TFLOPS.
FlopsPerSecond half_peak(const GpuFacts& gpu);
FlopsPerSecond float_peak(const GpuFacts& gpu);

} // namespace echosim
