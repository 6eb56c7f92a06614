// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/prior.h"

#include <string>
#include <string_view>

// What a recorder (Kineto, Nsight Systems) says in the JSON that a trace keeps: of the GPU in its header, of
// a kernel in its arguments. Nothing is an error: what is missing or of another type is not known.
namespace echosim {

struct RecordedGpu {
    std::string name; // catalogue id, or the words of the file
    GpuLimits limits;
    BytesPerSecond hbm = 0; // 0: not known
    std::string nccl_version;
};
// From Trace::meta: "deviceProperties" of Kineto, "gpus" of Nsight Systems, "distributedInfo" (or, merged
// from several ranks, those of the first). `gpu`, unless null, is taken instead of what the file says of the
// GPU.
RecordedGpu recorded_gpu(std::string_view meta, const Gpu* gpu);

// Launch configuration of NCCL's kernel (grid, block, registers per thread, shared memory): its grid is the
// CTAs, unless `footprint.ctas` is known already.
void read_comm_launch(std::string_view args, CommFootprint& footprint);

// "est. achieved occupancy %" of Kineto over the limit of the kernel's blocks per SM; 0: not known.
double recorded_occupancy(std::string_view args, const KernelFootprint& kernel, const GpuLimits& limits);

// Bus bandwidth / (message / time) as nccl-tests has it; members 0: not known, the limit of many. 2 ranks:
// all_reduce 2 (n-1)/n = 1, all_gather .5, broadcast 1.
double bus_factor(CollectiveKind kind, std::uint32_t members);

} // namespace echosim
