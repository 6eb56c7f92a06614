// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_environment.h"

#include "clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

unsigned bits(std::initializer_list<Algorithm> algorithms) {
    unsigned result = 0;
    for (const Algorithm a : algorithms)
        result |= 1U << static_cast<unsigned>(a);
    return result;
}
constexpr unsigned kKnown = 0x7f; // the seven algorithms with a name

unsigned algorithms(const Settings& s, CollectiveKind kind) {
    return s.algorithms[static_cast<std::size_t>(kind)] & kKnown;
}
unsigned protocols(const Settings& s, CollectiveKind kind) {
    return s.protocols[static_cast<std::size_t>(kind)] & 7U;
}
Settings with(const char* name, const char* value, const char* version = "2.30") {
    return read_settings(version, {{name, value}});
}
constexpr auto kReduce = CollectiveKind::all_reduce;
constexpr auto kGather = CollectiveKind::all_gather;

TEST(NcclEnvironment, VersionsWithoutRulesOfTheirOwn) {
    EXPECT_THAT(read_settings("2.99", {}).warnings,
                ElementsAre(HasSubstr("NCCL 2.99 is modelled as 2.30, the newest known")));
    EXPECT_THAT(read_settings("2.7.8", {}).warnings, ElementsAre(HasSubstr("modelled as 2.12")));
    EXPECT_THAT(read_settings("2.8", {}).warnings, IsEmpty()); // 2.8 to 2.11 choose as 2.12
}

TEST(NcclEnvironment, NothingSetLeavesTheChoiceToNccl) {
    const Settings s = read_settings("2.21", {{"PATH", "/bin"}, {"CUDA_VISIBLE_DEVICES", "0"}});
    EXPECT_EQ(s.version, 221);
    EXPECT_EQ(algorithms(s, kReduce), kKnown);
    EXPECT_EQ(protocols(s, kReduce), 7U);
    EXPECT_THAT(s.warnings, IsEmpty());
}

TEST(NcclEnvironment, ListsOfAlgorithms) {
    EXPECT_EQ(algorithms(with("NCCL_ALGO", "Ring"), kReduce), bits({Algorithm::ring}));
    EXPECT_EQ(algorithms(with("NCCL_ALGO", "ring,TREE"), kReduce), bits({Algorithm::ring, Algorithm::tree}));
    EXPECT_EQ(algorithms(with("NCCL_ALGO", "^NVLS"), kReduce), kKnown & ~bits({Algorithm::nvls}));
    const Settings two = with("NCCL_ALGO", "^NVLS,NVLSTree");
    EXPECT_EQ(algorithms(two, kGather), kKnown & ~bits({Algorithm::nvls, Algorithm::nvls_tree}));
    EXPECT_THAT(two.warnings, IsEmpty());
}

TEST(NcclEnvironment, ListsForOneFunction) {
    const Settings s = with("NCCL_ALGO", "allreduce:tree,ring;allgather:ring");
    EXPECT_EQ(algorithms(s, kReduce), bits({Algorithm::tree, Algorithm::ring}));
    EXPECT_EQ(algorithms(s, kGather), bits({Algorithm::ring}));
    EXPECT_EQ(algorithms(s, CollectiveKind::reduce_scatter), kKnown);
    EXPECT_THAT(s.warnings, IsEmpty());
    const Settings old = with("NCCL_ALGO", "allreduce:tree", "2.21");
    EXPECT_EQ(algorithms(old, kReduce), kKnown);
    EXPECT_THAT(old.warnings, ElementsAre(HasSubstr("came with NCCL 2.24")));
}

TEST(NcclEnvironment, ListsOfProtocols) {
    const Settings s = with("NCCL_PROTO", "^LL128;allreduce:LL128");
    EXPECT_EQ(protocols(s, kReduce), 1U << static_cast<unsigned>(Protocol::ll128));
    EXPECT_EQ(protocols(s, kGather), 5U); // LL and Simple
    EXPECT_TRUE(s.ll128_asked[static_cast<std::size_t>(kReduce)]);
}

