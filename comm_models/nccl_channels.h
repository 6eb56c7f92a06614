// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/nccl_graph.h"

namespace echosim::nccl {

// How NCCL lays one message over the GPU: CTAs (one a channel), threads of each, and the chunk in bytes that
// a CTA handles at each step of the algorithm.
struct Layout {
    int channels = 1;
    int threads = 512;
    double chunk = 0;
};

Layout layout_of(const Collective& collective, Algorithm algorithm, Protocol protocol,
                 const GroupSystem& system);

// Transfers between pairs go by LL while a message has at most 16 KiB for each of its channels.
Protocol point_to_point_protocol(const Collective& collective, const GroupSystem& system);

// CTAs of a call whose buffers are registered with the communicator, where that makes a difference; else 0.
int registered_channels(const Collective& collective, Algorithm algorithm, const GroupSystem& system);

} // namespace echosim::nccl
