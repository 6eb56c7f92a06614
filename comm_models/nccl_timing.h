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
    double hop_extra = 0;   // network latency above the profile's: NIC and switch levels
    Provenance provenance = Provenance::assumed;
};

GroupTiming group_timing(const Cluster& cluster, const GroupSystem& system);

struct Choice {
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
};

// Device time in us of a collective that runs with this algorithm and protocol.
double body_time(const Collective& collective, const Choice& choice, const GroupSystem& system,
                 const GroupTiming& timing);

// All-to-all, gather, scatter and send/recv, which NCCL makes of point-to-point transfers.
double point_to_point_time(const Collective& collective, const GroupSystem& system,
                           const GroupTiming& timing);

} // namespace echosim::nccl
