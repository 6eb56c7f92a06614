// SPDX-License-Identifier: Apache-2.0
#include "comm_models/contention.h"

#include "clusters.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace echosim {
namespace {

using test::cluster_of;

constexpr double kUs = 1e-6;

std::vector<int> node_of(int first, int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), first);
    return ranks;
}

// `seconds` after its latency when nothing else runs.
ConcurrentOp op_of(FabricLinks& fabric, CollectiveKind kind, Algorithm algorithm, double bytes,
                   const std::vector<int>& ranks, Seconds seconds, Seconds latency = 0) {
    Collective collective;
    collective.kind = kind;
    collective.bytes = static_cast<Bytes>(bytes);
    ConcurrentOp op;
    op.alone = seconds + latency;
    op.latency = latency;
    op.traffic = traffic_of(collective, algorithm, ranks, fabric);
    return op;
}

// NICs that carry 40 GB/s, less than PCIe, in one leaf.
Cluster forty() {
    Cluster cluster = cluster_of("h100-sxm");
    cluster.fabric.efficiency = 0.8;
    return cluster;
}

TEST(Contention, TwoAllReducesShareTheNvlinksOfANode) {
    // V = 7/4 S = 3.6 MB over every hop in 8 us is 450 GB/s: each fills NVLink. Together half the rate: 2 us
    // of latency + 16 us. With gamma = 0.9: 2 + 8 / 0.45 = 19.78.
    FabricLinks fabric(cluster_of("h100-sxm"), 8);
    const ConcurrentOp op = op_of(fabric, CollectiveKind::all_reduce, Algorithm::ring, 3.6e6 / 1.75,
                                  node_of(0, 8), 8 * kUs, 2 * kUs);
    const std::vector<ConcurrentOp> two = {op, op};
    for (const ConcurrentResult& result : run_concurrently(two, fabric, kIdealLinks)) {
        EXPECT_NEAR(result.finish, 18 * kUs, 1e-11);
        EXPECT_TRUE(result.shared);
        EXPECT_EQ(fabric.link(result.bottleneck).kind, LinkKind::nvlink);
    }
    EXPECT_NEAR(run_concurrently(two, fabric)[0].finish, (2 + 8 / 0.45) * kUs, 1e-11);
    EXPECT_NEAR(run_concurrently({&op, 1}, fabric)[0].finish, 10 * kUs, 1e-15);
    EXPECT_FALSE(run_concurrently({&op, 1}, fabric)[0].shared);
}

TEST(Contention, ALateStarterSharesOnlyWhileBothRun) {
    // Work 8 us each, the second starts its work at 4: the first has 4 us left, at half rate until 12; the
    // second has done 4 by then and does the rest alone: 16.
    FabricLinks fabric(cluster_of("h100-sxm"), 8);
    ConcurrentOp first =
        op_of(fabric, CollectiveKind::all_reduce, Algorithm::ring, 3.6e6 / 1.75, node_of(0, 8), 8 * kUs);
    ConcurrentOp second = first;
    second.start = 4 * kUs;
    const std::vector<ConcurrentOp> ops = {first, second};
    const auto results = run_concurrently(ops, fabric, kIdealLinks);
    EXPECT_NEAR(results[0].finish, 12 * kUs, 1e-11);
    EXPECT_NEAR(results[1].finish, 16 * kUs, 1e-11);
}

TEST(Contention, HalfFilledLinksHoldTwo) {
    FabricLinks fabric(cluster_of("h100-sxm"), 8);
    const ConcurrentOp op = op_of(fabric, CollectiveKind::all_reduce, Algorithm::ring, 1.8e6 / 1.75,
                                  node_of(0, 8), 8 * kUs); // 225 GB/s
    const std::vector<ConcurrentOp> two = {op, op};
    const auto results = run_concurrently(two, fabric, kIdealLinks);
    EXPECT_NEAR(results[0].finish, 8 * kUs, 1e-15);
    EXPECT_FALSE(results[0].shared);
}

TEST(Contention, RingsOfEightRailsDoNotMeet) {
    // Eight data-parallel groups of one GPU a node on the same two nodes: each has its rail. Where two GPUs
    // share a NIC, two groups do: 100 us of work become 200.
    for (const int nics : {8, 4}) {
        Cluster cluster = cluster_of("h100-sxm", 8, nics);
        cluster.fabric.efficiency = 0.8;
        FabricLinks fabric(cluster, 16);
        std::vector<ConcurrentOp> ops;
        for (int gpu = 0; gpu < 8; ++gpu) // V = S / 2 = 4 MB at 40 GB/s
            ops.push_back(op_of(fabric, CollectiveKind::reduce_scatter, Algorithm::ring, 8e6, {gpu, gpu + 8},
                                100 * kUs));
        for (const ConcurrentResult& result : run_concurrently(ops, fabric, kIdealLinks)) {
            EXPECT_NEAR(result.finish, (nics == 8 ? 100 : 200) * kUs, 1e-10);
            EXPECT_EQ(result.shared, nics == 4);
        }
    }
}

