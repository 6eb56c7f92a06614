// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_graph.h"

#include "clusters.h"

#include <gtest/gtest.h>

namespace echosim::nccl {
namespace {

using test::cluster_of;
using test::group_on;

GroupSystem system_on(const Cluster& cluster, int nodes, int per_node, const std::string& version = "2.30",
                      const std::map<std::string, std::string>& environment = {}) {
    return group_system(cluster, group_on(cluster, nodes, per_node), read_settings(version, environment),
                        preset_constants());
}

GroupSystem system_of(const std::string& gpu, int nodes, int per_node, double gbits = 400) {
    return system_on(cluster_of(gpu, 8, 8, gbits), nodes, per_node);
}

// The table of docs/models.md: channels x speed and CTAs that NCCL finds.
TEST(NcclGraph, SearchInClosedForm) {
    struct Row {
        const char* gpu;
        int nodes, per_node;
        double gbits;
        int channels;
        double speed;
        int ctas;
    };
    const Row rows[] = {
        {"a100-sxm-80gb", 1, 8, 200, 12, 20, 24}, {"h100-sxm", 1, 8, 400, 12, 30, 24},
        {"h100-sxm", 1, 2, 400, 12, 30, 24},      {"b200-sxm", 1, 8, 400, 16, 45, 32},
        {"a100-sxm-80gb", 4, 8, 200, 8, 24, 16},  {"h100-sxm", 4, 8, 400, 8, 48, 16},
        {"h100-sxm", 4, 1, 400, 2, 24, 4},        {"a100-sxm-80gb", 4, 1, 200, 1, 24, 2},
        {"b200-sxm", 4, 8, 400, 8, 48, 16},
    };
    for (const Row& row : rows) {
        const GroupSystem s = system_of(row.gpu, row.nodes, row.per_node, row.gbits);
        EXPECT_EQ(s.ring.channels, row.channels) << row.gpu << " " << row.nodes << "x" << row.per_node;
        EXPECT_DOUBLE_EQ(s.ring.intra, row.speed) << row.gpu << " " << row.nodes << "x" << row.per_node;
        EXPECT_EQ(s.ring_ctas, row.ctas) << row.gpu << " " << row.nodes << "x" << row.per_node;
    }
}

// H800: 8 NVLinks, 8 x 20.6 = 164.8: 4 x 40 = 160, made 8 x 20.
TEST(NcclGraph, EightLinks) {
    Cluster cluster = cluster_of("h800-sxm");
    cluster.node.nvlink = {200e9, 8, true};
    const GroupSystem s = system_on(cluster, 1, 8);
    EXPECT_EQ(s.ring.channels, 8);
    EXPECT_DOUBLE_EQ(s.ring.intra, 20);
}

// Heads put w <= total / (heads + 1) on each link: 370.8 / 9 = 41.2 -> 40; 370.8 / 5 = 74 -> 60; 721.8 / 9
// = 80.2 -> 80.
TEST(NcclGraph, NvlsHeads) {
    EXPECT_DOUBLE_EQ(system_of("h100-sxm", 1, 8).nvls.intra, 40);
    EXPECT_DOUBLE_EQ(system_of("h100-sxm", 1, 4).nvls.intra, 60);
    EXPECT_DOUBLE_EQ(system_of("b200-sxm", 1, 8).nvls.intra, 80);
    EXPECT_EQ(system_of("a100-sxm-80gb", 1, 8).nvls.channels, 0);
}

// The maximum binds first, then the minimum, as channels are copied last.
TEST(NcclGraph, ChannelsOfTheEnvironment) {
    const Cluster cluster = cluster_of("h100-sxm");
    const auto ctas = [&](const std::map<std::string, std::string>& environment) {
        return system_on(cluster, 1, 8, "2.30", environment);
    };
    EXPECT_EQ(ctas({}).ring_ctas, 24);
    EXPECT_EQ(ctas({{"NCCL_MAX_NCHANNELS", "8"}}).ring_ctas, 8);
    EXPECT_EQ(ctas({{"NCCL_MIN_NCHANNELS", "32"}}).ring_ctas, 32);
    EXPECT_EQ(ctas({{"NCCL_MAX_CTAS", "4"}}).nvls_ctas, 4);
    EXPECT_EQ(ctas({{"NCCL_NVLS_NCHANNELS", "12"}}).nvls_ctas, 12);
    EXPECT_EQ(ctas({{"NCCL_NVLS_ENABLE", "0"}}).nvls.channels, 0);
    EXPECT_EQ(ctas({{"NCCL_BUFFSIZE", "8388608"}}).buffer, 8388608);
}

// NVLS channels of B200: 16 before 2.27, then 24 within a node and 32 over several.
TEST(NcclGraph, NvlsChannelsOfBlackwell) {
    const Cluster cluster = cluster_of("b200-sxm");
    EXPECT_EQ(system_on(cluster, 1, 8, "2.26").nvls_ctas, 16);
    EXPECT_EQ(system_on(cluster, 1, 8, "2.27").nvls_ctas, 24);
    EXPECT_EQ(system_on(cluster, 2, 8, "2.27").nvls_ctas, 32);
}

// Pool: the collectives' channels as a power of two (24 -> 32). A peer over NVLink: 2 x 18 links, at most the
// pool's; over the network 2, from 2.30 one for each 14 GB/s of the NIC (48 GB/s: 4).
TEST(NcclGraph, PointToPointChannels) {
    const Cluster cluster = cluster_of("h100-sxm");
    const GroupSystem one = system_on(cluster, 1, 8);
    EXPECT_EQ(one.p2p_pool, 32);
    EXPECT_EQ(one.p2p_per_peer, 32);
    EXPECT_EQ(system_on(cluster, 2, 8, "2.29").p2p_per_peer, 2);
    EXPECT_EQ(system_on(cluster, 2, 8, "2.30").p2p_per_peer, 4);
    EXPECT_EQ(system_on(cluster, 2, 8, "2.30", {{"NCCL_NCHANNELS_PER_NET_PEER", "8"}}).p2p_per_peer, 8);
    EXPECT_EQ(system_on(cluster, 1, 8, "2.30", {{"NCCL_MAX_P2P_NCHANNELS", "8"}}).p2p_pool, 8);
}

// A log of 16 ranks on 2 nodes speaks for such groups and no others.
TEST(NcclGraph, TheLogTakesThePlaceOfTheSearch) {
    Cluster cluster = cluster_of("h100-sxm");
    ObservedCommunicator seen;
    seen.ranks = 16;
    seen.nodes = 2;
    seen.collective_channels = 12;
    seen.nvls_channels = 20;
    seen.p2p_channels = 8;
    seen.p2p_channels_per_peer = 1;
    seen.graphs = {{"ring", 6, 40, 20}, {"tree", 7, 41, 21}, {"nvls", 8, 30, 15}};
    cluster.observed = {seen};
    const GroupSystem s = system_on(cluster, 2, 8);
    EXPECT_TRUE(s.from_log);
    EXPECT_EQ(s.ring.channels, 6);
    EXPECT_EQ(s.ring.intra, 40);
    EXPECT_EQ(s.ring.inter, 20);
    EXPECT_EQ(s.tree.channels, 7);
    EXPECT_EQ(s.nvls.intra, 30);
    EXPECT_EQ(s.ring_ctas, 12);
    EXPECT_EQ(s.nvls_ctas, 20);
    EXPECT_EQ(s.p2p_pool, 8);
    EXPECT_EQ(s.p2p_per_peer, 1);
    EXPECT_FALSE(system_on(cluster, 1, 8).from_log);
    EXPECT_EQ(system_on(cluster, 4, 8).ring.channels, 8);
    EXPECT_EQ(unmatched_log(cluster, group_on(cluster, 2, 8)), "");
    EXPECT_EQ(unmatched_log(cluster, group_on(cluster, 4, 8)), ""); // 32 ranks: the log says nothing of them
    EXPECT_EQ(
        unmatched_log(cluster, group_on(cluster, 4, 4)),
        "nccl_log of the cluster has 16 ranks on 2 nodes, this group has them on 4: the log is not used");
}

// Four trays of an NVLink domain are one node to the model and four to a log that counts hosts.
TEST(NcclGraph, ALogThatCountsHostsMatchesAnNvlinkDomain) {
    Cluster cluster = cluster_of("b200-sxm", 4, 4);
    cluster.nvlink_domain_nodes = 18;
    ObservedCommunicator seen;
    seen.ranks = 16;
    seen.nodes = 4;
    seen.nvls_channels = 24;
    cluster.observed = {seen};
    EXPECT_TRUE(system_on(cluster, 4, 4).from_log);
    EXPECT_EQ(system_on(cluster, 4, 4).nvls_ctas, 24);
    ObservedCommunicator domains = seen; // a log that counts domains speaks first
    domains.nodes = 1;
    domains.nvls_channels = 20;
    cluster.observed = {seen, domains};
    EXPECT_EQ(system_on(cluster, 4, 4).nvls_ctas, 20);
}

} // namespace
} // namespace echosim::nccl
