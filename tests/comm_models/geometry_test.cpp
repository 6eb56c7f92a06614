// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"
#include "simulator/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

namespace echosim {
namespace {

using test::cluster_of;
using test::group_on;

TEST(Geometry, TensorParallelGroupStaysInItsNode) {
    const Cluster cluster = cluster_of("h100-sxm");
    const std::vector<int> ranks = {8, 9, 10, 11, 12, 13, 14, 15};
    EXPECT_EQ(geometry_of(ranks, cluster), (GroupGeometry{8, 1, 8, 8, true, 8, 2, 0}));
}

TEST(Geometry, DataParallelGroupUnderTp8HasOneGpuANode) {
    const Cluster cluster = cluster_of("h100-sxm");
    const std::vector<int> ranks = {3, 11, 19, 27};
    EXPECT_EQ(geometry_of(ranks, cluster), (GroupGeometry{4, 4, 1, 1, true, 1, 1, 1}));
}

TEST(Geometry, DataParallelGroupUnderTp4HasTwo) {
    const Cluster cluster = cluster_of("h100-sxm");
    const std::vector<int> ranks = {0, 4, 8, 12};
    EXPECT_EQ(geometry_of(ranks, cluster), (GroupGeometry{4, 2, 2, 2, true, 2, 2, 1}));
}

TEST(Geometry, GroupAcrossNodesMayBeUneven) {
    const Cluster cluster = cluster_of("h100-sxm");
    const std::vector<int> ranks = {5, 6, 7, 8}; // 3 on one node, 1 on the next
    EXPECT_EQ(geometry_of(ranks, cluster), (GroupGeometry{4, 2, 1, 3, true, 1, 1, 1}));
}

TEST(Geometry, SixteenGpusOfTwoNodes) {
    const Cluster cluster = cluster_of("h100-sxm");
    EXPECT_EQ(group_on(cluster, 2, 8), (GroupGeometry{16, 2, 8, 8, true, 8, 2, 1}));
}

TEST(Geometry, NvlinkDomainOfManyTraysIsOneNode) {
    Cluster cluster = cluster_of("b200-sxm", 4, 4);
    cluster.nvlink_domain_nodes = 18;
    const GroupGeometry one = group_on(cluster, 18, 4), two = group_on(cluster, 36, 4);
    EXPECT_EQ(one.hosts, 18);
    EXPECT_EQ(two.hosts, 36);
    EXPECT_EQ(one, (GroupGeometry{72, 1, 72, 72, true, 72, 2, 0, 1, 1, 1, 18}));
    EXPECT_EQ(two, (GroupGeometry{144, 2, 72, 72, true, 72, 2, 1, 1, 1, 1, 36}));
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

// Four GPUs with direct links: a board joins all, bridges of cards two by two.
TEST(Geometry, BridgesAreNotAMesh) {
    Cluster cluster = cluster_of("a100-sxm-80gb", 4, 4);
    cluster.node.nvlink = {300e9, 12, false};
    EXPECT_TRUE(geometry_of(std::vector<int>{0, 1, 2, 3}, cluster).nvlink);
    cluster.node.nvlink.peers = 1;
    EXPECT_TRUE(geometry_of(std::vector<int>{2, 3}, cluster).nvlink);
    EXPECT_FALSE(geometry_of(std::vector<int>{1, 2}, cluster).nvlink);
    EXPECT_FALSE(geometry_of(std::vector<int>{0, 1, 2, 3}, cluster).nvlink);
    cluster.node.nvlink.peers = 3; // all others
    EXPECT_TRUE(geometry_of(std::vector<int>{0, 1, 2, 3}, cluster).nvlink);
    cluster.node.nvlink.peers = 0;
    cluster.gpu = find_gpu("h100-pcie"); // a card
    EXPECT_FALSE(geometry_of(std::vector<int>{0, 1, 2, 3}, cluster).nvlink);
    cluster.node.gpus = 8;
    cluster.node.nvlink.peers = 3; // bridges of four cards
    EXPECT_TRUE(geometry_of(std::vector<int>{4, 5, 6, 7}, cluster).nvlink);
    EXPECT_FALSE(geometry_of(std::vector<int>{3, 4}, cluster).nvlink);
}

TEST(Geometry, PcieNodeHasNoNvlink) {
    const Cluster cluster = cluster_of("l40s");
    EXPECT_FALSE(group_on(cluster, 1, 8).nvlink);
}

// One GPU and one NIC a host, leaves of 16 hosts with `uplinks` uplinks: the fat tree that SimGrid measured
// (shared with tests/comm_models/contention_test.cpp in words). 16 = radix r / (1 + r) and uplinks = 16 / r.
Cluster hosts_on_leaves(double uplinks, Routing routing) {
    Cluster cluster = cluster_of("h100-sxm", 1, 1);
    cluster.fabric.levels = {{static_cast<int>(16 + uplinks), 16 / uplinks, 0}};
    cluster.fabric.routing = routing;
    return cluster;
}

std::vector<int> first_ranks(int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

TEST(Geometry, SocketsCountOnOneHost) {
    const Cluster cluster = cluster_of("h100-sxm"); // GPUs 0-3 on socket 0, 4-7 on socket 1
    EXPECT_EQ(geometry_of(std::vector<int>{0, 3, 12, 15}, cluster).sockets, 1);
    EXPECT_EQ(geometry_of(std::vector<int>{3, 4}, cluster).sockets, 2);
}

TEST(Geometry, AHopInOrderHasItsNicForItself) {
    // One hop leaves each leaf, over 4 uplinks or more.
    for (const double uplinks : {16.0, 8.0, 4.0})
        for (const Routing routing : {Routing::adaptive, Routing::fixed}) {
            const GroupGeometry g = geometry_of(first_ranks(256), hosts_on_leaves(uplinks, routing));
            EXPECT_EQ(g.switch_levels, 2);
            EXPECT_EQ(g.ring_share, 1);
        }
    EXPECT_EQ(geometry_of(first_ranks(16), hosts_on_leaves(4, Routing::fixed)).switch_levels, 1);
}

TEST(Geometry, EcmpLosesAFewPercentAboveTheLeaf) {
    const Cluster cluster = hosts_on_leaves(16, Routing::ecmp);
    EXPECT_EQ(geometry_of(first_ranks(32), cluster).ring_share, 0.95);
    EXPECT_EQ(geometry_of(first_ranks(16), cluster).ring_share, 1);
}

TEST(Geometry, NeighboursOnTwoLeavesShareTheUplinks) {
    // Nodes 0, 2, 4, ... on leaf 0 and 1, 3, 5, ... on leaf 1: all 16 hosts of a leaf send upwards over 4
    // uplinks, 4 / 16; with 16 uplinks each has its own.
    const Cluster narrow = hosts_on_leaves(4, Routing::adaptive);
    const NodePlacement spread = placement_from("spread", 32, narrow);
    EXPECT_EQ(place_of(spread, 0), 0);
    EXPECT_EQ(place_of(spread, 1), 16);
    EXPECT_EQ(place_of(spread, 2), 1);
    EXPECT_EQ(geometry_of(first_ranks(32), narrow, spread).ring_share, 0.25);
    EXPECT_EQ(geometry_of(first_ranks(32), hosts_on_leaves(16, Routing::adaptive), spread).ring_share, 1);
    // D-mod-k: a leaf sends to places p = 0..15 of the other one over uplinks p mod 4: 4 on each; with 16
    // uplinks one on each
    EXPECT_EQ(geometry_of(first_ranks(32), hosts_on_leaves(4, Routing::fixed), spread).ring_share, 0.25);
    EXPECT_EQ(geometry_of(first_ranks(32), hosts_on_leaves(16, Routing::fixed), spread).ring_share, 1);
}

TEST(Geometry, AllPairsCrossTheUplinksInProportion) {
    // 32 hosts on 2 leaves: 16 of the 31 others are on the other leaf. 16 x 16 / 31 = 8.258 ports want 4
    // uplinks: 0.484375; 16 uplinks are enough.
    const auto share = [](double uplinks, Routing routing) {
        return geometry_of(first_ranks(32), hosts_on_leaves(uplinks, routing)).all_pairs_share;
    };
    EXPECT_EQ(share(4, Routing::adaptive), 0.484375);
    EXPECT_EQ(share(4, Routing::fixed), 0.484375); // 4 of 16 destinations on each uplink
    EXPECT_EQ(share(16, Routing::adaptive), 1);
    EXPECT_EQ(share(16, Routing::fixed), 1);
}

TEST(Geometry, ShuffledRanksMeetOnUplinksOfStaticRoutes) {
    // SimGrid, 64 MB over 256 hosts, 5 us of latency and 5 us of transfer a step: 12.75, 17.85 and 22.95 ms
    // instead of 5.10 with 16, 8 and 4 uplinks, so 4, 6 and 8 flows on the fullest link (5 + 4 x 5 = 2.5 x
    // 10). How many meet depends on the permutation: 4, 6 and 8 for this one.
    const NodePlacement placement = placement_from("shuffled:10", 256, hosts_on_leaves(16, Routing::fixed));
    const auto share = [&](double uplinks) {
        return geometry_of(first_ranks(256), hosts_on_leaves(uplinks, Routing::fixed), placement).ring_share;
    };
    EXPECT_NEAR(share(16), 1 / 4.0, 1e-6);
    EXPECT_NEAR(share(8), 1 / 6.0, 1e-6);
    EXPECT_NEAR(share(4), 1 / 8.0, 1e-6);
    // adaptive routing spreads them: 16 uplinks are enough for the 16 hosts of a leaf
    EXPECT_EQ(geometry_of(first_ranks(256), hosts_on_leaves(16, Routing::adaptive), placement).ring_share, 1);
}

TEST(Geometry, RailsMeetAboveTheirLeaves) {
    // Radix 64, r = 1: leaves of 32 nodes a rail; 4 rows of 8 leaves join under one group of the second
    // level. 33 nodes need two leaves, 129 nodes two groups.
    Cluster cluster = cluster_of("h100-sxm");
    cluster.fabric.levels = {{64, 1, 0}, {64, 1, 0}};
    const auto levels = [&](int nodes) { return group_on(cluster, nodes, 1).switch_levels; };
    EXPECT_EQ(levels(32), 1);
    EXPECT_EQ(levels(33), 2);
    EXPECT_EQ(levels(128), 2);
    EXPECT_EQ(levels(129), 3);
    // without rails a leaf holds the 8 NICs of 4 nodes
    cluster.fabric.rail_optimised = false;
    EXPECT_EQ(levels(4), 1);
    EXPECT_EQ(levels(5), 2);
}

TEST(Geometry, SiblingGroupsLoadTheLeavesOfANodeWithoutRails) {
    // Leaves of 4 nodes with 32 NICs and 16 uplinks (radix 48, r = 2). Node i next to node i + 4: every node
    // sends its 8 NICs upwards, 32 flows on 16 uplinks, although a group of one GPU a node sends over one.
    Cluster cluster = cluster_of("h100-sxm");
    cluster.fabric.levels = {{48, 2, 0}};
    cluster.fabric.rail_optimised = false;
    NodePlacement placement;
    placement.node_of = {0, 4, 1, 5, 2, 6, 3, 7};
    std::vector<int> ranks;
    for (int node = 0; node < 8; ++node)
        ranks.push_back(node * 8 + 3);
    EXPECT_EQ(geometry_of(ranks, cluster, placement).ring_share, 0.5);
    EXPECT_EQ(geometry_of(ranks, cluster).ring_share, 1); // in order 8 of 16 uplinks carry the one hop
    // on rails the leaf of a rail has 32 nodes (radix 48): nothing leaves it
    cluster.fabric.rail_optimised = true;
    EXPECT_EQ(geometry_of(ranks, cluster, placement).switch_levels, 1);
}

TEST(Geometry, TheRingFollowsTheOrderOfTheRanks) {
    const Cluster cluster = hosts_on_leaves(4, Routing::adaptive);
    std::vector<int> ranks;
    for (int i = 0; i < 16; ++i) {
        ranks.push_back(i);
        ranks.push_back(16 + i);
    }
    EXPECT_EQ(geometry_of(ranks, cluster).ring_share, 0.25);
    EXPECT_EQ(geometry_of(ranks, cluster).all_pairs_share,
              geometry_of(first_ranks(32), cluster).all_pairs_share);
}

TEST(Geometry, SitesHoldEqualRunsOfNodes) {
    Cluster cluster = cluster_of("h100-sxm");
    cluster.sites = {2, 100e9, 0.02};
    const NodePlacement job = placement_from("packed", 8, cluster); // nodes 0-3 and 4-7
    EXPECT_EQ(geometry_of(std::vector<int>{0, 8, 16, 24}, cluster, job).sites, 1);
    EXPECT_EQ(geometry_of(std::vector<int>{0, 32}, cluster, job).sites, 2);
    EXPECT_EQ(geometry_of(std::vector<int>{0, 1, 2}, cluster, job).sites, 1);
}

TEST(Geometry, PlacementsAreReadAndChecked) {
    const Cluster cluster = hosts_on_leaves(16, Routing::fixed);
    EXPECT_EQ(placement_from("3,1,2,0", 4, cluster).node_of, (std::vector<int>{3, 1, 2, 0}));
    EXPECT_TRUE(placement_from("packed", 4, cluster).node_of.empty());
    const std::vector<int> shuffled = placement_from("shuffled:1", 64, cluster).node_of;
    EXPECT_EQ(shuffled, placement_from("shuffled:1", 64, cluster).node_of);
    EXPECT_NE(shuffled, placement_from("shuffled:2", 64, cluster).node_of);
    EXPECT_THAT(shuffled, testing::UnorderedElementsAreArray(first_ranks(64)));
    for (const char* text :
         {"", "spred", "shuffled:", "shuffled:x", "1,2", "0,1,1,2", "0,1,2,-3", "0,1,2,3,"})
        EXPECT_THROW(placement_from(text, 4, cluster), InputError) << text;
}

TEST(Geometry, PrimesAndHugeGroupsAreFinite) {
    Cluster cluster = cluster_of("h100-sxm");
    cluster.fabric.levels = {{64, 3, 0}, {64, 2, 0}};
    for (const Routing routing : {Routing::adaptive, Routing::fixed, Routing::ecmp})
        for (const int ranks : {1, 2, 7, 13, 257, 4096, 100'000}) {
            cluster.fabric.routing = routing;
            const GroupGeometry g = geometry_of(first_ranks(ranks), cluster);
            EXPECT_EQ(g.ranks, ranks);
            EXPECT_GT(g.ring_share, 0);
            EXPECT_LE(g.ring_share, 1);
            EXPECT_GT(g.all_pairs_share, 0);
            EXPECT_LE(g.all_pairs_share, 1);
        }
}

} // namespace
} // namespace echosim
