// SPDX-License-Identifier: Apache-2.0
#include "tests/catalogue/topology_texts.h"
#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace echosim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A job of nodes of eight H100 as NCCL 2.21 logs it.
struct Job {
    int nodes = 2;
    bool tree = true;       // NCCL_DEBUG_SUBSYS=GRAPH
    int only_rank = -1;     // the log of one process
    bool counted = true;    // "nNodes 2 localRanks 8", from 2.20 on
    std::string launcher{}; // in front of each line
};

std::vector<std::string> messages(const Job& job, int rank) {
    const int ranks = job.nodes * 8;
    std::vector<std::string> out = {"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>",
                                    "Using network IB"};
    const std::string comm = fmt::format(
        "ncclCommInitRank comm 0x5{} rank {} nranks {} cudaDev {} nvmlDev {} busId 18000 commId 0xabc", rank,
        rank, ranks, rank % 8, rank % 8);
    out.push_back(comm + " - Init START");
    if (job.tree) {
        out.emplace_back("=== System : maxBw 48.0 totalBw 370.8 ===");
        for (int gpu = 0; gpu < 8; ++gpu) {
            if (gpu % 4 == 0)
                out.push_back(fmt::format("CPU/0-{} (1/1/3)", gpu / 4));
            out.push_back(fmt::format("+ PCI[48.0] - PCI/0-{}5000 (1000c03010000000)", gpu));
            out.push_back(fmt::format("              + PCI[48.0] - GPU/0-{}8000 ({})", gpu, gpu));
            out.emplace_back("                            + NVL[370.8] - NVS/0-0");
            out.push_back(fmt::format("              + PCI[48.0] - NIC/0-{}9000", gpu));
            out.push_back(
                fmt::format("                            + NET[50.0] - NET/0-{} (0/f8a3/1/50.000000)", gpu));
        }
        out.emplace_back("==========================================");
        out.push_back(
            fmt::format("Pattern 4, crossNic 0, nChannels {}, bw 30.000000/24.000000, type NVL/PIX, "
                        "sameChannels 1",
                        rank == 3 ? 11 : 12));
        out.emplace_back(
            "Pattern 1, crossNic 0, nChannels 12, bw 30.000000/30.000000, type NVL/PIX, sameChannels 1");
        out.emplace_back(
            "Pattern 3, crossNic 0, nChannels 0, bw 0.000000/0.000000, type NVL/PIX, sameChannels 1");
        out.emplace_back(
            "Pattern 5, crossNic 0, nChannels 8, bw 40.000000/40.000000, type NVL/PIX, sameChannels 1");
    }
    if (job.counted)
        out.push_back(fmt::format("comm 0x5{} rank {} nRanks {} nNodes {} localRanks 8 localRank {} MNNVL 0",
                                  rank, rank, ranks, job.nodes, rank % 8));
    out.emplace_back(
        "24 coll channels, 20 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer");
    out.emplace_back("Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA");
    out.push_back(comm + " - Init COMPLETE");
    return out;
}

// The lines of all ranks in turns, as they come in a real log.
std::string log_of(const Job& job) {
    std::string out = job.launcher + "NCCL version 2.21.5+cuda12.4\n";
    for (std::size_t line = 0;; ++line) {
        bool any = false;
        for (int rank = 0; rank < job.nodes * 8; ++rank) {
            const std::vector<std::string> lines = messages(job, rank);
            if ((job.only_rank >= 0 && rank != job.only_rank) || line >= lines.size())
                continue;
            any = true;
            out += fmt::format("{}node-{}:{}:{} [{}] NCCL INFO {}\n", job.launcher, rank / 8, 100 + rank,
                               200 + rank, rank % 8, lines[line]);
        }
        if (!any)
            return out;
    }
}

