// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/cluster.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/core/json.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace echosim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kExample = R"(
{"schema":"echosim.cluster/1","name":"mine","gpu":"h100-sxm",
 "node":{"gpus":8,"sockets":2,"cpu":"intel-sapphire-rapids",
         "nvlink":{"bandwidth":"450GB/s","links":18,"switch":true},           // per GPU, one direction
         "pcie":{"gen":5,"width":16},
         "nics":{"count":8,"bandwidth":"400Gbps","latency":"1.2us","gpus_per_nic":1}},
 "nvlink_domain_nodes":1,
 "fabric":{"kind":"infiniband","levels":[{"radix":64,"oversubscription":1.5,"hop_latency":"0.3us"}],
           "rail_optimised":false,"efficiency":0.96},
 "overrides":[],"sites":{"count":2,"bandwidth":"400Gbps","rtt":"20ms"},
 "nccl":"2.21","storage":{"write":"100GB/s"},"power":{"pue":1.2},"price":{"gpu_hour":2.5}}
)";

Cluster read(const nlohmann::ordered_json& json) {
    return cluster_from_json(json, "c.json");
}

std::string refusal(const nlohmann::ordered_json& json) {
    try {
        read(json);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

// The example with one value replaced; `pointer` as in "/node/gpus".
std::string refusal_with(const std::string& pointer, const nlohmann::ordered_json& value) {
    auto json = parse_json(kExample, "c.json");
    json[nlohmann::ordered_json::json_pointer(pointer)] = value;
    return refusal(json);
}

TEST(ClusterFile, TheDocumentedExample) {
    const Cluster cluster = read(parse_json(kExample, "c.json"));
    EXPECT_EQ(cluster.name, "mine");
    EXPECT_EQ(cluster.gpu.sms, 132);
    ASSERT_EQ(cluster.fabric.levels.size(), 1U);
    EXPECT_EQ(cluster.fabric.levels[0].radix, 64);
    EXPECT_DOUBLE_EQ(cluster.fabric.levels[0].oversubscription, 1.5);
    EXPECT_DOUBLE_EQ(cluster.fabric.levels[0].hop_latency, 0.3e-6);
    EXPECT_FALSE(cluster.fabric.rail_optimised);
    EXPECT_DOUBLE_EQ(cluster.fabric.efficiency, 0.96);
    EXPECT_EQ(cluster.nccl, "2.21");
    // What the simulation does not use is kept.
    const auto json = cluster_to_json(cluster);
    EXPECT_EQ(json.at("price").at("gpu_hour"), 2.5);
    EXPECT_EQ(cluster.sites.count, 2);
    EXPECT_DOUBLE_EQ(cluster.sites.bandwidth, 50e9);
    EXPECT_DOUBLE_EQ(cluster.sites.rtt, 20e-3);
    EXPECT_EQ(cluster_to_json(read(json)), json);
}

TEST(ClusterFile, OneNodeWithoutNetwork) {
    const Cluster cluster = read(parse_json(
        R"({"name": "box", "gpu": "rtx-4090", "node": {"gpus": 2, "nvlink": {"bandwidth": "0GB/s"}}})",
        "c.json"));
    EXPECT_EQ(cluster.fabric.kind, FabricKind::none);
    EXPECT_EQ(cluster.node.nics.count, 0);
    EXPECT_EQ(cluster.node.pcie.gen, 4); // of Ada
    EXPECT_EQ(nvlink_domain_gpus(cluster), 1);
}

TEST(ClusterFile, LinksFollowFromTheBandwidth) {
    const Cluster cluster = read(parse_json(
        R"({"name": "pair", "gpu": "h100-sxm", "node": {"gpus": 8, "nvlink": {"bandwidth": "300GB/s"}}})",
        "c.json"));
    EXPECT_EQ(cluster.node.nvlink.links, 12); // 300 / 25
}

TEST(ClusterFile, WhatWouldGiveAWrongAnswerIsRefused) {
    EXPECT_THAT(refusal_with("/overrides", {{{"gpus", "17"}, {"speed", 0.8}}}),
                HasSubstr("c.json: overrides: "));
    EXPECT_THAT(refusal_with("/overrides", {{{"gpus", "17"}, {"speed", 0.8}}}),
                HasSubstr("not supported yet"));
}

TEST(ClusterFile, ProblemsNameTheKeyAndTheAllowedRange) {
    EXPECT_EQ(refusal_with("/node/nics/bandwith", "400Gbps"),
              "c.json: node.nics: unknown key \"bandwith\"; did you mean \"bandwidth\"?");
    EXPECT_EQ(refusal_with("/node/gpus", 0), "c.json: node.gpus: 0 is out of range: 1 to 256");
    EXPECT_EQ(refusal_with("/node/gpus", -8), "c.json: node.gpus: -8 is out of range: 1 to 256");
    EXPECT_EQ(refusal_with("/node/gpus", 1e300), "c.json: node.gpus: 1e+300 is out of range: 1 to 256");
    EXPECT_THAT(refusal_with("/node/nics/bandwidth", 400), HasSubstr("expected a text such as \"400Gbps\""));
    EXPECT_THAT(refusal_with("/node/nics/bandwidth", "0Gbps"), HasSubstr("8 NICs need a bandwidth above 0"));
    EXPECT_THAT(refusal_with("/fabric/efficiency", 1.2),
                HasSubstr("fabric.efficiency: 1.2 is out of range: 0.01 to 1"));
    EXPECT_THAT(refusal_with("/fabric/kind", "infinibnd"), HasSubstr("did you mean \"infiniband\"?"));
    EXPECT_THAT(refusal_with("/fabric/levels/0/radix", 1),
                HasSubstr("fabric.levels.0.radix: 1 is out of range"));
    EXPECT_THAT(refusal_with("/sites/bandwidth", "0Gbps"), HasSubstr("2 sites need a bandwidth above 0"));
    EXPECT_THAT(refusal_with("/fabric/routing", "adaptiv"), HasSubstr("did you mean \"adaptive\"?"));
    EXPECT_THAT(refusal_with("/gpu", "h100"), HasSubstr("c.json: gpu: unknown GPU \"h100\"; did you mean"));
    EXPECT_THAT(refusal_with("/gpu", 7), HasSubstr("c.json: gpu: expected an object, found 7"));
    EXPECT_THAT(refusal_with("/schema", "echosim.cluster/9"), HasSubstr("expected \"echosim.cluster/1\""));
    EXPECT_THAT(refusal_with("/nccl", "newest"), HasSubstr("\"newest\" is not a version"));
    EXPECT_THAT(refusal_with("/node/nvlink", nullptr),
                HasSubstr("node.nvlink: expected an object, found null"));
    auto bridge = parse_json(kExample, "c.json");
    bridge["nvlink_domain_nodes"] = 18;
    bridge["node"]["nvlink"]["switch"] = false;
    EXPECT_THAT(refusal(bridge),
                HasSubstr("18 nodes cannot share an NVLink domain without an NVLink switch"));
    EXPECT_THAT(refusal(parse_json("[]", "c.json")), StartsWith("c.json: expected an object, found a list"));
}

TEST(ClusterFile, AllProblemsAreReportedAtOnce) {
    try {
        read(parse_json(R"({"gpu": "h100-sxm", "node": {"gpus": 0, "cpus": 2, "nvlink": {}}})", "c.json"));
        FAIL() << "accepted";
    } catch (const InputError& error) {
        EXPECT_EQ(error.problems().size(), 4U) << error.what(); // name, gpus, nvlink.bandwidth, cpus
    }
}

TEST(ClusterFile, IsFoundByItsPath) {
    const auto path =
        std::filesystem::temp_directory_path() / ("echosim_cluster_" + std::to_string(::getpid()) + ".json");
    write_file_atomically(path.string(), kExample);
    EXPECT_EQ(find_cluster(path.string()).name, "mine");
    write_file_atomically(path.string(), "{\n  \"name\": }");
    EXPECT_THROW(
        {
            try {
                find_cluster(path.string());
            } catch (const InputError& error) {
                EXPECT_THAT(error.what(), StartsWith(path.string() + ":2:11: "));
                throw;
            }
        },
        InputError);
    std::filesystem::remove(path);
}

// 8 GPUs share 8 NICs one to one; 4 NICs two to one.
TEST(ClusterFile, GpusPerNicFollowsOrIsRefused) {
    auto json = parse_json(kExample, "c.json");
    json["node"]["nics"]["count"] = 4;
    EXPECT_THAT(refusal(json), HasSubstr("1 GPUs a NIC contradict 8 GPUs with 4 NICs a node: 2 fits"));
    json["node"]["nics"].erase("gpus_per_nic");
    EXPECT_EQ(read(json).node.nics.gpus_per_nic, 2);
    json["node"]["nics"]["gpus_per_nic"] = 2;
    EXPECT_EQ(read(json).node.nics.gpus_per_nic, 2);
}

TEST(ClusterFile, PeersOfDirectLinks) {
    auto json = parse_json(kExample, "c.json");
    json["node"]["nvlink"]["peers"] = 1;
    EXPECT_EQ(cluster_to_json(read(json))["node"]["nvlink"]["peers"], 1);
    json["node"]["nvlink"]["peers"] = 8;
    EXPECT_THAT(refusal(json), HasSubstr("a GPU cannot reach 8 others of a node of 8"));
}

} // namespace
} // namespace echosim
