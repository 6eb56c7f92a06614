// SPDX-License-Identifier: Apache-2.0
#include "comm_models/binary_tree.h"

#include <cstddef>

namespace echosim {
namespace {

int first_parent(int node, int nodes) {
    if (node == 0)
        return -1;
    const int bit = node & -node;
    const int beside = (node - bit) | (2 * bit);
    return beside < nodes ? beside : node - bit;
}

// `place(r)`: which node stands where the first tree has node r.
template <class Place> BinaryTree placed_tree(int nodes, Place place) {
    BinaryTree tree;
    tree.parent.assign(static_cast<std::size_t>(nodes), -1);
    tree.children.assign(static_cast<std::size_t>(nodes), {-1, -1});
    for (int node = 1; node < nodes; ++node) {
        const int parent = place(first_parent(node, nodes));
        tree.parent[static_cast<std::size_t>(place(node))] = parent;
        auto& children = tree.children[static_cast<std::size_t>(parent)];
        children[children[0] < 0 ? 0 : 1] = place(node);
    }
    return tree;
}

} // namespace

std::array<BinaryTree, 2> double_binary_tree(int nodes) {
    const bool mirrored = nodes % 2 == 0;
    return {placed_tree(nodes, [](int node) { return node; }),
            placed_tree(nodes, [&](int node) { return mirrored ? nodes - 1 - node : (node + 1) % nodes; })};
}

} // namespace echosim