TEST(NcclEnvironment, AMisspeltAlgorithmIsNamed) {
    const Settings s = with("NCCL_ALGO", "Rign");
    EXPECT_EQ(algorithms(s, kReduce), kKnown);
    ASSERT_EQ(s.warnings.size(), 1U);
    EXPECT_THAT(s.warnings[0], HasSubstr("did you mean \"Ring\"?"));
}

// Tree exists for all_reduce alone: 2.21 falls back to the ring, later versions stop.
TEST(NcclEnvironment, WhatLeavesNothingIsSaid) {
    const Settings s = with("NCCL_ALGO", "Tree");
    ASSERT_EQ(s.warnings.size(), 1U);
    EXPECT_THAT(s.warnings[0],
                HasSubstr("leaves all_gather, reduce_scatter, broadcast, reduce no algorithm"));
    EXPECT_THAT(with("NCCL_ALGO", "Tree", "2.20").warnings, ElementsAre(HasSubstr("takes the ring")));
}

// strtoll: what is no number counts as 0, what follows a number is dropped, -2 is the default.
TEST(NcclEnvironment, NumbersAsNcclReadsThem) {
    const Settings off = with("NCCL_NVLS_ENABLE", "true");
    EXPECT_EQ(off.nvls, false);
    EXPECT_THAT(off.warnings, ElementsAre(HasSubstr("reads this as the number 0")));
    EXPECT_EQ(with("NCCL_NVLS_ENABLE", "2").nvls, std::nullopt);
    EXPECT_EQ(with("NCCL_NVLS_ENABLE", "-2").nvls, std::nullopt);
    EXPECT_EQ(with("NCCL_NVLS_ENABLE", "").nvls, std::nullopt);
    EXPECT_EQ(with("NCCL_BUFFSIZE", "0x800000").buffer, 8388608);
    EXPECT_EQ(with("NCCL_BUFFSIZE", "8M").buffer, 8);
    EXPECT_THAT(with("NCCL_BUFFSIZE", "99999999999999999999").warnings,
                ElementsAre(HasSubstr("out of range")));
}

TEST(NcclEnvironment, Channels) {
    EXPECT_EQ(with("NCCL_MIN_NCHANNELS", "32").min_channels, 32);
    EXPECT_EQ(with("NCCL_MAX_CTAS", "8").max_channels, 8);
    EXPECT_EQ(read_settings("2.30", {{"NCCL_MAX_NCHANNELS", "16"}, {"NCCL_MAX_CTAS", "8"}}).max_channels, 8);
    const Settings many = with("NCCL_MIN_NCHANNELS", "64", "2.21");
    EXPECT_EQ(many.min_channels, 32); // 64 channels came with 2.25
    EXPECT_THAT(many.warnings, ElementsAre(HasSubstr("at most 32 channels")));
}

// A multiple of 32 from 64 to 512, else the most.
TEST(NcclEnvironment, Threads) {
    EXPECT_EQ(with("NCCL_NTHREADS", "256").threads, 256);
    EXPECT_EQ(with("NCCL_NTHREADS", "250").threads, 512);
    EXPECT_EQ(with("NCCL_NTHREADS", "32").threads, 64);
    EXPECT_EQ(with("NCCL_NTHREADS", "32").warnings.size(), 1U);
}

TEST(NcclEnvironment, HarmlessVariablesAreQuiet) {
    const Settings s = read_settings("2.30", {{"NCCL_DEBUG", "INFO"},
                                              {"NCCL_SOCKET_IFNAME", "eth0"},
                                              {"NCCL_IB_HCA", "mlx5"},
                                              {"NCCL_IB_TIMEOUT", "22"},
                                              {"NCCL_CUMEM_ENABLE", "0"}});
    EXPECT_THAT(s.warnings, IsEmpty());
}

