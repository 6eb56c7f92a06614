// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"
#include "comm_models/nccl_model.h"

#include <cmath>
#include <gtest/gtest.h>

namespace echosim {
namespace {

constexpr Bytes kMiB = 1024 * 1024;
constexpr CollectiveKind kGather = CollectiveKind::all_gather;

CommCost cost_on(const Cluster& cluster, const Collective& collective, int nodes = 1, int per_node = 8) {
    return NcclModel(cluster).estimate(collective, test::group_on(cluster, nodes, per_node));
}
double us(const CommCost& cost) {
    return cost.time * 1e6;
}

// 8 H100, 64 MiB: S/n + S = 75.5 MB. NCCL's model sees 452 GiB/s with one CTA (162 us) and 480 with two (153
// us), so it takes two. The link gives 0.69 x 450 = 310.5 GB/s: 7.8 + 75.5e6 / 310.5e3 = 250.9 us.
TEST(SymmetricMemory, AllReduceInTheSwitch) {
    const CommCost cost =
        cost_on(test::cluster_of("h100-sxm"), {.bytes = 64 * kMiB, .buffers = Buffers::symmetric});
    EXPECT_EQ(cost.channels, 2);
    EXPECT_NEAR(us(cost), 7.8 + 75.497472e6 / (0.69 * 450e3), 0.5);
}

// 1 KiB on 8 H100: 8 x 1024 x 9 = 73,728 bytes with flags; far below a microsecond of transfer,
// softplus(-0.7) = 0.4: 4.5 + 0.4.
TEST(SymmetricMemory, SmallMessagesUseFlags) {
    const CommCost cost =
        cost_on(test::cluster_of("h100-sxm"), {.bytes = 1024, .buffers = Buffers::symmetric});
    EXPECT_NEAR(us(cost), 4.9, 0.3);
    EXPECT_LE(cost.channels, 4);
}

TEST(SymmetricMemory, OldVersionsAndSeveralNodesUseOrdinaryKernels) {
    Cluster cluster = test::cluster_of("h100-sxm");
    const Collective collective{.bytes = 64 * kMiB, .buffers = Buffers::symmetric};
    EXPECT_EQ(cost_on(cluster, collective, 2).algorithm, Algorithm::nvls_tree);
    cluster.nccl = "2.26";
    EXPECT_EQ(cost_on(cluster, collective).algorithm, Algorithm::nvls);
}

// 256 MiB on 8 H100: 234.9 MB sent at 0.95 x 0.88 x 450 = 376 GB/s, and 10 us.
TEST(CopyEngine, HoldsNoCta) {
    const Cluster cluster = test::cluster_of("h100-sxm");
    const CommCost cost =
        cost_on(cluster, {.kind = kGather, .bytes = 256 * kMiB, .transport = Transport::copy_engine});
    EXPECT_EQ(cost.channels, 0);
    EXPECT_NEAR(us(cost), 10 + 234.881e6 / 376.2e3, 1);
    EXPECT_NEAR(cost.nvlink_bytes, 256.0 * kMiB * 7 / 8, 1);
    // a reduction needs SMs: NCCL's kernels
    EXPECT_GT(cost_on(cluster, {.bytes = 256 * kMiB, .transport = Transport::copy_engine}).channels, 0);
}

// 7 steps of 4 us and 8 MiB at 396 GB/s, and 5 us: 5 + 28 + 7 x 21.2 = 181.3.
TEST(UserBuffers, RingExchangeByCopies) {
    const CommCost cost =
        cost_on(test::cluster_of("h100-sxm"),
                {.kind = kGather, .bytes = 64 * kMiB, .transport = Transport::te_ring_exchange});
    EXPECT_EQ(cost.channels, 1);
    EXPECT_NEAR(us(cost), 33 + 7 * 8.388608e6 / 396e3, 0.5);
}

TEST(UserBuffers, PipelineHoldsItsSms) {
    const Cluster cluster = test::cluster_of("h100-sxm");
    Collective collective{.kind = kGather, .bytes = 64 * kMiB, .transport = Transport::te_pipeline};
    EXPECT_EQ(cost_on(cluster, collective).channels, 16);
    EXPECT_NEAR(us(cost_on(cluster, collective)), 24 + 58.72e6 / 352e3, 0.5); // 16 x 22 GB/s
    collective.sms = 4;
    EXPECT_NEAR(us(cost_on(cluster, collective)), 24 + 58.72e6 / 88e3, 1);
}

// Measured on 8 H100 (hidden 7168, 8 of 256 experts, 4,096 tokens, 20 SMs): dispatch 492 us, combine 983 us.
// A token goes to 7 (1 - C(224,8)/C(256,8)) = 4.64 other ranks: 4096 x 4.64 x 7168 x (1 + 4/128) = 140.5 MB
// in FP8 with scales, 272.5 MB in bf16.
TEST(DeepEp, DispatchAndCombineOfEightH100) {
    const Cluster cluster = test::cluster_of("h100-sxm");
    const CommCost dispatch = cost_on(
        cluster, {.kind = CollectiveKind::all_to_all, .bytes = 140500000, .transport = Transport::deepep});
    EXPECT_NEAR(us(dispatch), 492, 0.15 * 492);
    EXPECT_EQ(dispatch.channels, 20);
    EXPECT_EQ(dispatch.provenance, Provenance::fitted);
    const CommCost combine =
        cost_on(cluster,
                {.kind = CollectiveKind::reduce_scatter, .bytes = 272500000, .transport = Transport::deepep});
    EXPECT_NEAR(us(combine), 983, 0.12 * 983);
}

// Over 4 nodes 3/4 of the bytes pass the NIC: 105 MB at 0.86 of 50 GB/s (as NCCL counts it 48) x efficiency.
TEST(DeepEp, NetworkBoundOverNodes) {
    Cluster cluster = test::cluster_of("h100-sxm");
    cluster.fabric.efficiency = 1;
    const CommCost cost = cost_on(
        cluster, {.kind = CollectiveKind::all_to_all, .bytes = 140500000, .transport = Transport::deepep}, 4);
    EXPECT_NEAR(cost.nic_bytes, 0.75 * 140.5e6, 1e3);
    EXPECT_NEAR(us(cost), 0.75 * 140.5e6 / (0.86 * 48e3) + 40, 25);
    EXPECT_EQ(cost.provenance, Provenance::assumed);
}

} // namespace
} // namespace echosim
