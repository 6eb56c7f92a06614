// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/node_placement.h"
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
    int sockets = 1;       // CPU sockets that the members on one node span, at most
    // Levels of switches that the farthest hop climbs: 0 = one node, 1 = one leaf, 2 = above the leaf, ...;
    // one more than are listed where a hop crosses the uplinks of the last one.
    int switch_levels = 0;
    int sites = 1; // that the group spans
    // Lowest share of its NICs' rate that a hop between nodes gets in the fat tree when the sibling groups of
    // the same nodes run the same collective: 1 = the fabric does not limit. Of the hops of a ring in the
    // order of the ranks, and of traffic between all pairs. The network between sites is not in it.
    double ring_share = 1;
    double all_pairs_share = 1;
    int hosts = 0; // on which the ranks sit: more than nodes where NVLink domains span hosts; 0 = as nodes
    bool operator==(const GroupGeometry&) const = default;
};

// `ranks` are global ranks in the order of the communicator; they fill nodes in order (rank / node.gpus is
// the node of the job), which `placement` maps to places in the fabric. Rings visit the nodes in the order in
// which the ranks first name them. O(ranks), and O(ranks log ranks) where routes are counted link by link.
//
// Shares. All ports of the group's nodes send at once, the group's own and its siblings'. Routing `adaptive`:
// capacity of all uplinks (downlinks) of a group of switches / traffic that climbs from (descends to) it, the
// smallest over the groups. `ecmp`: 1 - 0.05 of that where a hop climbs above the leaf (assumed: few large
// flows collide). `fixed`: the same link by link, with D-mod-k routes (fat_tree.h). Rounded to 1e-6.
GroupGeometry geometry_of(std::span<const int> ranks, const Cluster& cluster,
                          const NodePlacement& placement = {});

// GPUs that the direct links of one GPU reach where bridges join neighbours to islands (1: pairs); 0 where
// NVLink reaches all GPUs of a host: a switch, a full mesh (AMD, boards of at most four GPUs) and the hybrid
// cube mesh of Volta. What cluster.node.nvlink.peers says counts; bridges of PCIe cards join pairs.
int bridge_peers(const Cluster& cluster);

// Whether NVLink joins two GPUs of a host (positions on it).
bool nvlink_joins(const Cluster& cluster, int gpu_a, int gpu_b);

} // namespace echosim
