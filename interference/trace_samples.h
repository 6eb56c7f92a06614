// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/samples.h"

#include <cstdint>
#include <string>

// Matched pairs of a recorded timeline: the same kernel alone and beside communication on the same GPU.
//
// Two kernels are the same when name, grid, block, registers and shared memory are. Alone: no communication
// ran at any time of it. Time alone is the median over the alone ones, of which there must be three. Each
// kernel of which communication covers 5 % or more is one sample. Left out and counted:
//   - kernels that share more than 5 % of their time with other kernels of the GPU;
//   - kernels shorter than ten steps of the recorder's clock (old Kineto files have microseconds);
//   - kernels whose time alone varies: (upper - lower quartile) / median above .25;
//   - kernels of which half ran below .85 of the time alone beside communication: the calls differ in more
//   than
//     communication, which speeds nothing up (another size under the same grid, data in a cache);
//   - of one kernel and GPU all but 50, spread over the recording.
// The footprint comes from the launch configuration (occupancy.h) and the GPU's limits, which Kineto records;
// HBM share of the kernel is that of its class. Communication: CTAs are the channels, or the grid of NCCL's
// kernel; HBM share is 2.5 x bus bandwidth / HBM bandwidth over the kernel's own duration, waiting included.
// A copy between GPUs is communication that holds no SM. What covers a kernel in part counts in proportion.
namespace echosim {

struct Trace;

struct TracePairs {
    std::vector<InterferenceSample> samples;
    std::vector<std::string> notes;
    std::string gpu;                      // catalogue id, or the words of the file; empty: not known
    std::uint64_t kernels = 0;            // of all GPUs
    std::uint64_t communications = 0;     // likewise
    std::uint64_t kernels_overlapped = 0; // communication covers 5 % or more
    std::uint64_t without_partner = 0;    // of these: no three alone
};

// `where` starts the names of the samples; `gpu`: what is measured, or null for what the trace says. Throws
// InputError when the trace is no recording of GPU work (a simulated timeline, a graph without times).
TracePairs find_pairs(const Trace& trace, const std::string& where, const Gpu* gpu = nullptr);

} // namespace echosim
