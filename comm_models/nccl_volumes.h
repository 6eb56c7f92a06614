// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/nccl_graph.h"

namespace echosim::nccl {

// Bytes that one call puts on one GPU's links, on average over the members and in the direction that carries
// more; the root's for gather and scatter.
struct Volumes {
    double near = 0;   // NVLink, or PCIe where GPUs of a node have nothing else
    double far = 0;    // the GPU's share of the NICs
    double memory = 0; // HBM reads and writes
};

Volumes volumes(const Collective& collective, Algorithm algorithm, const GroupSystem& system);

} // namespace echosim::nccl
