// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "tracer/interference_bench/device_kernels.h"
#include "tracer/interference_bench/gpu_facts.h"

// Arithmetic of the stand-in: from a rate to chunks and periods.
namespace echosim {

struct Pacing {
    TimeNs period = 0; // between the chunks of a CTA
    TimeNs slack = 0;  // what it may be late and catch up
};

// A CTA that takes `share` of the HBM bandwidth moves 2 kChunkBytes (read and written) in each period. The
// slack is one period, at least two steps of the clock, so that its steps do not lower the rate.
//   H100, share .012: 69,632 B / (.012 x 3350 GB/s) = 1.73 us
Pacing pacing_of(double share, const GpuFacts& gpu, TimeNs clock_step);

// Chunks of each CTA that together move `bytes` of traffic, at least one.
std::int64_t chunks_for(Bytes bytes, int ctas);
Bytes traffic_of(std::int64_t chunks_per_cta, int ctas);

// Chunks of a CTA's own part of a buffer, at least one.
std::int64_t region_chunks(Bytes buffer, int ctas);

// Bus bandwidth of a collective on n GPUs over its algorithm bandwidth (bytes / time), as nccl-tests defines
// it: all-reduce 2 (n - 1) / n, all-gather and reduce-scatter (n - 1) / n.
double bus_factor(CollectiveKind kind, int gpus);

// HBM bytes for each byte on the bus: 2.5 for a ring, whose data lands in a buffer, is read back and meets
// the user's buffer; 1.5 where the switch sums (NVLS), which `nccl_algo`, the variable NCCL_ALGO, has to ask
// for.
double hbm_per_bus_byte(const char* nccl_algo);

} // namespace echosim
