// SPDX-License-Identifier: Apache-2.0
#include "tests/workload/job_texts.h"

#include <algorithm>
#include <gmock/gmock.h>

using namespace echosim;
using namespace echosim::test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Resolve, DerivesWhatMegatronDerives) {
    const Job job =
        small_job("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --global-batch-size 16");
    EXPECT_EQ(job.model.ffn_hidden, 4096);    // 4 x 1024
    EXPECT_EQ(job.model.head_dim, 64);        // 1024 / 16
    EXPECT_EQ(job.model.query_groups, 16);    // no group query attention
    EXPECT_EQ(job.model.padded_vocab, 32000); // 125 x 128 x 2
    EXPECT_EQ(job.parallel.dp, 2);            // 8 / (2 x 2)
    EXPECT_EQ(job.batch.num_microbatches, 8); // 16 / (1 x 2)
    EXPECT_TRUE(job.precision.grads_in_fp32); // bf16 accumulates in fp32
    EXPECT_EQ(job.kernels.attention, AttentionImpl::flash);
    EXPECT_THAT(job.parallel.layers_per_stage, ElementsAre(ElementsAre(8), ElementsAre(8)));
    EXPECT_THAT(job.warnings, IsEmpty());
    EXPECT_THAT(job.not_modelled, IsEmpty());
}

TEST(Resolve, SwigluWidthIsTwoThirdsDownToAMultipleOf64) {
    // 8 x 1024 / 3 = 2730.67; 42 x 64 = 2688
    EXPECT_EQ(small_job("--swiglu").model.ffn_hidden, 2688);
}

TEST(Resolve, VocabularyIsPaddedToAMultipleOfTheTensorSize) {
    // 50257 up to a multiple of 128 x 8 = 1024 is 50 x 1024 = 51200
    EXPECT_EQ(small_job("--vocab-size 50257 --tensor-model-parallel-size 8").model.padded_vocab, 51200);
    EXPECT_EQ(small_job("--vocab-size 50257 --no-pad-vocab-size").model.padded_vocab, 50257);
    EXPECT_EQ(small_job("--padded-vocab-size 50304 --vocab-size 50257").model.padded_vocab, 50304);
}

TEST(Resolve, EveryValueHasAnOrigin) {
    const Job job = small_job("");
    ASSERT_GT(job.values.size(), 40U);
    for (const ResolvedValue& value : job.values)
        EXPECT_FALSE(value.origin.empty()) << value.key;
    const auto dp = std::find_if(job.values.begin(), job.values.end(),
                                 [](const auto& v) { return v.key == "parallel.dp"; });
    ASSERT_NE(dp, job.values.end());
    EXPECT_EQ(dp->value, "8");
    EXPECT_EQ(dp->origin, "derived: world size / (tp x pp x cp)");
}

TEST(Resolve, LastFlagWinsAndIntegersMayCarryUnderscores) {
    const Job job = small_job("--num-layers 8 --num-layers 1_2 --global-batch-size=1_6");
    EXPECT_EQ(job.model.layers, 12);
    EXPECT_EQ(job.batch.global, 16);
    EXPECT_EQ(std::count_if(job.flags.begin(), job.flags.end(),
                            [](const auto& f) { return f.flag == "--num-layers"; }),
              1);
}

TEST(Resolve, OldNamesBecomeTodaysFlags) {
    const Job job = small_job("--checkpoint-activations --fp8-hybrid");
    EXPECT_EQ(job.recompute.granularity, RecomputeGranularity::full);
    EXPECT_EQ(job.recompute.method, RecomputeMethod::uniform);
    EXPECT_EQ(job.recompute.num_layers, 1);
    EXPECT_THAT(job.not_modelled, Contains(HasSubstr("FP8")));
    EXPECT_EQ(small_job("--activations-checkpoint-method block --activations-checkpoint-num-layers 3")
                  .recompute.num_layers,
              3);
    EXPECT_EQ(small_job("--num-key-value-heads 4").model.query_groups, 4);
    EXPECT_EQ(small_job("--attention-head-type multiquery").model.query_groups, 1);
    EXPECT_FALSE(small_job("--no-async-tensor-model-parallel-allreduce").kernels.tp_async_allreduce);
}

TEST(Resolve, AttentionOfOldGenerationsIsUnfused) {
    ResolveOptions old;
    old.software = "megatron-2021";
    EXPECT_EQ(small_job("", 8, old).kernels.attention, AttentionImpl::unfused);
    EXPECT_EQ(small_job("--use-flash-attn", 8, old).kernels.attention, AttentionImpl::flash);
    EXPECT_EQ(small_job("--attention-backend unfused").kernels.attention, AttentionImpl::unfused);
}

