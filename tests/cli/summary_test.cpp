// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

namespace echosim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Shares, AddUpToTheWhole) {
    // Thirds: 333.3 each; the largest remainder (the first of equals) gets the last tenth.
    EXPECT_THAT(permille_shares({1, 1, 1}), ElementsAre(334, 333, 333));
    EXPECT_THAT(permille_shares({8, 2, 0}), ElementsAre(800, 200, 0));
    EXPECT_THAT(permille_shares({0, 0}), ElementsAre(0, 0));
    const std::vector<int> shares = permille_shares({0.1, 0.7, 0.0007, 3.3, 1.17, 0.019, 0.3});
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0), 1000);
}

Result result_of_sixteen_stages() {
    Result r;
    r.job.name = "pretrain.sh";
    r.job.model = {.layers = 96,
                   .hidden = 12288,
                   .ffn_hidden = 49152,
                   .heads = 96,
                   .query_groups = 96,
                   .head_dim = 128,
                   .seq_len = 2048,
                   .max_positions = 2048,
                   .vocab = 51200,
                   .padded_vocab = 51200};
    r.job.parallel.world_size = 1024;
    r.job.parallel.tp = 8;
    r.job.parallel.pp = 16;
    r.job.parallel.dp = 8;
    r.job.parallel.layers_per_stage.assign(16, {6});
    r.job.batch = {.micro = 1, .global = 1536, .num_microbatches = 192};
    r.cluster = find_cluster("dgx-h100");
    r.step.time = 10;
    r.throughput = {.tokens_per_s = 314572.8,
                    .tokens_per_s_per_gpu = 307.2,
                    .model_flops_per_gpu = 412e12,
                    .hardware_flops_per_gpu = 412e12,
                    .mfu = 0.4166,
                    .hfu = 0.4166};
    r.breakdown.compute = 8;
    r.breakdown.tp_comm = 1.5;
    r.breakdown.bubble = 0.5;
    r.bubble_share = 0.05;
    r.memory.peak = 70_GiB;
    r.memory.capacity = 80_GiB;
    for (int s = 0; s < 16; ++s)
        r.memory.stages.push_back(
            {.stage = s, .peak = 70_GiB - static_cast<Bytes>(s) * 1_GiB, .weights = 5_GiB});
    r.communication = {{.group = "tp",
                        .kind = CollectiveKind::all_gather,
                        .count = 18432,
                        .bytes_per_call = 50331648,
                        .time = 2,
                        .exposed = 1.5,
                        .busbw = 370e9}};
    r.top = {{"gemm", 4.0}};
    r.provenance = {.measured = 0.62, .fitted = 0.30, .catalogue = 0.0, .assumed = 0.08};
    r.warnings = {"--foo is not a Megatron-LM option, ignored"};
    return r;
}

TEST(Summary, SaysWhatTheAnswerIs) {
    const std::string text = summary_text(result_of_sixteen_stages(), {});
    EXPECT_THAT(text, HasSubstr("TP 8  PP 16  DP 8"));
    EXPECT_THAT(text, HasSubstr("batch 1,536 = 192 micro-batches of 1 on each of 8 replicas"));
    EXPECT_THAT(text, HasSubstr("on dgx-h100, 128 nodes"));
    EXPECT_THAT(text, HasSubstr("no interval: fewer than 10 validation rows"));
    EXPECT_THAT(text, HasSubstr("314,573 tokens/s, 307 tokens/s/GPU, 412 model TFLOP/s/GPU, MFU 41.7 %"));
    // (p - 1) / (M v) = 15 / 192 = 7.8 %
    EXPECT_THAT(text,
                HasSubstr("bubble: 5.0 % of the step time; ideal (p-1)/(M v) = 7.8 % of the time without"));
    EXPECT_THAT(text, HasSubstr("fits: 70.0 GiB of 80.0 GiB at the peak, 10.0 GiB headroom"));
    EXPECT_THAT(text, HasSubstr("8 of 16, highest peaks"));
    EXPECT_THAT(text, HasSubstr("measured 62 %, fitted 30 %, catalogue 0 %, assumed 8 % of the step time"));
    EXPECT_THAT(text, HasSubstr("--foo is not a Megatron-LM option"));
}

TEST(Summary, FitsOneScreenOfAHundredColumns) {
    const std::string text = summary_text(result_of_sixteen_stages(), {});
    std::istringstream lines(text);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count)
        EXPECT_LE(display_width(line), 100U) << line;
    EXPECT_LE(count, 50);
}

TEST(Summary, LeavesOutPartsThatAreZeroUnlessAllRowsAreAsked) {
    const Result result = result_of_sixteen_stages();
    EXPECT_THAT(summary_text(result, {}), Not(HasSubstr("CP communication")));
    EXPECT_THAT(summary_text(result, {.all_rows = true}), HasSubstr("CP communication"));
}

TEST(Summary, ShowsTheIntervalAndTheNearestFit) {
    Result result = result_of_sixteen_stages();
    result.step.p05 = 9.5;
    result.step.p95 = 10.5;
    result.memory.fits = false;
    result.memory.capacity = 60_GiB;
    result.memory.nearest_fit = "--recompute-granularity full: 41 GiB";
    const std::string text = summary_text(result, {});
    EXPECT_THAT(text, HasSubstr("5-95 %: 9.50 s to 10.5 s"));
    EXPECT_THAT(text,
                HasSubstr("does not fit: 70.0 GiB at the peak, 10.0 GiB more than the 60.0 GiB of the GPU"));
    EXPECT_THAT(text, HasSubstr("nearest change that fits: --recompute-granularity full: 41 GiB"));
}

} // namespace
} // namespace echosim