TEST(TopologyLog, TwoNodesWithTheTree) {
    const ImportedCluster read = imported(log_of({}));
    EXPECT_EQ(read.kind, TopologyKind::nccl_log);
    EXPECT_EQ(read.cluster.nccl, "2.21.5");
    EXPECT_EQ(where(read, "nccl"), "box.txt:1");
    EXPECT_EQ(read.cluster.gpu.name, "h100-sxm");
    const Node& node = read.cluster.node;
    EXPECT_EQ(node.gpus, 8);
    EXPECT_EQ(node.sockets, 2);
    EXPECT_EQ(node.cpu, "intel-sapphire-rapids"); // 1/1/3
    EXPECT_EQ(node.nvlink.links, 18);             // 370.8 = 18 x 20.6
    EXPECT_TRUE(node.nvlink.nvswitch);
    EXPECT_EQ(node.pcie.gen, 5); // 48 = 12 x 4
    EXPECT_EQ(node.nics.count, 8);
    EXPECT_DOUBLE_EQ(node.nics.bandwidth, 50e9);
    EXPECT_EQ(read.cluster.fabric.kind, FabricKind::infiniband);
    EXPECT_THAT(read.warnings, IsEmpty());
}

TEST(TopologyLog, ObservedCommunicator) {
    const ImportedCluster read = imported(log_of({}));
    ASSERT_EQ(read.cluster.observed.size(), 1U);
    const ObservedCommunicator& seen = read.cluster.observed[0];
    EXPECT_EQ(seen.ranks, 16);
    EXPECT_EQ(seen.nodes, 2);
    EXPECT_EQ(seen.collective_channels, 24);
    EXPECT_EQ(seen.nvls_channels, 16);
    EXPECT_EQ(seen.p2p_channels, 32);
    EXPECT_EQ(seen.p2p_channels_per_peer, 2);
    ASSERT_EQ(seen.graphs.size(), 3U); // the empty one of CollNet is left out
    EXPECT_EQ(seen.graphs[0].pattern, "ring");
    EXPECT_EQ(seen.graphs[0].channels, 11); // the least of all ranks: rank 3 found 11
    EXPECT_DOUBLE_EQ(seen.graphs[0].intra, 30);
    EXPECT_DOUBLE_EQ(seen.graphs[0].inter, 24);
    EXPECT_EQ(seen.graphs[1].pattern, "tree");
    EXPECT_EQ(seen.graphs[2].pattern, "nvls");
    EXPECT_DOUBLE_EQ(seen.graphs[2].intra, 40);
}

TEST(TopologyLog, PrefixesOfLaunchers) {
    for (const std::string launcher :
         {"[1,0]<stdout>:", "[default0]:", "(Worker pid=7) ", "2026-01-02 03:04:05 "}) {
        const ImportedCluster read =
            imported(log_of({.tree = false, .counted = false, .launcher = launcher}));
        EXPECT_EQ(read.cluster.node.gpus, 8) << launcher;
        ASSERT_EQ(read.cluster.observed.size(), 1U) << launcher;
        EXPECT_EQ(read.cluster.observed[0].nodes, 2) << launcher; // hosts that wrote
    }
}

// One process sees neither its node nor the others; a connection to device 7 shows at least eight.
TEST(TopologyLog, LogOfOneProcess) {
    const ImportedCluster read = imported(log_of({.tree = false, .only_rank = 0, .counted = false}));
    EXPECT_EQ(read.cluster.node.gpus, 8);
    EXPECT_EQ(where(read, "node.gpus"), "assumed");
    ASSERT_EQ(read.cluster.observed.size(), 1U);
    EXPECT_EQ(read.cluster.observed[0].nodes, 2);
    EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("2 full nodes are assumed")));
}

TEST(TopologyLog, CutOff) {
    const std::string text = log_of({});
    const ImportedCluster read = imported(text.substr(0, text.find("node-0:100:200 [0] NCCL INFO =====")));
    EXPECT_EQ(read.cluster.node.gpus, 8); // the tree up to there
    EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("cut off")));
}

