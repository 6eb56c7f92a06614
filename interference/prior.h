// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/estimate.h"
#include "interference/slowdown.h"

// What overlap costs, from what kernels and communication hold of the GPU alone: no training data.
//
// Of a kernel: G blocks of its grid (a persistent kernel: its output tiles), q that fit on an SM at once, u
// the share of the HBM bandwidth that it takes alone, its class. Of the communication beside it, summed: c
// CTAs, h the share of the HBM bandwidth. Of the GPU: M SMs. Factors S = time beside communication / time
// alone.
//
// SMs. A CTA of communication holds its SM from start to end; blocks are not preempted. It takes a whole SM
// from the kernel where the kernel's blocks leave it no room (registers, shared memory, threads), else its
// part of the SM's threads, 544 / 2048 = .27:
//   M' = M - (c - c_fit) - .27 c_fit,   x = G / (q M),   x' = G / (q M')        waves of blocks
//   W(x) = (1 - z) ceil(x) + z max(1, x)     time in block lifetimes. z is how much uneven blocks blur the
//          last wave: GEMM .2, kernels that stream memory .8, others .3; 1 for kernels that share the
//          remaining SMs evenly (stream-K, SM margin)
//   S_sm = W(x') / W(x).    Kernel first: it keeps all M for its first block lifetime,
//   S_sm = (1 + (1 - z) ceil(y) + z y) / W(x), y = (x - 1) M / M';   1 where x <= 1: all blocks are placed.
// Grid not known: x is the occupancy ratio where that is at most .55, else many waves, S_sm = M / M'.
//
// HBM. S_mem = max(1 + .15 h, (u + h) / max(.92, u)): a mild loss below saturation, the proportional share
// above it; 1 for h = 0 whatever u.
//
// Together, with the share b of the time that the SMs limit, .1 <= b <= .9: b = compute / (compute + HBM
// share), or 1 - u where the compute share is not known:
//   S = ( ((b S_sm)^4 + ((1 - b) S_mem)^4) / (b^4 + (1 - b)^4) )^(1/4) x S_few x S_clock, at most 6
//   S_few   = 1 + 2 min(1, c) min(1, 2 - 2 x) for gradients of norm weights (KernelClass::norm_wgrad) whose
//             blocks do not fill the GPU, x < 1; else 1. Few blocks that each walk through memory wait for
//             its latency. Batch-norm backward beside an all-reduce: 2-4 times (NCCL issue 338).
//   S_clock = 1 + .02 min(1, h / .1) for a kernel bound by its tensor cores, else 1: at the power cap clocks
//             fall by what communication draws.
// Every part is 1 without communication, and more CTAs or more traffic lower none.
//
// Communication: S = 1 + .5 max(0, u + h - max(.9, h_own)), at most 2, u and h summed over all that runs.
//
// Wait of communication that starts while a kernel runs and finds no room (equal priority): blocks of a later
// kernel are dispatched only when all blocks of the earlier one have been (Amert et al., "GPU Scheduling on
// the NVIDIA TX2: Hidden Details Revealed", RTSS 2017). SMs come free when the last full wave of the kernel
// ends, t floor(x) / ceil(x) after its start, x over blocks even for persistent kernels; at its end where the
// last wave leaves less than c SMs free. At higher priority freed SMs go to the communication first: half a
// block lifetime, t / (2 ceil(x)); what is left of the kernel where x <= 1. A grid that is not known counts
// as 9.5 waves. A kernel that starts second does not wait: it finds fewer SMs.
//
// Examples (tests/interference/prior_test.cpp):
//   GEMM of 132 blocks, 24 CTAs, H100 (132 SMs): x 1, x' 1.22: S_sm = .8 x 2 + .2 x 1.22 = 1.84
//   GEMM of 3072 blocks, 24 CTAs, A100 (108 SMs): 36.57 / 28.44 waves: S_sm = 36.91 / 28.89 = 1.28
//   bf16 GEMM of many waves, H100, 4 CTAs, h = .036: 132 / 128 x (1 + .02 x .36) = 1.04
//   all-reduce with h = .3 beside a kernel with u = .8: 1 + .5 (1.1 - .9) = 1.1
//   24 CTAs start .3 ms into a kernel of 1 ms and 2.5 waves of large blocks: free at 2/3 ms, wait .367 ms
namespace echosim {

// What of a GPU the equations need.
struct GpuLimits {
    double sms = 108; // M
    double threads_per_sm = 2048;
    double registers_per_sm = 65536;
    double shared_bytes_per_sm = 164 * 1024.0;
};
struct Gpu;
GpuLimits limits_of(const Gpu& gpu); // by architecture (CUDA programming guide, CDNA white papers)

// load_of (estimate.h) for a GPU that is known; that one takes an A100.
CommLoad load_of(const KernelFootprint& kernel, std::span<const CommFootprint> communication,
                 bool kernel_first, const GpuLimits& limits);

// G / (q M) over the tiles of persistent kernels; the occupancy ratio where the grid is not known and the
// ratio is at most .55; 0: not known, many.
double waves_of(const KernelFootprint& kernel, double sms);

// The prior: no training data needed. A value; thread-safe.
class PriorSlowdown final : public SlowdownModel, public SlowdownEstimator {
  public:
    explicit PriorSlowdown(const GpuLimits& limits);
    bool identity() const override { return false; }
    void rates(std::span<const Running> on_one_gpu, std::span<double> rate) const override;
    Seconds start_delay(const Running& starting, std::span<const Running> on_one_gpu,
                        std::span<const Seconds> remaining) const override;
    SlowdownEstimate estimate(const KernelFootprint& kernel, const CommLoad& load,
                              std::string_view family) const override;
    const GpuLimits& limits() const { return limits_; }

    // What runs beside the kernel on_one_gpu[i]; ops in the order of their start.
    CommLoad load_beside(std::span<const Running> on_one_gpu, std::size_t i) const;
    // S, the factor of estimate().
    double factor(const KernelFootprint& kernel, const CommLoad& load) const;

  private:
    Seconds wait_for(const KernelFootprint& kernel, Seconds remaining, const CommFootprint& comm,
                     double held) const;

    GpuLimits limits_;
};

} // namespace echosim
