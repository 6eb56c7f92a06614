// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/cluster.h"
#include "simulator/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

namespace echosim {
namespace {

using ::testing::HasSubstr;

TEST(Cluster, DgxH100) {
    const Cluster dgx = find_cluster("dgx-h100");
    EXPECT_EQ(dgx.gpu.name, "h100-sxm");
    EXPECT_EQ(dgx.node.gpus, 8);
    EXPECT_DOUBLE_EQ(dgx.node.nvlink.bandwidth, 450e9); // 18 links x 25 GB/s
    EXPECT_EQ(dgx.node.nvlink.links, 18);
    EXPECT_TRUE(dgx.node.nvlink.nvswitch);
    EXPECT_EQ(dgx.node.pcie.gen, 5);
    EXPECT_EQ(dgx.node.nics.count, 8);
    EXPECT_DOUBLE_EQ(dgx.node.nics.bandwidth, 50e9); // 400 Gbps / 8
    EXPECT_EQ(dgx.fabric.kind, FabricKind::infiniband);
    EXPECT_EQ(dgx.fabric.efficiency, 0);
    EXPECT_DOUBLE_EQ(default_efficiency(dgx.fabric.kind), 0.92);
}

TEST(Cluster, NodesAndDomains) {
    const Cluster dgx = find_cluster("dgx-h100");
    EXPECT_EQ(nodes_for(dgx, 1), 1);
    EXPECT_EQ(nodes_for(dgx, 8), 1);
    EXPECT_EQ(nodes_for(dgx, 9), 2);
    EXPECT_EQ(nodes_for(dgx, 1024), 128);
    EXPECT_EQ(nvlink_domain_gpus(dgx), 8);
    EXPECT_EQ(nvlink_domain_gpus(find_cluster("gb200-nvl72")), 72); // 18 trays x 4
    EXPECT_EQ(nvlink_domain_gpus(find_cluster("l40s-8x")), 1);      // PCIe only
}

TEST(Cluster, EveryEntryIsSane) {
    std::set<std::string> names;
    for (const Cluster& cluster : all_clusters()) {
        SCOPED_TRACE(cluster.name);
        const Node& node = cluster.node;
        EXPECT_TRUE(names.insert(cluster.name).second);
        EXPECT_TRUE(node.gpus == 4 || node.gpus == 8 || node.gpus == 16);
        EXPECT_FALSE(node.cpu.empty());
        EXPECT_GE(node.pcie.gen, 3);
        EXPECT_GT(node.nics.count, 0);
        EXPECT_GE(node.nics.bandwidth, 12.5e9);
        EXPECT_GT(node.nics.latency, 0);
        // Every GPU has a NIC: its own, a share of one, or several.
        EXPECT_GE(node.nics.count * node.nics.gpus_per_nic, node.gpus);
        const double links = node.nvlink.links * cluster.gpu.nvlink_link_bandwidth;
        EXPECT_DOUBLE_EQ(node.nvlink.bandwidth, links);
        EXPECT_NE(cluster.fabric.kind, FabricKind::none);
        EXPECT_FALSE(cluster.fabric.levels.empty());
        EXPECT_FALSE(cluster.source.empty());
    }
    EXPECT_EQ(names.size(), 23U);
}

TEST(Cluster, JsonRoundTripIsExact) {
    for (const Cluster& cluster : all_clusters()) {
        const nlohmann::ordered_json json = cluster_to_json(cluster);
        const Cluster again = cluster_from_json(json, "again");
        EXPECT_EQ(cluster_to_json(again), json);
        EXPECT_EQ(again.node.nics.bandwidth, cluster.node.nics.bandwidth);
        EXPECT_EQ(again.node.nics.latency, cluster.node.nics.latency);
        EXPECT_EQ(again.node.nvlink.bandwidth, cluster.node.nvlink.bandwidth);
        EXPECT_EQ(again.fabric.levels.back().hop_latency, cluster.fabric.levels.back().hop_latency);
        EXPECT_EQ(again.fabric.efficiency, cluster.fabric.efficiency);
    }
}

TEST(Cluster, AnUnknownNameListsTheClusters) {
    try {
        find_cluster("dgx-h10");
        FAIL() << "accepted";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("unknown cluster \"dgx-h10\"; did you mean \"dgx-h100\""));
        EXPECT_THAT(error.what(), HasSubstr("known clusters: dgx-1-v100, dgx-2"));
    }
}

} // namespace
} // namespace echosim
