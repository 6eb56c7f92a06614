// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/model.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>

using namespace echosim;

namespace {

double value_of(const CatalogueModel& model, const std::string& flag, double otherwise) {
    for (const auto& [name, value] : model.flags) {
        if (name == flag)
            return value.empty() ? 1 : std::atof(value.c_str());
    }
    return otherwise;
}

bool has(const CatalogueModel& model, const std::string& flag) {
    return value_of(model, flag, -1) >= 0;
}

// Parameters without norms and biases: attention h (q + 2 kv) + q h with q = heads x head dimension, MLP 2 h
// f (3 h f when gated) times the experts plus router, once or twice the vocabulary, learned positions.
double parameters(const CatalogueModel& model) {
    const double layers = value_of(model, "--num-layers", 0);
    const double h = value_of(model, "--hidden-size", 0);
    const double heads = value_of(model, "--num-attention-heads", 1);
    const double head_dim = value_of(model, "--kv-channels", h / heads);
    const double groups = value_of(model, "--num-query-groups", heads);
    const double gated = has(model, "--swiglu") || has(model, "--quick-geglu") ? 3 : 2;
    const double experts = value_of(model, "--num-experts", 0);
    const double ffn = value_of(model, "--ffn-hidden-size", 4 * h);
    const double expert_ffn = value_of(model, "--moe-ffn-hidden-size", ffn);
    const double attention = 2 * h * heads * head_dim + 2 * h * groups * head_dim;
    const double mlp = experts > 0 ? experts * gated * h * expert_ffn + experts * h : gated * h * ffn;
    const double vocab = value_of(model, "--vocab-size", value_of(model, "--padded-vocab-size", 0));
    const double tables = vocab * h * (has(model, "--untie-embeddings-and-output-weights") ? 2 : 1);
    const bool learned = !has(model, "--position-embedding-type") ||
                         std::any_of(model.flags.begin(), model.flags.end(),
                                     [](const auto& f) { return f.second == "learned_absolute"; });
    return layers * (attention + mlp) + tables +
           (learned ? value_of(model, "--max-position-embeddings", 0) * h : 0);
}

} // namespace

struct PublishedSize {
    const char* id;
    double billions;
};

class ModelSizes : public testing::TestWithParam<PublishedSize> {};

TEST_P(ModelSizes, AreWithinTwoPercentOfThePublishedOnes) {
    const CatalogueModel* model = find_model(GetParam().id);
    ASSERT_NE(model, nullptr) << GetParam().id;
    EXPECT_NEAR(parameters(*model) / 1e9, GetParam().billions, 0.02 * GetParam().billions) << GetParam().id;
}

// Published counts: GPT-3 table 2.1, OPT table 1, the model cards of the others (embeddings included).
INSTANTIATE_TEST_SUITE_P(
    Published, ModelSizes,
    testing::Values(
        PublishedSize{"gpt3-1b3", 1.3}, PublishedSize{"gpt3-2b7", 2.7}, PublishedSize{"gpt3-6b7", 6.7},
        PublishedSize{"gpt3-13b", 13.0}, PublishedSize{"gpt3-175b", 175.0}, PublishedSize{"llama2-7b", 6.74},
        PublishedSize{"llama2-13b", 13.02}, PublishedSize{"llama2-70b", 68.98},
        PublishedSize{"llama3-8b", 8.03}, PublishedSize{"llama3-70b", 70.55},
        PublishedSize{"llama3-405b", 405.9}, PublishedSize{"qwen2.5-0.5b", 0.494},
        PublishedSize{"qwen2.5-1.5b", 1.54}, PublishedSize{"qwen2.5-3b", 3.09},
        PublishedSize{"qwen2.5-7b", 7.62}, PublishedSize{"qwen2.5-14b", 14.77},
        PublishedSize{"qwen2.5-32b", 32.76}, PublishedSize{"qwen2.5-72b", 72.71},
        PublishedSize{"qwen3-0.6b", 0.596}, PublishedSize{"qwen3-1.7b", 1.72},
        PublishedSize{"qwen3-4b", 4.02}, PublishedSize{"qwen3-8b", 8.19}, PublishedSize{"qwen3-14b", 14.77},
        PublishedSize{"qwen3-32b", 32.76}, PublishedSize{"mistral-7b", 7.24},
        PublishedSize{"nemotron4-15b", 15.6}, PublishedSize{"nemotron4-340b", 341.0},
        PublishedSize{"bloom-176b", 176.2}, PublishedSize{"opt-6b7", 6.7}, PublishedSize{"opt-13b", 13.0},
        PublishedSize{"opt-30b", 30.0}, PublishedSize{"opt-66b", 66.0}, PublishedSize{"opt-175b", 175.0},
        PublishedSize{"falcon-7b", 7.22}, PublishedSize{"falcon-40b", 41.8},
        PublishedSize{"falcon-180b", 179.5}, PublishedSize{"mixtral-8x7b", 46.7},
        PublishedSize{"mixtral-8x22b", 140.6}, PublishedSize{"qwen3-30b-a3b", 30.5},
        PublishedSize{"qwen3-235b-a22b", 235.1}, PublishedSize{"grok-1", 314.0},
        PublishedSize{"gpt-oss-20b", 20.9}, PublishedSize{"gpt-oss-120b", 116.8}));

TEST(Models, NamesAreUniqueAndSourcesStated) {
    std::set<std::string> names;
    for (const CatalogueModel& model : all_models()) {
        EXPECT_TRUE(names.insert(model.id).second) << model.id;
        for (const std::string& alias : model.aliases)
            EXPECT_TRUE(names.insert(alias).second) << alias;
        EXPECT_FALSE(model.source.empty()) << model.id;
        EXPECT_TRUE(has(model, "--seq-length") && has(model, "--max-position-embeddings")) << model.id;
    }
    EXPECT_GE(all_models().size(), 45U);
}

TEST(Models, AreFoundByAliasWithoutCase) {
    ASSERT_NE(find_model("LLaMA3.1-70B"), nullptr);
    EXPECT_EQ(find_model("LLaMA3.1-70B")->id, "llama3-70b");
    EXPECT_EQ(find_model("no-such-model"), nullptr);
}
