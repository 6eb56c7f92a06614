// SPDX-License-Identifier: Apache-2.0
#include "comm_models/fabric.h"

#include "clusters.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

using test::cluster_of;

std::vector<std::string> path_names(FabricLinks& fabric, int from, int to, int rail = -1) {
    std::vector<LinkId> links;
    fabric.path(from, to, rail, links);
    std::vector<std::string> names;
    for (const LinkId link : links)
        names.push_back(fabric.describe(link));
    return names;
}

double capacity(FabricLinks& fabric, int from, int to, const std::string& name) {
    std::vector<LinkId> links;
    fabric.path(from, to, -1, links);
    for (const LinkId link : links)
        if (fabric.describe(link) == name)
            return fabric.link(link).capacity;
    return -1;
}

using Names = std::vector<std::string>;

// Leaves of 32 nodes a rail, 16 uplinks (radix 48, r = 2), below a level that joins 8 rails of 4 rows.
Cluster rails(Routing routing) {
    Cluster cluster = cluster_of("h100-sxm");
    cluster.node.nics.latency = 2e-6;
    cluster.fabric.levels = {{48, 2, 0.3e-6}, {64, 1, 0.4e-6}};
    cluster.fabric.routing = routing;
    return cluster;
}

TEST(Fabric, GpusOfANodeTalkOverNvlink) {
    FabricLinks fabric(rails(Routing::adaptive), 16);
    EXPECT_EQ(path_names(fabric, 1, 6), (Names{"NVLink out of GPU 1", "NVLink into GPU 6"}));
    EXPECT_EQ(capacity(fabric, 1, 6, "NVLink out of GPU 1"), 450e9);
    EXPECT_EQ(path_names(fabric, 3, 3), Names{});
}

TEST(Fabric, AHopOnOneRailStaysOnItsLeaf) {
    FabricLinks fabric(rails(Routing::adaptive), 16);
    EXPECT_EQ(path_names(fabric, 3, 11),
              (Names{"PCIe out of GPU 3", "NIC 3 out of node 0", "NIC 3 into node 1", "PCIe into GPU 11"}));
    // Gen5 x16 as NCCL counts it: 12 x 4
    EXPECT_EQ(capacity(fabric, 3, 11, "PCIe out of GPU 3"), 48e9);
    EXPECT_EQ(capacity(fabric, 3, 11, "NIC 3 out of node 0"), 50e9);
}

TEST(Fabric, OtherRailsAreReachedOverNvlinkOrAboveTheLeaves) {
    FabricLinks fabric(rails(Routing::adaptive), 16);
    EXPECT_EQ(path_names(fabric, 3, 13, 5),
              (Names{"NVLink out of GPU 3", "NVLink into GPU 5", "PCIe out of GPU 5", "NIC 5 out of node 0",
                     "NIC 5 into node 1", "PCIe into GPU 13"}));
    EXPECT_EQ(path_names(fabric, 3, 13),
              (Names{"PCIe out of GPU 3", "NIC 3 out of node 0", "uplinks of leaf 0 of rail 3",
                     "downlinks of leaf 0 of rail 5", "NIC 5 into node 1", "PCIe into GPU 13"}));
}

TEST(Fabric, UplinksHaveWhatTheOversubscriptionLeaves) {
    // 32 ports of 50 GB/s at 2:1 leave 800 GB/s together, or 16 uplinks of 50
    FabricLinks together(rails(Routing::adaptive), 8 * 64), single(rails(Routing::fixed), 8 * 64);
    EXPECT_EQ(capacity(together, 0, 8 * 40, "uplinks of leaf 0 of rail 0"), 800e9);
    EXPECT_EQ(path_names(single, 0, 8 * 45),
              (Names{"PCIe out of GPU 0", "NIC 0 out of node 0", "uplink 13 of leaf 0 of rail 0",
                     "downlink 13 of leaf 1 of rail 0", "NIC 0 into node 45", "PCIe into GPU 360"}))
        << "45 mod 16 = 13";
    EXPECT_EQ(capacity(single, 0, 8 * 45, "uplink 13 of leaf 0 of rail 0"), 50e9);
}

TEST(Fabric, AHashTellsRoutesApartAndKeepsThem) {
    FabricLinks fabric(rails(Routing::ecmp), 8 * 64);
    std::vector<std::string> first;
    for (int node = 32; node < 64; ++node)
        first.push_back(path_names(fabric, 0, 8 * node)[2]);
    for (int node = 32; node < 64; ++node)
        EXPECT_EQ(path_names(fabric, 0, 8 * node)[2], first[static_cast<std::size_t>(node - 32)]);
    std::sort(first.begin(), first.end());
    const auto different = std::unique(first.begin(), first.end()) - first.begin();
    EXPECT_GT(different, 8); // of 16 uplinks
    EXPECT_LT(different, 16);
}

