// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/plan.h"

#include <span>
#include <string>
#include <vector>

// The samples as CSV: the columns of docs/formats.md, interference samples.
namespace echosim {

// What a kernel is launched with, as the driver says.
struct LaunchFacts {
    std::string name; // of the kernel
    unsigned grid[3] = {0, 1, 1};
    unsigned block[3] = {0, 1, 1};
    int registers = 0;
    Bytes shared_bytes = 0; // static and dynamic
    int blocks_per_sm = 1;
};

struct CommFacts {
    CommCase plan;
    std::string nccl; // version; "stand-in"
    int ctas = 0;     // that it really holds
    Bytes bytes = 0;
    double hbm_share = 0; // measured alone
    int threads = 0, registers = 0;
    Bytes shared_bytes = 0; // the three: 0 where not known
};

struct BenchSample {
    KernelCase kernel;
    LaunchFacts launch;
    CommFacts comm;
    LaunchOrder order = LaunchOrder::comm_first;
    bool high_priority = false;
    Shares shares;
    Seconds alone = 0, overlapped = 0;
    double overlap = 0;
    Seconds comm_alone = 0, comm_overlapped = 0;
    int repeats = 0;
};

// Output tiles of a GEMM whose blocks walk over several; 0 for other kernels. It is one when its grid fits on
// the GPU at once though the result has more tiles than that, were they of 256 x 128, the largest of a block.
//   8192 x 8192 = 32 x 64 tiles by 132 blocks, one an SM: 2048
std::int64_t persistent_tiles(const KernelCase& kernel, const LaunchFacts& launch, const GpuFacts& gpu);

// Lines of `comments` begin the file, each with "# ".
std::string samples_csv(std::span<const BenchSample> samples, const GpuFacts& gpu,
                        std::span<const std::string> comments);

} // namespace echosim
