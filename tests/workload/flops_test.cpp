// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/flops.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

// GPT-3 175B, batch 1536, sequence 2048, padded vocabulary 51200.
Job gpt3() {
    Job job;
    job.model = {.layers = 96, .hidden = 12288, .ffn_hidden = 49152, .heads = 96, .query_groups = 96};
    job.model.head_dim = 128;
    job.model.seq_len = job.model.max_positions = 2048;
    job.model.padded_vocab = 51200;
    job.parallel.pp = 8;
    job.parallel.layers_per_stage.assign(8, {12});
    job.batch = {.micro = 1, .global = 1536, .num_microbatches = 96};
    return job;
}

constexpr double kTokens = 1536.0 * 2048;
constexpr double kHidden = 12288;
// Narayanan et al. 2021, eq. 3 without recomputation: 72 B s l h^2 (1 + s / 6h + V / 12 l h); full attention.
constexpr double kFull =
    72 * kTokens * 96 * kHidden * kHidden * (1 + 2048 / (6 * kHidden) + 51200 / (12 * 96 * kHidden));

TEST(Flops, Gpt3ByHand) {
    // 6 N T with N = 96 * 12 h^2 + V h = 174,575,321,088: 3.294999e18; attention 12 L T s a d = 9.1197e16.
    const double products = 6 * 174'575'321'088.0 * kTokens;
    const double attention = 12.0 * 96 * kTokens * 2048 * 96 * 128;
    EXPECT_NEAR(products, 3.294999e18, 1e13);
    EXPECT_NEAR(attention, 9.1197e16, 1e12);
    EXPECT_NEAR(model_flops(gpt3(), false), products + attention, 1e6);
    EXPECT_NEAR(model_flops(gpt3(), true), products + attention / 2, 1e6);
    EXPECT_NEAR(model_flops(gpt3(), false) / kFull, 1, 1e-12);
}

TEST(Flops, RecomputationAddsTheForwardAgain) {
    Job job = gpt3();
    EXPECT_DOUBLE_EQ(hardware_flops(job, false), model_flops(job, false));
    job.recompute.granularity = RecomputeGranularity::full;
    // Narayanan et al. 2021, eq. 3: 96 B s l h^2 (1 + s / 6h + V / 16 l h): four thirds, less the output
    // layer.
    const double full =
        96 * kTokens * 96 * kHidden * kHidden * (1 + 2048 / (6 * kHidden) + 51200 / (16 * 96 * kHidden));
    EXPECT_NEAR(hardware_flops(job, false) / full, 1, 1e-12);
    EXPECT_DOUBLE_EQ(model_flops(job, false), model_flops(gpt3(), false));
    // Block, 3 of the 12 layers of each stage: a quarter of it.
    job.recompute.method = RecomputeMethod::block;
    job.recompute.num_layers = 3;
    EXPECT_NEAR(hardware_flops(job, false) - kFull, (full - kFull) / 4, 1e6);
}

TEST(Flops, SelectiveRepeatsAttentionOnly) {
    Job job = gpt3();
    job.recompute.granularity = RecomputeGranularity::selective;
    // one forward of attention, 4 L T s a d
    EXPECT_NEAR(hardware_flops(job, false) - kFull, 4.0 * 96 * kTokens * 2048 * 96 * 128, 1e6);
    job.recompute.modules = {"mlp"};
    EXPECT_NEAR(hardware_flops(job, false) - kFull, 2.0 * 96 * kTokens * 8 * kHidden * kHidden, 1e6);
}

TEST(Flops, GroupedQueriesAndGatedMlp) {
    Job job;
    job.model = {.layers = 2, .hidden = 64, .ffn_hidden = 96, .heads = 4, .query_groups = 2};
    job.model.head_dim = 16;
    job.model.seq_len = 32;
    job.model.padded_vocab = 128;
    job.model.activation = Activation::swiglu;
    job.batch = {.micro = 1, .global = 1, .num_microbatches = 1};
    job.parallel.layers_per_stage = {{2}};
    // layer: (4 + 2*2) 16 * 64 + 4*16*64 = 12288, MLP 3 * 64 * 96 = 18432; output 128 * 64 = 8192
    // 6 T N = 6 * 32 * (2 * 30720 + 8192) = 13,369,344; causal 6 * 2 * 32 * 32 * 64 = 786,432
    EXPECT_DOUBLE_EQ(model_flops(job, true), 13'369'344 + 786'432);
    // Experts: 2 of 8 with FFN 48 and a shared one of 32: 3 * 64 * 128 = 24576, router 64 * 8 = 512
    job.model.experts = 8;
    job.model.experts_per_token = 2;
    job.model.expert_ffn_hidden = 48;
    job.model.shared_expert_ffn_hidden = 32;
    EXPECT_DOUBLE_EQ(model_flops(job, true), 6.0 * 32 * (2 * (12288 + 24576 + 512) + 8192) + 786'432);
}

} // namespace
} // namespace echosim
