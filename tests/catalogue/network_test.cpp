// SPDX-License-Identifier: Apache-2.0
#include "tests/catalogue/topology_texts.h"
#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string network(const std::string& topology, const std::string& npus, const std::string& bandwidth,
                    const std::string& latency) {
    return fmt::format("# network\ntopology: [ {} ]  # Ring, Switch, FullyConnected\nnpus_count: [ {} ]\n"
                       "bandwidth: [ {} ]  # GB/s\nlatency: [ {} ]  # ns\n",
                       topology, npus, bandwidth, latency);
}

std::string refused(const std::string& text) {
    return refusal([&] { imported(text); });
}

TEST(AstraNetwork, OneSwitchIsOneNode) {
    const ImportedCluster read = imported(network("Switch", "8", "400.0", "936.25"));
    EXPECT_EQ(read.kind, TopologyKind::astra_network);
    const Node& node = read.cluster.node;
    EXPECT_EQ(node.gpus, 8);
    EXPECT_DOUBLE_EQ(node.nvlink.bandwidth, 400e9); // one link of each GPU to the switch
    EXPECT_TRUE(node.nvlink.nvswitch);
    EXPECT_EQ(node.nvlink.links, 16); // 400 GB/s in links of 25 GB/s of the H100
    EXPECT_EQ(node.nics.count, 0);
    EXPECT_EQ(read.cluster.fabric.kind, FabricKind::none);
    EXPECT_EQ(read.nodes, 1);
    EXPECT_EQ(where(read, "gpu"), "assumed");
    EXPECT_EQ(where(read, "node.gpus"), "box.txt:3");
    EXPECT_EQ(where(read, "node.nvlink.bandwidth"), "box.txt:4 (one link of 400 GB/s to a switch)");
    EXPECT_THAT(read.warnings,
                ElementsAre(HasSubstr("latency of dimension 1 (936.25 ns a link) is not used")));
}

TEST(AstraNetwork, SecondDimensionIsTheNics) {
    const ImportedCluster read = imported(network("Switch, Ring", "8, 4", "400, 50", "936.25, 1000"));
    const Nics& nics = read.cluster.node.nics;
    EXPECT_EQ(nics.count, 8); // one for each GPU
    EXPECT_DOUBLE_EQ(nics.bandwidth, 50e9);
    EXPECT_DOUBLE_EQ(nics.latency, 1e-6); // a ring is one link from neighbour to neighbour
    EXPECT_EQ(read.nodes, 4);
    ASSERT_EQ(read.cluster.fabric.levels.size(), 1U);
    EXPECT_EQ(read.cluster.fabric.levels[0].radix, 8); // 4 ports down and 4 up
    EXPECT_TRUE(read.cluster.fabric.rail_optimised);
    EXPECT_EQ(read.cluster.fabric.kind, FabricKind::infiniband); // as in dgx-h100
    EXPECT_EQ(where(read, "node.nics.bandwidth"), "box.txt:4");
    EXPECT_EQ(where(read, "fabric.kind"), "assumed");
    EXPECT_THAT(read.warnings.back(), HasSubstr("dimension 2 is a Ring with 2 links of 50.0 GB/s"));
}

TEST(AstraNetwork, FurtherDimensionsAreLevelsOfSwitches) {
    const Cluster cluster =
        imported(network("FullyConnected, Switch, Switch", "4, 8, 2", "100, 25, 12.5", "10, 500, 700"))
            .cluster;
    EXPECT_DOUBLE_EQ(cluster.node.nvlink.bandwidth, 300e9); // a link to each of the three others
    EXPECT_EQ(cluster.node.nvlink.peers, 3);
    EXPECT_DOUBLE_EQ(cluster.node.nics.latency, 1e-6); // 2 x 500 ns through a switch
    ASSERT_EQ(cluster.fabric.levels.size(), 2U);
    EXPECT_DOUBLE_EQ(cluster.fabric.levels[0].oversubscription, 2.0); // 25 GB/s below, 12.5 above
    EXPECT_EQ(cluster.fabric.levels[0].radix, 12);                    // 8 ports down, 4 up
    EXPECT_DOUBLE_EQ(cluster.fabric.levels[1].hop_latency, 700e-9);
}

