// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"

// What an op occupies of its GPU while it runs: all that the interference models know of it. Shares are of
// what the GPU has, 0..1. Zero means "not known" where a field says so.
namespace echosim {

// A compute kernel.
struct KernelFootprint {
    KernelClass kernel_class = KernelClass::other;
    Seconds time = 0;     // alone
    double hbm_share = 0; // u: of the HBM bandwidth (profilers: DRAM throughput)
    double compute_share =
        0;             // of the peak of its arithmetic pipe (profilers: compute throughput); 0: not known
    double blocks = 0; // G: of the grid; 0: not known
    double blocks_per_sm = 1; // q: that fit at once, the occupancy limit
    // Warps resident on the SMs in use over what the occupancy limit allows; 0: not known. Where the grid is
    // not known it bounds G / (q M) from above.
    double occupancy_ratio = 0;
    int threads_per_block = 0; // 0: not known; likewise the two below
    int registers_per_thread = 0;
    double shared_bytes = 0; // of a block
    bool tensor_cores = false;
    bool persistent = false; // one wave of blocks that loop over `tiles`
    double tiles = 0;        // output tiles of a persistent kernel; 0: = blocks
    bool yields_sms = false; // stream-K, or a kernel with an SM margin: shares the remaining SMs evenly
};

// A collective, a transfer or a copy. ctas = 0: moved by copy engines or by the network alone.
struct CommFootprint {
    double ctas = 0;      // c: thread blocks that hold an SM each from start to end
    double hbm_share = 0; // h / BW: of the HBM bandwidth that it needs alone
    double nvlink_share = 0;
    double nic_share = 0;
    int threads_per_cta = 544;
    int registers_per_thread = 96;
    double shared_bytes = 82 * 1024.0; // of a CTA
    CollectiveKind kind = CollectiveKind::all_reduce;
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    bool high_priority = false; // its stream has a higher priority than that of the kernels
};

} // namespace echosim
