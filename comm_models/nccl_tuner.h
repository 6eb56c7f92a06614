// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/nccl_graph.h"
#include "simulator/core/op_types.h"

#include <vector>

namespace echosim::nccl {

// Latency and algorithm bandwidth that the tuner holds for one algorithm and protocol of a communicator.
struct TunerEntry {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    double latency = 0;   // us
    double bandwidth = 0; // GB/s
};

// The entries that are enabled for this kind of collective. Kinds without a choice (all-to-all, send/recv)
// have none.
std::vector<TunerEntry> tuner_entries(const GroupSystem& system, CollectiveKind kind, double nic_latency = 0);

// The tuner's own estimate in us of a message of `bytes`: latency + bytes / bandwidth with its correction
// factors.
double tuner_time(const TunerEntry& entry, const GroupSystem& system, CollectiveKind kind, double bytes);

// The entry with the smallest estimate, which is what NCCL runs. `entries` is not empty.
const TunerEntry& choose(const std::vector<TunerEntry>& entries, const GroupSystem& system,
                         CollectiveKind kind, double bytes);

// CTAs that a message of `bytes` occupies: small messages use fewer than the communicator has.
int channels_used(const TunerEntry& entry, const GroupSystem& system, CollectiveKind kind, double bytes);

} // namespace echosim::nccl
