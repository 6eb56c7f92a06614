// SPDX-License-Identifier: Apache-2.0
#include "comm_models/geometry.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <map>
#include <set>

namespace echosim {
namespace {

// What one NVLink domain or host holds of the communicator.
struct NodeMembers {
    int ranks = 0;
    std::set<int> gpus; // positions on the node
    std::set<int> nics;
};

int gpus_per_node(const Cluster& cluster) {
    return std::max(1, cluster.node.gpus);
}

// NICs next to GPU `gpu` of its host: count / gpus each, or one that several GPUs share.
void add_local_nics(const Cluster& cluster, int host, int gpu, std::set<int>& nics) {
    const int count = cluster.node.nics.count;
    if (count <= 0)
        return;
    const int gpus = gpus_per_node(cluster);
    const int first = gpu * count / gpus;
    const int last = std::max(first + 1, (gpu + 1) * count / gpus);
    for (int nic = first; nic < last; ++nic)
        nics.insert(host * count + nic);
}

// NVLink reaches every pair where there is a switch, a full mesh (AMD, boards of at most four GPUs) or the
// hybrid cube mesh of Volta; otherwise bridges join neighbours two by two.
bool linked_by_nvlink(const Cluster& cluster, const NodeMembers& members) {
    const NvLink& link = cluster.node.nvlink;
    if (link.bandwidth <= 0)
        return false;
    const Arch arch = cluster.gpu.arch;
    const bool amd = arch == Arch::cdna2 || arch == Arch::cdna3 || arch == Arch::cdna4;
    if (link.nvswitch || amd || arch == Arch::volta || gpus_per_node(cluster) <= 4)
        return true;
    if (members.gpus.empty())
        return true;
    return *members.gpus.begin() / 2 == *members.gpus.rbegin() / 2;
}

} // namespace

GroupGeometry geometry_of(std::span<const int> ranks, const Cluster& cluster) {
    ECHOSIM_CHECK(!ranks.empty(), "a communicator has at least one rank");
    const int per_host = gpus_per_node(cluster);
    const int hosts_per_domain =
        cluster.node.nvlink.bandwidth > 0 ? std::max(1, cluster.nvlink_domain_nodes) : 1;
    std::map<int, NodeMembers> nodes;
    for (const int rank : ranks) {
        const int host = rank / per_host;
        NodeMembers& node = nodes[host / hosts_per_domain];
        ++node.ranks;
        node.gpus.insert((host % hosts_per_domain) * per_host + rank % per_host);
        add_local_nics(cluster, host, rank % per_host, node.nics);
    }
    GroupGeometry result;
    result.ranks = static_cast<int>(ranks.size());
    result.nodes = static_cast<int>(nodes.size());
    result.min_ranks_per_node = result.ranks;
    result.max_ranks_per_node = 0;
    result.nvlink = true;
    result.nics_per_node = cluster.node.nics.count * hosts_per_domain;
    for (const auto& [id, node] : nodes) {
        result.min_ranks_per_node = std::min(result.min_ranks_per_node, node.ranks);
        result.max_ranks_per_node = std::max(result.max_ranks_per_node, node.ranks);
        result.nvlink = result.nvlink && linked_by_nvlink(cluster, node);
        result.nics_per_node = std::min(result.nics_per_node, static_cast<int>(node.nics.size()));
    }
    return result;
}

} // namespace echosim
