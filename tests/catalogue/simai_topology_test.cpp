// SPDX-License-Identifier: Apache-2.0
#include "tests/catalogue/topology_texts.h"
#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refused(const std::string& text) {
    return refusal([&] { imported(text); });
}

// Two servers of two GPUs: 4 GPUs, NVSwitches 4 and 5, leaves 6 and 7, spine 8.
struct Servers {
    bool rails = true;         // GPU i on leaf i, else all on leaf 0 of the server's number
    std::string up = "50Gbps"; // of a leaf to the spine
    std::string last = {};     // instead of the last link
};

std::string topology(const Servers& servers) {
    std::string out = "9 2 2 3 10 H100\n4 5 6 7 8 \n";
    for (int gpu = 0; gpu < 4; ++gpu) {
        out += fmt::format("{} {} 3600Gbps 0.000025ms 0\n", gpu, 4 + gpu / 2);
        const int leaf = servers.rails ? 6 + gpu % 2 : 6 + gpu / 2;
        out += fmt::format("{} {} 400Gbps 0.0005ms 0\n", gpu, leaf);
    }
    out += fmt::format("6 8 {} 0.0005ms 0\n", servers.up);
    out += servers.last.empty() ? fmt::format("7 8 {} 0.0005ms 0\n", servers.up) : servers.last;
    return out;
}

TEST(SimaiTopology, ServersOnRails) {
    const ImportedCluster read = imported(topology({}));
    EXPECT_EQ(read.kind, TopologyKind::simai_topology);
    const Cluster& cluster = read.cluster;
    EXPECT_EQ(cluster.gpu.name, "h100-sxm");
    EXPECT_EQ(where(read, "gpu"), "box.txt:1 (H100)");
    EXPECT_EQ(cluster.node.gpus, 2);
    EXPECT_EQ(read.nodes, 2);
    EXPECT_DOUBLE_EQ(cluster.node.nvlink.bandwidth, 450e9); // 3600 Gb/s
    EXPECT_EQ(cluster.node.nvlink.links, 18);
    EXPECT_TRUE(cluster.node.nvlink.nvswitch);
    EXPECT_EQ(cluster.node.nics.count, 2);
    EXPECT_DOUBLE_EQ(cluster.node.nics.bandwidth, 50e9);
    EXPECT_DOUBLE_EQ(cluster.node.nics.latency, 1e-6); // two links of 0.5 us
    EXPECT_TRUE(cluster.fabric.rail_optimised);
    EXPECT_EQ(cluster.fabric.kind, FabricKind::roce);
    EXPECT_THAT(read.warnings, IsEmpty());
}

TEST(SimaiTopology, OversubscriptionOfTheLeaves) {
    const Cluster cluster = imported(topology({})).cluster;
    ASSERT_EQ(cluster.fabric.levels.size(), 2U);
    // a leaf has 2 x 400 Gb/s down and 50 Gb/s up: 16; 2 ports down and 2 / 16 up are 2 ports
    EXPECT_DOUBLE_EQ(cluster.fabric.levels[0].oversubscription, 16.0);
    EXPECT_EQ(cluster.fabric.levels[0].radix, 2);
    EXPECT_DOUBLE_EQ(cluster.fabric.levels[1].hop_latency, 1e-6); // up to the spine and down
    // with as much up as down nothing blocks: 2 ports down, 2 up
    const Cluster wide = imported(topology({.up = "800Gbps"})).cluster;
    EXPECT_DOUBLE_EQ(wide.fabric.levels[0].oversubscription, 1.0);
    EXPECT_EQ(wide.fabric.levels[0].radix, 4);
}

TEST(SimaiTopology, SaysWhenTheOversubscriptionIsBeyondWhatAClusterTakes) {
    // a leaf has 2 x 400 Gb/s down and 16,000 Gb/s up: 0.05; a cluster file takes 0.1 and more
    const ImportedCluster read = imported(topology({.up = "16000Gbps"}));
    EXPECT_DOUBLE_EQ(read.cluster.fabric.levels.at(0).oversubscription, 0.1);
    ASSERT_EQ(read.warnings.size(), 1U);
    EXPECT_THAT(read.warnings[0], HasSubstr("oversubscription of 0.05, taken as 0.1"));
}

TEST(SimaiTopology, ServersOnTheirOwnLeaf) {
    EXPECT_FALSE(imported(topology({.rails = false})).cluster.fabric.rail_optimised);
}

TEST(SimaiTopology, MalformedOnesAreRefusedAtTheirLine) {
    EXPECT_THAT(refused("9 2 x 3 10 H100\n"), HasSubstr("box.txt: neither"));
    EXPECT_THAT(refused("9 2 2 3 10 H100\n"), HasSubstr("box.txt:1: the file ends behind the header"));
    EXPECT_THAT(refused("9 3 2 3 10 H100\n"), HasSubstr("are 4 GPUs in servers of 3"));
    EXPECT_THAT(refused("9 2 2 3 10 H100\n4 5 6\n"), HasSubstr("box.txt:2: 3 switches; the header says 5"));
    EXPECT_THAT(refused("9 2 2 3 10 H100\n4 5 6 7 9\n"), HasSubstr("box.txt:2: switch 5 is \"9\""));
    EXPECT_THAT(refused(topology({.last = "7 8 50Gbps 0.0005ms\n"})),
                HasSubstr("box.txt:12: 4 fields of a link; 5"));
    EXPECT_THAT(refused(topology({.last = "7 9 50Gbps 0.0005ms 0\n"})), HasSubstr("box.txt:12: to is \"9\""));
    EXPECT_THAT(refused(topology({.last = "7 8 50 0.0005ms 0\n"})), HasSubstr("box.txt:12:"));
    EXPECT_THAT(refused(topology({.last = "7 8 0Gbps 0.0005ms 0\n"})),
                HasSubstr("box.txt:12: bandwidth 0Gbps"));
    EXPECT_THAT(refused(topology({.last = "0 1 50Gbps 0.0005ms 0\n"})),
                HasSubstr("box.txt:12: a link from GPU to GPU"));
    EXPECT_THAT(refused(topology({.last = "3 7 50Gbps 0.0005ms 0\n"})),
                HasSubstr("GPU 3 has 2 links to switches"));
    EXPECT_THAT(refused(topology({.last = "\n"})), HasSubstr("9 links; the header says 10"));
}

TEST(SimaiTopology, EveryPrefixIsReadOrRefused) {
    const std::string whole = topology({});
    for (std::size_t length = 1; length + 2 < whole.size(); ++length)
        EXPECT_NE(refused(whole.substr(0, length)), "accepted") << length;
}

} // namespace
} // namespace echosim
