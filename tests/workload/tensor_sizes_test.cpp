// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/tensor_sizes.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

// GPT-3 175B on 1024 GPUs: t 8, p 8, D 16, sequence parallel, distributed optimizer.
Job gpt3() {
    Job job;
    job.model = {.layers = 96, .hidden = 12288, .ffn_hidden = 49152, .heads = 96, .query_groups = 96};
    job.model.head_dim = 128;
    job.model.seq_len = job.model.max_positions = 2048;
    job.model.padded_vocab = 51200;
    job.parallel.world_size = 1024;
    job.parallel.tp = job.parallel.pp = 8;
    job.parallel.dp = job.parallel.expert_dp = 16;
    job.parallel.sequence_parallel = true;
    job.parallel.layers_per_stage.assign(8, {12});
    job.batch = {.micro = 1, .global = 1536, .num_microbatches = 96};
    job.data_parallel.distributed_optimizer = true;
    job.data_parallel.overlap_grad_reduce = true;
    return job;
}

// One layer, h 8, one head of 8, f 16, V 16, untied, no biases, RMSNorm, D 2.
Job toy() {
    Job job;
    job.model = {.layers = 1, .hidden = 8, .ffn_hidden = 16, .heads = 1, .query_groups = 1};
    job.model.head_dim = 8;
    job.model.seq_len = 4;
    job.model.padded_vocab = 16;
    job.model.normalization = Normalization::rms_norm;
    job.model.bias_linear = false;
    job.model.tied_embeddings = false;
    job.model.learned_positions = false;
    job.parallel.world_size = job.parallel.dp = 2;
    job.parallel.layers_per_stage = {{1}};
    return job;
}

