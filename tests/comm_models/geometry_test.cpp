// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

using test::cluster_of;
using test::group_on;

TEST(Geometry, TensorParallelGroupStaysInItsNode) {
    const Cluster cluster = cluster_of("h100-sxm");
    const std::vector<int> ranks = {8, 9, 10, 11, 12, 13, 14, 15};
    EXPECT_EQ(geometry_of(ranks, cluster), (GroupGeometry{8, 1, 8, 8, true, 8}));
}

TEST(Geometry, DataParallelGroupUnderTp8HasOneGpuANode) {
    const Cluster cluster = cluster_of("h100-sxm");
    const std::vector<int> ranks = {3, 11, 19, 27};
    EXPECT_EQ(geometry_of(ranks, cluster), (GroupGeometry{4, 4, 1, 1, true, 1}));
}

TEST(Geometry, DataParallelGroupUnderTp4HasTwo) {
    const Cluster cluster = cluster_of("h100-sxm");
    const std::vector<int> ranks = {0, 4, 8, 12};
    EXPECT_EQ(geometry_of(ranks, cluster), (GroupGeometry{4, 2, 2, 2, true, 2}));
}

TEST(Geometry, GroupAcrossNodesMayBeUneven) {
    const Cluster cluster = cluster_of("h100-sxm");
    const std::vector<int> ranks = {5, 6, 7, 8}; // 3 on one node, 1 on the next
    EXPECT_EQ(geometry_of(ranks, cluster), (GroupGeometry{4, 2, 1, 3, true, 1}));
}

TEST(Geometry, SixteenGpusOfTwoNodes) {
    const Cluster cluster = cluster_of("h100-sxm");
    EXPECT_EQ(group_on(cluster, 2, 8), (GroupGeometry{16, 2, 8, 8, true, 8}));
}

TEST(Geometry, NvlinkDomainOfManyTraysIsOneNode) {
    Cluster cluster = cluster_of("b200-sxm", 4, 4);
    cluster.nvlink_domain_nodes = 18;
    EXPECT_EQ(group_on(cluster, 18, 4), (GroupGeometry{72, 1, 72, 72, true, 72}));
    EXPECT_EQ(group_on(cluster, 36, 4), (GroupGeometry{144, 2, 72, 72, true, 72}));
}

TEST(Geometry, TwoGpusShareOneNic) {
    const Cluster cluster = cluster_of("a100-sxm-80gb", 8, 4, 100);
    const std::vector<int> neighbours = {0, 1, 8, 9};
    EXPECT_EQ(geometry_of(neighbours, cluster).nics_per_node, 1);
    const std::vector<int> apart = {0, 4, 8, 12};
    EXPECT_EQ(geometry_of(apart, cluster).nics_per_node, 2);
}

TEST(Geometry, BridgesJoinNeighboursOnly) {
    Cluster cluster = cluster_of("a100-pcie-80gb");
    cluster.node.nvlink.nvswitch = false;
    EXPECT_TRUE(geometry_of(std::vector<int>{2, 3}, cluster).nvlink);
    EXPECT_FALSE(geometry_of(std::vector<int>{1, 2}, cluster).nvlink);
    EXPECT_FALSE(geometry_of(std::vector<int>{0, 1, 2, 3}, cluster).nvlink);
}

TEST(Geometry, PcieNodeHasNoNvlink) {
    const Cluster cluster = cluster_of("l40s");
    EXPECT_FALSE(group_on(cluster, 1, 8).nvlink);
}

} // namespace
} // namespace echosim
