// SPDX-License-Identifier: Apache-2.0
#include "tests/validation/row_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

struct SkippedCase {
    const char* name;
    const char* changes;
    const char* reason; // a part of it
};

class SkippedRows : public testing::TestWithParam<SkippedCase> {};

// The row is listed with the reason and without a prediction; the good row beside it is simulated.
TEST_P(SkippedRows, IsListedWithTheReason) {
    const RowFile file(Json::array({dense_row_with(GetParam().changes), dense_row()}));
    const ValidationReport report = validate_steps(file.path(), {});
    ASSERT_EQ(report.rows.size(), 2U);
    EXPECT_EQ(report.rows[0].id, "dense-1");
    EXPECT_THAT(report.rows[0].skipped, HasSubstr(GetParam().reason));
    EXPECT_FALSE(report.rows[0].predicted.has_value());
    EXPECT_FALSE(report.rows[0].error_percent.has_value());
    EXPECT_TRUE(report.rows[1].predicted.has_value());
}

constexpr SkippedCase kCases[] = {
    {"experts", R"({"moe_experts": 8})", "mixture of experts"},
    {"fp8", R"({"precision": "fp8"})", "precision fp8 is not modelled yet"},
    {"fp8_delayed", R"({"precision": "fp8_delayed"})", "precision fp8_delayed"},
    {"fp8_blockwise", R"({"precision": "fp8_blockwise"})", "precision fp8_blockwise"},
    {"nvfp4", R"({"precision": "nvfp4"})", "precision nvfp4"},
    {"fp32", R"({"precision": "fp32"})", "precision fp32"},
    {"precision_null", R"({"precision": null})", "precision is not stated"},
    {"context", R"({"cp": 2})", "context parallelism"},
    {"zero_in_node", R"({"zero_scope": "node"})", "inside a node"},
    {"fsdp", R"({"fsdp": "zero3"})", "FSDP"},
    {"fsdp_category", R"({"category": "fsdp+tp"})", "FSDP"},
    {"zero_2", R"({"zero_stage": 2})", "ZeRO stage 2"},
    {"zero_3", R"({"zero_stage": 3})", "ZeRO stage 3"},
    {"mla", R"({"attention": "mla"})", "multi-latent attention"},
    {"cuda_graph", R"({"cuda_graph": true})", "CUDA graphs"},
    {"mtp", R"({"mtp_layers": 1})", "multi-token prediction"},
    {"sft", R"({"category": "sft"})", "fine-tuning"},
    {"gpu_unknown", R"({"gpu": "h900-sxm"})", "GPU \"h900-sxm\" is not in the catalogue"},
    {"gpu_null", R"({"gpu": null})", "gpu is not stated"},
    {"software_unknown", R"({"software": "megatron-2030"})", "megatron-2030"},
    {"attention_unknown", R"({"attention": "linear"})", "attention \"linear\""},
    {"recompute_unknown", R"({"recompute": "half"})", "recompute \"half\""},
    {"modules_unknown", R"({"recompute": "selective", "recompute_modules": ["act"]})", "act"},
    {"time_null", R"({"iter_time_s": null})", "no step time"},
    {"time_zero", R"({"iter_time_s": 0})", "iter_time_s 0"},
    {"time_negative", R"({"iter_time_s": -1.5})", "iter_time_s -1.5"},
    {"time_tiny", R"({"iter_time_s": 1e-320})", "iter_time_s"},
    {"time_huge", R"({"iter_time_s": 1e300})", "iter_time_s 1e+300"},
    {"gpus_null", R"({"num_gpus": null})", "num_gpus is not stated"},
    {"gpus_zero", R"({"num_gpus": 0})", "num_gpus 0"},
    {"gpus_negative", R"({"num_gpus": -8})", "num_gpus -8"},
    {"gpus_huge", R"({"num_gpus": 1e18})", "num_gpus 1e+18 is out of range"},
    {"gpus_too_many", R"({"num_gpus": 2000000000})", "2000000000"},
    {"gpus_not_divisible", R"({"num_gpus": 6})", "6"},
    {"layers_null", R"({"layers": null})", "layers is not stated"},
    {"layers_huge", R"({"layers": 2000000000})", "2000000000"},
    {"layers_indivisible", R"({"layers": 5})", "5"},
    {"hidden_zero", R"({"hidden": 0})", "hidden 0"},
    {"heads_huge", R"({"heads": 123456789012345678901234567890})", "heads"},
    {"vocab_null", R"({"vocab": null})", "vocab is not stated"},
    {"batch_null", R"({"global_batch": null})", "global_batch is not stated"},
    {"batch_indivisible", R"({"global_batch": 15})", "15"},
    {"groups_null", R"({"attention": "gqa", "query_groups": null})", "query_groups is not stated"},
    {"tp_zero", R"({"tp": 0})", "tp 0"},
    {"micro_negative", R"({"micro_batch": -1})", "micro_batch -1"},
    {"micro_zero", R"({"micro_batch": 0})", "micro_batch 0"},
    {"node_empty", R"({"gpus_per_node": 0})", "gpus_per_node 0"},
    {"memory_zero", R"({"gpu_mem_gb": 0})", "gpu_mem_gb 0"},
    {"nvlink_negative", R"({"nvlink_gbytes_per_s": -600})", "nvlink_gbytes_per_s -600"},
    {"no_network", R"({"num_gpus": 16, "nic_gbits_per_gpu": 0})", "nic_gbits_per_gpu 0"},
};

std::string name_of(const testing::TestParamInfo<SkippedCase>& parameter) {
    return parameter.param.name;
}

INSTANTIATE_TEST_SUITE_P(ValidateSteps, SkippedRows, testing::ValuesIn(kCases), name_of);

} // namespace
} // namespace echosim
