// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <string_view>

namespace echosim {

// CPU time that the training process spends to launch work, and the device-side latencies around a launch.
// All in seconds. The defaults are Megatron-Core with Transformer Engine: between the sum of its single ops
// and what the launch-bound runs of Megatron-LM's own functional tests show (hidden 512, 4-6 ms a layer and
// micro-batch, with debug checks on), and no slower than the fastest measured steps of 8 B200 allow.
struct HostCosts {
    Seconds kernel_launch = 20_us; // small aten or custom kernel
    Seconds gemm_launch = 60_us;   // linear layer: module, autograd node, cuBLAS heuristics
    Seconds attention_launch = 120_us;
    Seconds collective_launch = 90_us; // ProcessGroupNCCL enqueue
    Seconds p2p_launch = 120_us;       // batched send/recv
    Seconds sync = 15_us;              // host wait that finds its event done
    Seconds launch_latency = 3_us;     // end of the launch call to earliest start on the device
    Seconds kernel_gap = 1.0_us;       // between back-to-back kernels of one stream
    Seconds event_wait = 2_us;         // cross-stream dependency
    Seconds step_host = 10000_us;      // Python between steps: data loader, learning rate, logging
};

HostCosts host_costs(std::string_view software);

} // namespace echosim
