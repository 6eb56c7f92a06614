// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/nccl_tuner.h"

// RCCL's choice: NCCL's skeleton with AMD's own tables. No NVLS and no CollNet; within a node whose GPUs are
// linked each to each, gathers and scatters go directly from GPU to GPU, and so do all-reduces of 1 KiB to
// 16 MiB (one shot or two). nccl_tuner.cpp calls these for AMD's parts.
namespace echosim::nccl {

std::vector<TunerEntry> rccl_entries(const GroupSystem& system, CollectiveKind kind, double nic_latency);
double rccl_tuner_time(const TunerEntry& entry, const GroupSystem& system, const Collective& collective);
const TunerEntry& rccl_choose(const std::vector<TunerEntry>& entries, const GroupSystem& system,
                              const Collective& collective);

} // namespace echosim::nccl