TEST(Resolve, GradientsFollowRule17) {
    EXPECT_FALSE(small_job("--grad-reduce-in-bf16").precision.grads_in_fp32);
    EXPECT_FALSE(
        small_job("--main-grads-dtype bf16 --use-precision-aware-optimizer --use-distributed-optimizer")
            .precision.grads_in_fp32);
    const std::string fp16 =
        std::string(small_model()).substr(0, std::string(small_model()).find("--bf16")) + "--fp16";
    EXPECT_FALSE(resolve_job(source_of(fp16), {}).precision.grads_in_fp32);
    EXPECT_TRUE(
        resolve_job(source_of(fp16 + " --accumulate-allreduce-grads-in-fp32"), {}).precision.grads_in_fp32);
    EXPECT_TRUE(resolve_job(source_of(fp16), {}).precision.loss_scaling);
}

TEST(Resolve, SequenceParallelIsOffWithoutTensorParallel) {
    EXPECT_FALSE(small_job("--sequence-parallel").parallel.sequence_parallel);
    EXPECT_TRUE(small_job("--sequence-parallel --tensor-model-parallel-size 2").parallel.sequence_parallel);
}

TEST(Pipeline, EmbeddingAndLossCountAsLayers) {
    // (14 + 2) / 4 = 4 slots a stage; the first holds the embedding, the last the loss
    const Job job = small_job(
        "--num-layers 14 --pipeline-model-parallel-size 4 --account-for-embedding-in-pipeline-split "
        "--account-for-loss-in-pipeline-split");
    EXPECT_THAT(job.parallel.layers_per_stage,
                ElementsAre(ElementsAre(3), ElementsAre(4), ElementsAre(4), ElementsAre(3)));
}

TEST(Pipeline, UnevenFirstAndLastStage) {
    // 16 - 2 - 4 = 10 layers on two stages
    const Job job = small_job("--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 2 "
                              "--decoder-last-pipeline-num-layers 4");
    EXPECT_THAT(job.parallel.layers_per_stage,
                ElementsAre(ElementsAre(2), ElementsAre(5), ElementsAre(5), ElementsAre(4)));
}

TEST(Pipeline, BothSpellingsOfVirtualStages) {
    const std::string base = "--pipeline-model-parallel-size 4 --global-batch-size 32 ";
    EXPECT_EQ(small_job(base + "--num-layers-per-virtual-pipeline-stage 1").parallel.vpp, 4); // 16 / 4 / 1
    EXPECT_EQ(small_job(base + "--num-virtual-stages-per-pipeline-rank 2").parallel.vpp, 2);
    EXPECT_TRUE(small_job(base + "--num-virtual-stages-per-pipeline-rank 2").kernels.overlap_p2p);
    EXPECT_FALSE(small_job(base).kernels.overlap_p2p);
}

TEST(Pipeline, LayoutStringIsWrittenOut) {
    // E + 4 | 4 | 4 | 4 + L on two ranks with two chunks each
    const Job job = small_job("--pipeline-model-parallel-size 2 --global-batch-size 32 "
                              "--pipeline-model-parallel-layout Et*4|(tttt|)*2t*4,L");
    EXPECT_EQ(job.parallel.vpp, 2);
    EXPECT_THAT(job.parallel.layers_per_stage, ElementsAre(ElementsAre(4, 4), ElementsAre(4, 4)));
}

TEST(Resolve, UnknownFlags) {
    EXPECT_THAT(
        small_error("--num-layer 4"),
        HasSubstr("test: --num-layer is not an option of Megatron-LM\n  hint: did you mean --num-layers?"));
    const Job job = small_job("--my-own-thing 4");
    EXPECT_THAT(job.warnings, ElementsAre("test: --my-own-thing: not a Megatron-LM option, ignored"));
    ResolveOptions strict;
    strict.strict = true;
    EXPECT_THAT(error_of([&] { small_job("--my-own-thing 4", 8, strict); }),
                HasSubstr("--my-own-thing is not a Megatron-LM option"));
}

TEST(Resolve, WhatIsNotModelledIsSaid) {
    EXPECT_THAT(small_job("--tensor-model-parallel-size 2 --sequence-parallel --tp-comm-overlap").warnings,
                Contains(HasSubstr("TP overlap is not modelled: TP communication counts as exposed")));
    EXPECT_THAT(small_job("--num-experts 8 --disable-bias-linear").not_modelled,
                Contains(HasSubstr("mixture of experts is not built")));
    EXPECT_THAT(small_job("--context-parallel-size 2").not_modelled,
                Contains(HasSubstr("--context-parallel-size 2: context parallelism")));
    EXPECT_THAT(small_job("--context-parallel-size 1").not_modelled, IsEmpty());
    EXPECT_THAT(small_job("--use-megatron-fsdp").not_modelled, Contains(HasSubstr("Megatron-FSDP")));
}

TEST(Resolve, AllProblemsComeTogether) {
    const std::string error = small_error(
        "--num-layers 15 --pipeline-model-parallel-size 4 --num-attention-heads 15 --global-batch-size 7");
    EXPECT_THAT(error, HasSubstr("15 layers are not divisible by pipeline size 4"));
    EXPECT_THAT(error, HasSubstr("1024 is not divisible by --num-attention-heads 15"));
    EXPECT_THAT(error, HasSubstr("7 is not divisible by micro-batch (1) x data parallel (2) = 2"));
}

