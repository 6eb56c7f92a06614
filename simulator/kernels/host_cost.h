// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <string_view>

namespace echosim {

// CPU time that the training process spends to launch work, and the device-side latencies around a launch.
// All in seconds. Source: spec of the execution graph, CPU-bound effects, then calibrated per software
// generation.
struct HostCosts {
    Seconds kernel_launch = 6_us; // small aten or custom kernel
    Seconds gemm_launch = 12_us;  // linear layer: autograd node, cuBLAS heuristics
    Seconds attention_launch = 25_us;
    Seconds collective_launch = 22_us; // ProcessGroupNCCL enqueue
    Seconds p2p_launch = 35_us;        // batched send/recv
    Seconds sync = 8_us;               // host wait that finds its event done
    Seconds launch_latency = 3_us;     // end of the launch call to earliest start on the device
    Seconds kernel_gap = 1.0_us;       // between back-to-back kernels of one stream
    Seconds event_wait = 2_us;         // cross-stream dependency
    Seconds step_host = 3000_us;       // Python between steps: data loader, learning rate, logging
};

HostCosts host_costs(std::string_view software);

} // namespace echosim
