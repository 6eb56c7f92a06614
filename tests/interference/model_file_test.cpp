// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/model_file.h"

#include "interference/learned_slowdown.h"
#include "simulator/catalogue/gpu.h"
#include "tests/interference/made_samples.h"
#include "tests/support/refusal.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

double truth(const KernelFootprint& kernel, const CommLoad& load) {
    return 0.2 * kernel.hbm_share + load.ctas / 108;
}

std::unique_ptr<LearnedSlowdown> fitted(Fitter fitter) {
    auto model = fit_slowdown(made_samples(60, truth), {.fitter = fitter});
    model->describe("echosim 1.2.3", {"made.csv"}, {{"family", 60, 9.5, 13.5, -1.25, 91}});
    return model;
}

const Json& written() {
    static const Json json = Json::parse(fitted(Fitter::gaussian_process)->to_json_text());
    return json;
}

std::string refusal_of(const Json& json) {
    return refusal([&] { read_model_file(json.dump(), "model.json"); });
}

TEST(ModelFile, IsReadAsItWasWrittenToTheBit) {
    for (const Fitter fitter : {Fitter::ridge, Fitter::gaussian_process}) {
        const auto model = fitted(fitter);
        const std::string text = model->to_json_text();
        const auto again = LearnedSlowdown::from_json_text(text, "model.json", GpuLimits{});
        EXPECT_EQ(again->to_json_text(), text);
        for (const InterferenceSample& s : made_samples(90, truth)) {
            const SlowdownEstimate a = model->estimate(s.kernel, s.load, s.family);
            const SlowdownEstimate b = again->estimate(s.kernel, s.load, s.family);
            EXPECT_EQ(a.factor, b.factor);
            EXPECT_EQ(a.low, b.low);
            EXPECT_EQ(a.high, b.high);
            EXPECT_EQ(a.expected, b.expected);
            EXPECT_EQ(a.source, b.source);
        }
    }
}

TEST(ModelFile, SaysWhatItWasFittedTo) {
    const Json& json = written();
    EXPECT_EQ(json["schema"], "echosim.interference/1");
    EXPECT_EQ(json["written_by"], "echosim 1.2.3");
    EXPECT_EQ(json["gpus"][0]["sms"], 108);
    EXPECT_EQ(json["nccl"][0], "2.21.5");
    EXPECT_EQ(json["data"]["files"][0], "made.csv");
    EXPECT_EQ(json["data"]["samples"], 60);
    EXPECT_EQ(json["data"]["classes"], Json({"gemm", "elementwise"}));
    EXPECT_EQ(json["figures"][0]["prior_mean_abs_error_percent"], 13.5);
    EXPECT_EQ(json["residual"]["name"], "gaussian_process");
}

// The rule about families that are not in the data is part of the file.
TEST(ModelFile, KeepsItsScope) {
    const InterferenceSample s = made_samples(2, truth).back();
    for (const bool known : {true, false}) {
        const auto model = fit_slowdown(made_samples(60, truth), {.known_families_only = known});
        const std::string text = model->to_json_text();
        EXPECT_EQ(Json::parse(text)["scope"], known ? "known_families" : "all");
        const auto again = LearnedSlowdown::from_json_text(text, "model.json", GpuLimits{});
        EXPECT_EQ(again->estimate(s.kernel, s.load, "another").source,
                  known ? EstimateSource::prior : EstimateSource::residual);
    }
}

// Times of 20 us to 2 ms; 8 to 32 CTAs of 108 SMs beside one HBM share, each configuration 15 times.
TEST(ModelFile, HoldsRangesAndConfigurations) {
    const Json& json = written();
    ASSERT_EQ(json["features"]["columns"][0], "log_time");
    EXPECT_NEAR(json["features"]["ranges"][0][0], std::log(20.0), 1e-9); // the first sample is at the end
    EXPECT_GT(json["features"]["ranges"][0][1], 7.4);
    EXPECT_EQ(json["features"]["ranges"].size(), json["features"]["columns"].size());
    ASSERT_EQ(json["data"]["loads"].size(), 4U);
    EXPECT_NEAR(json["data"]["loads"][3][0], 32.0 / 108, 1e-12);
    EXPECT_NEAR(json["data"]["loads"][3][1], 0.05, 1e-12);
}

TEST(ModelFile, OfOtherFeaturesIsRefused) {
    Json json = written();
    json["features"]["hash"] = "0123456789abcdef";
    const std::string text = refusal_of(json);
    EXPECT_THAT(text,
                HasSubstr("model.json: features.hash: \"0123456789abcdef\": written by another version of "
                          "the features"));
    EXPECT_THAT(text, HasSubstr("calibrate again"));
}

