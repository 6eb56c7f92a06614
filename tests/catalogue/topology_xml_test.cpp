// SPDX-License-Identifier: Apache-2.0
#include "tests/catalogue/topology_texts.h"
#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string refused(const std::string& text) {
    return refusal([&] { imported(text); });
}

TEST(TopologyXml, DumpOfAnH100Node) {
    const ImportedCluster read = imported(xml({}));
    EXPECT_EQ(read.kind, TopologyKind::nccl_xml);
    EXPECT_EQ(read.cluster.name, "box");
    EXPECT_EQ(read.cluster.gpu.name, "h100-sxm"); // device 0x2330
    const Node& node = read.cluster.node;
    EXPECT_EQ(node.gpus, 8);
    EXPECT_EQ(node.sockets, 2);
    EXPECT_EQ(node.cpu, "intel-sapphire-rapids"); // model 143
    EXPECT_EQ(node.nvlink.links, 18);             // 4 + 5 + 5 + 4
    EXPECT_DOUBLE_EQ(node.nvlink.bandwidth, 450e9);
    EXPECT_TRUE(node.nvlink.nvswitch); // targets of class 0x0680
    EXPECT_EQ(node.pcie.gen, 5);       // 32 GT/s
    EXPECT_EQ(node.nics.count, 8);
    EXPECT_DOUBLE_EQ(node.nics.bandwidth, 50e9); // 400000 Mb/s / 8
    EXPECT_EQ(node.nics.gpus_per_nic, 1);
    EXPECT_EQ(read.cluster.fabric.kind, FabricKind::infiniband); // class 0x0207
    EXPECT_THAT(read.warnings, IsEmpty());
}

// Lines counted in the text of Dump: system 1, cpu 2, switch 3, GPU's pci 4, gpu 5, four links 6-9, NIC's pci
// 12, nic 13, net 14.
TEST(TopologyXml, SaysWhereEachValueStands) {
    const ImportedCluster read = imported(xml({}));
    EXPECT_EQ(where(read, "gpu"), "box.txt:4");
    EXPECT_EQ(where(read, "node.gpus"), "box.txt:5");
    EXPECT_EQ(where(read, "node.nics.bandwidth"), "box.txt:14");
    EXPECT_EQ(where(read, "node.nics.latency"), "assumed");
    EXPECT_EQ(where(read, "fabric.levels"), "assumed");
    EXPECT_EQ(where(read, "nccl"), "");
    EXPECT_THAT(read.cluster.source, StartsWith("read from box.txt (NCCL topology XML); assumed: "));
}

TEST(TopologyXml, LinesBehindACommentOfSeveral) {
    const ImportedCluster read = imported("<!-- written\n > by\n hand -->\n" + xml({}));
    EXPECT_EQ(where(read, "gpu"), "box.txt:7");
}

TEST(TopologyXml, EthernetClassOfAMellanoxNicIsRoce) {
    EXPECT_EQ(imported(xml({.net_class = "0x020000"})).cluster.fabric.kind, FabricKind::roce);
}

TEST(TopologyXml, NamesTheAlternativesOfAnUnknownDevice) {
    const ImportedCluster read = imported(xml({.device = "0xffff"}));
    EXPECT_EQ(read.cluster.gpu.name, "h100-sxm");
    EXPECT_EQ(where(read, "gpu"), "assumed");
    EXPECT_THAT(origin_of(read, "gpu").text,
                HasSubstr("h200-sxm or h20: name it with --set cluster.gpu=NAME"));
    EXPECT_EQ(imported(xml({.device = "0xffff"}), "h20").cluster.gpu.name, "h20");
    EXPECT_EQ(imported(xml({.device = "0xffff", .nvlinks = "2 2 2 2"})).cluster.gpu.name,
              "h800-sxm"); // 8 links
    EXPECT_EQ(imported(xml({.device = "0xffff", .sm = 100})).cluster.gpu.name, "b200-sxm");
    EXPECT_EQ(imported(xml({.device = "0xffff", .sm = 80, .nvlinks = "2 2 2 2 2 2"})).cluster.gpu.name,
              "a100-sxm-80gb");
}

TEST(TopologyXml, WarnsOfAGpuWithFewerLinks) {
    const ImportedCluster read = imported(xml({.weak_gpu = 7})); // 4 of 18
    EXPECT_EQ(read.cluster.node.nvlink.links, 18);
    EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("a GPU with 4 NVLinks, where most have 18")));
}

// Storage NICs of DGX A100 hang on the CPU, not on a switch with a GPU.
TEST(TopologyXml, LeavesStorageNicsOut) {
    std::string text = xml({});
    text.insert(text.find("  </cpu>"),
                "    <pci busid=\"0000:61:00.0\" class=\"0x020700\" link_speed=\"\" "
                "link_width=\"0\"><nic><net name=\"mlx5_8\" speed=\"400000\"/></nic></pci>\n");
    const ImportedCluster read = imported(text);
    EXPECT_EQ(read.cluster.node.nics.count, 8);
    EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("mlx5_8")));
}

