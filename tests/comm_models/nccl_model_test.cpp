// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_model.h"

#include "clusters.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace echosim {
namespace {

using test::cluster_of;
using test::group_on;
constexpr Bytes kKiB = 1024;
constexpr Bytes kMiB = 1024 * 1024;
constexpr auto kReduce = CollectiveKind::all_reduce;
constexpr auto kGather = CollectiveKind::all_gather;
constexpr auto kScatter = CollectiveKind::reduce_scatter;
constexpr auto kAllToAll = CollectiveKind::all_to_all;

double microseconds(const Cluster& cluster, int nodes, int per_node, CollectiveKind kind, Bytes bytes) {
    const auto model = std::make_unique<NcclModel>(cluster);
    const Collective c{.kind = kind, .bytes = bytes, .in_place = false};
    return model->estimate(c, group_on(cluster, nodes, per_node)).time * 1e6;
}

// nccl-tests tables of ai-dynamo/aiconfigurator, one node, out of place, us (A100 NCCL 2.27.3,
// others 2.29.2).
struct Golden {
    const char* gpu;
    int ranks;
    CollectiveKind kind;
    Bytes bytes;
    double us;
};
const Golden kSingleNode[] = {
    {"a100-sxm-80gb", 8, kReduce, kKiB, 21.77},
    {"a100-sxm-80gb", 8, kReduce, kMiB, 38.85},
    {"a100-sxm-80gb", 8, kReduce, 16 * kMiB, 216.5},
    {"a100-sxm-80gb", 8, kReduce, 64 * kMiB, 595.3},
    {"a100-sxm-80gb", 8, kReduce, 512 * kMiB, 4226},
    {"a100-sxm-80gb", 8, kGather, 64 * kMiB, 351.6},
    {"a100-sxm-80gb", 8, kScatter, 64 * kMiB, 327.2},
    {"a100-sxm-80gb", 8, kScatter, 512 * kMiB, 2207},
    {"a100-sxm-80gb", 8, kAllToAll, 64 * kMiB, 347.6},
    {"a100-sxm-80gb", 8, kAllToAll, 512 * kMiB, 2314},
    {"h100-sxm", 2, kReduce, kKiB, 6.42},
    {"h100-sxm", 2, kReduce, kMiB, 14.55},
    {"h100-sxm", 2, kReduce, 16 * kMiB, 81.12},
    {"h100-sxm", 2, kReduce, 64 * kMiB, 252.3},
    {"h100-sxm", 2, kReduce, 512 * kMiB, 1674},
    {"h100-sxm", 2, kGather, 64 * kMiB, 160.1},
    {"h100-sxm", 2, kScatter, 64 * kMiB, 169.2},
    {"h100-sxm", 2, kScatter, 512 * kMiB, 1075},
    {"h100-sxm", 2, kAllToAll, 64 * kMiB, 139.6},
    {"h100-sxm", 2, kAllToAll, 512 * kMiB, 963.4},
    {"h100-sxm", 4, kReduce, kKiB, 9.69},
    {"h100-sxm", 4, kReduce, kMiB, 18.3},
    {"h100-sxm", 4, kReduce, 16 * kMiB, 99.36},
    {"h100-sxm", 4, kReduce, 64 * kMiB, 323.7},
    {"h100-sxm", 4, kReduce, 512 * kMiB, 2308},
    {"h100-sxm", 4, kGather, 64 * kMiB, 190.1},
    {"h100-sxm", 4, kScatter, 64 * kMiB, 190.8},
    {"h100-sxm", 4, kScatter, 512 * kMiB, 1299},
    {"h100-sxm", 4, kAllToAll, 64 * kMiB, 183.9},
    {"h100-sxm", 4, kAllToAll, 512 * kMiB, 1212},
    {"h100-sxm", 8, kReduce, kKiB, 15.62},
    {"h100-sxm", 8, kReduce, kMiB, 25.42},
    {"h100-sxm", 8, kReduce, 16 * kMiB, 122.5},
    {"h100-sxm", 8, kReduce, 64 * kMiB, 324},
    {"h100-sxm", 8, kReduce, 512 * kMiB, 2111},
    {"h100-sxm", 8, kGather, 64 * kMiB, 209.2},
    {"h100-sxm", 8, kScatter, 64 * kMiB, 200.8},
    {"h100-sxm", 8, kScatter, 512 * kMiB, 1402},
    {"h100-sxm", 8, kAllToAll, 64 * kMiB, 218.4},
    {"h100-sxm", 8, kAllToAll, 512 * kMiB, 1480},
    {"b200-sxm", 8, kReduce, kKiB, 24.91},
    {"b200-sxm", 8, kReduce, kMiB, 30.13},
    {"b200-sxm", 8, kReduce, 16 * kMiB, 98.58},
    {"b200-sxm", 8, kReduce, 64 * kMiB, 278.7},
    {"b200-sxm", 8, kReduce, 512 * kMiB, 1338},
    {"b200-sxm", 8, kGather, 64 * kMiB, 136.9},
    {"b200-sxm", 8, kScatter, 64 * kMiB, 138.4},
    {"b200-sxm", 8, kScatter, 512 * kMiB, 766.6},
    {"b200-sxm", 8, kAllToAll, 64 * kMiB, 136.6},
    {"b200-sxm", 8, kAllToAll, 512 * kMiB, 836.5},
};

TEST(NcclModel, SingleNodeGoldenPoints) {
    double sum = 0;
    for (const Golden& g : kSingleNode) {
        const double us = microseconds(cluster_of(g.gpu), 1, g.ranks, g.kind, g.bytes);
        EXPECT_NEAR(us, g.us, 0.15 * g.us)
            << g.gpu << " x" << g.ranks << " " << to_string(g.kind) << " " << g.bytes;
        sum += std::abs(us / g.us - 1);
    }
    EXPECT_LE(sum / std::size(kSingleNode), 0.08);
}

// NetX-lab/Echo logs: A100 40 GB, NCCL of 2021, 200 Gb/s InfiniBand that reaches 65 % of its nominal rate;
// us.
TEST(NcclModel, EchoLogsOf8To32Gpus) {
    struct Row {
        Bytes bytes;
        double us[3];
    };
    const Row rows[] = {{4 * kKiB, {31.12, 38.22, 58.97}},
                        {kMiB, {72.53, 100.1, 131.8}},
                        {16 * kMiB, {235.6, 367.2, 423.1}},
                        {256 * kMiB, {2096, 4159, 4069}},
                        {1024 * kMiB, {8139, 16170, 16562}}};
    Cluster cluster = cluster_of("a100-sxm-40gb", 8, 8, 200);
    cluster.nccl = "2.10";
    cluster.fabric.efficiency = 0.65;
    double sum = 0;
    for (const Row& row : rows) {
        for (int i = 0; i < 3; ++i) {
            const double us = microseconds(cluster, 1 << i, 8, kReduce, row.bytes);
            EXPECT_NEAR(us, row.us[i], 0.15 * row.us[i]) << row.bytes << " on " << (8 << i);
            sum += std::abs(us / row.us[i] - 1);
        }
    }
    EXPECT_LE(sum / 15, 0.10);
}

TEST(NcclModel, OneRankCostsNothing) {
    const Cluster cluster = cluster_of("h100-sxm");
    const auto model = std::make_unique<NcclModel>(cluster);
    for (int kind = 0; kind <= static_cast<int>(CollectiveKind::send_recv); ++kind) {
        const Collective c{.kind = static_cast<CollectiveKind>(kind), .bytes = kMiB};
        EXPECT_EQ(model->estimate(c, group_on(cluster, 1, 1)).time, 0);
        EXPECT_EQ(model->estimate({.kind = c.kind, .bytes = 0}, group_on(cluster, 1, 8)).time, 0);
    }
}

// Out of place it is a copy; an A100 40 GB takes 1620 us for 1 GiB and 4.5 us for small messages.
TEST(NcclModel, OneRankCopiesOutOfPlace) {
    Cluster cluster = cluster_of("a100-sxm-40gb");
    cluster.gpu.memory_bandwidth = 1555e9;
    const auto model = std::make_unique<NcclModel>(cluster);
    Collective c{.kind = CollectiveKind::all_reduce, .bytes = 1024 * kMiB, .in_place = false};
    EXPECT_NEAR(model->estimate(c, group_on(cluster, 1, 1)).time * 1e6, 1620, 0.1 * 1620);
    c.bytes = 1024;
    EXPECT_NEAR(model->estimate(c, group_on(cluster, 1, 1)).time * 1e6, 4.5, 0.1);
}

TEST(NcclModel, FiniteForAnyGroup) {
    for (const char* gpu : {"v100-sxm3-32gb", "a100-sxm-80gb", "h100-sxm", "b200-sxm", "l40s", "mi300x"}) {
        const Cluster cluster = cluster_of(gpu);
        const auto model = std::make_unique<NcclModel>(cluster);
        for (const auto& [nodes, per_node] : {std::pair{1, 2},
                                              {1, 3},
                                              {1, 7},
                                              {2, 1},
                                              {3, 1},
                                              {13, 1},
                                              {31, 8},
                                              {101, 2},
                                              {512, 8},
                                              {4096, 1},
                                              {100000, 1},
                                              {12500, 8}}) {
            const GroupGeometry group = group_on(cluster, nodes, per_node);
            for (int kind = 0; kind <= static_cast<int>(CollectiveKind::send_recv); ++kind) {
                for (const Bytes bytes : {Bytes{4}, 1000003 * Bytes{1}, 1024 * kMiB}) {
                    const Collective c{.kind = static_cast<CollectiveKind>(kind), .bytes = bytes};
                    const CommCost cost = model->estimate(c, group);
                    EXPECT_TRUE(std::isfinite(cost.time) && cost.time > 0 && cost.time < 10000)
                        << gpu << " " << nodes << "x" << per_node << " " << to_string(c.kind) << " " << bytes;
                    EXPECT_TRUE(std::isfinite(cost.bus_bandwidth) && std::isfinite(cost.hbm_bytes));
                    EXPECT_GE(cost.channels, 1);
                    EXPECT_LE(cost.channels, 64);
                }
            }
        }
    }
}

// Time never falls when the message grows, within one algorithm and protocol.
TEST(NcclModel, MonotoneInSize) {
    for (const char* gpu : {"a100-sxm-80gb", "h100-sxm", "b200-sxm", "l40s"}) {
        const Cluster cluster = cluster_of(gpu);
        const auto model = std::make_unique<NcclModel>(cluster);
        for (const auto& [nodes, per_node] :
             {std::pair{1, 2}, {1, 8}, {2, 1}, {2, 8}, {16, 1}, {16, 8}, {128, 4}}) {
            const GroupGeometry group = group_on(cluster, nodes, per_node);
            for (const auto kind : {kReduce, kGather, kScatter, kAllToAll, CollectiveKind::broadcast,
                                    CollectiveKind::send_recv}) {
                CommCost last;
                for (double size = 1000; size < 3e10; size *= 1.07) {
                    const CommCost cost =
                        model->estimate({.kind = kind, .bytes = static_cast<Bytes>(size)}, group);
                    if (cost.algorithm == last.algorithm && cost.protocol == last.protocol) {
                        EXPECT_GE(cost.time, last.time * (1 - 1e-9)) << gpu << " " << nodes << "x" << per_node
                                                                     << " " << to_string(kind) << " " << size;
                    }
                    last = cost;
                }
            }
        }
    }
}

// Ring all-reduce of S over n = 32 on 4 nodes: every rank sends 2(n-1)/n S, 4 of the 32 hops cross the
// network.
TEST(NcclModel, ConservesBytes) {
    const Cluster cluster = cluster_of("a100-sxm-80gb");
    const auto model = std::make_unique<NcclModel>(cluster);
    const Bytes size = 1024 * kMiB;
    const double s = static_cast<double>(size);
    const GroupGeometry group = group_on(cluster, 4, 8);
    const CommCost ring = model->estimate({.kind = kReduce, .bytes = size}, group);
    ASSERT_EQ(ring.algorithm, Algorithm::ring);
    EXPECT_NEAR(ring.nvlink_bytes + ring.nic_bytes, 2 * 31.0 / 32 * s, 1);
    EXPECT_NEAR(32 * ring.nic_bytes, 4 * 2 * 31.0 / 32 * s, 1);
    const CommCost gather = model->estimate({.kind = kGather, .bytes = size}, group);
    EXPECT_NEAR(gather.nvlink_bytes + gather.nic_bytes, 31.0 / 32 * s, 1);
    // A tree sends every byte up and down each of its n-1 edges, N-1 of them between nodes.
    const CommCost tree = model->estimate({.kind = kReduce, .bytes = kMiB}, group);
    ASSERT_EQ(tree.algorithm, Algorithm::tree);
    EXPECT_NEAR(32 * (tree.nvlink_bytes + tree.nic_bytes), 2 * 31.0 * kMiB, 1);
    EXPECT_NEAR(32 * tree.nic_bytes, 2 * 3.0 * kMiB, 1);
    // All-to-all: 24 of 32 shares of the buffer leave the node, 7 stay, and 7/8 of what leaves first goes to
    // the GPU beside the right NIC.
    const CommCost all = model->estimate({.kind = kAllToAll, .bytes = size}, group);
    EXPECT_NEAR(all.nic_bytes, 24.0 / 32 * s, 1);
    EXPECT_NEAR(all.nvlink_bytes, 7.0 / 32 * s + 24.0 / 32 * s * 7 / 8, 1);
}

// busbw as nccl-tests prints it: bytes / time x 2(n-1)/n.
TEST(NcclModel, BusBandwidth) {
    const Cluster cluster = cluster_of("h100-sxm");
    const auto model = std::make_unique<NcclModel>(cluster);
    const CommCost cost = model->estimate({.kind = kReduce, .bytes = 512 * kMiB}, group_on(cluster, 1, 4));
    EXPECT_NEAR(cost.bus_bandwidth, 512.0 * kMiB / cost.time * 1.5, 1);
    EXPECT_NEAR(cost.bus_bandwidth * 1e-9, 349, 35);
}

TEST(NcclModel, OutOfPlaceCostsACopy) {
    const Cluster cluster = cluster_of("h100-sxm");
    const auto model = std::make_unique<NcclModel>(cluster);
    const GroupGeometry group = group_on(cluster, 1, 8);
    const CommCost in = model->estimate({.kind = kGather, .bytes = 512 * kMiB, .in_place = true}, group);
    const CommCost out = model->estimate({.kind = kGather, .bytes = 512 * kMiB, .in_place = false}, group);
    // 64 MiB of the rank's own part at some 930 GB/s: 72 us.
    EXPECT_NEAR((out.time - in.time) * 1e6, 72, 5);
    EXPECT_GT(out.hbm_bytes, in.hbm_bytes);
}

// Large messages over the network scale with the share of the NIC rate that the fabric gives.
TEST(NcclModel, FabricEfficiencyScalesTheNic) {
    Cluster cluster = cluster_of("h100-sxm");
    cluster.fabric.efficiency = 0.9;
    const double fast = microseconds(cluster, 16, 1, kScatter, 4096 * kMiB);
    cluster.fabric.efficiency = 0.45;
    const double slow = microseconds(cluster, 16, 1, kScatter, 4096 * kMiB);
    EXPECT_NEAR(slow / fast, 2, 0.1);
    // 15/16 x 4 GiB over 48 GB/s x 0.9: 93.2 ms.
    EXPECT_NEAR(fast, 93.2e3, 0.05 * 93.2e3);
}

// Two GPUs that share a 100 Gb/s NIC have half of it each while their groups run side by side.
TEST(NcclModel, SharedNicIsHalved) {
    Cluster cluster = cluster_of("a100-sxm-80gb", 8, 8, 100);
    const double own = microseconds(cluster, 4, 1, kScatter, 1024 * kMiB);
    cluster.node.nics.count = 4;
    const double shared = microseconds(cluster, 4, 1, kScatter, 1024 * kMiB);
    EXPECT_NEAR(shared / own, 2, 0.1);
}

// A ring of 4 CTAs moves 4 x 22 GB/s a rank; NVLS counts its CTAs once: a quarter of them, a quarter of the
// rate.
TEST(NcclModel, FewerChannelsLimitTheRateOnce) {
    const Cluster cluster = cluster_of("h100-sxm");
    const auto bus = [&](const char* algorithm, const char* protocol, const char* channels) {
        NcclOptions options;
        options.environment = {{"NCCL_ALGO", algorithm},
                               {"NCCL_PROTO", protocol},
                               {"NCCL_MIN_NCHANNELS", channels},
                               {"NCCL_MAX_NCHANNELS", channels}};
        const NcclModel model(cluster, options);
        return model.estimate({.bytes = 1024 * kMiB}, group_on(cluster, 1, 8)).bus_bandwidth * 1e-9;
    };
    EXPECT_NEAR(bus("nvls", "simple", "4"), bus("nvls", "simple", "16") / 4, 12);
    EXPECT_NEAR(bus("ring", "simple", "4"), 88, 5);
    EXPECT_LT(bus("ring", "ll128", "4"), 100);
}

// Each GPU has a NIC of its own, so a node with one rank does not slow the pairs of the others.
TEST(NcclModel, UnevenNodesKeepTheRateOfPairs) {
    const Cluster cluster = cluster_of("h100-sxm");
    const NcclModel model(cluster);
    const auto bus = [&](int gpus) {
        std::vector<int> ranks(static_cast<std::size_t>(gpus));
        std::iota(ranks.begin(), ranks.end(), 0);
        const Collective all{.kind = CollectiveKind::all_to_all, .bytes = 8192 * kMiB};
        return model.estimate(all, geometry_of(ranks, cluster)).bus_bandwidth;
    };
    EXPECT_NEAR(bus(65) / bus(64), 1, 0.05);
}

// Of the eight GPUs of a hybrid cube mesh a pair has one link of six: 22.5 GB/s; measured 22.4 at 64 MiB
// (vTrain).
TEST(NcclModel, VoltaHybridCubeMesh) {
    Cluster cluster = cluster_of("v100-sxm2-16gb");
    cluster.node.nvlink.nvswitch = false;
    EXPECT_NEAR(microseconds(cluster, 1, 2, kReduce, 256 * kMiB), 11915, 0.1 * 11915);
    EXPECT_NEAR(microseconds(cluster, 1, 4, kReduce, 256 * kMiB), 4714, 0.1 * 4714);
    EXPECT_NEAR(microseconds(cluster, 1, 8, kReduce, 256 * kMiB), 3527, 0.1 * 3527);
}

// 4 bytes over a hundred thousand ranks take a tree: logarithmic, not linear.
TEST(NcclModel, GradNormOverManyRanks) {
    const Cluster cluster = cluster_of("h100-sxm");
    const double small = microseconds(cluster, 128, 8, kReduce, 4);
    const double large = microseconds(cluster, 12500, 8, kReduce, 4);
    EXPECT_LT(large, 2.5 * small);
    EXPECT_LT(large, 600);
}

TEST(NcclModel, NvlinkDomainIsOneNode) {
    Cluster cluster = cluster_of("gb200", 4, 4);
    cluster.gpu.arch = Arch::blackwell;
    cluster.node.nvlink = {900e9, 18, true};
    cluster.nvlink_domain_nodes = 18;
    const auto model = std::make_unique<NcclModel>(cluster);
    const CommCost cost = model->estimate({.kind = kReduce, .bytes = 1024 * kMiB}, group_on(cluster, 2, 4));
    EXPECT_EQ(cost.algorithm, Algorithm::nvls);
    EXPECT_EQ(cost.nic_bytes, 0);
    EXPECT_EQ(cost.provenance, Provenance::catalogue); // the fit saw B200 in nodes of eight
}

TEST(NcclModel, Provenance) {
    const auto of = [](const Cluster& cluster, int nodes, int per_node) {
        return std::make_unique<NcclModel>(cluster)
            ->estimate({.bytes = kMiB}, group_on(cluster, nodes, per_node))
            .provenance;
    };
    EXPECT_EQ(of(cluster_of("h100-sxm"), 1, 8), Provenance::fitted);
    EXPECT_EQ(of(cluster_of("mi300x"), 1, 8), Provenance::fitted);
    EXPECT_EQ(of(cluster_of("mi300x"), 1, 4), Provenance::assumed);
    EXPECT_EQ(of(cluster_of("mi300x"), 4, 8), Provenance::assumed);
    EXPECT_EQ(of(cluster_of("v100-sxm3-32gb"), 1, 8), Provenance::catalogue);
    Cluster h800 = cluster_of("h800-sxm");
    h800.node.nvlink = {200e9, 8, true};
    EXPECT_EQ(of(h800, 1, 8), Provenance::catalogue);
    Cluster slingshot = cluster_of("h100-sxm");
    slingshot.fabric.kind = FabricKind::slingshot;
    EXPECT_EQ(of(slingshot, 2, 8), Provenance::assumed);
    EXPECT_EQ(of(slingshot, 1, 8), Provenance::fitted);
}

} // namespace
} // namespace echosim
