// SPDX-License-Identifier: Apache-2.0
#include "comm_models/geometry.h"

#include "simulator/core/error.h"

#include <algorithm>
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

// NVLink reaches every pair where there is a switch, a full mesh (AMD, boards of at most four GPUs) or the
// hybrid cube mesh of Volta; otherwise bridges join neighbours two by two.
bool linked_by_nvlink(const Cluster& cluster, const NodeMembers& members) {
    const NvLink& link = cluster.node.nvlink;
    if (link.bandwidth <= 0)
        return false;
    const Arch arch = cluster.gpu.arch;
    const bool amd = arch == Arch::cdna2 || arch == Arch::cdna3 || arch == Arch::cdna4;
    if (link.nvswitch || amd || arch == Arch::volta || gpus_per_host(cluster) <= 4)
        return true;
    return members.first_gpu / 2 == members.last_gpu / 2;
}

void add_node(const Cluster& cluster, const NodeMembers& node, GroupGeometry& result) {
    const bool first = result.nodes == 0;
    result.min_ranks_per_node = first ? node.ranks : std::min(result.min_ranks_per_node, node.ranks);
    result.max_ranks_per_node = first ? node.ranks : std::max(result.max_ranks_per_node, node.ranks);
    result.nics_per_node = first ? node.nics : std::min(result.nics_per_node, node.nics);
    result.nvlink = (first || result.nvlink) && linked_by_nvlink(cluster, node);
    ++result.nodes;
}

} // namespace

GroupGeometry geometry_of(std::span<const int> ranks, const Cluster& cluster,
                          const NodePlacement& /*placement*/) {
    ECHOSIM_CHECK(!ranks.empty(), "a communicator has at least one rank");
    std::vector<int> sorted;
    if (!std::is_sorted(ranks.begin(), ranks.end())) {
        sorted.assign(ranks.begin(), ranks.end());
        std::sort(sorted.begin(), sorted.end());
        ranks = sorted;
    }
    const int per_host = gpus_per_host(cluster);
    const int hosts = cluster.node.nvlink.bandwidth > 0 ? std::max(1, cluster.nvlink_domain_nodes) : 1;
    GroupGeometry result;
    result.ranks = static_cast<int>(ranks.size());
    result.nodes = 0;
    NodeMembers node;
    int current = ranks.front() / per_host / hosts;
    for (const int rank : ranks) {
        const int host = rank / per_host;
        if (host / hosts != current) {
            add_node(cluster, node, result);
            node = {};
            current = host / hosts;
        }
        const int gpu = (host % hosts) * per_host + rank % per_host;
        if (node.ranks++ == 0)
            node.first_gpu = gpu;
        node.last_gpu = gpu;
        add_local_nics(cluster, host, rank % per_host, node);
    }
    add_node(cluster, node, result);
    return result;
}

} // namespace echosim
