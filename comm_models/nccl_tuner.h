// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/nccl_graph.h"

#include <vector>

namespace echosim::nccl {

// Latency and algorithm bandwidth that the tuner holds for one algorithm and protocol of a communicator.
struct TunerEntry {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
    double latency = 0;   // us
    double bandwidth = 0; // GB/s
};

// The entries that are enabled for this kind of collective; where the job's settings leave none, those of the
// ring. Kinds without a choice (all-to-all, send/recv, gather, scatter) have none.
std::vector<TunerEntry> tuner_entries(const GroupSystem& system, CollectiveKind kind, double nic_latency = 0);

// The tuner's own estimate in us: latency + bytes / bandwidth with its correction factors.
double tuner_time(const TunerEntry& entry, const GroupSystem& system, const Collective& collective);

// Whether NCCL runs this entry for such data at all: NVLS reduces only what the switch can (no 8 bit and
// narrower types), rings of more than eight ranks do not reduce fp8.
bool allowed(const TunerEntry& entry, const GroupSystem& system, const Collective& collective);

// What NCCL runs: the entry with the smallest estimate, but NVLS for gathers within a node whose buffers are
// registered. `entries` is not empty.
const TunerEntry& choose(const std::vector<TunerEntry>& entries, const GroupSystem& system,
                         const Collective& collective);

} // namespace echosim::nccl
