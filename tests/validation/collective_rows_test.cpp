// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "tests/support/refusal.h"
#include "tests/validation/row_file.h"
#include "validation/collective_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An all-reduce of 16 H100 on two nodes with 8 x 400 Gb/s, one row, and some table fields replaced.
Json file_with(const std::string& table_changes, const std::string& row_changes = "{}") {
    Json json = Json::parse(R"({
      "tables": [{"table": "T1", "hardware": "H100", "network": "ours", "gpu": "h100-sxm", "nodes": 2, "gpus": 16,
                  "gpus_per_node": 8, "nvlink_domain_gpus": 8, "nics_per_node": 8, "nic_gbits": 400,
                  "fabric": "ib", "degraded": false, "collective": "all_reduce", "nccl_version": "2.21.5"}],
      "rows": [{"id": "T1/1048576", "table": "T1", "bytes": 1048576, "dtype": "half", "time_us": 70.5}]})");
    json["tables"][0].merge_patch(Json::parse(table_changes));
    json["rows"][0].merge_patch(Json::parse(row_changes));
    return json;
}

CollectiveTables read(const Json& json) {
    const RowFile file(json);
    return read_collective_tables(file.path());
}

CollectiveTable table_with(const std::string& changes) {
    return read(file_with(changes)).tables.at(0);
}

std::string skipped_with(const std::string& table_changes, const std::string& row_changes = "{}") {
    return read(file_with(table_changes, row_changes)).rows.at(0).skipped;
}

TEST(CollectiveRows, ClusterFromTheTablesOwnFields) {
    const CollectiveTables data = read(file_with("{}"));
    const CollectiveTable& table = data.tables[0];
    EXPECT_EQ(table.link, "InfiniBand/RoCE");
    EXPECT_EQ(table.group.nodes, 2);
    EXPECT_EQ(table.group.max_ranks_per_node, 8);
    EXPECT_EQ(table.cluster.node.nics.count, 8);
    EXPECT_EQ(table.cluster.node.nics.bandwidth, 50e9); // 400 Gbit/s
    EXPECT_EQ(table.cluster.node.nvlink.bandwidth, 450e9);
    EXPECT_EQ(table.cluster.fabric.kind, FabricKind::infiniband);
    EXPECT_EQ(table.cluster.nccl, "2.21.5");
    EXPECT_THAT(table.notes, IsEmpty());
    EXPECT_EQ(data.rows[0].us, 70.5);
    EXPECT_EQ(data.rows[0].dtype, DType::fp16);
    EXPECT_FALSE(collective_of(table, data.rows[0]).in_place);
}

TEST(CollectiveRows, LinksInsideANode) {
    const std::string alone =
        R"({"nodes": 1, "gpus": 8, "nics_per_node": null, "nic_gbits": null, "fabric": "none")";
    EXPECT_EQ(table_with(alone + "}").link, "NVLink");
    // 1 on a node of several GPUs: PCIe only
    const CollectiveTable pcie = table_with(alone + R"(, "nvlink_domain_gpus": 1})");
    EXPECT_EQ(pcie.link, "PCIe");
    EXPECT_EQ(pcie.cluster.node.nvlink.bandwidth, 0);
    EXPECT_EQ(table_with(alone + R"(, "gpu": "l40s", "nvlink_domain_gpus": 1})").link, "PCIe");
    EXPECT_EQ(table_with(alone + R"(, "gpu": "mi300x"})").link, "AMD");
}

// Trays of 4 GPUs, 72 in the domain: 16 GPUs on 4 trays are one NCCL node.
TEST(CollectiveRows, NvlinkDomainOfSeveralNodes) {
    const CollectiveTable table =
        table_with(R"({"gpu": "gb200", "nodes": 4, "gpus_per_node": 4, "nvlink_domain_gpus": 72})");
    EXPECT_EQ(table.cluster.nvlink_domain_nodes, 18);
    EXPECT_EQ(table.group.nodes, 1);
    EXPECT_EQ(table.link, "NVLink");
}

TEST(CollectiveRows, Networks) {
    EXPECT_EQ(table_with(R"({"fabric": "roce"})").link, "InfiniBand/RoCE");
    EXPECT_EQ(table_with(R"({"fabric": "efa"})").link, "EFA");
    EXPECT_EQ(table_with(R"({"fabric": "tcpx"})").link, "TCPX(O)");
    EXPECT_EQ(table_with(R"({"fabric": "slingshot"})").link, "other network"); // in no published table
    EXPECT_THAT(skipped_with(R"({"fabric": "carrier pigeon"})"),
                HasSubstr("\"carrier pigeon\" is not known"));
}

