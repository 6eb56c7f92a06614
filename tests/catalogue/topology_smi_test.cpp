// SPDX-License-Identifier: Apache-2.0
#include "tests/catalogue/topology_texts.h"
#include "tests/support/refusal.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <utility>

namespace echosim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Cell = std::function<std::string(int, int)>;

// The matrix as nvidia-smi prints it, tabs and trailing columns included.
std::string matrix(int gpus, int nics, const Cell& between, const Cell& to_nic) {
    std::string out;
    for (int i = 0; i < gpus; ++i)
        out += fmt::format("\tGPU{}", i);
    for (int k = 0; k < nics; ++k)
        out += fmt::format("\tNIC{}", k);
    out += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
    for (int i = 0; i < gpus; ++i) {
        out += fmt::format("GPU{}", i);
        for (int j = 0; j < gpus; ++j)
            out += "\t" + (i == j ? std::string(" X ") : between(i, j));
        for (int k = 0; k < nics; ++k)
            out += "\t" + to_nic(i, k);
        out += fmt::format("\t0-55,112-167\t{}\t\tN/A\n", i * 2 / gpus);
    }
    out += "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC "
           "Legend:\n\n";
    for (int k = 0; k < nics; ++k)
        out += fmt::format("  NIC{0}: mlx5_{0}\n", k);
    return out;
}

std::string own_nic(int gpu, int nic) {
    return gpu == nic ? "PIX" : "SYS";
}

Cell always(const std::string& cell) {
    return [cell](int, int) { return cell; };
}

TEST(TopologySmi, EightGpusBehindAnNvSwitch) {
    const ImportedCluster read = imported(matrix(8, 10, always("NV18"), own_nic));
    EXPECT_EQ(read.kind, TopologyKind::nvidia_smi);
    EXPECT_EQ(read.cluster.gpu.name, "h100-sxm");
    EXPECT_EQ(where(read, "gpu"), "assumed");
    EXPECT_EQ(read.cluster.node.gpus, 8);
    EXPECT_EQ(where(read, "node.gpus"), "box.txt:1");
    EXPECT_EQ(read.cluster.node.sockets, 2);       // NUMA nodes 0 and 1
    EXPECT_EQ(read.cluster.node.nvlink.links, 18); // 7 x 18 is more than a GPU has: through a switch
    EXPECT_TRUE(read.cluster.node.nvlink.nvswitch);
    EXPECT_EQ(read.cluster.node.nics.count, 8); // NIC8 and NIC9 are SYS from every GPU
    EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("mlx5_8, mlx5_9")));
    EXPECT_EQ(where(read, "node.nics.bandwidth"), "assumed");
}

TEST(TopologySmi, UnderlinedHeader) {
    std::string text = matrix(8, 8, always("NV18"), own_nic);
    for (std::size_t at = text.find("\tGPU"); at < text.find('\n'); at = text.find("\tGPU", at + 1))
        text.replace(at, 1, "\x1b[0m\t\x1b[4m");
    EXPECT_EQ(imported(text).cluster.node.gpus, 8);
}

// A terminal of 80 columns breaks the header and every row.
TEST(TopologySmi, WrappedLines) {
    const std::string text = matrix(8, 8, always("NV12"), own_nic);
    std::string wrapped;
    std::size_t tabs = 0;
    for (const char c : text) {
        tabs = c == '\n' ? 0 : tabs + (c == '\t' ? 1 : 0);
        wrapped += c == '\t' && tabs == 10 ? '\n' : c;
    }
    const ImportedCluster read = imported(wrapped);
    EXPECT_EQ(read.cluster.node.gpus, 8);
    EXPECT_EQ(read.cluster.node.nvlink.links, 12);
    EXPECT_EQ(read.cluster.node.nics.count, 8);
    EXPECT_EQ(read.cluster.node.sockets, 2);
}

TEST(TopologySmi, ProductNamesPastedAlong) {
    const std::string list =
        "$ nvidia-smi -L\nGPU 0: NVIDIA B200 (UUID: GPU-1)\nGPU 1: NVIDIA B200 (UUID: GPU-2)\n";
    const ImportedCluster read = imported(list + matrix(8, 8, always("NV18"), own_nic));
    EXPECT_EQ(read.cluster.gpu.name, "b200-sxm");
    EXPECT_EQ(where(read, "gpu"), "box.txt:2");
    EXPECT_DOUBLE_EQ(read.cluster.node.nvlink.bandwidth, 900e9); // 18 x 50 GB/s
    const ImportedCluster t4 = imported("GPU 0: Tesla T4 (UUID: x)\n" + matrix(4, 0, always("PHB"), own_nic));
    EXPECT_THAT(origin_of(t4, "gpu").text, HasSubstr("the catalogue lacks \"GPU 0: Tesla T4"));
}