TEST(AstraNetwork, ARingWithinANodeKeepsItsBandwidth) {
    const ImportedCluster read = imported(network("Ring", "8", "50", "500"), "a100-sxm-80gb");
    EXPECT_EQ(read.cluster.gpu.name, "a100-sxm-80gb");
    EXPECT_DOUBLE_EQ(read.cluster.node.nvlink.bandwidth, 100e9); // two links of 50 GB/s
    EXPECT_FALSE(read.cluster.node.nvlink.nvswitch);
    EXPECT_EQ(read.cluster.node.nvlink.peers, 7);
    EXPECT_THAT(read.warnings.front(), HasSubstr("dimension 1 is a ring"));
    // of two GPUs it is one link
    EXPECT_DOUBLE_EQ(imported(network("Ring", "2", "50", "500")).cluster.node.nvlink.bandwidth, 50e9);
}

TEST(AstraNetwork, TheNameOfTheFileMayNameTheGpu) {
    const std::string text = network("Switch", "8", "300", "500");
    EXPECT_EQ(cluster_from_topology(text, "dgx_v100_8gpu.yml", "").cluster.gpu.name, "v100-sxm2-32gb");
    EXPECT_EQ(cluster_from_topology(text, "tpu_v3.yml", "").cluster.gpu.name, "h100-sxm");
}

TEST(AstraNetwork, ReadsWhatItsClusterFileSays) {
    const ImportedCluster read = imported(network("Switch, Switch", "8, 16", "450, 50", "500, 600"));
    const Cluster again = cluster_from_json(cluster_to_json(read.cluster), "again.json");
    EXPECT_EQ(cluster_to_json(again), cluster_to_json(read.cluster));
}

TEST(AstraNetwork, MalformedOnesAreRefusedAtTheirLine) {
    EXPECT_THAT(refused(network("Ring, Ring", "2, 2", "tbd, 5", "1, 1")),
                HasSubstr("box.txt:4: bandwidth of dimension 1: \"tbd\" is not a number (GB/s"));
    EXPECT_THAT(refused(network("Mesh", "8", "50", "500")),
                HasSubstr("box.txt:2: topology of dimension 1: unknown \"Mesh\""));
    EXPECT_THAT(refused(network("Ring, Switch", "8", "50, 60", "500, 1")),
                HasSubstr("box.txt:3: \"npus_count\" has 1 entries, topology has 2"));
    EXPECT_THAT(refused(network("Ring", "2.5", "50", "500")), HasSubstr("2.5 is not a whole number"));
    EXPECT_THAT(refused(network("Ring", "0", "50", "500")), HasSubstr("0 is not a whole number"));
    EXPECT_THAT(refused(network("Ring", "512", "50", "500")),
                HasSubstr("dimension 1 is the node, at most 256"));
    EXPECT_THAT(refused(network("Ring", "8", "-1", "500")), HasSubstr("\"-1\" is not a number"));
    EXPECT_THAT(refused(network("Switch, Switch, Switch", "8, 1048576, 1048576", "1, 1, 1", "1, 1, 1")),
                HasSubstr("more than 1048576 nodes"));
    EXPECT_THAT(refused("npus_count: [ 8 ]\n"),
                AllOf(HasSubstr("\"topology\" is missing"), HasSubstr("\"bandwidth\" is missing")));
    EXPECT_THAT(refused("npus_count: [ 8\ntopology: ]"), HasSubstr("not YAML"));
    EXPECT_THAT(refused("topology: [ Ring ]\nnpus_count: { a: b }\nbandwidth: [1]\nlatency: [1]\n"),
                HasSubstr("box.txt:2: \"npus_count\" holds 1 entries; a list"));
}

TEST(AstraNetwork, DeepNestingIsRefused) {
    EXPECT_THAT(refused("npus_count: " + std::string(100'000, '[') + "\n"), HasSubstr("box.txt:"));
}

} // namespace
} // namespace echosim
