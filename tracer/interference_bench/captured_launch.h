// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/samples_csv.h"

#include <cuda_runtime.h>
#include <optional>

// How a library launches its kernels, which it does not tell: the launch is captured into a CUDA graph
// instead of being run, and the driver says name, grid and registers of the kernel nodes.
namespace echosim {

// Of the node with the most threads in all; nullopt when the driver is too old to say, or there is no kernel.
std::optional<LaunchFacts> facts_of_graph(cudaGraph_t graph);

} // namespace echosim
