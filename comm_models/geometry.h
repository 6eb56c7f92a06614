// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <span>

namespace echosim {

// Where the ranks of one communicator sit. NCCL's behaviour depends on this, not on the size of the machine:
// a data-parallel group under TP8 has one GPU a node, whatever the node holds.
struct GroupGeometry {
    int ranks = 1;
    int nodes = 1; // NVLink domains or hosts that NCCL counts as nodes for this communicator
    int min_ranks_per_node = 1;
    int max_ranks_per_node = 1;
    bool nvlink = false;   // ranks within a node are connected by NVLink
    int nics_per_node = 0; // NICs local to this communicator's GPUs on one node
    bool operator==(const GroupGeometry&) const = default;
};

// `ranks` are global ranks, placed node by node in order (rank / node.gpus is the node).
GroupGeometry geometry_of(std::span<const int> ranks, const Cluster& cluster);

} // namespace echosim