struct Damage {
    const char* pointer; // where
    const char* value;   // JSON to put there; "" = the key is removed
    const char* message;
};

TEST(ModelFile, DamagedIsRefused) {
    const Damage damages[] = {
        {"/schema", "", "the key \"schema\" is missing"},
        {"/schema", "\"echosim.interference/2\"",
         "\"echosim.interference/2\" is not \"echosim.interference/1\""},
        {"/schema", "7", "expected a text, found 7"},
        {"/features", "[]", "features: expected an object, found a list"},
        {"/features/hash", "", "the key \"hash\" is missing"},
        {"/features/columns/0", "\"log_tme\"", "\"log_tme\" is no feature; did you mean \"log_time\"?"},
        {"/features/columns/0", "\"gemm\"", "\"gemm\" stands there twice"},
        {"/features/columns/0", "3", "features.columns[0]: expected a text"},
        {"/features/ranges", "", "the key \"ranges\" is missing"},
        {"/features/ranges/0", "[1]", "features.ranges[0]"},
        {"/scope", "", "the key \"scope\" is missing"},
        {"/scope", "\"some\"", "scope: read \"some\"; allowed: known_families, all"},
        {"/data/loads/0", "[1]", "data.loads[0]"},
        {"/gpus/0/sms", "0", "gpus[0].sms: 0 is out of range: 1 to 10000"},
        {"/gpus/0/smss", "1", "unknown key \"smss\"; did you mean \"sms\"?"},
        {"/nccl", "\"2.21\"", "nccl: expected a list"},
        {"/data/classes/0", "\"gem\"", "\"gem\" is no class of kernels"},
        {"/data/families/0/samples", "1.5", "expected a whole number, found 1.5"},
        {"/data/sample", "1", "unknown key \"sample\"; did you mean \"samples\"?"},
        {"/figures/0/coverage_percent", "-1", "figures[0].coverage_percent: -1 is out of range"},
        {"/residual", "", "the key \"residual\" is missing"},
        {"/residual/name", "\"forest\"", "read \"forest\"; allowed: gaussian_process, ridge, boosted_trees"},
        {"/residual/name", "7", "residual.name"},
        {"/residual/x/0", "[1]", "residual"},
        {"/residual/amplitude", "-1", "residual.amplitude"},
        {"/residul", "{}", "unknown key \"residul\"; did you mean \"residual\"?"},
    };
    for (const Damage& damage : damages) {
        Json json = written();
        const Json::json_pointer at(damage.pointer);
        if (damage.value[0] == '\0')
            json[at.parent_pointer()].erase(at.back());
        else
            json[at] = Json::parse(damage.value);
        const std::string text = refusal_of(json);
        EXPECT_THAT(text, HasSubstr("model.json")) << damage.pointer;
        EXPECT_THAT(text, HasSubstr(damage.message)) << damage.pointer;
    }
}

TEST(ModelFile, WithAColumnTooManyIsRefused) {
    Json json = written();
    json["features"]["columns"].push_back("persistent");
    EXPECT_THAT(refusal_of(json), HasSubstr("features.ranges"));
    json["features"]["ranges"].push_back({0, 1});
    EXPECT_THAT(refusal_of(json), HasSubstr("residual"));
}

TEST(ModelFile, CutOffIsRefused) {
    const std::string text = written().dump();
    for (const std::size_t size : {std::size_t{1}, text.size() / 2, text.size() - 1})
        EXPECT_THAT(refusal([&] { read_model_file(text.substr(0, size), "model.json"); }),
                    HasSubstr("model.json:1:"));
    for (const char* other : {"[]", "7", "{}", "\"text\""})
        EXPECT_THAT(refusal([&] { read_model_file(other, "model.json"); }), HasSubstr("model.json")) << other;
}

TEST(ModelFile, IsForItsGpuAndThoseWithAsManySms) {
    ModelFacts facts;
    EXPECT_NO_THROW(check_gpu(facts, find_gpu("h100-sxm"), "model.json")); // names no GPU
    facts.gpus = {{"NVIDIA A100", 108}};
    EXPECT_NO_THROW(check_gpu(facts, find_gpu("a100-sxm-80gb"), "model.json"));
    const std::string text = refusal([&] { check_gpu(facts, find_gpu("h100-sxm"), "model.json"); });
    EXPECT_THAT(
        text, HasSubstr("model.json: was fitted to NVIDIA A100 with 108 SMs; this is h100-sxm with 132 SMs"));
    EXPECT_THAT(text, HasSubstr("interference=prior"));
    facts.gpus.push_back({"h100-sxm", 114}); // by name
    EXPECT_NO_THROW(check_gpu(facts, find_gpu("h100-sxm"), "model.json"));
}

} // namespace
} // namespace echosim
