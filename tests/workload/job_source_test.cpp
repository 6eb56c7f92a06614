// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/resolve_flags.h"
#include "tests/workload/job_texts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace echosim;
using namespace echosim::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

// A file in a folder of its own, removed with it.
class JobFile : public testing::Test {
  protected:
    void SetUp() override {
        folder_ =
            fs::path(testing::TempDir()) /
            ("echosim_job_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    std::string file(const std::string& name, const std::string& content) const {
        std::ofstream(folder_ / name, std::ios::binary) << content;
        return (folder_ / name).string();
    }
    static std::string error(const std::string& job) {
        return error_of([&] { read_job_source(job); });
    }
    fs::path folder_;
};

} // namespace

TEST_F(JobFile, FlagListKeepsLines) {
    const JobSource source = read_job_source(file(
        "flags.txt", "# a model\n--num-layers 4 --bf16 # rest\n--tokenizer-model 'a b' \\\n--lr=1e-4\n"));
    ASSERT_EQ(source.flags.size(), 4U);
    EXPECT_THAT(source.flags[0].origin, HasSubstr("flags.txt:2"));
    EXPECT_EQ(source.flags[2].values, std::vector<std::string>{"a b"});
    EXPECT_THAT(source.flags[3].origin, HasSubstr("flags.txt:4"));
}

TEST_F(JobFile, CatalogueModelsAndTheirAliases) {
    EXPECT_EQ(read_job_source("llama3.1-70b").name, "llama3-70b");
    EXPECT_EQ(read_job_source("GPT3-175B").name, "gpt3-175b");
    EXPECT_THAT(error("llama3-71b"),
                HasSubstr("is neither a file nor a model of the catalogue; did you mean"));
    EXPECT_THAT(error("missing.sh"), HasSubstr("no such file"));
}

TEST_F(JobFile, CatalogueModelNeedsOnlyLayoutAndBatch) {
    JobSource source = read_job_source("gpt3-175b");
    for (const Flag& flag : parse_flags(
             words_of("--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --micro-batch-size 1 "
                      "--global-batch-size 1536 --bf16"),
             "command line")) {
        source.flags.push_back(flag);
    }
    ResolveOptions options;
    options.gpus = 1024;
    const Job job = resolve_job(source, options);
    EXPECT_EQ(job.batch.num_microbatches, 192); // 1536 / (1 x 1024 / 128)
    EXPECT_EQ(job.model.padded_vocab, 51200);
    EXPECT_EQ(job.precision.compute, DType::bf16); // the command line over the catalogue's fp16
}

TEST_F(JobFile, AResultReproducesItsJob) {
    ResolveOptions options;
    options.software = "megatron-2021";
    JobSource source = source_of(
        std::string(small_model()) +
            "--tensor-model-parallel-size 2 --recompute-modules core_attn mlp --recompute-granularity "
            "selective --checkpoint-num-layers 1 --tokenizer-model x",
        16);
    source.flags.pop_back();
    source.flags.erase(std::remove_if(source.flags.begin(), source.flags.end(),
                                      [](const Flag& f) { return f.name == "--checkpoint-num-layers"; }),
                       source.flags.end());
    source.environment["NCCL_ALGO"] = "Ring";
    const Job job = resolve_job(source, options);
    nlohmann::ordered_json result{{"schema", "echosim.simulate/1"}, {"job", job_to_json(job)}};
    const Job again = resolve_job(read_job_source(file("result.json", result.dump(2))), {});
    EXPECT_EQ(again.kernels.software, "megatron-2021");
    EXPECT_EQ(again.parallel.world_size, 16);
    EXPECT_EQ(again.recompute.modules, (std::vector<std::string>{"core_attn", "mlp"}));
    auto first = job_to_json(job);
    auto second = job_to_json(again);
    for (auto* json : {&first, &second}) {
        for (auto& flag : (*json)["flags"])
            flag.erase("origin");
    }
    EXPECT_EQ(first.dump(), second.dump());
}

