// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_channels.h"

#include "clusters.h"
#include "comm_models/nccl_model.h"
#include "comm_models/nccl_volumes.h"

#include <gtest/gtest.h>

namespace echosim::nccl {
namespace {

using test::cluster_of;
using test::group_on;

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;
constexpr auto kReduce = CollectiveKind::all_reduce;
constexpr auto kGather = CollectiveKind::all_gather;
constexpr auto kScatter = CollectiveKind::reduce_scatter;
constexpr auto kAllToAll = CollectiveKind::all_to_all;

GroupSystem system_of(const std::string& gpu, int nodes, int per_node, const std::string& version = "2.30",
                      const std::map<std::string, std::string>& environment = {}) {
    const Cluster cluster = cluster_of(gpu);
    return group_system(cluster, group_on(cluster, nodes, per_node), read_settings(version, environment),
                        preset_constants());
}
Collective call(CollectiveKind kind, double bytes) {
    return {.kind = kind, .bytes = static_cast<Bytes>(bytes)};
}

// Ring LL of 8 ranks: 8 x 8 = 64 bytes a thread and 512 threads, 32 KiB a channel; 1 MiB fills 24 of 32.
// Below one channel's worth the threads are halved: 8 KiB / 64 = 128.
TEST(NcclChannels, RingLl) {
    const GroupSystem s = system_of("h100-sxm", 1, 8);
    EXPECT_EQ(layout_of(call(kReduce, kMiB), Algorithm::ring, Protocol::ll, s).channels, 24);
    EXPECT_EQ(layout_of(call(kReduce, 128 * kKiB), Algorithm::ring, Protocol::ll, s).channels, 4);
    const Layout small = layout_of(call(kReduce, 8 * kKiB), Algorithm::ring, Protocol::ll, s);
    EXPECT_EQ(small.channels, 1);
    EXPECT_EQ(small.threads, 128);
    EXPECT_EQ(small.chunk, 32 * kKiB);
}

// From 2.22 a channel has at least 32 KiB of traffic: 64 KiB of LL128 are 128 KiB of it, 4 channels; before,
// 640 x 8 bytes a channel: 12.
TEST(NcclChannels, TrafficCells) {
    const Collective c = call(kReduce, 64 * kKiB);
    EXPECT_EQ(layout_of(c, Algorithm::tree, Protocol::ll128, system_of("h100-sxm", 1, 8)).channels, 4);
    EXPECT_EQ(layout_of(c, Algorithm::tree, Protocol::ll128, system_of("h100-sxm", 1, 8, "2.21")).channels,
              12);
}

TEST(NcclChannels, ThreadsOfTheEnvironment) {
    const GroupSystem s = system_of("h100-sxm", 1, 8, "2.30", {{"NCCL_NTHREADS", "256"}});
    EXPECT_EQ(layout_of(call(kReduce, 256 * kMiB), Algorithm::ring, Protocol::simple, s).threads, 256);
    EXPECT_EQ(layout_of(call(kReduce, 256 * kMiB), Algorithm::ring, Protocol::ll128, s).threads, 640);
}

// Ring Simple: 4 of 8 steps of 4 MiB; LL128 15/16 of 600 KiB; NCCL_BUFFSIZE moves Simple.
TEST(NcclChannels, ChunksOfRings) {
    const Collective c = call(kReduce, 256 * kMiB);
    const GroupSystem s = system_of("h100-sxm", 1, 8);
    EXPECT_EQ(layout_of(c, Algorithm::ring, Protocol::simple, s).chunk, 2 * kMiB);
    EXPECT_EQ(layout_of(c, Algorithm::ring, Protocol::ll128, s).chunk, 576000);
    EXPECT_EQ(layout_of(c, Algorithm::tree, Protocol::simple, s).chunk, 512 * kKiB);
    const GroupSystem small = system_of("h100-sxm", 1, 8, "2.30", {{"NCCL_BUFFSIZE", "1048576"}});
    EXPECT_EQ(layout_of(c, Algorithm::ring, Protocol::simple, small).chunk, 512 * kKiB);
}

// 16 CTAs x 8 heads = 128: below 64 x 128 x 128 KiB = 1 GiB 64 KiB, below 8 x 128 x 64 KiB = 64 MiB 32 KiB,
// below 2 x 128 x 32 KiB = 8 MiB 16 KiB.
TEST(NcclChannels, ChunksOfNvls) {
    const GroupSystem s = system_of("h100-sxm", 1, 8);
    const auto chunk = [&](double mib) {
        return layout_of(call(kReduce, mib * kMiB), Algorithm::nvls, Protocol::simple, s).chunk / kKiB;
    };
    EXPECT_EQ(chunk(4), 16);
    EXPECT_EQ(chunk(8), 32);
    EXPECT_EQ(chunk(64), 64);
    EXPECT_EQ(chunk(1024), 128);
    EXPECT_EQ(layout_of(call(kReduce, 4 * kMiB), Algorithm::nvls, Protocol::simple, s).channels, 16);
}

// NVLSTree: 32 x 128 x 512 KiB = 2 GiB, 16 x 128 x 256 KiB = 512 MiB, 4 x 128 x 128 KiB = 64 MiB,
// 128 x 64 KiB = 8 MiB.
TEST(NcclChannels, ChunksOfNvlsTree) {
    const GroupSystem s = system_of("h100-sxm", 4, 8);
    const auto chunk = [&](double mib) {
        return layout_of(call(kReduce, mib * kMiB), Algorithm::nvls_tree, Protocol::simple, s).chunk / kKiB;
    };
    EXPECT_EQ(chunk(4), 32);
    EXPECT_EQ(chunk(8), 64);
    EXPECT_EQ(chunk(64), 128);
    EXPECT_EQ(chunk(512), 256);
    EXPECT_EQ(chunk(2048), 512);
}

// Registered buffers on eight heads: 32/8 = 4, 40/8 = 5, 32/8 = 4 CTAs; Blackwell 4, 6, 8. One GPU a node: 1
// for a gather, 4 for a scatter.
TEST(NcclChannels, RegisteredBuffers) {
    const auto ctas = [](const GroupSystem& s, CollectiveKind kind, Algorithm algorithm) {
        Collective c = call(kind, 256 * kMiB);
        c.buffers = Buffers::registered;
        return layout_of(c, algorithm, Protocol::simple, s).channels;
    };
    const GroupSystem h100 = system_of("h100-sxm", 1, 8);
    EXPECT_EQ(ctas(h100, kGather, Algorithm::nvls), 4);
    EXPECT_EQ(ctas(h100, kScatter, Algorithm::nvls), 5);
    EXPECT_EQ(ctas(h100, kReduce, Algorithm::nvls), 4);
    const GroupSystem b200 = system_of("b200-sxm", 1, 8);
    EXPECT_EQ(ctas(b200, kScatter, Algorithm::nvls), 6);
    EXPECT_EQ(ctas(b200, kReduce, Algorithm::nvls), 8);
    const GroupSystem rails = system_of("h100-sxm", 8, 1);
    EXPECT_EQ(ctas(rails, kGather, Algorithm::ring), 1);
    EXPECT_EQ(ctas(rails, kScatter, Algorithm::ring), 4);
    EXPECT_EQ(ctas(system_of("h100-sxm", 8, 8), kGather, Algorithm::ring), 16);
}

// All-to-all of 8 in a node: 32 channels over 8 peers leave 4 each to start with, parts of 64 KiB at least:
// 1 KiB a peer takes one channel of each of seven, 1 MiB four (28), 128 MiB eight for parts of 16 MiB (32,
// the pool).
TEST(NcclChannels, AllToAll) {
    const GroupSystem s = system_of("h100-sxm", 1, 8);
    const auto channels = [&](double message) {
        return layout_of(call(kAllToAll, 8 * message), Algorithm::direct, Protocol::simple, s).channels;
    };
    EXPECT_EQ(channels(kKiB), 7);
    EXPECT_EQ(channels(kMiB), 28);
    EXPECT_EQ(channels(128 * kMiB), 32);
}

// A pair over the network has four channels in 2.30 for parts of 128 KiB, two before.
TEST(NcclChannels, Pair) {
    const Collective c = call(CollectiveKind::send_recv, 64 * kMiB);
    EXPECT_EQ(layout_of(c, Algorithm::direct, Protocol::simple, system_of("h100-sxm", 2, 1, "2.29")).channels,
              2);
    EXPECT_EQ(layout_of(c, Algorithm::direct, Protocol::simple, system_of("h100-sxm", 2, 1, "2.30")).channels,
              4);
}

// Four channels from 2.30: LL to 64 KiB; all-to-all of eight starts with four of 32: 64 KiB a peer.
TEST(NcclChannels, ProtocolOfPairs) {
    const GroupSystem pair = system_of("h100-sxm", 2, 1);
    EXPECT_EQ(point_to_point_protocol(call(CollectiveKind::send_recv, 64 * kKiB), pair), Protocol::ll);
    EXPECT_EQ(point_to_point_protocol(call(CollectiveKind::send_recv, 64 * kKiB + 1), pair),
              Protocol::simple);
    const GroupSystem node = system_of("h100-sxm", 1, 8);
    EXPECT_EQ(point_to_point_protocol(call(kAllToAll, 8 * 64 * kKiB), node), Protocol::ll);
    EXPECT_EQ(point_to_point_protocol(call(kAllToAll, 8 * 128 * kKiB), node), Protocol::simple);
}

// Four CTAs of 22 GB/s instead of 24: 7/8 of 256 MiB at 88 GB/s take at least 2.67 ms.
TEST(NcclChannels, FewChannelsLimitTheRate) {
    NcclOptions options;
    options.environment = {{"NCCL_MAX_NCHANNELS", "4"}};
    const auto model = std::make_unique<NcclModel>(cluster_of("h100-sxm"), options);
    const CommCost cost = model->estimate({.kind = kGather, .bytes = static_cast<Bytes>(256 * kMiB)},
                                          group_on(cluster_of("h100-sxm"), 1, 8));
    EXPECT_EQ(cost.channels, 4);
    EXPECT_NEAR(cost.time * 1e6, 2669, 0.15 * 2669);
}

Volumes on(const GroupSystem& s, CollectiveKind kind, Algorithm algorithm, double bytes) {
    return volumes(call(kind, bytes), algorithm, s);
}

// Sums over the members equal what the algorithm sends: S = 2^20, 32 ranks on 4 nodes.
TEST(NcclVolumes, Conservation) {
    const GroupSystem s = system_of("h100-sxm", 4, 8);
    const double size = kMiB;
    const auto sum = [](const Volumes& v) { return 32 * (v.near + v.far); };
    EXPECT_NEAR(sum(on(s, kReduce, Algorithm::ring, size)), 2 * 31 * size, 1); // n hops of 2(n-1)/n S
    EXPECT_NEAR(32 * on(s, kReduce, Algorithm::ring, size).far, 4 * 2 * 31.0 / 32 * size, 1);
    EXPECT_NEAR(sum(on(s, kGather, Algorithm::ring, size)), 31 * size, 1);
    EXPECT_NEAR(sum(on(s, kReduce, Algorithm::tree, size)), 2 * 31 * size, 1); // n-1 edges, up and down
    EXPECT_NEAR(32 * on(s, kReduce, Algorithm::nvls_tree, size).far, 2 * 3 * size, 1); // N-1 edges
    EXPECT_NEAR(on(s, kReduce, Algorithm::nvls_tree, size).near, size * 9 / 8, 1);
    EXPECT_NEAR(8 * on(s, kReduce, Algorithm::collnet_direct, size).far, size, 1); // S a node
    EXPECT_NEAR(sum(on(s, CollectiveKind::broadcast, Algorithm::ring, size)), 31 * size, 1);
    // All-to-all: 24/32 leave the node, 7/32 stay, 7/8 of what leaves goes over NVLink to the NIC's GPU
    // first.
    const Volumes all = on(s, kAllToAll, Algorithm::direct, size);
    EXPECT_NEAR(all.far, 24.0 / 32 * size, 1);
    EXPECT_NEAR(all.near, 7.0 / 32 * size + 24.0 / 32 * 7 / 8 * size, 1);
    const GroupSystem plain = system_of("h100-sxm", 4, 8, "2.30", {{"NCCL_PXN_DISABLE", "1"}});
    EXPECT_NEAR(on(plain, kAllToAll, Algorithm::direct, size).near, 7.0 / 32 * size, 1);
}

TEST(NcclVolumes, OneNode) {
    const GroupSystem s = system_of("h100-sxm", 1, 8);
    EXPECT_NEAR(on(s, kReduce, Algorithm::nvls, kMiB).near, kMiB * 9 / 8, 1); // S for the sum, S/8 stored
    EXPECT_NEAR(on(s, kGather, Algorithm::nvls, kMiB).near, kMiB * 7 / 8, 1);
    EXPECT_EQ(on(s, kReduce, Algorithm::ring, kMiB).far, 0);
    const GroupSystem rails = system_of("h100-sxm", 16, 1);
    EXPECT_NEAR(on(rails, kScatter, Algorithm::pat, kMiB).far, kMiB * 15 / 16, 1);
    EXPECT_EQ(on(rails, kScatter, Algorithm::pat, kMiB).near, 0);
}

} // namespace
} // namespace echosim::nccl
