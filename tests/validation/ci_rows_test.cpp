// SPDX-License-Identifier: Apache-2.0
#include "tests/validation/row_file.h"
#include "validation/ci_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

Json ci_row_with(const std::string& changes, const std::string& args = "{}") {
    Json row = ci_row();
    row.update(Json::parse(changes));
    row["args"].update(Json::parse(args));
    return row;
}

TEST(CiRows, ReadsFlagsClusterAndMeasurement) {
    const StepRow row = read_one(ci_row());
    EXPECT_EQ(row.id, "gpt/small|dev|dgx_h100");
    EXPECT_EQ(row.skipped, "");
    EXPECT_DOUBLE_EQ(row.measured_s, 0.2);
    EXPECT_EQ(row.gpus, 8);
    EXPECT_EQ(row.tp, 2);
    EXPECT_EQ(row.pp, 2);
    EXPECT_EQ(row.recompute, "selective");
    EXPECT_EQ(row.precision, "bf16");
    EXPECT_EQ(row.options.software, "mcore-2025");
    EXPECT_EQ(row.cluster.name, "dgx-h100");
    EXPECT_EQ(flag_of(row, "--bf16"), "given");
    EXPECT_EQ(flag_of(row, "--sequence-parallel"), ""); // "false"
    EXPECT_EQ(flag_of(row, "--num-layers"), "12");
    EXPECT_EQ(flag_of(row, "--recompute-modules"), "core_attn,layernorm");
    EXPECT_EQ(flag_of(row, "--vocab-size"), "50257");
    EXPECT_THAT(row.notes, ElementsAre("the vocabulary is assumed by the source"));
}

TEST(CiRows, VocabularyOfTheFlagsWins) {
    const StepRow row = read_one(ci_row_with("{}", R"({"--vocab-size": "32000"})"));
    EXPECT_EQ(flag_of(row, "--vocab-size"), "32000");
    EXPECT_EQ(std::ranges::count(row.job.flags, "--vocab-size", &Flag::name), 1);
}

TEST(CiRows, ClustersOfTheThreePlatforms) {
    EXPECT_EQ(read_one(ci_row_with(R"({"gpu": "a100-sxm-80gb"})")).cluster.name, "dgx-a100-80g");
    const StepRow trays = read_one(ci_row_with(R"({"gpu": "gb200", "nodes": 2, "gpus_per_node": 4})"));
    EXPECT_EQ(trays.cluster.name, "gb200-nvl72");
    EXPECT_EQ(trays.cluster.node.gpus, 4);
    // half a DGX a node: 4 GPUs and their 4 NICs
    const StepRow half = read_one(ci_row_with(R"({"nodes": 2, "gpus_per_node": 4})"));
    EXPECT_EQ(half.cluster.name, "dgx-h100");
    EXPECT_EQ(half.cluster.node.gpus, 4);
    EXPECT_EQ(half.cluster.node.nics.count, 4);
}

TEST(CiRows, Simulated) {
    const ValidationRow row = validate_one(ci_row());
    EXPECT_EQ(row.skipped, "");
    ASSERT_TRUE(row.predicted.has_value());
    EXPECT_DOUBLE_EQ(*row.error_percent, 100 * (*row.predicted - 0.2) / 0.2);
    EXPECT_EQ(row.groups.at("source"), "megatron-ci");
}

TEST(CiRows, NotModelledFlagsAreNoted) {
    const ValidationRow row = validate_one(ci_row_with("{}", R"({"--deterministic-mode": "true"})"));
    EXPECT_THAT(row.notes,
                ElementsAre("the vocabulary is assumed by the source", "not modelled: --deterministic-mode"));
}

TEST(CiRows, SkippedWithAReason) {
    const auto reason = [](const std::string& changes, const std::string& args = "{}") {
        return validate_one(ci_row_with(changes, args)).skipped;
    };
    EXPECT_THAT(reason(R"({"scope": "unsupported"})"), HasSubstr("scope of the row: unsupported"));
    EXPECT_THAT(reason(R"({"world_size": null})"), HasSubstr("world_size is not stated"));
    EXPECT_THAT(reason(R"({"gpus_per_node": 0})"), HasSubstr("gpus_per_node 0"));
    EXPECT_THAT(reason(R"({"iter_time_s_median": null})"), HasSubstr("no step time"));
    EXPECT_THAT(reason(R"({"iter_time_s_median": 0})"), HasSubstr("iter_time_s_median 0"));
    EXPECT_THAT(reason(R"({"gpu": "h900"})"), HasSubstr("\"h900\""));
    EXPECT_THAT(reason(R"({"gpu": null})"), HasSubstr("gpu is not stated"));
    EXPECT_THAT(reason(R"({"gpus_per_node": 16})"), HasSubstr("16 GPUs \"h100-sxm\" a node"));
    EXPECT_THAT(reason(R"({"vocab": null})"), HasSubstr("vocab"));
    EXPECT_THAT(reason("{}", R"({"--num-experts": "8"})"), HasSubstr("mixture of experts"));
    EXPECT_THAT(reason("{}", R"({"--context-parallel-size": "2"})"), HasSubstr("context parallelism"));
    EXPECT_THAT(reason("{}", R"({"--num-layers": "many"})"), HasSubstr("many"));
    EXPECT_THAT(reason("{}", R"({"--tensor-model-parallel-size": "3"})"), HasSubstr("3"));
}

TEST(CiRows, WrongTypesAreErrors) {
    Json list = ci_row();
    list["args"] = Json::array({"--bf16"});
    EXPECT_THAT(error_of(Json::array({list}).dump()),
                HasSubstr("args: read [\"--bf16\"]; allowed: an object of texts"));
    EXPECT_THAT(error_of(Json::array({ci_row_with("{}", R"({"--num-layers": 12})")}).dump()),
                HasSubstr("args: --num-layers: read 12; allowed: a text"));
    EXPECT_THAT(error_of(Json::array({ci_row_with(R"({"world_size": "8"})")}).dump()),
                HasSubstr("row 0 (gpt/small|dev|dgx_h100): world_size: read \"8\""));
}

TEST(CiRows, BothSchemasInOneTable) {
    const RowFile file(Json::array({ci_row(), dense_row()}));
    const std::vector<StepRow> rows = read_step_rows(file.path());
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].source, "megatron-ci");
    EXPECT_EQ(rows[1].source, "by-hand");
}

} // namespace
} // namespace echosim