// Direct links: the hybrid cube mesh of DGX-1 gives 6 to every GPU; four A100 have 4 links to each other one.
TEST(TopologySmi, DirectLinks) {
    static const std::map<std::pair<int, int>, int> links = {
        {{0, 1}, 1}, {{0, 2}, 1}, {{0, 3}, 2}, {{0, 4}, 2}, {{1, 2}, 2}, {{1, 3}, 1},
        {{1, 5}, 2}, {{2, 3}, 2}, {{2, 6}, 1}, {{3, 7}, 1}, {{4, 5}, 1}, {{4, 6}, 1},
        {{4, 7}, 2}, {{5, 6}, 2}, {{5, 7}, 1}, {{6, 7}, 2}};
    const auto cube = [](int a, int b) -> std::string {
        const auto found = links.find(std::minmax(a, b));
        return found == links.end() ? "SYS" : fmt::format("NV{}", found->second);
    };
    // GPU0: 1 + 1 + 2 + 2 = 6 links
    const ImportedCluster v100 =
        imported(matrix(8, 4, cube, [](int g, int n) -> std::string { return g / 2 == n ? "PIX" : "SYS"; }));
    EXPECT_EQ(v100.cluster.gpu.name, "v100-sxm2-32gb");
    EXPECT_FALSE(v100.cluster.node.nvlink.nvswitch);
    EXPECT_EQ(v100.cluster.node.nics.gpus_per_nic, 2);
    const ImportedCluster a100 = imported(matrix(4, 0, always("NV4"), own_nic));
    EXPECT_EQ(a100.cluster.gpu.name, "a100-sxm-80gb");
    EXPECT_EQ(a100.cluster.node.nvlink.links, 12); // 3 x 4
    EXPECT_EQ(a100.cluster.node.nvlink.peers, 3);
    EXPECT_FALSE(a100.cluster.node.nvlink.nvswitch);
    EXPECT_EQ(a100.cluster.node.nics.count, 0);
    EXPECT_EQ(a100.cluster.fabric.kind, FabricKind::none);
}

// NV4 between 0-1 and 2-3: bridges that join pairs, not a board.
TEST(TopologySmi, BridgePairs) {
    const ImportedCluster read = imported(matrix(
        4, 0, [](int a, int b) -> std::string { return a / 2 == b / 2 ? "NV4" : "SYS"; }, own_nic));
    EXPECT_EQ(read.cluster.node.nvlink.links, 4);
    EXPECT_EQ(read.cluster.node.nvlink.peers, 1);
    EXPECT_EQ(where(read, "node.nvlink.peers"), "box.txt:2");
}

TEST(TopologySmi, PcieOnly) {
    const ImportedCluster read = imported(matrix(8, 1, always("NODE"), always("NODE")));
    EXPECT_EQ(read.cluster.gpu.name, "l40s");
    EXPECT_EQ(read.cluster.node.nvlink.links, 0);
    EXPECT_EQ(where(read, "node.nvlink.links"), "box.txt:2");
    EXPECT_DOUBLE_EQ(read.cluster.node.nvlink.bandwidth, 0);
    EXPECT_EQ(read.cluster.node.nics.count, 1); // none is nearer
    EXPECT_EQ(read.cluster.node.nics.gpus_per_nic, 8);
}

TEST(TopologySmi, RefusesATruncatedMatrix) {
    const std::string text = matrix(8, 8, always("NV18"), own_nic);
    const std::size_t row = text.find("GPU5\t", text.find('\n'));
    EXPECT_THAT(refusal([&] { imported(text.substr(0, row)); }), HasSubstr("8 GPUs, but no row of GPU5"));
    EXPECT_THAT(refusal([&] { imported(text.substr(0, row + 20)); }),
                HasSubstr("box.txt:7: the row of GPU5 has"));
}

} // namespace
} // namespace echosim
