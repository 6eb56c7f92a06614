// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "simulator/run/run.h"
#include "tests/validation/row_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(StepRows, WritesARowAsMegatronFlags) {
    const StepRow row = read_one(dense_row());
    EXPECT_EQ(row.skipped, "");
    EXPECT_THAT(row.notes, IsEmpty());
    EXPECT_EQ(flag_of(row, "--num-layers"), "4");
    EXPECT_EQ(flag_of(row, "--hidden-size"), "1024");
    EXPECT_EQ(flag_of(row, "--ffn-hidden-size"), "4096");
    EXPECT_EQ(flag_of(row, "--vocab-size"), "51200");
    EXPECT_EQ(flag_of(row, "--tensor-model-parallel-size"), "2");
    EXPECT_EQ(flag_of(row, "--pipeline-model-parallel-size"), "2");
    EXPECT_EQ(flag_of(row, "--micro-batch-size"), "2");
    EXPECT_EQ(flag_of(row, "--global-batch-size"), "16");
    EXPECT_EQ(flag_of(row, "--use-distributed-optimizer"), "given");
    EXPECT_EQ(flag_of(row, "--bf16"), "given");
    EXPECT_EQ(flag_of(row, "--attention-backend"), "flash");
    EXPECT_EQ(flag_of(row, "--sequence-parallel"), "");
    EXPECT_EQ(flag_of(row, "--num-virtual-stages-per-pipeline-rank"), ""); // vpp 1 = plain 1F1B
    EXPECT_EQ(row.options.gpus, 8);
    EXPECT_EQ(row.options.software, "mcore-2024");
}

