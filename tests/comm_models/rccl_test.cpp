// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"
#include "comm_models/nccl_model.h"
#include "comm_models/nccl_tuner.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

using test::cluster_of;
using test::group_on;
constexpr Bytes kKiB = 1024;
constexpr Bytes kMiB = 1024 * kKiB;
constexpr auto kAllReduce = CollectiveKind::all_reduce;
constexpr auto kAllGather = CollectiveKind::all_gather;

nccl::GroupSystem on(const Cluster& cluster, int nodes, int per_node) {
    return nccl::group_system(cluster, group_on(cluster, nodes, per_node), nccl::read_settings("2.26", {}),
                              nccl::preset_constants());
}

std::string choice(const nccl::GroupSystem& s, CollectiveKind kind, Bytes bytes) {
    const auto entries = nccl::tuner_entries(s, kind);
    const auto& e = nccl::choose(entries, s, {.kind = kind, .bytes = bytes});
    return std::string(to_string(e.algorithm)) + "/" + std::string(to_string(e.protocol));
}

double microseconds(const Cluster& cluster, int nodes, int per_node, CollectiveKind kind, Bytes bytes) {
    const auto model = std::make_unique<NcclModel>(cluster);
    const Collective c{.kind = kind, .bytes = bytes, .in_place = false};
    return model->estimate(c, group_on(cluster, nodes, per_node)).time * 1e6;
}

// RCCL: no NVLS, the mesh serves gathers and middle all-reduces, the ring large ones.
TEST(RcclTuner, Mi300xMesh) {
    const Cluster cluster = cluster_of("mi300x");
    const nccl::GroupSystem s = on(cluster, 1, 8);
    EXPECT_EQ(choice(s, kAllReduce, 256), "ring/LL");
    EXPECT_EQ(choice(s, kAllReduce, 4096), "direct/Simple");
    EXPECT_EQ(choice(s, kAllReduce, 64 * kMiB), "ring/Simple");
    EXPECT_EQ(choice(s, kAllGather, 64 * kMiB), "direct/Simple");
    const nccl::GroupSystem two = on(cluster, 2, 8);
    EXPECT_EQ(choice(two, kAllGather, 1 * kMiB), "ring/LL");     // 64 KiB a rank <= 96 KiB
    EXPECT_EQ(choice(two, kAllGather, 16 * kMiB), "ring/LL128"); // 1 MiB a rank <= 4.8 MiB
    EXPECT_EQ(choice(two, kAllGather, 1024 * kMiB), "ring/Simple");
    EXPECT_EQ(choice(two, kAllReduce, 1024 * kMiB), "ring/Simple");
}

// Eight MI300X (hisohara/ai-scripts) and two nodes of them over RoCE (OCI), all_reduce, us: what the form was
// fitted to, and the reason why all else of AMD is assumed.
TEST(RcclModel, MeasuredPointsOfMi300x) {
    Cluster cluster = cluster_of("mi300x");
    cluster.node.cpu = "amd-genoa";
    cluster.fabric.kind = FabricKind::roce;
    const std::pair<Bytes, double> node[] = {{4 * kKiB, 13.72},  {64 * kKiB, 14.25}, {kMiB, 28.39},
                                             {16 * kMiB, 149.9}, {64 * kMiB, 432.5}, {1024 * kMiB, 5990.7}};
    for (const auto& [bytes, us] : node)
        EXPECT_NEAR(microseconds(cluster, 1, 8, kAllReduce, bytes), us, 0.04 * us) << bytes;
    const std::pair<Bytes, double> two[] = {{1024 * kMiB, 5753}, {8192 * kMiB, 45110}};
    for (const auto& [bytes, us] : two)
        EXPECT_NEAR(microseconds(cluster, 2, 8, kAllReduce, bytes), us, 0.03 * us) << bytes;
    // Gathers go directly: seven links of 45 GB/s carry 1/8 each: busbw 310 of eight GPUs, 48 of a pair.
    const auto model = std::make_unique<NcclModel>(cluster);
    const auto busbw = [&](int ranks) {
        return model->estimate({.kind = kAllGather, .bytes = 8192 * kMiB}, group_on(cluster, 1, ranks))
                   .bus_bandwidth *
               1e-9;
    };
    EXPECT_NEAR(busbw(8), 310, 10);
    EXPECT_NEAR(busbw(2), 48, 1);
}

} // namespace
} // namespace echosim