TEST(CollectiveRows, NullIsAssumedAndNoted) {
    const CollectiveTable table = table_with(R"({"nics_per_node": null, "nic_gbits": null, "fabric": null,
                                                 "nccl_version": null, "gpus_per_node": null})");
    EXPECT_EQ(table.skipped, "");
    EXPECT_EQ(table.cluster.node.nics.count, 8);
    EXPECT_EQ(table.cluster.nccl, "2.21");
    EXPECT_THAT(table.notes, ElementsAre("gpus_per_node is not stated: 8", "fabric is not stated: InfiniBand",
                                         "nics_per_node is not stated: one a GPU",
                                         "nic_gbits is not stated: 400", "nccl_version is not stated: 2.21"));
}

TEST(CollectiveRows, UnknownKeysAreIgnored) {
    EXPECT_EQ(skipped_with(R"({"weather": "fine"})", R"({"colour": [1, 2]})"), "");
}

TEST(CollectiveRows, WhatCannotBeModelledIsSkipped) {
    EXPECT_EQ(skipped_with(R"({"gpu": "h900"})"), "GPU \"h900\" is not in the catalogue");
    EXPECT_EQ(skipped_with(R"({"collective": "all_shuffle"})"), "collective \"all_shuffle\" is not known");
    EXPECT_EQ(skipped_with(R"({"gpus": 15})"), "gpus 15 is not a multiple of nodes 2");
    EXPECT_EQ(skipped_with(R"({"gpus": 0})"), "gpus 0 is not 1 or more");
    EXPECT_THAT(skipped_with(R"({"gpus": 64})"), HasSubstr("do not fit gpus_per_node 8"));
    EXPECT_THAT(skipped_with(R"({"nccl_version": "new"})"), HasSubstr("\"new\" is no version"));
    EXPECT_EQ(skipped_with("{}", R"({"time_us": null})"), "the row has no out-of-place time");
    EXPECT_THAT(skipped_with("{}", R"({"time_us": 0})"), HasSubstr("time_us 0 is not between"));
    EXPECT_THAT(skipped_with("{}", R"({"bytes": 1.5})"), HasSubstr("is not whole"));
    EXPECT_EQ(skipped_with("{}", R"({"table": "T9"})"), "table \"T9\" is not in the list of tables");
}

std::string error_with(const Json& json) {
    const RowFile file(json);
    return refusal([&] { read_collective_tables(file.path()); });
}

TEST(CollectiveRows, AnotherSchemaIsRefused) {
    EXPECT_THAT(error_with(Json::array()),
                HasSubstr("read a JSON array; allowed: an object with \"tables\""));
    EXPECT_THAT(error_with(Json::parse(R"({"tables": []})")), HasSubstr("the list \"tables\" is empty"));
    EXPECT_THAT(error_with(Json::parse(R"({"rows": [1]})")), HasSubstr("has no list \"tables\""));
    EXPECT_THAT(error_with(file_with(R"({"gpus": "16"})")),
                AllOf(HasSubstr("table 0 (T1)"), HasSubstr("gpus: read \"16\"; allowed: a number or null")));
    EXPECT_THAT(error_with(file_with("{}", R"({"time_us": [1]})")),
                HasSubstr("row 0 (T1/1048576): time_us: read [1]"));
    Json twice = file_with("{}");
    twice["tables"].push_back(twice["tables"][0]);
    EXPECT_THAT(error_with(twice), HasSubstr("there is another table of this name"));
}

TEST(CollectiveRows, SamplesOfTheFit) {
    Json json = file_with("{}");
    json["tables"].push_back(json["tables"][0]);
    json["tables"][1].merge_patch(Json::parse(R"({"table": "T2", "degraded": true})"));
    json["rows"].push_back({{"id", "T2/8"}, {"table", "T2"}, {"bytes", 8}, {"time_us", 20}});
    const CollectiveTables data = read(json);
    const nccl::CalibrationData all = calibration_data(data, {true, true});
    ASSERT_EQ(all.samples.size(), 1U); // a degraded table is not fitted
    EXPECT_EQ(all.samples[0].us, 70.5);
    EXPECT_EQ(all.samples[0].weight, 4); // 20 / 5: a table of one row does not count as one of twenty
    EXPECT_THAT(calibration_data(data, {false, true}).samples, IsEmpty());
}

} // namespace
} // namespace echosim
