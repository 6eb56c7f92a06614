// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/prior.h"

namespace echosim {

// Blocks of a kernel that fit on one SM at once, as CUDA's occupancy calculator counts them. The least of
//   threads          threads of an SM / threads of a block in whole warps of 32
//   registers        registers of an SM / (warps of a block x registers of a warp, in units of 256)
//   shared memory    that of an SM / (that of a block + 1 KiB that the driver takes)
//   slots            32
// At least 1 (a kernel that ran fitted). Registers or shared memory 0: not known or none, no bound.
// Example: 256 threads, 64 registers, 32 KiB on an A100 (2,048 threads, 65,536 registers, 164 KiB): threads
// 8, registers 65,536 / (8 x 2,048) = 4, shared memory 164 / 33 = 4.97: 4 blocks.
double blocks_that_fit(const KernelFootprint& kernel, const GpuLimits& limits);

} // namespace echosim
