// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernels/host_cost.h"

namespace echosim {
namespace {

// Lower ends, from profiles of single ops: aten op 5-8 us, autograd node 5-10 us, custom kernel 3-4 us,
// ProcessGroupNCCL enqueue 15-30 us, Transformer Engine module 25-60 us a linear forward; device: 0.8-1.5 us
// between kernels of one stream, 1.5-3 us for an event of another stream, 2-4 us from the launch call to the
// start. Whole training loops cost more a launch than the sum of their ops (Python modules, hooks, autograd
// graph, checks), so the sets below are the ones that launch-bound measurements ask for.

// Megatron-LM of 2020-22: plain aten ops and Apex, no Transformer Engine. No launch-bound measurement; a
// kernel at twice the lower end.
constexpr HostCosts kEager{.kernel_launch = 15_us,
                           .gemm_launch = 25_us,
                           .attention_launch = 40_us,
                           .collective_launch = 45_us,
                           .p2p_launch = 60_us,
                           .sync = 10_us,
                           .launch_latency = 3.5_us,
                           .kernel_gap = 1.3_us,
                           .event_wait = 2.5_us,
                           .step_host = 5000_us};

// Megatron-DeepSpeed: the same kernels under DeepSpeed's pipeline engine, hooks and contiguous checkpointing.
// Fitted to the launch-bound rows of vTrain's single-node steps: 3.4-3.6 ms a layer and micro-batch with full
// recomputation, whatever the width (hidden 1024 and 2048, micro-batch 1, TP 2-8).
constexpr HostCosts kDeepSpeed{.kernel_launch = 36_us,
                               .gemm_launch = 55_us,
                               .attention_launch = 60_us,
                               .collective_launch = 60_us,
                               .p2p_launch = 100_us,
                               .sync = 20_us,
                               .launch_latency = 3_us,
                               .kernel_gap = 1.2_us,
                               .event_wait = 2.2_us,
                               .step_host = 8000_us};

} // namespace

HostCosts host_costs(std::string_view software) {
    if (software == "megatron-deepspeed")
        return kDeepSpeed;
    return software.starts_with("megatron-") ? kEager : HostCosts{};
}

} // namespace echosim