TEST_F(JobFile, TooManyFlagsAreRefused) {
    std::string flags;
    for (int i = 0; i <= 10'000; ++i)
        flags += "--qqqqzzzz-" + std::to_string(i) + "\n";
    EXPECT_THAT(error(file("many.txt", flags)),
                HasSubstr("many.txt:10001: too many flags: one job may have 10000"));
}

TEST_F(JobFile, OnlyTheFirstUnknownFlagsAreComparedWithAllOptions) {
    // --num-layer is close to --num-layers: a problem for the first 100 unknown flags, then ignored.
    std::string flags;
    for (int i = 0; i < 99; ++i)
        flags += "--qqqqzzzz-" + std::to_string(i) + "\n";
    const FlagTable hundredth(read_job_source(file("a.txt", flags + "--num-layer 4\n")), false);
    ASSERT_EQ(hundredth.problems.size(), 1U);
    EXPECT_THAT(hundredth.problems[0].hint, HasSubstr("did you mean --num-layers?"));
    const FlagTable next(read_job_source(file("b.txt", flags + "--qqqqzzzz\n--num-layer 4\n")), false);
    EXPECT_TRUE(next.problems.empty());
    EXPECT_EQ(next.warnings.size(), 101U);
}

TEST_F(JobFile, WrongFilesAreRefused) {
    EXPECT_THAT(error(file("a.yaml", "x: 1\n")), HasSubstr("YAML is not read yet"));
    EXPECT_THAT(error(file("empty.sh", "")), HasSubstr("empty"));
    EXPECT_THAT(error(file("blank.sh", "\n# nothing\n")), HasSubstr("holds no command and no flag"));
    EXPECT_THAT(error(file("b.sh", std::string("\x7f"
                                               "ELF\0\1",
                                               6))),
                HasSubstr("b.sh"));
    EXPECT_THAT(error(file("c.json", "{\"schema\": \"echosim.simulate/1\"}")),
                HasSubstr("holds no object \"job\""));
    EXPECT_THAT(error(file("d.json", "{\"model_type\": \"llama\"}")),
                HasSubstr("Hugging Face config.json is not read yet"));
    EXPECT_THAT(error(file("e.json", "{\"a\": ")), HasSubstr("e.json:1:"));
    EXPECT_THAT(error(file("f.txt", "--num-layers '4\n")), HasSubstr("f.txt:1: a ' quote is never closed"));
    EXPECT_THAT(error(folder_.string()), HasSubstr(folder_.string()));
}

namespace {

void expect_job(const nlohmann::json& expected, const Job& job) {
    const auto value = [&](const char* key) { return expected.at(key).get<int>(); };
    EXPECT_EQ(job.parallel.world_size, value("world_size"));
    EXPECT_EQ(job.parallel.tp, value("tp"));
    EXPECT_EQ(job.parallel.pp, value("pp"));
    EXPECT_EQ(job.parallel.vpp, expected.at("vpp").is_null() ? 1 : value("vpp"));
    EXPECT_EQ(job.parallel.cp, value("cp"));
    EXPECT_EQ(job.parallel.dp, value("dp"));
    EXPECT_EQ(job.parallel.ep, value("ep"));
    EXPECT_EQ(job.parallel.etp, value("etp"));
    EXPECT_EQ(job.parallel.expert_dp, value("expert_dp"));
    EXPECT_EQ(job.batch.micro, value("micro_batch"));
    EXPECT_EQ(job.batch.global, value("global_batch"));
    EXPECT_EQ(job.batch.num_microbatches, value("num_microbatches"));
    EXPECT_EQ(job.model.ffn_hidden, value("ffn_hidden"));
    EXPECT_EQ(job.model.head_dim, value("kv_channels"));
    EXPECT_EQ(job.model.query_groups, value("query_groups"));
    EXPECT_EQ(job.model.padded_vocab, value("padded_vocab"));
    EXPECT_EQ(job.parallel.sequence_parallel, expected.at("sequence_parallel").get<bool>());
    std::vector<int> layers;
    for (const auto& chunks : job.parallel.layers_per_stage)
        layers.push_back(std::accumulate(chunks.begin(), chunks.end(), 0));
    EXPECT_EQ(layers, expected.at("layers_per_pp_rank").get<std::vector<int>>());
    if (expected.contains("num_experts")) {
        EXPECT_EQ(job.model.experts, value("num_experts"));
        EXPECT_EQ(job.model.experts / job.parallel.ep, value("experts_per_rank"));
        EXPECT_EQ(job.model.expert_ffn_hidden, value("moe_ffn"));
        EXPECT_EQ(job.model.experts_per_token, value("topk"));
    }
}

} // namespace

TEST(SharedLaunchScripts, GiveTheExpectedJob) {
    const fs::path folder = "../shared/data/inputs/megatron_configs";
    if (!fs::exists(folder / "expected.json"))
        GTEST_SKIP() << folder << " is not there";
    std::ifstream in(folder / "expected.json");
    int scripts = 0;
    for (const auto& entry : nlohmann::json::parse(in)) {
        const std::string name = entry["file"].get<std::string>();
        SCOPED_TRACE(name);
        ResolveOptions options;
        options.gpus = entry["gpus"].get<int>();
        if (fs::path(name).extension() == ".sh") {
            const JobSource source = read_job_source((folder / name).string());
            if (source.world_size) {
                EXPECT_EQ(*source.world_size, *options.gpus);
                options.gpus.reset();
            }
            expect_job(entry["expected"], resolve_job(source, options));
            ++scripts;
        }
        JobSource flags; // the same job as a list of flags
        for (const auto& [flag, value] : entry["flags"].items()) {
            Flag made{"--" + flag, {}, "expected.json"};
            if (!value.is_boolean())
                made.values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
            flags.flags.push_back(made);
        }
        options.gpus = entry["gpus"].get<int>();
        expect_job(entry["expected"], resolve_job(flags, options));
    }
    EXPECT_EQ(scripts, 9);
}
