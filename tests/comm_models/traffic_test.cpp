// SPDX-License-Identifier: Apache-2.0
#include "comm_models/traffic.h"

#include "clusters.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

// Conservation: the bytes on all links of a kind are those of the theory. Sent bytes only (links out of a GPU
// or node); n ranks on N nodes, m a node, S = 1 GB.
namespace echosim {
namespace {

using test::cluster_of;

constexpr double kS = 1e9;

// The first GPUs of each node.
std::vector<int> group(int nodes, int per_node, int gpus_per_node = 8) {
    std::vector<int> ranks;
    for (int node = 0; node < nodes; ++node)
        for (int i = 0; i < per_node; ++i)
            ranks.push_back(node * gpus_per_node + i);
    return ranks;
}

struct Sums {
    double nvlink_out = 0, nvlink_in = 0, nic_out = 0, nic_in = 0, uplinks = 0, memory = 0;
    double most_nic = 0, least_nic = 1e300, most_nvlink = 0;
};

Sums sums_of(FabricLinks& fabric, const std::vector<LinkBytes>& traffic) {
    Sums sums;
    for (const LinkBytes& load : traffic) {
        const bool out = fabric.describe(load.link).find("out of") != std::string::npos;
        switch (fabric.link(load.link).kind) {
        case LinkKind::nvlink:
            (out ? sums.nvlink_out : sums.nvlink_in) += load.bytes;
            sums.most_nvlink = std::max(sums.most_nvlink, load.bytes);
            break;
        case LinkKind::nic:
            (out ? sums.nic_out : sums.nic_in) += load.bytes;
            sums.most_nic = std::max(sums.most_nic, load.bytes);
            sums.least_nic = std::min(sums.least_nic, load.bytes);
            break;
        case LinkKind::uplink:
            sums.uplinks += load.bytes;
            break;
        case LinkKind::hbm:
            sums.memory += load.bytes;
            break;
        default:
            break;
        }
    }
    return sums;
}

Sums sums(CollectiveKind kind, Algorithm algorithm, const std::vector<int>& ranks,
          const Cluster& cluster = cluster_of("h100-sxm")) {
    FabricLinks fabric(cluster, *std::max_element(ranks.begin(), ranks.end()) + 1);
    Collective collective;
    collective.kind = kind;
    collective.bytes = static_cast<Bytes>(kS);
    const std::vector<LinkBytes> traffic = traffic_of(collective, algorithm, ranks, fabric);
    EXPECT_TRUE(std::is_sorted(traffic.begin(), traffic.end(),
                               [](const LinkBytes& a, const LinkBytes& b) { return a.link < b.link; }));
    const Sums result = sums_of(fabric, traffic);
    EXPECT_NEAR(result.nvlink_out, result.nvlink_in, 1);
    EXPECT_NEAR(result.nic_out, result.nic_in, 1);
    return result;
}

TEST(Traffic, RingOfOneNode) {
    // V = 2 x 7/8 S over each of 8 hops; all_gather and reduce_scatter 7/8 S
    const Sums all_reduce = sums(CollectiveKind::all_reduce, Algorithm::ring, group(1, 8));
    EXPECT_NEAR(all_reduce.nvlink_out, 8 * 1.75 * kS, 1);
    EXPECT_NEAR(all_reduce.most_nvlink, 1.75 * kS, 1);
    EXPECT_NEAR(all_reduce.memory, 2 * 8 * 1.75 * kS, 1);
    EXPECT_EQ(all_reduce.nic_out, 0);
    EXPECT_NEAR(sums(CollectiveKind::all_gather, Algorithm::ring, group(1, 8)).nvlink_out, 7 * kS, 1);
    EXPECT_NEAR(sums(CollectiveKind::reduce_scatter, Algorithm::ring, group(1, 8)).nvlink_out, 7 * kS, 1);
    EXPECT_NEAR(sums(CollectiveKind::broadcast, Algorithm::ring, group(1, 8)).nvlink_out, 7 * kS, 1);
}

TEST(Traffic, RingOverNodesUsesEveryNicAlike) {
    // n = 16, N = 2: V = 2 x 15/16 S. Between nodes N hops, V each, spread over 8 NICs; within nodes (n - N)
    // hops, and N from the last member back to the one next to the NIC.
    const double v = 2 * 15.0 / 16 * kS;
    const Sums s = sums(CollectiveKind::all_reduce, Algorithm::ring, group(2, 8));
    EXPECT_NEAR(s.nic_out, 2 * v, 1);
    EXPECT_NEAR(s.most_nic, v / 8, 1);
    EXPECT_NEAR(s.least_nic, v / 8, 1);
    EXPECT_NEAR(s.nvlink_out, (14 + 2) * v, 1);
    EXPECT_EQ(s.uplinks, 0); // one leaf
    const Sums alone = sums(CollectiveKind::all_reduce, Algorithm::ring, group(5, 1));
    EXPECT_NEAR(alone.nic_out, 5 * 2 * 4.0 / 5 * kS, 1);
    EXPECT_EQ(alone.nvlink_out, 0);
}

TEST(Traffic, BroadcastAndReduceLeaveTheClosingHopOut) {
    // 15 hops of S in each of 8 lanes that carry 1/8: one of the two hops between nodes is left out in the
    // lane of the root, so 15/8 S over NICs; those come with as many hops back to the NIC's GPU
    for (const CollectiveKind kind : {CollectiveKind::broadcast, CollectiveKind::reduce}) {
        const Sums s = sums(kind, Algorithm::ring, group(2, 8));
        EXPECT_NEAR(s.nic_out, 15.0 / 8 * kS, 1);
        EXPECT_NEAR(s.nvlink_out - 15.0 / 8 * kS + s.nic_out, 15 * kS, 1);
    }
}

TEST(Traffic, TreeSendsUpAndDownEveryEdge) {
    // 2 (N - 1) S between nodes and 2 (m - 1) S in each: 2 (n - 1) S in all, as a ring
    for (const int nodes : {2, 3, 4, 7, 16}) {
        const Sums s = sums(CollectiveKind::all_reduce, Algorithm::tree, group(nodes, 8));
        EXPECT_NEAR(s.nic_out, 2 * (nodes - 1) * kS, 10) << nodes;
        EXPECT_NEAR(s.nvlink_out, nodes * 2 * 7 * kS, 10) << nodes;
    }
    // N = 2: each node sends S / 2 up and S / 2 down, over 8 NICs
    EXPECT_NEAR(sums(CollectiveKind::all_reduce, Algorithm::tree, group(2, 8)).most_nic, kS / 8, 1);
}

TEST(Traffic, NvlsMovesTheDataOnceEachWay) {
    const Sums s = sums(CollectiveKind::all_reduce, Algorithm::nvls, group(1, 8));
    EXPECT_NEAR(s.most_nvlink, kS * (1 + 1.0 / 8), 1);
    EXPECT_NEAR(s.nvlink_out, 9 * kS, 1);
    const Sums tree = sums(CollectiveKind::all_reduce, Algorithm::nvls_tree, group(4, 8));
    EXPECT_NEAR(tree.nvlink_out, 4 * 9 * kS, 1);
    EXPECT_NEAR(tree.nic_out, 2 * 3 * kS, 1);
}

TEST(Traffic, PatSendsEachShardOnceToEachRank) {
    for (const int nodes : {2, 5, 8, 13}) {
        const Sums s = sums(CollectiveKind::all_gather, Algorithm::pat, group(nodes, 1));
        EXPECT_NEAR(s.nic_out, (nodes - 1) * kS, 10) << nodes;
        EXPECT_NEAR(s.most_nic, s.nic_out / nodes, 10) << nodes;
    }
}

TEST(Traffic, AllToAllKeepsToItsRails) {
    // n = 32, N = 4, m = 8. Each rank sends S / n to each of 24 ranks of other nodes over the NIC next to the
    // receiver: 24/32 S a NIC. NVLink: 7 peers of the node, and 7/8 of what leaves it.
    const double pair = kS / 32;
    const Sums s = sums(CollectiveKind::all_to_all, Algorithm::direct, group(4, 8));
    EXPECT_NEAR(s.nic_out, 32 * 24 * pair, 10);
    EXPECT_NEAR(s.most_nic, 24 * pair, 1);
    EXPECT_NEAR(s.least_nic, 24 * pair, 1);
    EXPECT_NEAR(s.nvlink_out, 32 * 7 * pair + 32 * 24 * pair * 7 / 8, 10);
    // leaves of one node each, everything climbs: rails have nothing to do with it
    Cluster narrow = cluster_of("h100-sxm");
    narrow.fabric.levels = {{2, 1, 0}};
    EXPECT_NEAR(sums(CollectiveKind::all_to_all, Algorithm::direct, group(4, 8), narrow).uplinks,
                32 * 24 * pair, 10);
}

TEST(Traffic, OneToAllAndPairs) {
    EXPECT_NEAR(sums(CollectiveKind::gather, Algorithm::direct, group(4, 1)).nic_out, 3 * kS / 4, 1);
    EXPECT_NEAR(sums(CollectiveKind::scatter, Algorithm::direct, group(1, 8)).nvlink_out, 7 * kS / 8, 1);
    EXPECT_NEAR(sums(CollectiveKind::send_recv, Algorithm::direct, group(2, 1)).nic_out, kS, 1);
    EXPECT_NEAR(sums(CollectiveKind::all_gather, Algorithm::direct, group(1, 8)).nvlink_out, 7 * kS, 1);
}

TEST(Traffic, UnevenNodesAndNvlinkDomains) {
    // 3 + 1 ranks: one lane; V = 2 x 3/4 S over 2 hops between nodes, 2 within the first and 1 back
    const std::vector<int> uneven = {5, 6, 7, 8};
    const Sums s = sums(CollectiveKind::all_reduce, Algorithm::ring, uneven);
    EXPECT_NEAR(s.nic_out, 2 * 1.5 * kS, 1);
    EXPECT_NEAR(s.nvlink_out, 3 * 1.5 * kS, 1);
    Cluster rack = cluster_of("b200-sxm", 4, 4);
    rack.nvlink_domain_nodes = 18;
    const Sums racks = sums(CollectiveKind::all_gather, Algorithm::ring, group(36, 4, 4), rack);
    EXPECT_NEAR(racks.nic_out, 2 * 143.0 / 144 * kS, 10);
    EXPECT_NEAR(racks.most_nic, 143.0 / 144 * kS / 72, 1); // all 72 NICs of a rack
    EXPECT_EQ(sums(CollectiveKind::all_gather, Algorithm::ring, group(18, 4, 4), rack).nic_out, 0);
}

TEST(Traffic, OneRankSendsNothing) {
    FabricLinks fabric(cluster_of("h100-sxm"), 8);
    EXPECT_TRUE(traffic_of({}, Algorithm::ring, std::vector<int>{3}, fabric).empty());
}

} // namespace
} // namespace echosim
