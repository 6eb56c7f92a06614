// SPDX-License-Identifier: Apache-2.0
#include "comm_models/group_order.h"

#include "comm_models/binary_tree.h"
#include "comm_models/fat_tree.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace echosim {
namespace {

int domain_of(int rank, const Cluster& cluster) {
    const int hosts = cluster.node.nvlink.bandwidth > 0 ? std::max(1, cluster.nvlink_domain_nodes) : 1;
    return rank / std::max(1, cluster.node.gpus) / hosts;
}

// The members of a node from the one of the lane on.
std::vector<int> from_lane(const std::vector<int>& node, std::size_t lane) {
    std::vector<int> members = node;
    std::rotate(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(lane), members.end());
    return members;
}

void hang(RankTree& tree, int node, int parent) {
    tree.parent[static_cast<std::size_t>(node)] = parent;
    if (parent >= 0)
        tree.children[static_cast<std::size_t>(parent)].push_back(node);
}

int depth_of(const RankTree& tree) {
    int deepest = 0;
    for (int node : tree.parent) {
        int depth = 0;
        for (; node >= 0; node = tree.parent[static_cast<std::size_t>(node)])
            ++depth;
        deepest = std::max(deepest, depth);
    }
    return deepest;
}

RankTree rank_tree(const GroupOrder& group, const BinaryTree& nodes, std::size_t lane) {
    RankTree tree;
    std::vector<int> heads;
    for (const std::vector<int>& node : group.nodes) {
        heads.push_back(static_cast<int>(tree.ranks.size()));
        const std::vector<int> members = from_lane(node, lane);
        tree.ranks.insert(tree.ranks.end(), members.begin(), members.end());
    }
    tree.parent.assign(tree.ranks.size(), -1);
    tree.children.resize(tree.ranks.size());
    for (std::size_t node = 0; node < group.nodes.size(); ++node) {
        const int up = nodes.parent[node];
        hang(tree, heads[node], up < 0 ? -1 : heads[static_cast<std::size_t>(up)]);
        for (int i = 1; i < static_cast<int>(group.nodes[node].size()); ++i)
            hang(tree, heads[node] + i, heads[node] + i - 1);
    }
    tree.depth = depth_of(tree);
    return tree;
}

} // namespace

GroupOrder group_order(std::span<const int> ranks, const Cluster& cluster) {
    if (ranks.size() < 2)
        throw InputError("", fmt::format("a group of {} ranks has nothing to send", ranks.size()),
                         "give at least two ranks");
    GroupOrder group;
    std::unordered_map<int, std::size_t> known;
    for (const int rank : ranks) {
        const auto [node, added] = known.try_emplace(domain_of(rank, cluster), group.nodes.size());
        if (added)
            group.nodes.emplace_back();
        group.nodes[node->second].push_back(rank);
    }
    std::size_t least = ranks.size();
    for (const std::vector<int>& node : group.nodes) {
        group.ranks.insert(group.ranks.end(), node.begin(), node.end());
        group.even = group.even && node.size() == group.nodes.front().size();
        least = std::min(least, node.size());
    }
    group.lanes = group.nodes.size() > 1 ? least : 1;
    return group;
}

std::vector<LaneHop> ring_hops(const GroupOrder& group, std::size_t lane) {
    std::vector<LaneHop> hops;
    for (std::size_t node = 0; node < group.nodes.size(); ++node) {
        const std::vector<int> members = from_lane(group.nodes[node], lane);
        for (std::size_t i = 0; i + 1 < members.size(); ++i)
            hops.push_back({members[i], -1, members[i + 1]});
        const int via = members.size() > 1 && group.nodes.size() > 1 ? members.front() : -1;
        hops.push_back({members.back(), via, group.nodes[(node + 1) % group.nodes.size()][lane]});
    }
    return hops;
}

std::vector<RankTree> rank_trees(const GroupOrder& group) {
    const std::array<BinaryTree, 2> nodes = double_binary_tree(static_cast<int>(group.nodes.size()));
    std::vector<RankTree> trees;
    for (std::size_t lane = 0; lane < group.lanes; ++lane)
        for (std::size_t i = 0; i < (group.nodes.size() > 1 ? 2U : 1U); ++i)
            trees.push_back(rank_tree(group, nodes[i], lane));
    return trees;
}

int round_peer(const GroupOrder& group, int position, int round, int sign) {
    const int n = static_cast<int>(group.ranks.size());
    if (!group.even)
        return (position + sign * round + n) % n;
    const int local = static_cast<int>(group.nodes.front().size());
    const int node = (position / local * local + sign * (round / local * local) + n) % n;
    return node + (position % local + sign * (round % local) + local) % local;
}

LaneHop pair_hop(const GroupOrder& group, int from, int to, const Cluster& cluster) {
    const int gpus = std::max(1, cluster.node.gpus);
    const auto rail = [&](int rank) { return port_of(cluster.node, rank % gpus); };
    const int here = domain_of(from, cluster);
    if (here == domain_of(to, cluster) || rail(from) == rail(to))
        return {from, -1, to};
    for (const int rank : group.ranks)
        if (domain_of(rank, cluster) == here && rail(rank) == rail(to))
            return {from, rank, to};
    return {from, -1, to};
}

} // namespace echosim
