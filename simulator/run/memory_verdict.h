// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/gpu.h"
#include "simulator/run/result.h"

#include <vector>

namespace echosim {

// Memory by pipeline stage: parameters, gradients, optimizer state and buffers from the memory model
// (workload/tensor_sizes.h), activations from the simulated step (`activations`, peak by stage). Says whether
// all stages fit, and if not the smallest change of the job that does.
Memory judge_memory(const Job& job, const Gpu& gpu, const std::vector<Bytes>& activations);

} // namespace echosim
