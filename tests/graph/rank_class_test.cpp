// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/built_step.h"

#include <gtest/gtest.h>
#include <set>

namespace echosim {
namespace {

using test::small_job;

Placement place_job(const Job& job, const Cluster& cluster, bool fold) {
    std::vector<RankGraph> graphs;
    for (int stage = 0; stage < job.parallel.pp; ++stage)
        graphs.push_back(build_graph(job, stage));
    return place(job, cluster, graphs, fold);
}

TEST(RankClass, OneSimulatedRankAStage) {
    const Job job = test::gpt3_job();
    const Placement placement = place_job(job, find_cluster("dgx-h100"), true);
    ASSERT_TRUE(placement.folded);
    ASSERT_EQ(placement.ranks.size(), 8U);
    std::set<int> seen;
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(placement.ranks[i].rank, static_cast<int>(i) * 128); // p varies slowest: t D = 128 apart
        const std::vector<int> represented = represented_ranks(job, placement, i);
        EXPECT_EQ(represented.size(), 128U);
        EXPECT_EQ(represented.front(), placement.ranks[i].rank);
        seen.insert(represented.begin(), represented.end());
    }
    EXPECT_EQ(seen.size(), 1024U);
}

TEST(RankClass, MembersOfUnfoldedCommunicators) {
    const Job job =
        small_job("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --global-batch-size 8");
    const Placement placement = place_job(job, find_cluster("dgx-h100"), false);
    EXPECT_FALSE(placement.folded);
    ASSERT_EQ(placement.ranks.size(), 8U);
    std::map<GroupKind, std::multiset<std::uint32_t>> members;
    for (const Communicator& c : placement.communicators)
        members[c.kind].insert(c.members);
    // t 2, D 2, p 2: four TP groups, four DP groups, four embedding pairs, two model groups of t p, the world
    EXPECT_EQ(members[GroupKind::tp], (std::multiset<std::uint32_t>{2, 2, 2, 2}));
    EXPECT_EQ(members[GroupKind::dp_cp], (std::multiset<std::uint32_t>{2, 2, 2, 2}));
    EXPECT_EQ(members[GroupKind::embd], (std::multiset<std::uint32_t>{2, 2, 2, 2}));
    EXPECT_EQ(members[GroupKind::mp], (std::multiset<std::uint32_t>{4, 4}));
    EXPECT_EQ(members[GroupKind::world], (std::multiset<std::uint32_t>{8}));
    // each of the four pairs of stages has a channel each way
    EXPECT_EQ(placement.channels.size(), 8U);
    for (const PlacedChannel& c : placement.channels)
        EXPECT_EQ(c.forward, c.source < c.destination);
}

TEST(RankClass, UnlikePlacementIsNotFolded) {
    // TP 3 on nodes of 8: the third group straddles two nodes
    const Job job =
        resolve_job(test::source_of("--num-layers 4 --hidden-size 768 --num-attention-heads 12 "
                                    "--seq-length 1024 --max-position-embeddings 1024 --vocab-size 3072 "
                                    "--micro-batch-size 1 --global-batch-size 8 --bf16 "
                                    "--tensor-model-parallel-size 3",
                                    24),
                    {});
    const Placement placement = place_job(job, find_cluster("dgx-h100"), true);
    EXPECT_FALSE(placement.folded);
    EXPECT_EQ(placement.ranks.size(), 24U);
    EXPECT_GT(placement.cost_classes.size(), 1U);
    for (std::size_t i = 0; i < 24; ++i)
        EXPECT_EQ(represented_ranks(job, placement, i), std::vector<int>{static_cast<int>(i)});
}

} // namespace
} // namespace echosim
