// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <span>
#include <string_view>
#include <vector>

namespace echosim {

// Which physical node holds each node of the job: node_of[i] is the place in the fabric of the i-th node (0
// the first node of the first leaf). Empty = in order.
struct NodePlacement {
    std::vector<int> node_of;
};
// "packed" (in order), "shuffled:SEED" (a random permutation, the same for the same seed), "spread"
// (neighbours on different leaves), or a list "3,1,2,0". Throws InputError. `nodes` are those of the job.
NodePlacement placement_from(std::string_view text, int nodes, const Cluster& cluster);

// Where the ranks of one communicator sit. NCCL's behaviour depends on this, not on the size of the machine:
// a data-parallel group under TP8 has one GPU a node, whatever the node holds.
struct GroupGeometry {
    int ranks = 1;
    int nodes = 1; // NVLink domains or hosts that NCCL counts as nodes for this communicator
    int min_ranks_per_node = 1;
    int max_ranks_per_node = 1;
    bool nvlink = false;   // ranks within a node are connected by NVLink
    int nics_per_node = 0; // NICs local to this communicator's GPUs on one node
    int sockets = 1;       // CPU sockets that the members on one node span, at most
    int switch_levels = 0; // levels of switches that the farthest hop climbs: 0 = one node, 1 = one leaf, ...
    int sites = 1;         // sites that the group spans
    // Lowest share of its NICs' rate that a hop between nodes gets when the sibling groups of the same nodes
    // run the same collective: 1 = the fabric does not limit; for the hops of a ring in rank order, and for
    // traffic between all pairs.
    double ring_share = 1;
    double all_pairs_share = 1;
    bool operator==(const GroupGeometry&) const = default;
};

// `ranks` are global ranks in the order of the communicator, placed node by node (rank / node.gpus is the
// node of the job).
GroupGeometry geometry_of(std::span<const int> ranks, const Cluster& cluster,
                          const NodePlacement& placement = {});

} // namespace echosim