TEST(Parameters, Gpt3ByHand) {
    const Job job = gpt3();
    // layer: 12 h^2 / 8 = 226,492,416; split biases 7 h / 8 = 10,752; norms 4 h and biases 2 h = 73,728
    EXPECT_EQ(layer_parameters(job), 226'576'896);
    const ChunkParameters first = chunk_parameters(job, 0, 0);
    EXPECT_EQ(first.layers, 12 * 226'576'896LL);
    EXPECT_EQ(first.embedding, 51200 / 8 * 12288 + 2048 * 12288);
    EXPECT_EQ(first.head, 0);
    EXPECT_EQ(first.norms, 12 * 73'728);
    const ChunkParameters last = chunk_parameters(job, 7, 0);
    EXPECT_EQ(last.embedding, 0);
    EXPECT_EQ(last.head, 2 * 12288 + 51200 / 8 * 12288); // final norm and the copy of the tied embedding
    EXPECT_EQ(last.norms, 12 * 73'728 + 2 * 12288);
    EXPECT_EQ(rank_parameters(job, 3), 12 * 226'576'896LL);
    // 96 (12 h^2 + 13 h) + V h + 2048 h + 2 h
    EXPECT_DOUBLE_EQ(total_parameters(job), 174'615'846'912.0);
}

TEST(Parameters, GroupedQueriesGatedMlpAndUntied) {
    // Llama 3 70B: 80 layers, h 8192, f 28672, 64 heads of 128, 8 KV heads, vocabulary 128256: 70,553,706,496
    Job job = toy();
    job.model.layers = 80;
    job.model.hidden = 8192;
    job.model.ffn_hidden = 28672;
    job.model.heads = 64;
    job.model.query_groups = 8;
    job.model.head_dim = 128;
    job.model.padded_vocab = 128256;
    job.model.activation = Activation::swiglu;
    EXPECT_DOUBLE_EQ(total_parameters(job), 70'553'706'496.0);
    job.model.qkv_bias = true;     // + 80 (64 + 16) 128
    job.model.qk_layernorm = true; // + 80 * 2 * 128
    EXPECT_DOUBLE_EQ(total_parameters(job), 70'553'706'496.0 + 80 * (80 * 128 + 2 * 128));
}

TEST(Parameters, TiedOnOneStageHasOneTable) {
    Job job = toy();
    job.model.tied_embeddings = true;
    // layer: q, k, v 192 + out 64 + MLP 256 + norms 16
    EXPECT_EQ(layer_parameters(job), 528);
    EXPECT_EQ(rank_parameters(job, 0), 528 + 128 + 8);
    job.model.tied_embeddings = false;
    EXPECT_EQ(rank_parameters(job, 0), 528 + 128 + 128 + 8);
    EXPECT_DOUBLE_EQ(total_parameters(job), 792);
}

TEST(SavedActivations, KorthikantiEquations) {
    Job job = gpt3();
    job.kernels.attention = AttentionImpl::unfused;
    const double sbh = 2048.0 * 12288;
    const double scores = 5.0 * 96 * 2048 / 12288; // 5 a s / h = 80
    EXPECT_DOUBLE_EQ(static_cast<double>(saved_activations(job).layer), sbh / 8 * (34 + scores));
    job.parallel.sequence_parallel = false;
    EXPECT_DOUBLE_EQ(static_cast<double>(saved_activations(job).layer), sbh * (10 + 24.0 / 8 + scores / 8));
    job.parallel.tp = 1;
    EXPECT_DOUBLE_EQ(static_cast<double>(saved_activations(job).layer), sbh * (34 + scores));
    job.recompute.granularity = RecomputeGranularity::selective;
    EXPECT_DOUBLE_EQ(static_cast<double>(saved_activations(job).layer), sbh * 34);
    EXPECT_DOUBLE_EQ(static_cast<double>(saved_activations(job).layer_full), sbh * (34 + scores));
}

TEST(SavedActivations, FlashGroupedQueriesGated) {
    Job job = gpt3();
    job.model.query_groups = 8;
    job.model.ffn_hidden = 32768;
    job.model.activation = Activation::swiglu;
    job.model.hidden_dropout = job.model.attention_dropout = 0;
    // (s b h / t) (12 + 4 g / a + 6 f / h), and the log-sum-exp 4 s b a / t
    const double expected =
        2048.0 * 12288 / 8 * (12 + 4 * 8.0 / 96 + 6 * 32768.0 / 12288) + 4.0 * 2048 * 96 / 8;
    EXPECT_DOUBLE_EQ(static_cast<double>(saved_activations(job).layer), expected);
}

TEST(SavedActivations, RecomputedModules) {
    Job job = gpt3();
    const Bytes shard = 2048ULL * 12288 / 8 * 2;
    const SavedActivations none = saved_activations(job);
    job.recompute.granularity = RecomputeGranularity::selective;
    job.recompute.modules = {"layernorm"};
    EXPECT_EQ(none.layer - saved_activations(job).layer, 2 * shard);
    job.recompute.modules = {"mlp"}; // FC1 input, and 4 h + 4 h
    EXPECT_EQ(none.layer - saved_activations(job).layer, 9 * shard);
    job.recompute.modules = {"mlp", "layernorm"};
    EXPECT_EQ(none.layer - saved_activations(job).layer, 10 * shard);
    job.recompute.granularity = RecomputeGranularity::full;
    job.recompute.num_layers = 4;
    EXPECT_EQ(saved_activations(job).unit_input, shard);
    EXPECT_EQ(saved_activations(job).layer, shard / 4);
    EXPECT_EQ(saved_activations(job).layer_full, none.layer);
    EXPECT_EQ(layers_without_recompute(job, 12), 0);
    job.recompute.method = RecomputeMethod::block;
    EXPECT_EQ(saved_activations(job).layer, shard);
    EXPECT_EQ(layers_without_recompute(job, 12), 8);
    job.parallel.sequence_parallel = false;
    EXPECT_EQ(saved_activations(job).unit_input, shard * 8);
    job.recompute.distribute_saved_activations = true;
    EXPECT_EQ(saved_activations(job).unit_input, shard);
}

TEST(SavedActivations, EndsOfThePipeline) {
    const SavedActivations saved = saved_activations(gpt3());
    EXPECT_EQ(saved.embedding, 8 * 2048U + 2048U * 12288 / 8);
    EXPECT_EQ(saved.head, 4 * 2048ULL * 12288 / 8 + 4 * 2048ULL * 51200 / 8); // 4 s b h (1 + V / h) / t
}

std::vector<std::int64_t> sizes(const std::vector<GradientBucket>& buckets) {
    std::vector<std::int64_t> result;
    for (const GradientBucket& bucket : buckets) {
        result.push_back(bucket.elements);
    }
    return result;
}

std::vector<int> ready(const std::vector<GradientBucket>& buckets) {
    std::vector<int> result;
    for (const GradientBucket& bucket : buckets) {
        result.push_back(bucket.ready_after_layer);
    }
    return result;
}

// Reverse registration: output 128, final norm 8, FC2 128, FC1 128, norm 8, QKV 192, norm 8, projection 64,
// embedding 128; bucket size 200.
TEST(GradientBuckets, ToyByHand) {
    Job job = toy();
    job.data_parallel.overlap_grad_reduce = true;
    job.data_parallel.bucket_size = 200;
    // 128 + 8 + 128 = 264 | 128 + 8 + 192 = 328 | 8 + 64 + 128 = 200
    EXPECT_EQ(sizes(gradient_buckets(job, 0, 0)), (std::vector<std::int64_t>{264, 328, 200}));
    EXPECT_EQ(ready(gradient_buckets(job, 0, 0)), (std::vector<int>{0, 0, -1}));
    // Starts at multiples of 64, ends at multiples of lcm(2, 128):
    // 0-128 128-136 192-320 -> 384 | 0-128 128-136 192-384 -> 384 | 0-8 64-128 128-256 -> 256
    job.data_parallel.distributed_optimizer = true;
    EXPECT_EQ(sizes(gradient_buckets(job, 0, 0)), (std::vector<std::int64_t>{384, 384, 256}));
    job.parallel.dp = 3; // lcm(3, 128) = 384
    EXPECT_EQ(sizes(gradient_buckets(job, 0, 0)), (std::vector<std::int64_t>{384, 384, 384}));
    job.data_parallel.bucket_size = 100; // the output weight alone is ready before any layer
    EXPECT_EQ(ready(gradient_buckets(job, 0, 0)).front(), 1);
}

TEST(GradientBuckets, OneWithoutOverlap) {
    Job job = toy();
    job.data_parallel.bucket_size = 200;
    EXPECT_EQ(sizes(gradient_buckets(job, 0, 0)), (std::vector<std::int64_t>{792}));
    EXPECT_EQ(ready(gradient_buckets(job, 0, 0)), (std::vector<int>{-1}));
}

TEST(GradientBuckets, Gpt3Stages) {
    const Job job = gpt3();
    // Bucket size 40e6. A layer closes three buckets: FC2 (with the projection of the layer after it), FC1,
    // QKV. Then projection and positions, 18.9e6 + 25.2e6, and the shared word embedding by itself: 12 * 3
    // + 2.
    const std::vector<GradientBucket> first = gradient_buckets(job, 0, 0);
    EXPECT_EQ(first.size(), 38U);
    EXPECT_EQ(first.back().elements, 78'643'200);
    EXPECT_EQ(first.back().ready_after_layer, -1);
    EXPECT_EQ(first.front().ready_after_layer, 11);
    const std::vector<GradientBucket> last = gradient_buckets(job, 7, 0);
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(last.front().ready_after_layer, 0);
    EXPECT_GE(last.front().elements, rank_parameters(job, 7));
    EXPECT_LT(last.front().elements, rank_parameters(job, 7) + 4096);
}

TEST(MemoryEstimate, BytesAParameter) {
    Job job = gpt3();
    const auto parameters = static_cast<Bytes>(rank_parameters(job, 3));
    const MemoryEstimate sharded = estimate_memory(job, 3);
    EXPECT_EQ(sharded.weights, 2 * parameters);
    EXPECT_NEAR(static_cast<double>(sharded.gradients), 4.0 * static_cast<double>(parameters), 1e5);
    EXPECT_EQ(sharded.optimizer, 12 * parameters / 16);
    job.data_parallel.optimizer_instances = 4;
    EXPECT_EQ(estimate_memory(job, 3).optimizer, 12 * parameters / 4);
    job.data_parallel.distributed_optimizer = false;
    const MemoryEstimate whole = estimate_memory(job, 3);
    EXPECT_EQ(whole.weights + whole.gradients + whole.optimizer, 18 * parameters);
    job.precision.grads_in_fp32 = false;
    EXPECT_EQ(estimate_memory(job, 3).gradients, 2 * parameters);
    job.precision.compute = DType::fp32; // no master copy; gradients as wide as the weights
    const MemoryEstimate single = estimate_memory(job, 3);
    EXPECT_EQ(single.weights + single.gradients + single.optimizer, 16 * parameters);
}

TEST(MemoryEstimate, MicrobatchesInFlight) {
    Job job = gpt3();
    job.model.hidden_dropout = 0;
    const Bytes layer = saved_activations(job).layer;
    for (const int stage : {1, 4, 6}) {
        EXPECT_EQ(estimate_memory(job, stage).in_flight, 8 - stage);
        EXPECT_EQ(estimate_memory(job, stage).activations, static_cast<Bytes>(8 - stage) * 12 * layer);
    }
    EXPECT_EQ(estimate_memory(job, 0).activations, 8 * (12 * layer + 8 * 2048));
    // Three chunks of four layers on stage 0: L (1 + (p - 1) / (p v)) = 96 (1 + 7 / 24) = 124 layers, 31
    // chunk forwards.
    job.parallel.vpp = 3;
    job.parallel.layers_per_stage.assign(8, {4, 4, 4});
    const MemoryEstimate interleaved = estimate_memory(job, 0);
    EXPECT_EQ(interleaved.in_flight, 31);
    EXPECT_GE(interleaved.activations, 124 * layer);
    EXPECT_LE(interleaved.activations, 124 * layer + 31 * 8 * 2048);
}

TEST(MemoryEstimate, RecomputedUnitComesBack) {
    Job job = gpt3();
    job.recompute.granularity = RecomputeGranularity::full;
    job.recompute.num_layers = 2;
    const SavedActivations saved = saved_activations(job);
    EXPECT_EQ(estimate_memory(job, 5).activations, 3 * 6 * saved.unit_input + 2 * saved.layer_full);
}

// Small GPT of Megatron-LM's functional tests (12 layers, hidden 512, sequence 1024, micro-batch 4), last
// rank.
Job small_gpt(int tp, int pp, int vpp) {
    Job job;
    job.model = {.layers = 12, .hidden = 512, .ffn_hidden = 2048, .heads = 8, .query_groups = 8};
    job.model.head_dim = 64;
    job.model.seq_len = job.model.max_positions = 1024;
    job.model.padded_vocab = tp == 1 ? 50304 : 50432;
    job.parallel.world_size = 8;
    job.parallel.tp = tp;
    job.parallel.pp = pp;
    job.parallel.vpp = vpp;
    job.parallel.dp = 8 / tp / pp;
    job.parallel.layers_per_stage.assign(static_cast<std::size_t>(pp),
                                         std::vector<int>(static_cast<std::size_t>(vpp), 12 / pp / vpp));
    job.batch = {.micro = 4, .global = 32, .num_microbatches = tp * pp};
    job.kernels.gradient_accumulation_fusion = false;
    return job;
}

double allocated_mb(const Job& job) {
    const MemoryEstimate estimate = estimate_memory(job, job.parallel.pp - 1);
    return static_cast<double>(estimate.peak() - estimate.overhead) / 1e6;
}

// torch.cuda.max_memory_allocated() of 8 x H100 runs, MB (Megatron-LM functional test results, golden
// values).
TEST(MemoryEstimate, MeasuredSmallRuns) {
    Job job = small_gpt(1, 1, 1);
    job.data_parallel.distributed_optimizer = true;
    EXPECT_NEAR(allocated_mb(job), 2691.8, 0.03 * 2691.8);
    job.kernels.attention = AttentionImpl::unfused;
    EXPECT_NEAR(allocated_mb(job), 4702.4, 0.03 * 4702.4);

    job = small_gpt(1, 1, 1);
    job.recompute.granularity = RecomputeGranularity::full;
    EXPECT_NEAR(allocated_mb(job), 2561.3, 0.03 * 2561.3);

    job = small_gpt(2, 2, 1);
    EXPECT_NEAR(allocated_mb(job), 1426.6, 0.03 * 1426.6);
    job.kernels.cross_entropy_fusion = true;
    EXPECT_NEAR(allocated_mb(job), 1837.6, 0.03 * 1837.6);

    job = small_gpt(1, 4, 3);
    EXPECT_NEAR(allocated_mb(job), 2639.8, 0.03 * 2639.8);
    job.kernels.attention = AttentionImpl::unfused;
    EXPECT_NEAR(allocated_mb(job), 4161.2, 0.03 * 4161.2);
}

} // namespace
} // namespace echosim
