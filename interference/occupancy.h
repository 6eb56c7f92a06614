// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/prior.h"

// What the launch configuration of a kernel says.
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

// Share of the HBM bandwidth that kernels of this class take where nobody measured it: medians of the kernels
// of Echo-slowdown that fill the GPU for 20 us or more (elementwise .84, copy .75, norm .65, reduction .33,
// gemm .03 in fp32, attention .11), the rest by relation; less in proportion where the grid fills less than
// one wave, G / (q M).
double typical_hbm_share(const KernelFootprint& kernel, double sms);

} // namespace echosim
