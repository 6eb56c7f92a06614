// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/nccl_tuner.h"

namespace echosim::nccl {

// The constants of one communicator's time forms, scaled from the link and fabric profiles to this cluster.
// us, GB/s, bytes.
struct GroupTiming {
    LinkProfile link;
    FabricProfile fabric;
    double intra_scale = 1; // link bandwidth relative to the profile's
    double nvls_scale = 1;  // heads of this group relative to the eight of the fit
    double memory_copy = 0; // GB/s of a copy within one GPU's memory
    double hop_extra = 0;   // network latency above the profile's: levels of switches
    double round_trip = 0;  // us between sites; 0 = one site
    double far_rate = 0; // GB/s of the group's share of one node's network, for the hops of rings and trees
    double all_pairs_rate = 0; // the same for traffic between all pairs
    Provenance provenance = Provenance::assumed;
};

GroupTiming group_timing(const Cluster& cluster, const GroupSystem& system, const ModelConstants& constants);

// What a group of several nodes adds: the fabric of its time, rates and latencies of the hops between nodes.
void add_network(const Cluster& cluster, const GroupSystem& system, const ModelConstants& constants,
                 GroupTiming& timing);

struct Choice {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
};

// The parts of a time, in us; their sum is the time.
struct TimeTerms {
    double start = 0;    // launch, first synchronisation, proxy start-up
    double near = 0;     // latency of the hops inside a node
    double far = 0;      // latency of the hops between nodes
    double fill = 0;     // filling and draining the pipeline
    double transfer = 0; // bytes over the slowest resource
    double copy = 0;     // local copy of a call out of place

    double total() const { return start + near + far + fill + transfer + copy; }
};

// A group within one node (NVLink domain or PCIe host), and one over several nodes. Kinds that NCCL makes of
// point-to-point transfers (all-to-all, gather, scatter, send/recv) take Algorithm::direct.
TimeTerms node_time(const Collective& collective, const Choice& choice, const GroupSystem& system,
                    const GroupTiming& timing);
TimeTerms point_to_point_time(const Collective& collective, const GroupSystem& system,
                              const GroupTiming& timing);
TimeTerms network_time(const Collective& collective, const Choice& choice, const GroupSystem& system,
                       const GroupTiming& timing);

} // namespace echosim::nccl
