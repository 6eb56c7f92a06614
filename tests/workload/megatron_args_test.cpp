// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/megatron_options.h"
#include "tests/workload/job_texts.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <set>

using namespace echosim;
using namespace echosim::test;
using testing::HasSubstr;

TEST(OptionTable, HoldsEveryOptionOfMegatron) {
    // 838 options and --help; counted in the parser of Megatron-LM d98e8a64.
    EXPECT_EQ(megatron_options().size(), 839U);
    std::set<std::string> names;
    for (const MegatronOption& option : megatron_options()) {
        for (const std::string& name : option.names)
            EXPECT_TRUE(names.insert(name).second) << name;
    }
    ASSERT_NE(find_option("--num-layers"), nullptr);
    EXPECT_EQ(find_option("--num-layers")->kind, ValueKind::integer);
    EXPECT_EQ(find_option("--disable-tp-comm-overlap-ag"), find_option("--no-tp-comm-overlap-ag"));
    EXPECT_EQ(find_option("--no-such-option"), nullptr);
}

TEST(OptionTable, AgreesWithTheDumpOfTheRealParser) {
    const std::string path = "../shared/data/megatron_args.json";
    if (!std::filesystem::exists(path))
        GTEST_SKIP() << path << " is not there";
    std::ifstream in(path);
    const auto dump = nlohmann::json::parse(in);
    for (const auto& entry : dump) {
        for (const auto& name : entry["names"]) {
            const MegatronOption* option = find_option(name.get<std::string>());
            ASSERT_NE(option, nullptr) << name;
            const bool takes_none = entry["nargs"] == 0;
            EXPECT_EQ(option->arity == Arity::none, takes_none) << name;
            if (entry["type"] == "int") {
                EXPECT_EQ(option->kind, ValueKind::integer) << name;
            }
            if (entry["type"] == "float") {
                EXPECT_EQ(option->kind, ValueKind::real) << name;
            }
        }
    }
}

TEST(OptionTable, EveryReplacementOfAForkNameIsAnOption) {
    for (const MegatronOption& option : fork_options()) {
        std::istringstream words(option.becomes);
        for (std::string word; words >> word;) {
            const std::string name = word.substr(0, word.find_first_of("?="));
            EXPECT_NE(find_option(name), nullptr) << option.names[0] << " becomes " << word;
        }
    }
}

TEST(ParseFlags, SplitsNamesAndValues) {
    const auto flags =
        parse_flags(words_of("--num-layers 4 --hidden-size=8 --bf16 --data-path a 0.5 b --lr -1e-4"), "x");
    ASSERT_EQ(flags.size(), 5U);
    EXPECT_EQ(flags[0].values, std::vector<std::string>{"4"});
    EXPECT_EQ(flags[1].values, std::vector<std::string>{"8"});
    EXPECT_TRUE(flags[2].values.empty());
    EXPECT_EQ(flags[3].values, (std::vector<std::string>{"a", "0.5", "b"}));
    EXPECT_EQ(flags[4].values, std::vector<std::string>{"-1e-4"});
    EXPECT_EQ(flags[0].origin, "x");
}

TEST(ParseFlags, NamesStrayWordsAndMissingValues) {
    EXPECT_THAT(error_of([] { parse_flags(words_of("--bf16 true"), "job.sh:3"); }),
                HasSubstr("job.sh:3: \"true\" belongs to no flag (after --bf16)"));
    EXPECT_THAT(error_of([] { parse_flags(words_of("--num-layers --bf16"), "job.sh:3"); }),
                HasSubstr("job.sh:3: --num-layers needs a whole number, found --bf16"));
    EXPECT_THAT(error_of([] { parse_flags(words_of("--normalization"), ""); }),
                HasSubstr("--normalization needs one of LayerNorm, RMSNorm, found the end"));
    EXPECT_THAT(error_of([] { parse_flags(words_of("--bf16=1"), ""); }),
                HasSubstr("--bf16 takes no value, read \"1\""));
    EXPECT_THAT(error_of([] { parse_flags(words_of("--rampup-batch-size 1 2"), ""); }),
                HasSubstr("--rampup-batch-size needs three values"));
}

TEST(FlagForKey, NamesTheFlagOfAKey) {
    EXPECT_EQ(flag_for_key("batch.micro", "2").name, "--micro-batch-size");
    EXPECT_EQ(flag_for_key("batch.micro", "2").values, std::vector<std::string>{"2"});
    EXPECT_EQ(flag_for_key("precision.compute", "fp16").name, "--fp16");
    EXPECT_THAT(error_of([] { flag_for_key("batch.mirco", "2"); }),
                HasSubstr("one of model.layers, model.hidden"));
    EXPECT_THAT(error_of([] { flag_for_key("parallel.world_size", "2"); }), HasSubstr("--gpus"));
}

TEST(FlagForKey, SetTakesPrecedenceAndTakesFlagsAway) {
    JobSource source =
        source_of(std::string(small_model()) +
                  "--tensor-model-parallel-size 2 --sequence-parallel "
                  "--recompute-granularity full --recompute-method block --recompute-num-layers 2");
    source.flags.push_back(flag_for_key("parallel.sequence_parallel", "false"));
    source.flags.push_back(flag_for_key("recompute.granularity", "selective"));
    source.flags.push_back(flag_for_key("precision.compute", "fp16"));
    source.flags.push_back(flag_for_key("model.tied_embeddings", "false"));
    const Job job = resolve_job(source, {});
    EXPECT_FALSE(job.parallel.sequence_parallel);
    EXPECT_EQ(job.recompute.granularity, RecomputeGranularity::selective);
    EXPECT_EQ(job.precision.compute, DType::fp16);
    EXPECT_FALSE(job.model.tied_embeddings);
}

TEST(CiRuns, EveryFlagSetParses) {
    const std::string path = "../shared/data/megatron_ci_runs.json";
    if (!std::filesystem::exists(path))
        GTEST_SKIP() << path << " is not there";
    std::ifstream in(path);
    const auto rows = nlohmann::json::parse(in);
    int resolved = 0;
    for (const auto& row : rows) {
        std::vector<std::string> words;
        for (const auto& [name, value] : row["args"].items()) {
            std::string text = value.is_string() ? value.get<std::string>() : value.dump();
            if (text == "false")
                continue;
            words.push_back(name);
            const MegatronOption* option = find_option(name);
            if (option == nullptr || option->arity == Arity::none)
                continue;
            if (text.size() > 1 && text.front() == '[' && text.back() == ']' &&
                option->kind != ValueKind::pattern) {
                text = text.substr(1, text.size() - 2);
            }
            if (option->arity == Arity::one)
                words.push_back(text);
            else
                for (const std::string& item : words_of(text))
                    words.push_back(item);
        }
        JobSource source;
        source.flags = parse_flags(words, row["id"].get<std::string>());
        if (row["scope"] != "supported")
            continue;
        if (source.flags.empty())
            continue;
        source.flags.push_back({"--vocab-size", {std::to_string(row["vocab"].get<int>())}, "test"});
        source.world_size = row["world_size"].get<int>();
        try {
            const Job job = resolve_job(source, {});
            for (const FlagVerdict& flag : job.flags)
                EXPECT_NE(flag.verdict, "unknown") << flag.flag;
            ++resolved;
        } catch (const InputError& error) {
            ADD_FAILURE() << row["id"] << ": Megatron-LM ran this, but: " << error.what();
        }
    }
    EXPECT_EQ(resolved, 324); // rows of scope "supported"
}
