// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <string_view>
#include <vector>

namespace echosim {

// Which physical node holds each node of the job: node_of[i] is the place in the fabric of the i-th node (0
// the first node of the first leaf). Empty = in order.
struct NodePlacement {
    std::vector<int> node_of;
    int nodes = 0; // of the job, from which sites are counted; 0 = not known
};

// "packed" (in order), "shuffled:SEED" (a random permutation, the same for the same seed), "spread"
// (neighbours on different leaves; a job that one leaf could hold is dealt to two), or a list "3,1,2,0".
// Throws InputError. `nodes` are those of the job.
NodePlacement placement_from(std::string_view text, int nodes, const Cluster& cluster);

// Place of the i-th node of the job; nodes beyond the list stand in order.
int place_of(const NodePlacement& placement, int node);
// Sites hold equal runs of places, as many as the job needs.
int site_of(const Cluster& cluster, const NodePlacement& placement, int place);

} // namespace echosim
