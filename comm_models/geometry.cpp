// SPDX-License-Identifier: Apache-2.0
#include "comm_models/geometry.h"

#include "comm_models/tree_shares.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace echosim {
namespace {

// What one NVLink domain or host holds of the communicator; ranks come in ascending order.
struct NodeMembers {
    int ranks = 0;
    int first_gpu = 0; // positions on the node
    int last_gpu = 0;
    int nics = 0;     // distinct NICs next to the members
    int next_nic = 0; // first that is not counted yet
    int host = -1;    // of the last member, and the CPU sockets that members on it span
    int sockets = 0;
    int last_socket = -1;
    int most_sockets = 0; // of any host
};

int gpus_per_host(const Cluster& cluster) {
    return std::max(1, cluster.node.gpus);
}

// NICs next to GPU `gpu` of host `host`: count / gpus each, or one that several GPUs share.
void add_local_nics(const Cluster& cluster, int host, int gpu, NodeMembers& node) {
    const int count = cluster.node.nics.count;
    if (count <= 0)
        return;
    const int gpus = gpus_per_host(cluster);
    const int first = gpu * count / gpus;
    const int end = host * count + std::max(first + 1, (gpu + 1) * count / gpus);
    const int begin = std::max(host * count + first, node.next_nic);
    node.nics += std::max(0, end - begin);
    node.next_nic = std::max(node.next_nic, end);
}

void add_socket(const Cluster& cluster, int host, int gpu, NodeMembers& node) {
    if (host != node.host) {
        node.host = host;
        node.sockets = 0;
        node.last_socket = -1;
    }
    const int socket = gpu * std::max(1, cluster.node.sockets) / gpus_per_host(cluster);
    if (socket != node.last_socket)
        ++node.sockets;
    node.last_socket = socket;
    node.most_sockets = std::max(node.most_sockets, node.sockets);
}

void add_node(const Cluster& cluster, const NodeMembers& node, GroupGeometry& result) {
    const bool first = result.nodes == 0;
    result.min_ranks_per_node = first ? node.ranks : std::min(result.min_ranks_per_node, node.ranks);
    result.max_ranks_per_node = first ? node.ranks : std::max(result.max_ranks_per_node, node.ranks);
    result.nics_per_node = first ? node.nics : std::min(result.nics_per_node, node.nics);
    result.nvlink = (first || result.nvlink) && nvlink_joins(cluster, node.first_gpu, node.last_gpu);
    result.sockets = std::max(result.sockets, node.most_sockets);
    ++result.nodes;
}

int hosts_per_domain(const Cluster& cluster) {
    return cluster.node.nvlink.bandwidth > 0 ? std::max(1, cluster.nvlink_domain_nodes) : 1;
}

// Hosts of each node, in the order in which the ranks first name them.
GroupPlaces places_of(std::span<const int> ranks, const Cluster& cluster, const NodePlacement& placement) {
    const int per_host = gpus_per_host(cluster), hosts = hosts_per_domain(cluster);
    struct Host {
        int order = 0; // of the node
        int host = 0;
    };
    std::vector<Host> found;
    std::unordered_map<int, int> order_of; // node -> order, where ranks come back to a node
    int last = -1;
    bool ascending = true;
    for (const int rank : ranks) {
        const int host = rank / per_host;
        if (host == last)
            continue;
        ascending = ascending && host > last;
        last = host;
        found.push_back({0, host});
    }
    if (!ascending) {
        for (Host& h : found)
            h.order = order_of.try_emplace(h.host / hosts, static_cast<int>(order_of.size())).first->second;
        std::sort(found.begin(), found.end(), [](const Host& a, const Host& b) {
            return a.order != b.order ? a.order < b.order : a.host < b.host;
        });
        found.erase(std::unique(found.begin(), found.end(),
                                [](const Host& a, const Host& b) { return a.host == b.host; }),
                    found.end());
    }
    GroupPlaces group;
    group.places.reserve(found.size());
    group.node_ends.reserve(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        group.places.push_back(place_of(placement, found[i].host));
        if (i + 1 == found.size() || found[i + 1].host / hosts != found[i].host / hosts)
            group.node_ends.push_back(static_cast<std::uint32_t>(i + 1));
    }
    return group;
}

void add_fabric(std::span<const int> ranks, const Cluster& cluster, const NodePlacement& placement,
                GroupGeometry& result) {
    const GroupPlaces group = places_of(ranks, cluster, placement);
    const FatTree tree(cluster);
    const TreeShares shares = tree_shares(group, tree, cluster.fabric.routing);
    result.switch_levels = shares.levels;
    result.ring_share = shares.ring;
    result.all_pairs_share = shares.all_pairs;
    if (cluster.sites.count <= 1)
        return;
    std::vector<int> sites;
    for (const int place : group.places)
        sites.push_back(site_of(cluster, placement, place));
    std::sort(sites.begin(), sites.end());
    result.sites = static_cast<int>(std::unique(sites.begin(), sites.end()) - sites.begin());
}

} // namespace

int bridge_peers(const Cluster& cluster) {
    const NvLink& link = cluster.node.nvlink;
    const Arch arch = cluster.gpu.arch;
    const bool amd = arch == Arch::cdna2 || arch == Arch::cdna3 || arch == Arch::cdna4;
    const int gpus = gpus_per_host(cluster);
    const bool cube_mesh = arch == Arch::volta && link.peers != 1;
    if (link.nvswitch || amd || cube_mesh || gpus <= 2)
        return 0;
    if (link.peers > 0)
        return link.peers < gpus - 1 ? link.peers : 0;
    const bool card = cluster.gpu.name.find("pcie") != std::string::npos;
    return card || gpus > 4 ? 1 : 0;
}

bool nvlink_joins(const Cluster& cluster, int gpu_a, int gpu_b) {
    if (cluster.node.nvlink.bandwidth <= 0)
        return false;
    const int peers = bridge_peers(cluster);
    return peers == 0 || gpu_a / (peers + 1) == gpu_b / (peers + 1);
}

GroupGeometry geometry_of(std::span<const int> ranks, const Cluster& cluster,
                          const NodePlacement& placement) {
    ECHOSIM_CHECK(!ranks.empty(), "a communicator has at least one rank");
    const std::span<const int> in_order = ranks;
    std::vector<int> sorted;
    if (!std::is_sorted(ranks.begin(), ranks.end())) {
        sorted.assign(ranks.begin(), ranks.end());
        std::sort(sorted.begin(), sorted.end());
        ranks = sorted;
    }
    const int per_host = gpus_per_host(cluster);
    const int hosts = hosts_per_domain(cluster);
    GroupGeometry result;
    result.ranks = static_cast<int>(ranks.size());
    result.nodes = 0;
    NodeMembers node;
    int current = ranks.front() / per_host / hosts;
    int last_host = -1;
    for (const int rank : ranks) {
        const int host = rank / per_host;
        if (host / hosts != current) {
            add_node(cluster, node, result);
            node = {};
            current = host / hosts;
        }
        result.hosts += host != last_host ? 1 : 0;
        last_host = host;
        const int gpu = (host % hosts) * per_host + rank % per_host;
        if (node.ranks++ == 0)
            node.first_gpu = gpu;
        node.last_gpu = gpu;
        add_local_nics(cluster, host, rank % per_host, node);
        add_socket(cluster, host, rank % per_host, node);
    }
    add_node(cluster, node, result);
    if (result.hosts == result.nodes)
        result.hosts = 0;
    if (result.nodes > 1)
        add_fabric(in_order, cluster, placement, result);
    return result;
}

} // namespace echosim
