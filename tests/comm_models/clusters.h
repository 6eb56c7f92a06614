// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/geometry.h"

#include <string>
#include <vector>

// Small clusters of the tests, written out here so that the expected figures do not move with the catalogue.
namespace echosim::test {

struct NodeLinks {
    Arch arch = Arch::hopper;
    double nvlink_gbytes = 450;
    int links = 18;
    int pcie = 5;
};

inline NodeLinks links_of(const std::string& gpu) {
    if (gpu.rfind("v100", 0) == 0)
        return {Arch::volta, 150, 6, 3};
    if (gpu.rfind("a100", 0) == 0)
        return {Arch::ampere, 300, 12, 4};
    if (gpu.rfind("b200", 0) == 0)
        return {Arch::blackwell, 900, 18, 5};
    if (gpu.rfind("l40s", 0) == 0)
        return {Arch::ada, 0, 0, 4};
    if (gpu.rfind("mi300", 0) == 0)
        return {Arch::cdna3, 448, 7, 5};
    return {};
}

inline Cluster cluster_of(const std::string& gpu, int gpus_per_node = 8, int nics = 8,
                          double nic_gbits = 400) {
    const NodeLinks links = links_of(gpu);
    Cluster cluster;
    cluster.name = "test";
    cluster.gpu.name = gpu;
    cluster.gpu.arch = links.arch;
    cluster.node.gpus = gpus_per_node;
    cluster.node.cpu = "intel-sapphire-rapids";
    cluster.node.nvlink = {links.nvlink_gbytes * 1e9, links.links,
                           links.nvlink_gbytes > 0 && links.arch < Arch::cdna2};
    cluster.node.pcie = {links.pcie, 16};
    cluster.node.nics.count = nics;
    cluster.node.nics.bandwidth = nic_gbits * 0.125e9;
    cluster.fabric.kind = FabricKind::infiniband;
    return cluster;
}

// Geometry of `per_node` ranks on each of `nodes` nodes.
inline GroupGeometry group_on(const Cluster& cluster, int nodes, int per_node) {
    std::vector<int> ranks;
    ranks.reserve(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(per_node));
    for (int node = 0; node < nodes; ++node)
        for (int i = 0; i < per_node; ++i)
            ranks.push_back(node * cluster.node.gpus + i);
    return geometry_of(ranks, cluster);
}

} // namespace echosim::test