TEST(NcclEnvironment, WhatIsNotFollowedIsSaid) {
    EXPECT_THAT(with("NCCL_CROSS_NIC", "1").warnings,
                ElementsAre(HasSubstr("NCCL_CROSS_NIC=1 is not followed")));
    EXPECT_THAT(with("NCCL_NVLS_ENABEL", "0").warnings, ElementsAre(HasSubstr("\"NCCL_NVLS_ENABLE\"")));
}

TEST(NcclEnvironment, TheClusterAsNcclSeesIt) {
    Cluster cluster = test::cluster_of("b200-sxm", 4, 4);
    cluster.nvlink_domain_nodes = 18;
    EXPECT_EQ(visible_cluster(cluster, with("NCCL_MNNVL_ENABLE", "1")).nvlink_domain_nodes, 18);
    EXPECT_EQ(visible_cluster(cluster, with("NCCL_MNNVL_ENABLE", "0")).nvlink_domain_nodes, 1);
    EXPECT_EQ(visible_cluster(cluster, read_settings("2.19", {})).nvlink_domain_nodes, 1); // came with 2.20
    EXPECT_EQ(visible_cluster(cluster, with("NCCL_P2P_DISABLE", "1")).node.nvlink.bandwidth, 0);
    EXPECT_EQ(visible_cluster(cluster, with("NCCL_IB_DISABLE", "1")).fabric.kind, FabricKind::ethernet);
    EXPECT_EQ(visible_cluster(cluster, with("NCCL_NET", "Socket")).fabric.kind, FabricKind::ethernet);
}

// 8 NICs of 400 Gb/s: sockets carry 10 Gb/s each, and a step takes 45 us.
TEST(NcclEnvironment, SocketsAreSlow) {
    const Cluster cluster = test::cluster_of("h100-sxm");
    Settings s = with("NCCL_IB_DISABLE", "1");
    const Cluster seen = visible_cluster(cluster, s);
    EXPECT_DOUBLE_EQ(seen.node.nics.bandwidth, 1.25e9);
    EXPECT_DOUBLE_EQ(seen.node.nics.latency, 45e-6);
    add_cluster_warnings(cluster, s);
    EXPECT_THAT(s.warnings, ElementsAre(HasSubstr("1.25 GB/s a NIC and 45 us a step are assumed")));
}

TEST(NcclEnvironment, ListedDevicesAreTheNics) {
    const Cluster cluster = test::cluster_of("h100-sxm"); // 8 NICs
    const auto nics = [&](const std::string& value) {
        return visible_cluster(cluster, with("NCCL_IB_HCA", value.c_str())).node.nics.count;
    };
    EXPECT_EQ(nics("mlx5_0"), 1);
    EXPECT_EQ(nics("mlx5_0,mlx5_1"), 2);
    EXPECT_EQ(nics("=mlx5_0:1,mlx5_0:2,mlx5_3:1"), 2);
    EXPECT_EQ(nics("mlx5"), 8);
    EXPECT_EQ(nics("a0,a1,a2,a3,a4,a5,a6,a7,a8"), 8);
    EXPECT_EQ(nics("^mlx5_3"), 8);
    EXPECT_THAT(with("NCCL_IB_HCA", "^mlx5_3").warnings, ElementsAre(HasSubstr("is not followed")));
    EXPECT_THAT(with("NCCL_IB_HCA", "mlx5_0").warnings, IsEmpty());
}

TEST(NcclEnvironment, SharpNeedsInfiniband) {
    Cluster cluster = test::cluster_of("h100-sxm");
    Settings sharp = with("NCCL_COLLNET_ENABLE", "1");
    add_cluster_warnings(cluster, sharp);
    EXPECT_TRUE(sharp.collnet);
    cluster.fabric.kind = FabricKind::roce;
    add_cluster_warnings(cluster, sharp);
    EXPECT_FALSE(sharp.collnet);
    EXPECT_THAT(sharp.warnings.back(), HasSubstr("SHARP needs InfiniBand"));
}

} // namespace
} // namespace echosim::nccl
