// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <cuda_runtime.h>

// A CUDA runtime that computes times instead of running kernels, for tests of the benchmark's host side: two
// streams on a GPU whose clock it owns. Queued work runs when the host waits. What it answers:
//   - an op begins `gap` after the op before it on its stream,
//   - a kernel of our own takes `kernel_time`; while c CTAs of communication run it takes 1 + .01 c as long,
//   - communication takes 1.1 times as long while a kernel runs,
//   - fill and memset take no time.
namespace echosim::fake {

struct Settings {
    int gpus = 1;
    TimeNs gap = 900;
    TimeNs kernel_time = 200'000;
    TimeNs clock_step = 32;
    bool driver_tells = true; // what is in captured graphs
};

void reset(const Settings& settings); // also clears the counts

struct Counts {
    int streams = 0, buffers = 0, graphs = 0; // alive
    int captures = 0;
    int comms = 0; // alive
};
Counts& counts();

// What a library launches, for the stand-ins of cuBLAS and NCCL (fake_libraries.cpp).
struct LibraryKernel {
    const char* mangled_name;
    unsigned blocks, threads;
    TimeNs time; // alone
    int ctas;    // of communication; 0: a compute kernel
};

} // namespace echosim::fake

extern "C" void fake_gpu_launch(const echosim::fake::LibraryKernel* kernel, cudaStream_t stream);
extern "C" void fake_gpu_count_comms(int change);
