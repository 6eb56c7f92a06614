// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/cluster.h"
#include "simulator/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::HasSubstr;

Cluster with(std::string_view path, std::string_view value) {
    Cluster cluster = find_cluster("dgx-h100");
    set_value(cluster, path, value);
    return cluster;
}

std::string refusal(std::string_view path, std::string_view value) {
    try {
        with(path, value);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(SetValue, ValuesAsInTheFile) {
    EXPECT_DOUBLE_EQ(with("node.nics.bandwidth", "800Gbps").node.nics.bandwidth, 100e9);
    EXPECT_EQ(with("node.gpus", "16").node.gpus, 16);
    EXPECT_FALSE(with("node.nvlink.switch", "false").node.nvlink.nvswitch);
    EXPECT_EQ(with("fabric.kind", "roce").fabric.kind, FabricKind::roce);
    EXPECT_DOUBLE_EQ(with("fabric.levels.1.oversubscription", "2").fabric.levels[1].oversubscription, 2);
    EXPECT_EQ(with("gpu.memory", "141GB").gpu.memory, 141'000'000'000U);
    EXPECT_EQ(with("gpu", "b200-sxm").gpu.sms, 148);
    EXPECT_EQ(with("nccl", "2.21").nccl, "2.21");
}

TEST(SetValue, FactorsOfThePresentValue) {
    EXPECT_DOUBLE_EQ(with("gpu.hbm_bandwidth", "1.5x").gpu.memory_bandwidth, 5.025e12); // 1.5 x 3.35 TB/s
    EXPECT_DOUBLE_EQ(with("node.nics.bandwidth", "2x").node.nics.bandwidth, 100e9);
    EXPECT_EQ(with("gpu.sms", "0.5x").gpu.sms, 66);
    EXPECT_EQ(with("gpu.memory", "2x").gpu.memory, 2 * 81559_MiB);
    EXPECT_DOUBLE_EQ(with("gpu.tdp_watts", "0.5x").gpu.tdp_watts, 350);
    EXPECT_DOUBLE_EQ(with("fabric.efficiency", "0.5x").fabric.efficiency,
                     0.46); // of the default of InfiniBand, 0.92
}

TEST(SetValue, LeavesEverythingElseAlone) {
    const Cluster before = find_cluster("dgx-h100");
    const Cluster after = with("node.nics.bandwidth", "800Gbps");
    EXPECT_EQ(after.fabric.efficiency, before.fabric.efficiency); // still the default of the kind
    EXPECT_EQ(after.nccl, before.nccl);
    EXPECT_EQ(after.source, before.source);
    EXPECT_EQ(after.gpu.memory_bandwidth, before.gpu.memory_bandwidth);
    EXPECT_EQ(after.node.nvlink.bandwidth, before.node.nvlink.bandwidth);
}

TEST(SetValue, ATypoListsTheKeys) {
    EXPECT_EQ(refusal("node.nics.bandwith", "1Gbps"),
              "--set cluster.node.nics.bandwith=1Gbps: unknown key \"node.nics.bandwith\"; did you mean "
              "\"bandwidth\"?\n"
              "  hint: valid keys here: node.nics.count, node.nics.bandwidth, node.nics.latency, "
              "node.nics.gpus_per_nic");
    EXPECT_THAT(refusal("gpu.hbm", "1x"),
                HasSubstr("--set gpu.hbm=1x: unknown key \"gpu.hbm\"; did you mean \"hbm_bandwidth\"?"));
    EXPECT_THAT(refusal("fabric.levels.2.radix", "64"),
                HasSubstr("valid keys here: fabric.levels.0, fabric.levels.1"));
    EXPECT_THAT(refusal("node.nics", "1"), HasSubstr("\"node.nics\" is a group of values"));
    EXPECT_THAT(refusal("node.gpus.x", "1"), HasSubstr("\"node.gpus\" is a value"));
    EXPECT_THAT(refusal("", "1"), HasSubstr("the key is empty"));
}

TEST(SetValue, AWrongValueIsRefusedAndTheClusterStays) {
    Cluster cluster = find_cluster("dgx-h100");
    EXPECT_THROW(set_value(cluster, "node.gpus", "0"), InputError);
    EXPECT_EQ(cluster.node.gpus, 8);
    EXPECT_EQ(refusal("node.gpus", "0"), "--set cluster.node.gpus=0: node.gpus: 0 is out of range: 1 to 256");
    EXPECT_THAT(refusal("node.gpus", "1.1x"), HasSubstr("expected a whole number, found 8.8"));
    EXPECT_THAT(refusal("node.gpus", "many"), HasSubstr("\"many\" is not a number"));
    EXPECT_THAT(refusal("node.gpus", "nan"), HasSubstr("\"nan\" is not a number"));
    EXPECT_THAT(refusal("node.nics.bandwidth", "800"), HasSubstr("the unit is missing"));
    EXPECT_THAT(refusal("node.nics.bandwidth", "-1x"), HasSubstr("a factor lies between"));
    EXPECT_THAT(refusal("node.nvlink.switch", "yes"), HasSubstr("neither true nor false"));
    EXPECT_THAT(refusal("name", "2x"), HasSubstr("cannot be multiplied"));
    EXPECT_THAT(refusal("gpu", "h300-sxm"), HasSubstr("did you mean \"h100-sxm\""));
}

} // namespace
} // namespace echosim
