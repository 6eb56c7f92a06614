// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <span>
#include <vector>

// Who talks to whom in the lanes, trees and rounds of a group, for schedule.h and flow_time.h. Positions
// count the ranks of the group from 0, node by node.
namespace echosim {

// A group over several nodes has as many lanes as its smallest node has members: lane l starts in every node
// at member l and leaves by the NIC next to it, as traffic.h counts. Within one node there is one lane.
struct GroupOrder {
    std::vector<std::vector<int>>
        nodes;              // global ranks of each NVLink domain or host, in the order of the group
    std::vector<int> ranks; // the same one after the other
    std::size_t lanes = 1;
    bool even = true; // every node has as many members
};

// Throws InputError when there are fewer than two ranks.
GroupOrder group_order(std::span<const int> ranks, const Cluster& cluster);

// One hop of a lane. Between nodes it goes over NVLink to the rank next to the lane's NIC first (PXN).
struct LaneHop {
    int from = 0; // global ranks
    int via = -1; // -1 = nobody
    int to = 0;
};
std::vector<LaneHop> ring_hops(const GroupOrder& group, std::size_t lane);

// The tree over nodes with the other members of each node in a chain under the one of the lane. Parents and
// children are indices into `ranks`.
struct RankTree {
    std::vector<int> ranks;
    std::vector<int> parent; // -1 = the root
    std::vector<std::vector<int>> children;
    int depth = 0; // steps from the farthest rank to the root
};
// The two trees of each lane, one after the other; one chain within a single node.
std::vector<RankTree> rank_trees(const GroupOrder& group);

// Where `position` sends (sign = 1) or from where it receives (sign = -1) in round 1 <= round < ranks of an
// all_to_all: the own node first, then node by node.
int round_peer(const GroupOrder& group, int position, int round, int sign);
// From one rank to another, between nodes via the member of the sender's node that is next to the receiver's
// rail (PXN), where there is one.
LaneHop pair_hop(const GroupOrder& group, int from, int to, const Cluster& cluster);

} // namespace echosim