TEST(TopologyLog, GpuFromTheHeaderOfNcclTests) {
    std::string text;
    for (int rank = 0; rank < 8; ++rank)
        text += fmt::format("#  Rank  {0} Group  0 Pid 42 on node-0 device  {0} [0x0f] NVIDIA H800\n", rank);
    const ImportedCluster read = imported(text + log_of({.nodes = 1, .tree = false}));
    EXPECT_EQ(read.cluster.gpu.name, "h800-sxm");
    EXPECT_EQ(where(read, "gpu"), "box.txt:1");
    EXPECT_EQ(read.cluster.node.nvlink.links, 8);
}

std::string fabric_of(const std::string& message) {
    const std::string line = "h:1:1 [0] NCCL INFO ";
    const ImportedCluster read =
        imported(line + message + "\n" + line + "comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n");
    const Nics& nics = read.cluster.node.nics;
    return fmt::format("{} {} x {}", to_string(read.cluster.fabric.kind), nics.count, nics.bandwidth * 8e-9);
}

TEST(TopologyLog, Networks) {
    EXPECT_EQ(fabric_of("NET/OFI Selected Provider is efa (found 4 nics)"), "efa 4 x 100");
    EXPECT_THAT(fabric_of("NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)"),
                StartsWith("slingshot 4 x 200"));
    EXPECT_EQ(fabric_of("Using network FasTrak"), "tcpxo 8 x 200");
    EXPECT_EQ(fabric_of("Using network GPUDirectTCPX_v7"), "tcpx 4 x 200");
    EXPECT_EQ(fabric_of("Using network Socket"), "ethernet 1 x 10");
    EXPECT_EQ(fabric_of("NET/Socket : Using [0]eth0:10.0.0.1<0>"), "ethernet 1 x 10");
    EXPECT_EQ(fabric_of("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:1<0>"),
              "roce 2 x 400");
}

TEST(TopologyLog, OldVersionsPrintSpeedAndBusIds) {
    const std::string line = " [0] NCCL INFO ";
    const ImportedCluster read = imported(
        line + "NCCL version 2.5.7+cuda10.0\n" + line +
        "Pattern 4, crossNic 0, nChannels 2, speed 21.0/12.0, type NVL/PIX, sameChannels 1\n" + line +
        "Channel 00/02 :    0   1   2\n" + line + "Ring 00 : 15[41000] -> 0[1b000] [receive] via NET/IB/0\n" +
        line + "comm 0x7f145c rank 0 nranks 16 cudaDev 0 busId 1b000 - Init COMPLETE\n");
    EXPECT_EQ(read.cluster.nccl, "2.5.7");
    EXPECT_EQ(read.cluster.gpu.name, "v100-sxm2-32gb"); // CUDA 10 has no Ampere
    ASSERT_EQ(read.cluster.observed.size(), 1U);
    EXPECT_EQ(read.cluster.observed[0].collective_channels, 2);
    ASSERT_EQ(read.cluster.observed[0].graphs.size(), 1U);
    EXPECT_DOUBLE_EQ(read.cluster.observed[0].graphs[0].intra, 21);
    EXPECT_DOUBLE_EQ(read.cluster.observed[0].graphs[0].inter, 12);
}

// CUDA knows Hopper from 11.8 on.
TEST(TopologyLog, TheVersionOfCudaLimitsTheGpu) {
    const auto gpu_of = [](const std::string& version) {
        return imported("h:1:1 [0] NCCL INFO NCCL version " + version +
                        "\nh:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n")
            .cluster.gpu.name;
    };
    EXPECT_EQ(gpu_of("2.8.3+cuda11.0"), "a100-sxm-80gb");
    EXPECT_EQ(gpu_of("2.21.5+cuda12.4"), "h100-sxm");
}

TEST(TopologyLog, RefusesALogWithoutInitialisation) {
    EXPECT_THAT(refusal([] { imported("a:1:2 [0] NCCL INFO Bootstrap : Using eth0\n"); }),
                StartsWith("box.txt: the log holds no line of a communicator's start"));
}

} // namespace
} // namespace echosim
