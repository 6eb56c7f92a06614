// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/rank_layout.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace echosim {
namespace {

using Ranks = std::vector<int>;

// tp 2, cp 2, dp 2, pp 2: rank = tp + 2 cp + 4 dp + 8 pp; expert grid etp 1, ep 4, edp 2: rank = ep + 4 edp +
// 8 pp.
ParallelLayout sixteen() {
    ParallelLayout layout;
    layout.world_size = 16;
    layout.tp = layout.cp = layout.dp = layout.pp = 2;
    layout.ep = 4;
    layout.expert_dp = 2;
    return layout;
}

TEST(RankLayout, DefaultOrderByHand) {
    const ParallelLayout layout = sixteen();
    // 13 = 1 + 2*0 + 4*1 + 8*1; 13 = 1 + 4*1 + 8*1 in the expert grid
    EXPECT_EQ(coordinates_of(layout, 13),
              (RankCoordinates{.tp = 1, .cp = 0, .dp = 1, .pp = 1, .etp = 0, .ep = 1, .edp = 1}));
    EXPECT_EQ(rank_at(layout, 1, 0, 1, 1), 13);
    EXPECT_EQ(group_of(layout, GroupKind::tp, 13), (Ranks{12, 13}));
    EXPECT_EQ(group_of(layout, GroupKind::cp, 13), (Ranks{13, 15}));
    EXPECT_EQ(group_of(layout, GroupKind::dp, 13), (Ranks{9, 13}));
    EXPECT_EQ(group_of(layout, GroupKind::pp, 13), (Ranks{5, 13}));
    EXPECT_EQ(group_of(layout, GroupKind::dp_cp, 13), (Ranks{9, 11, 13, 15}));
    EXPECT_EQ(group_of(layout, GroupKind::tp_cp, 13), (Ranks{12, 13, 14, 15}));
    EXPECT_EQ(group_of(layout, GroupKind::mp, 13), (Ranks{4, 5, 12, 13}));
    EXPECT_EQ(group_of(layout, GroupKind::ep, 13), (Ranks{12, 13, 14, 15}));
    EXPECT_EQ(group_of(layout, GroupKind::etp, 13), (Ranks{13}));
    EXPECT_EQ(group_of(layout, GroupKind::edp, 13), (Ranks{9, 13}));
    EXPECT_EQ(group_of(layout, GroupKind::tp_ep, 13), (Ranks{12, 13, 14, 15}));
    EXPECT_EQ(group_of(layout, GroupKind::embd, 13), (Ranks{5, 13}));
    EXPECT_EQ(group_of(layout, GroupKind::pos_embd, 5), (Ranks{5}));
    EXPECT_EQ(group_of(layout, GroupKind::world, 13).size(), 16U);
}

TEST(RankLayout, PipelineBeforeDataByHand) {
    ParallelLayout layout = sixteen();
    layout.tp_pp_dp_order = true; // rank = tp + 2 cp + 4 pp + 8 dp
    EXPECT_EQ(coordinates_of(layout, 13),
              (RankCoordinates{.tp = 1, .cp = 0, .dp = 1, .pp = 1, .etp = 0, .ep = 1, .edp = 1}));
    EXPECT_EQ(coordinates_of(layout, 5).pp, 1);
    EXPECT_EQ(coordinates_of(layout, 5).dp, 0);
    EXPECT_EQ(group_of(layout, GroupKind::pp, 13), (Ranks{9, 13}));
    EXPECT_EQ(group_of(layout, GroupKind::dp, 13), (Ranks{5, 13}));
    EXPECT_EQ(group_of(layout, GroupKind::mp, 13), (Ranks{8, 9, 12, 13}));
    EXPECT_EQ(group_of(layout, GroupKind::edp, 13), (Ranks{5, 13}));
}

// GPT-3 175B on 1024 GPUs (t 8, p 8, D 16): data-parallel stride t = 8, pipeline stride t D = 128.
TEST(RankLayout, Gpt3On1024) {
    ParallelLayout layout;
    layout.world_size = 1024;
    layout.tp = layout.pp = 8;
    layout.dp = layout.expert_dp = 16;
    layout.ep = 1;
    const Ranks dp = group_of(layout, GroupKind::dp, 1023);
    ASSERT_EQ(dp.size(), 16U);
    EXPECT_EQ(dp.front(), 903); // 7 + 8*0 + 128*7
    EXPECT_EQ(dp[1] - dp[0], 8);
    EXPECT_EQ(group_of(layout, GroupKind::embd, 1023), (Ranks{127, 1023}));
    EXPECT_EQ(group_of(layout, GroupKind::embd, 200), (Ranks{200})); // a middle stage is no member
}

// Every kind splits the job into groups: members agree on their group, in ascending order, and contain the
// rank.
TEST(RankLayout, GroupsPartitionTheJob) {
    for (const bool swapped : {false, true}) {
        ParallelLayout layout;
        layout.world_size = 2 * 3 * 4 * 5;
        layout.tp = 2, layout.cp = 3, layout.dp = 4, layout.pp = 5;
        layout.etp = 2, layout.ep = 6, layout.expert_dp = 2;
        layout.tp_pp_dp_order = swapped;
        for (const GroupKind kind : {GroupKind::tp, GroupKind::pp, GroupKind::dp, GroupKind::dp_cp,
                                     GroupKind::cp, GroupKind::ep, GroupKind::etp, GroupKind::edp,
                                     GroupKind::tp_cp, GroupKind::tp_ep, GroupKind::mp, GroupKind::embd}) {
            for (int rank = 0; rank < layout.world_size; ++rank) {
                const Ranks group = group_of(layout, kind, rank);
                EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
                EXPECT_EQ(std::count(group.begin(), group.end(), rank), 1);
                for (const int member : group) {
                    ASSERT_EQ(group_of(layout, kind, member), group) << to_string(kind) << " of " << rank;
                }
            }
        }
    }
}

TEST(RankLayout, CoordinatesAreInverted) {
    for (const bool swapped : {false, true}) {
        ParallelLayout layout;
        layout.world_size = 120;
        layout.tp = 2, layout.cp = 3, layout.dp = 4, layout.pp = 5;
        layout.tp_pp_dp_order = swapped;
        std::set<int> seen;
        for (int rank = 0; rank < 120; ++rank) {
            const RankCoordinates at = coordinates_of(layout, rank);
            EXPECT_EQ(rank_at(layout, at.tp, at.cp, at.dp, at.pp), rank);
            seen.insert(((at.pp * 4 + at.dp) * 3 + at.cp) * 2 + at.tp);
        }
        EXPECT_EQ(seen.size(), 120U);
    }
}

} // namespace
} // namespace echosim