// Clouds ship files of pci elements only: GPUs and NICs are told by their class.
TEST(TopologyXml, HandWrittenFileWithoutGpuElements) {
    std::string text = "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" "
                       "familyid=\"143\" modelid=\"49\">\n";
    for (int i = 0; i < 4; ++i)
        text += "<pci class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">\n"
                "<pci class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"/>\n"
                "<pci class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"/>\n"
                "<pci class=\"0x020700\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"/>\n</pci>\n";
    const ImportedCluster read = imported(text + "</cpu>\n</system>\n");
    EXPECT_EQ(read.cluster.node.gpus, 8);
    EXPECT_EQ(read.cluster.node.nics.count, 4);
    EXPECT_EQ(read.cluster.node.nics.gpus_per_nic, 2);
    EXPECT_EQ(read.cluster.node.cpu, "amd-rome");
    EXPECT_EQ(read.cluster.gpu.name, "a100-sxm-80gb"); // PCIe 4
    EXPECT_EQ(where(read, "gpu"), "assumed");
    EXPECT_EQ(read.cluster.node.nvlink.links, 12); // NCCL finds them on the machine
    EXPECT_EQ(where(read, "node.nvlink.links"), "assumed");
}

TEST(TopologyXml, TraysOfOneNvlinkDomain) {
    std::string text = "<system version=\"1\">\n";
    for (int gpu = 0; gpu < 8; ++gpu)
        text += fmt::format(
            "<cpu host_hash=\"0x{}a\" numaid=\"{}\" arch=\"arm64\"><pci class=\"0x030200\" "
            "device=\"0x2941\" link_speed=\"2.5 GT/s PCIe\" link_width=\"16\">"
            "<gpu dev=\"{}\" sm=\"100\"><c2c bw=\"1\" count=\"5\"/>"
            "<nvlink target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/></gpu></pci></cpu>\n",
            gpu / 4, gpu % 4 / 2, gpu % 4);
    const ImportedCluster read = imported(text + "</system>");
    EXPECT_EQ(read.cluster.gpu.name, "gb200");
    EXPECT_EQ(read.cluster.node.gpus, 4); // two hosts in the file
    EXPECT_EQ(read.cluster.node.sockets, 2);
    EXPECT_EQ(read.cluster.nvlink_domain_nodes, 18); // a rack; the file shows 2 of its trays
    EXPECT_EQ(where(read, "nvlink_domain_nodes"), "assumed");
    EXPECT_DOUBLE_EQ(read.cluster.node.nvlink.bandwidth, 900e9);
    EXPECT_NE(read.cluster.node.pcie.gen, 1); // the 2.5 GT/s of a superchip are a stub
}

TEST(TopologyXml, BridgesBetweenPairsOfCards) {
    std::string text = "<system version=\"1\">\n";
    for (int gpu = 0; gpu < 4; ++gpu)
        text += fmt::format("<cpu numaid=\"{0}\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"175\" "
                            "modelid=\"1\"><pci class=\"0x030200\" device=\"0x20b5\" link_speed=\"\" "
                            "link_width=\"0\"><gpu dev=\"{0}\" sm=\"80\"><nvlink target=\"{1}\" count=\"12\" "
                            "tclass=\"0x030200\"/></gpu></pci></cpu>\n",
                            gpu, gpu ^ 1);
    const ImportedCluster read = imported(text + "</system>");
    EXPECT_EQ(read.cluster.gpu.name, "a100-pcie-80gb");
    EXPECT_FALSE(read.cluster.node.nvlink.nvswitch);
    EXPECT_EQ(read.cluster.node.nvlink.links, 12);
    EXPECT_EQ(read.cluster.node.cpu, "amd-milan");
    EXPECT_EQ(read.cluster.fabric.kind, FabricKind::none);
    EXPECT_EQ(read.cluster.node.nics.count, 0);
}

TEST(TopologyXml, RefusesDamagedFiles) {
    const std::string whole = xml({});
    EXPECT_THAT(refused(whole.substr(0, whole.size() / 2)), HasSubstr("the file ends inside <"));
    std::string text = whole;
    text.replace(text.find("</cpu>"), 6, "</cpux>");
    EXPECT_THAT(refused(text), HasSubstr("</cpux> where <cpu> of line 2 is open"));
    text = whole;
    text.replace(text.find("numaid="), 7, "numaid");
    EXPECT_THAT(refused(text), StartsWith("box.txt:2: the XML is damaged"));
    EXPECT_THAT(refused("<system version=\"1\">\n</system>"),
                StartsWith("box.txt:1: the element system holds no cpu"));
    EXPECT_THAT(refused("<system>\n<cpu numaid=\"0\"/>\n</system>"), StartsWith("box.txt:2: no GPU"));
    std::string deep = "<system>";
    for (int i = 0; i < 100000; ++i)
        deep += "<pci>";
    EXPECT_THAT(refused(deep), HasSubstr("nested more than 64 deep"));
    EXPECT_THAT(refused("<systematic/>"), StartsWith("box.txt:1: the element system holds no cpu"));
}

TEST(TopologyXml, RefusesWhatIsNoTopology) {
    EXPECT_THAT(refused("hello\n"), StartsWith("box.txt: neither an NCCL topology XML"));
    EXPECT_THAT(refused(""), StartsWith("box.txt: neither"));
}

TEST(TopologyXml, TheResultLoadsAsAClusterFile) {
    const ImportedCluster read = imported(xml({}));
    const Cluster again = cluster_from_json(cluster_to_json(read.cluster), "cluster.json");
    EXPECT_EQ(cluster_to_json(again), cluster_to_json(read.cluster));
}

} // namespace
} // namespace echosim
