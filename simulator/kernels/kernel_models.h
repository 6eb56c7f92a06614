// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"
#include "simulator/kernels/kernel_time.h"

#include <array>

// The equations behind KernelTimes, with their parameters as plain values, so that the fitter of
// validation/fit uses the very same code. Times are of one kernel alone, before the sustained derating.
namespace echosim {

// What the equations need to know of the GPU.
struct KernelMachine {
    FlopsPerSecond peak = 0; // dense peak of the type the kernel computes in
    BytesPerSecond bandwidth = 0;
    double sms = 0;
};

// Output tiles that a GEMM library chooses from, the largest edge first.
struct GemmTile {
    double rows, columns;
    int kind; // index into GemmParameters::tile_efficiency
};
constexpr std::array<GemmTile, 6> kGemmTiles{
    {{256, 128, 0}, {128, 256, 0}, {128, 128, 1}, {128, 64, 2}, {64, 128, 2}, {64, 64, 3}}};

// One tile of bm x bn outputs takes 2 bm bn (k + k_prologue) / (peak / SMs x ceiling x tile_efficiency); a
// grid of T tiles takes W = T / SMs waves, of which the share `wave_quantisation` counts as ceil(W) and the
// rest as max(W, 1) (stream-K, tiles of unequal speed). Splitting k over s blocks gives s T tiles of k / s
// and s fp32 partial sums. The library takes the fastest of all these. Long kernels slow down (power, L2
// misses) towards 1 + long_slowdown. The rest is overlap with memory traffic, (compute^p + memory^p)^(1/p),
// and a fixed time.
struct GemmParameters {
    double ceiling = 0.85;
    double k_prologue = 150;
    double wave_quantisation = 0.5;
    double fixed_us = 3;
    double memory_efficiency = 0.8;
    double overlap_power = 4;
    std::array<double, 4> tile_efficiency{1, 0.9, 0.75, 0.6}; // 256x128, 128x128, 128x64, 64x64
    double split_cost = 1; // traffic of partial sums relative to 4 bytes each
    double long_slowdown = 0.1;
    double long_us = 1000; // kernel time at which half of the slow-down is reached
};

// Grid of blocks of 128 query rows per head and sequence. A block does 4 x 128 d (share x seq_kv +
// kv_prologue) operations (times 2.5 backward) at peak / SMs x ceiling x head-dimension factor, share = 1/2
// when causal; waves as for GEMM. Causal blocks differ in length, and the last query rows take `longest` of a
// full block: a floor for small grids.
struct AttentionParameters {
    double ceiling = 0.6;
    double kv_prologue = 250;
    double wave_quantisation = 1;
    double fixed_us = 4;
    double memory_efficiency = 0.8;
    double longest = 0.7;
    std::array<double, 4> head_dim_factor{0.8, 1, 1, 1}; // head dimension 64, 128, 192, 256
};

Seconds gemm_time(const GemmParameters& parameters, const KernelMachine& machine, const GemmShape& shape,
                  double pass_factor);
Seconds attention_time(const AttentionParameters& parameters, const KernelMachine& machine,
                       const AttentionShape& shape);

// A kernel bound by memory traffic: `fixed_us` to start and drain, then the achievable bandwidth.
Seconds memory_time(double fixed_us, BytesPerSecond achievable, double bytes);

Flops gemm_flops(const GemmShape& shape);
double gemm_bytes(const GemmShape& shape);
Flops attention_flops(const AttentionShape& shape);
double attention_bytes(const AttentionShape& shape);

} // namespace echosim