struct WrongInput {
    const char* flags;
    const char* message;
    int gpus = 8;
};

class WrongInputs : public testing::TestWithParam<WrongInput> {};

TEST_P(WrongInputs, NamesTheFlagAndWhatIsAllowed) {
    EXPECT_THAT(small_error(GetParam().flags, GetParam().gpus), HasSubstr(GetParam().message))
        << GetParam().flags;
}

INSTANTIATE_TEST_SUITE_P(
    Messages, WrongInputs,
    testing::Values(
        WrongInput{"--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16",
                   "world size 1000 is not divisible by tensor (8) x pipeline (16) x context (1) = 128\n  "
                   "hint: nearest: 896 or 1024 GPUs",
                   1000},
        WrongInput{"--num-layers 0", "test: --num-layers: read 0, allowed 1 to 10000"},
        WrongInput{"--num-layers -4", "--num-layers: read -4, allowed 1 to 10000"},
        WrongInput{"--hidden-size 99999999999999999999",
                   "--hidden-size: read 99999999999999999999, allowed 1 to 1048576"},
        WrongInput{"--num-layers abc", "test: --num-layers: read \"abc\", must be a whole number"},
        WrongInput{"--num-layers 1e3", "--num-layers: read \"1e3\", must be a whole number"},
        WrongInput{"--normalization rms", "--normalization: read \"rms\", must be one of LayerNorm, RMSNorm"},
        WrongInput{"--fp16", "--fp16: excludes --bf16"},
        WrongInput{"--seq-length 4096", "--max-position-embeddings: 2048 is less than --seq-length 4096\n  "
                                        "hint: add --max-position-embeddings 4096"},
        WrongInput{"--tensor-model-parallel-size 3",
                   "--num-attention-heads 16 is not divisible by tensor size 3", 9},
        WrongInput{
            "--global-batch-size 12",
            "12 is not divisible by micro-batch (1) x data parallel (8) = 8\n  hint: nearest: 8 or 16"},
        WrongInput{"--pipeline-model-parallel-size 3",
                   "16 layers are not divisible by pipeline size 3\n  hint: nearest: 15 or 18", 9},
        WrongInput{"--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3",
                   "3 does not divide the 4 layers of a pipeline rank"},
        WrongInput{
            "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 --global-batch-size 2",
            "interleaving needs pipeline size (4) <= micro-batch group (4) <= micro-batches (1)"},
        WrongInput{"--recompute-granularity full", "full needs --recompute-method uniform or block"},
        WrongInput{"--recompute-granularity selective --recompute-num-layers 1",
                   "--recompute-num-layers: is for full recompute"},
        WrongInput{"--recompute-granularity full --recompute-method block --recompute-num-layers 17",
                   "--recompute-num-layers: read 17, allowed 1 to 16"},
        WrongInput{"--overlap-param-gather --overlap-grad-reduce",
                   "--overlap-param-gather: needs --use-distributed-optimizer"},
        WrongInput{"--tp-comm-overlap --tensor-model-parallel-size 2",
                   "--tp-comm-overlap: needs --sequence-parallel"},
        WrongInput{"--expert-model-parallel-size 2", "--expert-model-parallel-size: 2 needs --num-experts"},
        WrongInput{"--num-experts 8 --tensor-model-parallel-size 2",
                   "mixture of experts with tensor size 2 needs --sequence-parallel"},
        WrongInput{"--context-parallel-size 8 --seq-length 2040",
                   "--seq-length 2040 is not divisible by 2 x context size 8 = 16"},
        WrongInput{"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*15|L",
                   "holds 15 decoder layers, --num-layers is 16"},
        WrongInput{"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*8|(t*8L",
                   "a ( without its )"},
        WrongInput{"--batch-size 4",
                   "--batch-size is refused by Megatron-LM\n  hint: removed: use --micro-batch-size"},
        WrongInput{"", "world size: read 4194305, allowed 1 to 4194304 GPUs", 4194305},
        WrongInput{"--attention-dropout nan", "--attention-dropout: read nan, allowed 0 to 1"}));

TEST(Resolve, MissingFlagsAreNamed) {
    const std::string error = error_of([] { resolve_job(source_of("--bf16"), {}); });
    for (const char* flag : {"--num-layers", "--hidden-size", "--num-attention-heads", "--seq-length",
                             "--micro-batch-size", "--vocab-size"}) {
        EXPECT_THAT(error, HasSubstr(std::string(flag) + ": missing"));
    }
    JobSource source = source_of(small_model());
    source.world_size.reset();
    EXPECT_THAT(error_of([&] { resolve_job(source, {}); }), HasSubstr("how many GPUs?"));
    ResolveOptions options;
    options.gpus = 16;
    EXPECT_EQ(resolve_job(source, options).parallel.dp, 16);
}
