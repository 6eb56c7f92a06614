// SPDX-License-Identifier: Apache-2.0
#include "comm_models/binary_tree.h"
#include "comm_models/flow_time.h"
#include "comm_models/traffic.h"
#include "tests/support/refusal.h"

#include <gtest/gtest.h>
#include <map>
#include <numeric>

// Chunk schedules and their flow-level times: 50 GB/s NICs that are 5 us apart, 450 GB/s NVLink.
namespace echosim {
namespace {

Cluster cluster_of(int gpus) {
    Cluster cluster;
    cluster.name = "test";
    cluster.node.gpus = gpus;
    cluster.node.nvlink = {gpus > 1 ? 450e9 : 0, 18, true};
    cluster.node.pcie = {6, 16};
    cluster.node.nics = {gpus, 50e9, 5e-6, 1};
    cluster.fabric.efficiency = 1;
    return cluster;
}

std::vector<int> first_ranks(int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

ScheduledCollective collective_of(CollectiveKind kind, Algorithm algorithm, double bytes, int ranks) {
    ScheduledCollective collective;
    collective.kind = kind;
    collective.algorithm = algorithm;
    collective.bytes = bytes;
    collective.ranks = first_ranks(ranks);
    return collective;
}

TEST(BinaryTree, HangsNodesByTheirLowestBit) {
    const auto trees = double_binary_tree(6);
    EXPECT_EQ(trees[0].parent, (std::vector<int>{-1, 2, 4, 2, 0, 4})); // 5: 4 | 2 = 6 is no node, so 4
    EXPECT_EQ(trees[1].parent, (std::vector<int>{1, 5, 3, 1, 3, -1})); // node i of the first is 5 - i
    EXPECT_EQ(trees[0].children[4], (std::array<int, 2>{2, 5}));
    // 1 under 2 under 0, each one further on
    EXPECT_EQ(double_binary_tree(3)[1].parent, (std::vector<int>{1, -1, 0}));
}

TEST(BinaryTree, IsInsideOneTreeOnly) {
    for (int nodes = 2; nodes < 130; ++nodes) {
        const auto trees = double_binary_tree(nodes);
        int both = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(nodes); ++i)
            both += trees[0].children[i][0] >= 0 && trees[1].children[i][0] >= 0 ? 1 : 0;
        EXPECT_LE(both, nodes % 2) << nodes; // an odd number of nodes has more inner places than leaves
    }
}

TEST(Schedule, RingSendsAShardEachStep) {
    const Schedule schedule =
        schedule_of(collective_of(CollectiveKind::all_reduce, Algorithm::ring, 4e6, 4), cluster_of(1));
    ASSERT_EQ(schedule.transfers.size(), 24U); // 2 x 3 steps x 4 ranks
    EXPECT_EQ(schedule.transfers[0].bytes, 1e6);
    ASSERT_EQ(schedule.programs.size(), 4U);
    EXPECT_EQ(schedule.programs[2].step_ends, (std::vector<std::uint32_t>{2, 4, 6, 8, 10, 12}));
    EXPECT_EQ(schedule.programs[2].transfers[2], 6U); // in the second row of four
    EXPECT_EQ(schedule.transfers[6].hop.from, 2);
    EXPECT_EQ(schedule.transfers[6].hop.to, 3);
}

TEST(Schedule, TreePassesChunksOn) {
    ScheduledCollective collective = collective_of(CollectiveKind::all_reduce, Algorithm::tree, 4e6, 2);
    collective.chunk = 0.75e6; // 2 MB for each tree: 0.75, 0.75, 0.5
    const Schedule schedule = schedule_of(collective, cluster_of(1));
    ASSERT_EQ(schedule.transfers.size(), 12U); // 2 trees x 1 edge x 3 chunks x up and down
    EXPECT_DOUBLE_EQ(schedule.transfers[4].bytes, 0.5e6);
    // The root of the first tree receives chunk 0, then 1 while it sends 0 down, 2 beside 1, and sends 2
    // down.
    EXPECT_EQ(schedule.programs[0].transfers, (std::vector<std::uint32_t>{0, 2, 1, 4, 3, 5}));
    EXPECT_EQ(schedule.programs[0].step_ends, (std::vector<std::uint32_t>{1, 3, 5, 6}));
}

TEST(Schedule, AllToAllVisitsTheOwnNodeFirst) {
    const Cluster cluster = cluster_of(2);
    const GroupOrder group = group_order(first_ranks(6), cluster);
    std::vector<int> peers;
    for (int round = 1; round < 6; ++round) {
        peers.push_back(round_peer(group, 3, round, 1));
        EXPECT_EQ(round_peer(group, peers.back(), round, -1), 3);
    }
    EXPECT_EQ(peers, (std::vector<int>{2, 5, 4, 1, 0}));
    EXPECT_EQ(pair_hop(group, 3, 4, cluster).via, 2); // GPU 0 of its node is next to the rail of 4
    EXPECT_EQ(pair_hop(group, 3, 5, cluster).via, -1);
}

using Work = std::pair<CollectiveKind, Algorithm>;
const std::vector<Work> kWorks = {{CollectiveKind::all_reduce, Algorithm::ring},
                                  {CollectiveKind::all_gather, Algorithm::ring},
                                  {CollectiveKind::all_reduce, Algorithm::tree},
                                  {CollectiveKind::all_to_all, Algorithm::direct},
                                  {CollectiveKind::send_recv, Algorithm::direct}};

TEST(Schedule, HasEachTransferOnceOnEitherSide) {
    for (const auto& [kind, algorithm] : kWorks) {
        ScheduledCollective collective = collective_of(kind, algorithm, 3e6, 19); // two nodes and three GPUs
        collective.chunk = 1e5;
        const Schedule schedule = schedule_of(collective, cluster_of(8));
        std::vector<int> sent(schedule.transfers.size());
        std::vector<int> received(schedule.transfers.size());
        for (const Program& program : schedule.programs)
            for (const std::uint32_t i : program.transfers) {
                sent[i] += schedule.transfers[i].hop.from == program.rank ? 1 : 0;
                received[i] += schedule.transfers[i].hop.to == program.rank ? 1 : 0;
            }
        EXPECT_EQ(sent, std::vector<int>(sent.size(), 1)) << to_string(algorithm);
        EXPECT_EQ(received, std::vector<int>(sent.size(), 1)) << to_string(algorithm);
    }
}

// The messages of the schedules add up to the traffic that contention is computed from.
TEST(Schedule, PutsTheTrafficOfTheModelOnEachLink) {
    for (const auto& [kind, algorithm] : kWorks)
        for (const int ranks : {8, 16, 40}) {
            FabricLinks fabric(cluster_of(8), 64);
            ScheduledCollective collective = collective_of(kind, algorithm, 3e6, ranks);
            collective.chunk = 1e5;
            std::map<LinkId, double> bytes;
            std::vector<LinkId> path;
            for (const Transfer& transfer : schedule_of(collective, fabric.cluster()).transfers) {
                path.clear();
                path_of(transfer.hop, fabric, path);
                for (const LinkId link : path)
                    bytes[link] += transfer.bytes;
            }
            std::size_t links = 0;
            for (const LinkBytes& load :
                 traffic_of({.kind = kind, .bytes = 3000000}, algorithm, collective.ranks, fabric)) {
                if (fabric.link(load.link).kind == LinkKind::hbm)
                    continue;
                ++links;
                EXPECT_NEAR(bytes[load.link], load.bytes, 1) << fabric.describe(load.link);
            }
            EXPECT_EQ(links, bytes.size()) << to_string(algorithm) << " of " << ranks;
        }
}

TEST(FlowTime, OfRingsIsStepsTimesLatencyAndShard) {
    FabricLinks star(cluster_of(1), 64);
    const FlowTime time =
        flow_time(collective_of(CollectiveKind::all_reduce, Algorithm::ring, 64e6, 64), star);
    EXPECT_NEAR(time.time, 3.15e-3, 1e-9); // 126 x (5 us + 1 MB / 50 GB/s)
    EXPECT_NEAR(time.latency, 0.63e-3, 1e-9);
    EXPECT_EQ(time.flows, 1);
    // Two nodes of eight: 8 lanes of 1 MB; a NIC carries one shard of 1/16 MB each step, an NVLink eight.
    FabricLinks rails(cluster_of(8), 16);
    EXPECT_NEAR(flow_time(collective_of(CollectiveKind::all_gather, Algorithm::ring, 8e6, 16), rails).time,
                15 * (5e-6 + 62500 / 50e9), 1e-9);
}

TEST(FlowTime, OfTreesIsOneChunkThereAndBackAndTheOthersBehindIt) {
    FabricLinks star(cluster_of(1), 2);
    ScheduledCollective collective = collective_of(CollectiveKind::all_reduce, Algorithm::tree, 4e6, 2);
    collective.chunk = 0.5e6; // 10 us at 50 GB/s; four for each tree
    // A NIC sends what rises in one tree and what falls in the other: 2 x 15 us + 3 x (5 + 2 x 10) us.
    const FlowTime time = flow_time(collective, star);
    EXPECT_NEAR(time.time, 105e-6, 1e-9);
    EXPECT_NEAR(time.latency, 25e-6, 1e-9);
    EXPECT_EQ(time.flows, 2);
}

TEST(FlowTime, OfAllToAllIsTheVolumeOfTheBusiestLink) {
    FabricLinks node(cluster_of(8), 8);
    EXPECT_NEAR(flow_time(collective_of(CollectiveKind::all_to_all, Algorithm::direct, 72e6, 8), node).time,
                140e-6, 1e-9); // 7/8 x 72 MB / 450 GB/s
    FabricLinks star(cluster_of(1), 5);
    ScheduledCollective rounds = collective_of(CollectiveKind::all_to_all, Algorithm::direct, 5e6, 5);
    rounds.in_flight = 2; // two sets: 2 x (5 us + 2 x 1 MB / 50 GB/s)
    EXPECT_NEAR(flow_time(rounds, star).time, 90e-6, 1e-9);
}

TEST(FlowTime, RefusesWhatHasNoSchedule) {
    FabricLinks star(cluster_of(1), 4);
    EXPECT_NE(refusal([&] {
                  flow_time(collective_of(CollectiveKind::all_gather, Algorithm::tree, 1e6, 4), star);
              }).find("no schedule for all_gather by tree"),
              std::string::npos);
    EXPECT_NE(refusal([&] {
                  flow_time(collective_of(CollectiveKind::all_reduce, Algorithm::ring, 1e6, 1), star);
              }).find("a group of 1 ranks has nothing to send"),
              std::string::npos);
}

} // namespace
} // namespace echosim