TEST(StepRows, BuildsTheClusterFromTheRow) {
    const Cluster cluster = read_one(dense_row()).cluster;
    EXPECT_EQ(cluster.gpu.name, "a100-sxm-80gb");
    EXPECT_EQ(cluster.gpu.memory, 80'000'000'000);
    EXPECT_EQ(cluster.node.gpus, 8);
    EXPECT_DOUBLE_EQ(cluster.node.nvlink.bandwidth, 300e9); // 600 GB/s both directions
    EXPECT_DOUBLE_EQ(cluster.node.nics.bandwidth, 25e9);    // 200 Gb/s
    EXPECT_EQ(cluster.node.nics.count, 8);
    EXPECT_EQ(cluster.nccl, "2.21"); // of mcore-2024
}

TEST(StepRows, MemoryOfTheRowWinsOverTheGpu) {
    const StepRow row = read_one(dense_row_with(R"({"gpu": "h100-sxm", "gpu_mem_gb": 96})"));
    EXPECT_EQ(row.cluster.gpu.memory, 96'000'000'000);
}

TEST(StepRows, HardwareThatIsNotStatedIsTheVendors) {
    const StepRow row = read_one(dense_row_with(
        R"({"gpu_mem_gb": null, "gpus_per_node": null, "nvlink_gbytes_per_s": null, "nic_gbits_per_gpu": null,
            "num_gpus": 16})"));
    EXPECT_EQ(row.cluster.gpu.memory, find_gpu("a100-sxm-80gb").memory);
    EXPECT_EQ(row.cluster.node.gpus, 8);
    EXPECT_DOUBLE_EQ(row.cluster.node.nvlink.bandwidth, 300e9); // 12 links of 25 GB/s
    EXPECT_THAT(row.notes,
                ElementsAre("gpus_per_node is not stated: 8", "nic_gbits_per_gpu is not stated: 200"));
}

TEST(StepRows, NullsOfTheLayoutTakeMegatronsDefaultsAndSaySo) {
    const StepRow row = read_one(dense_row_with(
        R"({"vpp": null, "sequence_parallel": null, "recompute": null, "distributed_optimizer": null,
            "zero_stage": null})"));
    EXPECT_EQ(flag_of(row, "--num-virtual-stages-per-pipeline-rank"), "");
    EXPECT_EQ(flag_of(row, "--recompute-granularity"), "");
    EXPECT_EQ(flag_of(row, "--use-distributed-optimizer"), "");
    EXPECT_THAT(row.notes,
                ElementsAre("not stated, so Megatron's default: vpp, sequence_parallel, recompute, "
                            "distributed_optimizer"));
}

TEST(StepRows, ZeroStageOneIsTheDistributedOptimizer) {
    const StepRow row = read_one(dense_row_with(R"({"distributed_optimizer": null, "zero_stage": 1})"));
    EXPECT_EQ(flag_of(row, "--use-distributed-optimizer"), "given");
    EXPECT_THAT(row.notes, IsEmpty());
}

TEST(StepRows, FieldsMayBeMissingAltogether) {
    Json row = dense_row();
    for (const char* key :
         {"fsdp", "cuda_graph", "mtp_layers", "head_dim", "zero_scope", "notes", "framework"})
        row.erase(key);
    EXPECT_EQ(read_one(row).skipped, "");
}

TEST(StepRows, GenerationsThatAreNotModelledAreMapped) {
    const StepRow other = read_one(dense_row_with(R"({"software": "other"})"));
    EXPECT_EQ(other.options.software, "mcore-2024");
    EXPECT_THAT(other.notes, ElementsAre(R"(software "other": simulated as mcore-2024)"));
    const StepRow year2023 = read_one(dense_row_with(R"({"software": "megatron-2023"})"));
    EXPECT_EQ(year2023.options.software, "mcore-2023");
    EXPECT_THAT(year2023.notes, ElementsAre(R"(software "megatron-2023": simulated as mcore-2023)"));
}

TEST(StepRows, AttentionOfEveryKind) {
    for (const char* kind : {"flash", "cudnn", "auto"})
        EXPECT_EQ(flag_of(read_one(dense_row_with(R"({"attention_impl": ")" + std::string(kind) + "\"}")),
                          "--attention-backend"),
                  "flash")
            << kind;
    EXPECT_EQ(flag_of(read_one(dense_row_with(R"({"attention_impl": "unfused"})")), "--attention-backend"),
              "unfused");
    EXPECT_EQ(flag_of(read_one(dense_row_with(R"({"attention_impl": null})")), "--attention-backend"), "");
    const StepRow unknown = read_one(dense_row_with(R"({"attention_impl": "triton"})"));
    EXPECT_THAT(unknown.notes, Contains(HasSubstr(R"(attention_impl "triton" is unknown)")));
}

TEST(StepRows, RecomputeModulesArePassedOn) {
    const StepRow plain =
        read_one(dense_row_with(R"({"recompute": "selective", "recompute_modules": ["core_attn"]})"));
    EXPECT_EQ(flag_of(plain, "--recompute-granularity"), "selective");
    EXPECT_EQ(flag_of(plain, "--recompute-modules"), ""); // Megatron's default
    const StepRow two =
        read_one(dense_row_with(R"({"recompute": "selective", "recompute_modules": ["core_attn", "mlp"]})"));
    EXPECT_EQ(flag_of(two, "--recompute-modules"), "core_attn,mlp");
}

TEST(StepRows, GroupedQueriesAndGatedModels) {
    const StepRow row = read_one(dense_row_with(
        R"({"attention": "gqa", "query_groups": 4, "gated_mlp": true, "tie_embeddings": null, "head_dim": 64})"));
    EXPECT_EQ(flag_of(row, "--num-query-groups"), "4");
    EXPECT_EQ(flag_of(row, "--swiglu"), "given");
    EXPECT_EQ(flag_of(row, "--kv-channels"), "64");
    EXPECT_EQ(flag_of(row, "--untie-embeddings-and-output-weights"), "given");
}

TEST(StepRows, DuplicateIdsAreAllowedAnEmptyTableIsNot) {
    const RowFile twice(Json::array({dense_row(), dense_row()}));
    EXPECT_EQ(read_step_rows(twice.path()).size(), 2U);
    const RowFile none(std::string("[]"));
    EXPECT_THROW(read_step_rows(none.path()), InputError);
}

// The whole way: the row gives what run() gives for the same flags on the same cluster, and the error is
// (predicted - measured) / measured.
TEST(ValidateSteps, DenseRowEndToEnd) {
    const StepRow read = read_one(dense_row());
    const Result result = run(resolve_job(read.job, read.options), read.cluster, {}).result;
    const ValidationRow row = validate_one(dense_row());
    EXPECT_EQ(row.id, "dense-1");
    EXPECT_EQ(row.skipped, "");
    ASSERT_TRUE(row.predicted.has_value());
    EXPECT_DOUBLE_EQ(*row.predicted, result.step.time);
    EXPECT_GT(*row.predicted, 0);
    EXPECT_DOUBLE_EQ(*row.error_percent, 100 * (*row.predicted - 0.1) / 0.1);
    ASSERT_TRUE(row.p05 && row.p95); // A100 has enough measured rows for an interval
    EXPECT_LT(*row.p05, *row.p95);
    EXPECT_EQ(row.groups.at("gpu"), "a100-sxm-80gb");
    EXPECT_EQ(row.groups.at("tp"), "2");
    EXPECT_EQ(row.groups.at("gpus"), "8");
}

TEST(ValidateSteps, APredictionOfHalfTheMeasurementIsMinusFiftyPercent) {
    Json row = dense_row();
    row["iter_time_s"] = 2 * *validate_one(row).predicted;
    EXPECT_NEAR(*validate_one(row).error_percent, -50, 1e-9);
    row["iter_time_s"] = row["iter_time_s"].get<double>() / 4;
    EXPECT_NEAR(*validate_one(row).error_percent, 100, 1e-9);
}

// Batch 16 on 2 data-parallel ranks: 8 a rank, so 1, 2, 4 and 8 divide it, and all of them fit in 80 GB.
TEST(ValidateSteps, MicroBatchThatIsNotStated) {
    const ValidationRow row = validate_one(dense_row_with(R"({"micro_batch": null})"));
    EXPECT_THAT(
        row.notes,
        ElementsAre(
            "micro_batch is not stated: 8, the largest power of two that divides the batch and fits"));
    EXPECT_DOUBLE_EQ(*row.predicted, *validate_one(dense_row_with(R"({"micro_batch": 8})")).predicted);
}

TEST(ValidateSteps, NothingFitsInOneGigabyteAndTheRowSaysSo) {
    const ValidationRow row = validate_one(dense_row_with(R"({"micro_batch": null, "gpu_mem_gb": 1})"));
    ASSERT_TRUE(row.predicted.has_value()) << row.skipped;
    EXPECT_THAT(row.notes, ElementsAre(HasSubstr("micro_batch is not stated: 1, no power of two fits"),
                                       HasSubstr("does not fit in memory by our estimate (")));
}

TEST(ValidateSteps, FlagsThatAreNotModelledAreNoted) {
    const ValidationRow row =
        validate_one(dense_row_with(R"({"tp_comm_overlap": true, "sequence_parallel": true})"));
    EXPECT_THAT(row.notes, ElementsAre("not modelled: --tp-comm-overlap"));
}

TEST(ValidateSteps, EveryGpuOfTheSchemaIsSimulated) {
    for (const char* gpu :
         {"v100-sxm3-32gb", "a100-sxm-40gb", "a100-sxm-80gb", "a100-pcie-80gb", "a800-sxm-80gb", "h100-sxm",
          "h100-pcie",      "h800-sxm",      "h20",           "h200-sxm",       "b200-sxm",      "b300-sxm",
          "gb200",          "gb300",         "l40s",          "mi250x",         "mi300x",        "mi325x",
          "mi355x",         "rtx-4090"}) {
        Json row =
            dense_row_with(R"({"precision": "fp16", "gpu_mem_gb": null, "nvlink_gbytes_per_s": null})");
        row["gpu"] = gpu;
        const ValidationRow out = validate_one(row);
        EXPECT_EQ(out.skipped, "") << gpu;
        EXPECT_GT(out.predicted.value_or(0), 0.001) << gpu;
        EXPECT_LT(out.predicted.value_or(0), 5) << gpu;
    }
}

TEST(ValidateSteps, ManyChunksPerRank) {
    // 96 layers over 4 stages of 24 chunks: one layer a chunk; 16 / (1 x 2) = 8 micro-batches a rank
    const ValidationRow row =
        validate_one(dense_row_with(R"({"layers": 96, "tp": 1, "pp": 4, "vpp": 24, "micro_batch": 1})"));
    EXPECT_EQ(row.skipped, "");
    EXPECT_GT(row.predicted.value_or(0), 0);
}

} // namespace
} // namespace echosim
