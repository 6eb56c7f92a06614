// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/fabric.h"

#include <span>
#include <vector>

// What one collective puts on every link over its life, by its algorithm; S bytes as nccl-tests counts them,
// n ranks on N nodes, at least m a node.
//
//   lanes   Of a group over several nodes lane l = 0 .. m-1 carries 1 / m of the bytes: in every node it
//           starts at member l and leaves by the NIC next to it. Within one node there is one lane.
//   ring    V = 2 (n-1)/n S (all_reduce) or (n-1)/n S (all_gather, reduce_scatter) over each hop in the order
//           of the ranks; from the last member of a node back to the one next to the NIC (PXN), and on to the
//           next node. broadcast, reduce: S over each hop but the one into (out of) the first rank.
//   tree    S / 2 up and down each edge of the double binary tree over nodes (binary_tree.h), and up and down
//           the chain of the members of each node. broadcast only down, reduce only up.
//   nvls    per member: a copy into the switch and the result back, S, and S / m of the part that the member
//           handles. all_gather S / m out and S in, reduce_scatter the other way. nvls_tree: and the trees
//           over the nodes; nvls and collnet over several nodes: S a node into the network and out of it.
//   pat     all_gather, reduce_scatter in rounds: min(2^k, n - 2^k) S / n to the rank 2^k further on.
//   direct  every pair S / n (all_reduce 2 S / n, send_recv S from the first to the second, gather and
//           scatter with the first). Between nodes over the NIC next to the receiver, from the member of the
//           sender's node that is next to the same rail (PXN), where there is one.
//
// Sums, which tests/comm_models/traffic_test.cpp checks: ring, tree (n-1) x what each hop carries both ways;
// direct S (n-1) / n x n. Memory: what a GPU sends is read once and what it receives is written once.
namespace echosim {

struct LinkBytes {
    LinkId link = 0;
    double bytes = 0;
};

// One entry a link, ascending. `ranks` are global, in the order of the communicator.
std::vector<LinkBytes> traffic_of(const Collective& collective, Algorithm algorithm,
                                  std::span<const int> ranks, FabricLinks& fabric);

} // namespace echosim