TEST(Contention, APipelineMessageBesideAReduceScatter) {
    // One NIC of 40 GB/s: 4 MB of the reduce-scatter from 0, 0.4 MB of the message from 20 us. Half the rate
    // each: the message takes 20 us instead of 10, the reduce-scatter ends at 110.
    FabricLinks fabric(forty(), 16);
    std::vector<ConcurrentOp> ops = {
        op_of(fabric, CollectiveKind::reduce_scatter, Algorithm::ring, 8e6, {0, 8}, 100 * kUs),
        op_of(fabric, CollectiveKind::send_recv, Algorithm::direct, 0.4e6, {0, 8}, 10 * kUs)};
    ops[1].start = 20 * kUs;
    auto results = run_concurrently(ops, fabric, kIdealLinks);
    EXPECT_NEAR(results[0].finish, 110 * kUs, 1e-10);
    EXPECT_NEAR(results[1].finish, 40 * kUs, 1e-10);
    EXPECT_EQ(fabric.describe(results[1].bottleneck), "NIC 0 out of node 0");
    // with three times the weight, three quarters of the NIC: 10 / 0.75
    ops[1].weight = 3;
    results = run_concurrently(ops, fabric, kIdealLinks);
    EXPECT_NEAR(results[1].finish, (20 + 10 / 0.75) * kUs, 1e-10);
    EXPECT_NEAR(results[0].finish, 110 * kUs, 1e-10);
}

TEST(Contention, AShuffledRingOnAFatTreeOfStaticRoutes) {
    // One step of SimGrid's ring of 256 hosts: every host sends 250 kB, 5 us at 50 GB/s, after 5 us of
    // latency; 10 us in order. Shuffled, 4, 6 and 8 of them meet on the fullest of 16, 8 and 4 uplinks: 25,
    // 35, 45 us, as it measured (510 steps: 12.75, 17.85, 22.95 ms).
    struct Row {
        int uplinks;
        double us;
    };
    for (const Row row : {Row{16, 25}, Row{8, 35}, Row{4, 45}}) {
        Cluster cluster = cluster_of("h100-sxm", 1, 1);
        cluster.node.pcie = {6, 16}; // not the limit here
        cluster.fabric.levels = {{16 + row.uplinks, 16.0 / row.uplinks, 0}};
        cluster.fabric.routing = Routing::fixed;
        for (const bool shuffle : {false, true}) {
            FabricLinks fabric(cluster, 256,
                               placement_from(shuffle ? "shuffled:10" : "packed", 256, cluster));
            std::vector<ConcurrentOp> ops;
            for (int host = 0; host < 256; ++host)
                ops.push_back(op_of(fabric, CollectiveKind::send_recv, Algorithm::direct, 250e3,
                                    {host, (host + 1) % 256}, 5 * kUs, 5 * kUs));
            Seconds last = 0;
            for (const ConcurrentResult& result : run_concurrently(ops, fabric, kIdealLinks))
                last = std::max(last, result.finish);
            EXPECT_NEAR(last, (shuffle ? row.us : 10) * kUs, 1e-10) << row.uplinks << " uplinks";
        }
    }
}

TEST(Contention, NothingIsFasterThanAloneAndNoLinkCarriesTooMuch) {
    std::mt19937 random(3);
    for (int round = 0; round < 20; ++round) {
        FabricLinks fabric(forty(), 32);
        std::vector<ConcurrentOp> ops;
        for (int i = 0; i < 12; ++i) {
            const int gpu = static_cast<int>(random() % 8);
            const bool node = random() % 2 == 0;
            const std::vector<int> ranks = node ? node_of(8 * static_cast<int>(random() % 4), 8)
                                                : std::vector<int>{gpu, gpu + 8, gpu + 16, gpu + 24};
            const double rate = node ? 450e9 : 40e9;
            const double bytes = 1e6 * static_cast<double>(1 + random() % 50);
            ops.push_back(op_of(fabric, CollectiveKind::all_gather, Algorithm::ring, bytes, ranks,
                                bytes / rate * (1 + static_cast<double>(random() % 3)),
                                static_cast<double>(random() % 20) * kUs));
            ops.back().start = static_cast<double>(random() % 200) * kUs;
        }
        const auto results = run_concurrently(ops, fabric, kIdealLinks);
        std::vector<double> bytes(fabric.size(), 0), first(fabric.size(), 1e9), last(fabric.size(), 0);
        for (std::size_t i = 0; i < ops.size(); ++i) {
            EXPECT_GE(results[i].finish, ops[i].start + ops[i].alone - 1e-12);
            EXPECT_EQ(results[i].shared, results[i].finish > ops[i].start + ops[i].alone + 1e-12);
            for (const LinkBytes& load : ops[i].traffic) {
                bytes[load.link] += load.bytes;
                first[load.link] = std::min(first[load.link], ops[i].start + ops[i].latency);
                last[load.link] = std::max(last[load.link], results[i].finish);
            }
        }
        for (std::size_t link = 0; link < bytes.size(); ++link)
            EXPECT_LE(bytes[link], fabric.link(static_cast<LinkId>(link)).capacity *
                                       std::max(0.0, last[link] - first[link]) * (1 + 1e-9));
    }
}

TEST(Contention, OperationsWithoutBytesOrWorkTakeTheirTime) {
    FabricLinks fabric(forty(), 8);
    std::vector<ConcurrentOp> ops(3);
    ops[0].start = 3 * kUs;
    ops[1].alone = ops[1].latency = 7 * kUs;
    ops[2].alone = 5 * kUs;
    const auto results = run_concurrently(ops, fabric);
    EXPECT_NEAR(results[0].finish, 3 * kUs, 1e-15);
    EXPECT_NEAR(results[1].finish, 7 * kUs, 1e-15);
    EXPECT_NEAR(results[2].finish, 5 * kUs, 1e-15);
    EXPECT_TRUE(run_concurrently({}, fabric).empty());
}

} // namespace
} // namespace echosim