TEST(Fabric, LatencyCountsNicsAndSwitches) {
    // within a leaf: half a NIC twice and one switch, 1 + 0.3 + 1; above: leaf, spine, leaf: 2 + 0.3 + 0.4 +
    // 0.3
    FabricLinks fabric(rails(Routing::adaptive), 8 * 64);
    const auto latency = [&](int from, int to) {
        std::vector<LinkId> links;
        fabric.path(from, to, -1, links);
        double sum = 0;
        for (const LinkId link : links)
            sum += fabric.link(link).latency;
        return sum;
    };
    EXPECT_NEAR(latency(0, 8), 2.3e-6, 1e-12);
    EXPECT_NEAR(latency(0, 8 * 40), 3.0e-6, 1e-12);
    EXPECT_EQ(latency(0, 7), 0);
}

TEST(Fabric, EfficiencyCountsForTheWholeNetwork) {
    Cluster cluster = rails(Routing::adaptive);
    cluster.fabric.efficiency = 0.8;
    FabricLinks fabric(cluster, 8 * 64);
    EXPECT_DOUBLE_EQ(capacity(fabric, 0, 8 * 40, "NIC 0 out of node 0"), 40e9);
    EXPECT_DOUBLE_EQ(capacity(fabric, 0, 8 * 40, "uplinks of leaf 0 of rail 0"), 640e9);
}

TEST(Fabric, NicsAreSharedOrSeveral) {
    FabricLinks shared(cluster_of("a100-sxm-80gb", 8, 4, 200), 16);
    EXPECT_EQ(path_names(shared, 0, 8)[1], "NIC 0 out of node 0");
    EXPECT_EQ(path_names(shared, 1, 9)[1], "NIC 0 out of node 0");
    EXPECT_EQ(path_names(shared, 2, 10)[1], "NIC 1 out of node 0");
    EXPECT_EQ(path_names(shared, 7, 8, 1)[0], "NVLink out of GPU 7"); // to GPU 2, next to NIC 1
    EXPECT_EQ(path_names(shared, 7, 8, 1)[1], "NVLink into GPU 2");
    FabricLinks several(cluster_of("h100-sxm", 8, 32, 100), 16); // 4 x 12.5 GB/s a GPU
    EXPECT_EQ(capacity(several, 3, 11, "NIC 3 out of node 0"), 50e9);
    EXPECT_EQ(path_names(several, 3, 11, 12), path_names(several, 3, 11)); // NIC 12 is GPU 3's first
}

TEST(Fabric, TraysOfOneNvlinkDomain) {
    Cluster cluster = cluster_of("b200-sxm", 4, 4);
    cluster.nvlink_domain_nodes = 18;
    FabricLinks fabric(cluster, 144);
    EXPECT_EQ(path_names(fabric, 0, 71), (Names{"NVLink out of GPU 0", "NVLink into GPU 71"}));
    EXPECT_EQ(path_names(fabric, 5, 77)[1], "NIC 1 out of node 1");
}

TEST(Fabric, PcieBoxesAndBridges) {
    FabricLinks pcie(cluster_of("l40s"), 8);
    EXPECT_EQ(path_names(pcie, 1, 2), (Names{"PCIe out of GPU 1", "PCIe into GPU 2"}));
    Cluster cluster = cluster_of("a100-pcie-80gb");
    cluster.node.nvlink.nvswitch = false;
    FabricLinks bridges(cluster, 8);
    EXPECT_EQ(path_names(bridges, 2, 3)[0], "NVLink out of GPU 2");
    EXPECT_EQ(path_names(bridges, 1, 2)[0], "PCIe out of GPU 1");
}

TEST(Fabric, SitesAreJoinedByAShareOfEachNode) {
    Cluster cluster = rails(Routing::adaptive);
    cluster.sites = {2, 10e9, 20e-3};
    FabricLinks fabric(cluster, 8 * 8);
    EXPECT_EQ(path_names(fabric, 0, 8 * 5),
              (Names{"PCIe out of GPU 0", "NIC 0 out of node 0", "uplinks of leaf 0 of rail 0",
                     "uplinks of group 0 of level 2", "network between sites out of node 0",
                     "network between sites into node 5", "downlinks of group 0 of level 2",
                     "downlinks of leaf 0 of rail 0", "NIC 0 into node 5", "PCIe into GPU 40"}));
    EXPECT_EQ(capacity(fabric, 0, 8 * 5, "network between sites out of node 0"), 10e9);
    EXPECT_EQ(path_names(fabric, 0, 8 * 3).size(), 4U);
}

TEST(Fabric, PlacementMovesNodes) {
    NodePlacement placement;
    placement.node_of = {0, 40};
    FabricLinks fabric(rails(Routing::fixed), 16, placement);
    EXPECT_EQ(path_names(fabric, 0, 8)[2], "uplink 8 of leaf 0 of rail 0"); // 40 mod 16
}

TEST(Fabric, LinksAreMadeWhenTheyAreAskedFor) {
    FabricLinks fabric(rails(Routing::fixed), 100'000);
    EXPECT_EQ(fabric.size(), 0U);
    path_names(fabric, 0, 99'992);
    EXPECT_LE(fabric.size(), 8U);
}

} // namespace
} // namespace echosim
