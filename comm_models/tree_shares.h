// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/fat_tree.h"
#include "simulator/catalogue/cluster.h"

#include <span>
#include <vector>

// What a fat tree leaves of the NICs' rate to the hops of one communicator (geometry.h says for what
// traffic). For geometry.cpp.
namespace echosim {

struct TreeShares {
    int levels = 1; // of switches that the farthest hop climbs
    double ring = 1;
    double all_pairs = 1;
};

// `places` of the hosts of each NCCL node, one node after the other; node i ends before node_ends[i]. The
// nodes are in the order of the ring.
struct GroupPlaces {
    std::vector<int> places;
    std::vector<std::uint32_t> node_ends;
};
TreeShares tree_shares(const GroupPlaces& group, const FatTree& tree, Routing routing);

} // namespace echosim
