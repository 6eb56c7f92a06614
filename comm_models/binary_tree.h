// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <vector>

// The double binary tree that NCCL lays over the nodes of a communicator. In the first tree node
// r > 0 with lowest set bit b hangs under (r - b) | 2b, or under r - b where that is beyond the last node;
// node 0 is the root with one child. The second is the mirror image for an even number of nodes and the first
// shifted by one for an odd number, so that what is inside one tree is (but for one node) a leaf of the
// other. Depth of each: about log2 of the nodes.
namespace echosim {

struct BinaryTree {
    std::vector<int> parent;                  // of each node; -1 = the root
    std::vector<std::array<int, 2>> children; // -1 = none
};

std::array<BinaryTree, 2> double_binary_tree(int nodes);

} // namespace echosim
