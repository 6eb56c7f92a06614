// SPDX-License-Identifier: Apache-2.0
// The shipped presets against the tables they were fitted to; only rows that the fit did not see.
#include "simulator/catalogue/gpu.h"
#include "simulator/kernels/kernel_preset.h"
#include "validation/fit/kernel_tables.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

namespace echosim {
namespace {

const char* const kTables = "../shared/data/tables";

struct Case {
    const char* gpu;
    const char* preset;
};

class KernelTables : public testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        if (!std::filesystem::is_directory(kTables)) {
            GTEST_SKIP() << kTables << " is not there";
        }
    }
    KernelTimes times_ = KernelTimes::for_gpu(find_gpu(GetParam().gpu), "mcore-2024");
    KernelPreset preset_ = load_kernel_preset(GetParam().preset);
};

TEST_P(KernelTables, HeldOutGemmsOfTrainingSize) {
    double sum = 0;
    double bias = 0;
    int rows = 0;
    for (const GemmRow& row : read_gemm_table(kTables, GetParam().preset)) {
        if (row.type == "bfloat16" && held_out(row.shape) &&
            std::min({row.shape.m, row.shape.n, row.shape.k}) >= 1024) {
            const double error = std::log(times_.gemm(row.shape).time / preset_.derate_matmul / row.time);
            sum += std::abs(error);
            bias += error;
            ++rows;
        }
    }
    ASSERT_GT(rows, 1000);
    EXPECT_LT(sum / rows, 0.08);
    EXPECT_LT(std::abs(bias / rows), 0.02);
}

TEST_P(KernelTables, HeldOutAttention) {
    const Gpu& gpu = find_gpu(GetParam().gpu);
    const KernelMachine machine{gpu.bf16_flops, gpu.memory_bandwidth, static_cast<double>(gpu.sms)};
    AttentionParameters p = preset_.attention_forward;
    p.ceiling /= preset_.attention_table.library_factor; // the table's kernel, not the training library's
    double sum = 0;
    int rows = 0;
    for (const AttentionRow& row : read_attention_table(kTables, GetParam().preset)) {
        if (row.shape.seq_q >= 512 && row.shape.head_dim <= 256 && held_out(row.shape)) {
            const double predicted = attention_time(p, machine, row.shape) +
                                     table_extra(preset_.attention_table, machine, row.shape);
            sum += std::abs(std::log(predicted / row.time));
            ++rows;
        }
    }
    ASSERT_GT(rows, 500);
    EXPECT_LT(sum / rows, 0.12);
}

INSTANTIATE_TEST_SUITE_P(Gpus, KernelTables,
                         testing::Values(Case{"a100-sxm-80gb", "a100"}, Case{"h100-sxm", "h100"},
                                         Case{"b200-sxm", "b200"}),
                         [](const auto& test) { return std::string(test.param.preset); });

} // namespace
} // namespace echosim
