// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernels/host_cost.h"

namespace echosim {
namespace {

// Per-op costs of an x86 server that runs PyTorch eagerly. Typical figures: aten op 5-8 us, Transformer
// Engine module 25-60 us per linear forward, autograd node 5-10 us, custom kernel 3-4 us, ProcessGroupNCCL
// enqueue 15-30 us (batched send/recv 25-40 us), device: 0.8-1.5 us between kernels of one stream, 1.5-3 us
// for an event of another stream, 2-4 us from the launch call to the start.

// Megatron-LM of 2020-21 on PyTorch 1.6-1.9: plain aten ops, no Transformer Engine, slower dispatcher and an
// older CPU (Skylake, Rome): 8-10 us a kernel.
constexpr HostCosts kEager2020{.kernel_launch = 8.5_us,
                               .gemm_launch = 15_us,
                               .attention_launch = 15_us,
                               .collective_launch = 28_us,
                               .p2p_launch = 40_us,
                               .sync = 10_us,
                               .launch_latency = 3.5_us,
                               .kernel_gap = 1.3_us,
                               .event_wait = 2.5_us,
                               .step_host = 5000_us};

// PyTorch 1.10-2.0 with Apex and jitted fusions, CUDA_DEVICE_MAX_CONNECTIONS=1.
constexpr HostCosts kApex2022{.kernel_launch = 7.5_us,
                              .gemm_launch = 14_us,
                              .attention_launch = 20_us,
                              .collective_launch = 25_us,
                              .p2p_launch = 38_us,
                              .sync = 9_us,
                              .launch_latency = 3_us,
                              .kernel_gap = 1.2_us,
                              .event_wait = 2.2_us,
                              .step_host = 4000_us};

// Megatron-DeepSpeed: the same kernels under DeepSpeed's pipeline engine, hooks and contiguous checkpointing. Fitted to
// the launch-bound rows of vTrain's single-node steps: 3.4-3.6 ms a layer and micro-batch with full recomputation,
// whatever the width (hidden 1024 and 2048, micro-batch 1, TP 2-8).
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

// Transformer Engine modules: a linear layer costs 25-60 us forward over its 3-4 launches (cast, GEMM, bias),
// the backward less, so 18 us for the GEMM itself and the rest at kernel_launch.
constexpr HostCosts kTransformerEngine2023{.kernel_launch = 6.5_us,
                                           .gemm_launch = 18_us,
                                           .attention_launch = 30_us,
                                           .collective_launch = 23_us,
                                           .p2p_launch = 36_us,
                                           .sync = 8_us,
                                           .launch_latency = 3_us,
                                           .kernel_gap = 1.0_us,
                                           .event_wait = 2_us,
                                           .step_host = 3500_us};

// Megatron-Core on Sapphire Rapids, Genoa or Grace with PyTorch 2.2 and later: the defaults of the header.
constexpr HostCosts kCore2024{};

// 2025 and later: thinner Transformer Engine paths and fused optimizer and gradient bookkeeping.
constexpr HostCosts kCore2025{.kernel_launch = 5_us,
                              .gemm_launch = 11_us,
                              .attention_launch = 22_us,
                              .collective_launch = 20_us,
                              .p2p_launch = 32_us,
                              .sync = 7_us,
                              .launch_latency = 2.5_us,
                              .kernel_gap = 0.9_us,
                              .event_wait = 1.8_us,
                              .step_host = 2500_us};

} // namespace

HostCosts host_costs(std::string_view software) {
    if (software == "megatron-2020" || software == "megatron-2021") {
        return kEager2020;
    }
    if (software == "megatron-2022") {
        return kApex2022;
    }
    if (software == "megatron-deepspeed") {
        return kDeepSpeed;
    }
    if (software == "mcore-2023") {
        return kTransformerEngine2023;
    }
    if (software == "mcore-2025" || software == "mcore-2026") {
        return kCore2025;
    }
    return kCore2024;
}

} // namespace echosim
