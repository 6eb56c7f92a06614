// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/boosted_trees.h"

#include "interference/learned_slowdown.h"
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

bool absent() {
    return refusal([] { load_xgboost("test"); }) != "accepted";
}
#define NEEDS_XGBOOST()                                                                                      \
    if (absent())                                                                                            \
    GTEST_SKIP() << "XGBoost is not installed (Debian: libxgboost0)"

// y = x0^2 + 0.1 x1 on [0, 1)^2.
FitData parabola(std::size_t rows) {
    FitData data;
    data.columns = 2;
    for (std::size_t i = 0; i < rows; ++i) {
        const double a = static_cast<double>(i) / static_cast<double>(rows);
        const double b = std::fmod(0.618034 * static_cast<double>(i), 1.0);
        data.x.insert(data.x.end(), {a, b});
        data.y.push_back(a * a + 0.1 * b);
        data.weight.push_back(1);
    }
    return data;
}
TreeColumns two_columns(int monotone = 0) {
    return {{"comm_ctas", "hbm_share"}, {monotone, 0}};
}
double at(const ResidualModel& model, double a, double b) {
    return model.predict(std::array{a, b}).mean;
}

TEST(XgboostLibrary, SaysWhichPackageIsMissing) {
    const std::string text = refusal([] { load_xgboost("model.json", "libxgboost-of-nobody.so.7"); });
    EXPECT_THAT(text,
                HasSubstr("model.json: boosted trees need XGBoost, and libxgboost-of-nobody.so.7 cannot be "
                          "loaded"));
    EXPECT_THAT(text, HasSubstr("apt-get install libxgboost0"));
    EXPECT_THAT(refusal([] { load_xgboost("model.json", "libc.so.6"); }), HasSubstr("is no XGBoost"));
    EXPECT_THAT(refusal([] { fit_boosted_trees(parabola(50), two_columns(), "none.so"); }),
                HasSubstr("none.so cannot be loaded"));
}

TEST(BoostedTrees, FollowTheData) {
    NEEDS_XGBOOST();
    const auto model = fit_boosted_trees(parabola(400), two_columns());
    EXPECT_NEAR(at(*model, 0.5, 0.5), 0.30, 0.03); // 0.25 + 0.05
    EXPECT_NEAR(at(*model, 0.9, 0.1), 0.82, 0.05);
    ASSERT_EQ(model->left_out().size(), 400U);
    double sum = 0;
    for (const double residual : model->left_out())
        sum += std::abs(residual);
    EXPECT_LT(sum / 400, 0.03);
    EXPECT_EQ(model->name(), "boosted_trees");
}

TEST(BoostedTrees, KnowNothingOutsideTheData) {
    NEEDS_XGBOOST();
    const auto model = fit_boosted_trees(parabola(100), two_columns());
    EXPECT_EQ(model->predict(std::array{0.5, 0.5}).sd, 0);
    EXPECT_EQ(model->predict(std::array{1.03, 0.5}).sd, 0); // within 5 % of the range, 0 to 0.99
    EXPECT_EQ(model->predict(std::array{1.2, 0.5}).sd, 1);
    EXPECT_EQ(model->predict(std::array{0.5, -0.2}).sd, 1);
}

// Data that fall, with a column that may only rise.
TEST(BoostedTrees, AreMonotoneWhereTheyMust) {
    NEEDS_XGBOOST();
    FitData data = parabola(300);
    for (std::size_t i = 0; i < data.rows(); ++i)
        data.y[i] = std::sin(9 * data.row(i)[0]);
    const auto model = fit_boosted_trees(data, two_columns(1));
    double last = -1e9;
    for (int i = 0; i <= 100; ++i) {
        const double y = at(*model, i / 100.0, 0.4);
        EXPECT_GE(y, last) << i;
        last = y;
    }
}

TEST(BoostedTrees, AreDeterministicAndReadAsWritten) {
    NEEDS_XGBOOST();
    const Json json = fit_boosted_trees(parabola(100), two_columns())->to_json();
    EXPECT_EQ(fit_boosted_trees(parabola(100), two_columns())->to_json(), json);
    const auto model = fit_boosted_trees(parabola(100), two_columns());
    const auto again = boosted_trees_from_json(Json::parse(json.dump()), {.where = "model.json"});
    EXPECT_EQ(again->to_json(), json);
    EXPECT_EQ(again->left_out(), model->left_out());
    for (double a = 0; a < 1; a += 0.07)
        EXPECT_EQ(at(*again, a, 0.3), at(*model, a, 0.3));
}

TEST(BoostedTrees, TakeXgboostsOwnModel) {
    NEEDS_XGBOOST();
    const auto model = fit_boosted_trees(parabola(100), two_columns());
    const std::string text = model->to_json()["model"].dump();
    const ModelFile file = read_model_file(text, "own.json");
    EXPECT_THAT(file.columns, testing::ElementsAre(Feature::comm_ctas, Feature::hbm_share));
    EXPECT_EQ(at(*file.residual, 0.5, 0.5), at(*model, 0.5, 0.5));
    EXPECT_EQ(file.residual->predict(std::array{9.0, 9.0}).sd, 0);
    EXPECT_TRUE(file.residual->left_out().empty());
    // any family, with the prior's band moved along
    const InterferenceSample s = made_samples(1, [](const auto&, const auto&) { return 0.0; }).front();
    const auto slowdown = LearnedSlowdown::from_json_text(text, "own.json", GpuLimits{});
    const double moved = at(*model, s.load.ctas / 108, s.kernel.hbm_share);
    EXPECT_DOUBLE_EQ(slowdown->estimate(s.kernel, s.load, "any").factor, s.factor() * std::exp(moved));
}

TEST(BoostedTrees, RefuseColumnsThatAreNoFeatures) {
    NEEDS_XGBOOST();
    Json model = fit_boosted_trees(parabola(100), two_columns())->to_json()["model"];
    const auto text = [&] { return refusal([&] { read_model_file(model.dump(), "own.json"); }); };
    model["learner"]["feature_names"] = {"comm_cta", "colour"};
    EXPECT_THAT(text(), HasSubstr("own.json: learner.feature_names: \"comm_cta\" is no feature; did you mean "
                                  "\"comm_ctas\"?"));
    EXPECT_THAT(text(), HasSubstr("\"colour\" is no feature"));
    model["learner"]["feature_names"] = Json::array();
    EXPECT_THAT(text(), HasSubstr("has no feature_names"));
}

TEST(BoostedTrees, RefuseDamagedModels) {
    NEEDS_XGBOOST();
    Json whole = fit_boosted_trees(parabola(400), two_columns())->to_json();
    // one tree that splits is enough
    Json& forest = whole["model"]["learner"]["gradient_booster"]["model"];
    Json tree;
    for (const Json& each : forest["trees"])
        if (each["left_children"].size() > 1)
            tree = each;
    ASSERT_TRUE(tree.is_object());
    tree["id"] = 0;
    forest["trees"] = Json::array({tree});
    forest["tree_info"] = {0};
    forest["gbtree_model_param"]["num_trees"] = "1";
    const TreeSource source{.where = "model.json", .columns = two_columns().names};
    ASSERT_EQ(refusal([&] { boosted_trees_from_json(whole, source); }), "accepted");
    struct {
        const char* pointer;
        const char* value;
        const char* message;
    } const damages[] = {
        {"/learner/gradient_booster/model/trees/0/left_children/0", "0", "tree 0 of the model is damaged"},
        {"/learner/gradient_booster/model/trees/0/right_children/0", "4000",
         "tree 0 of the model is damaged"},
        {"/learner/gradient_booster/model/trees/0/split_indices/0", "2", "tree 0 of the model is damaged"},
        {"/learner/gradient_booster/model/trees/0/split_conditions", "[1.0]",
         "tree 0 of the model is damaged"},
        {"/learner/gradient_booster/model/trees/0/left_children", "\"x\"", "no whole JSON model of XGBoost"},
        {"/learner/gradient_booster/model/trees", "[]", "counts of columns and trees do not agree"},
        {"/learner/learner_model_param/num_feature", "\"3\"", "counts of columns and trees do not agree"},
        {"/learner/learner_model_param/num_feature", "\"many\"", "no whole JSON model of XGBoost"},
        {"/learner/gradient_booster/name", "\"dart\"", "the booster is \"dart\"; allowed: gbtree"},
        {"/learner/objective/name", "\"binary:logistic\"", "the objective is \"binary:logistic\""},
        {"/learner/feature_names/0", "\"gemm\"",
         "its feature_names are gemm, hbm_share; features.columns are "
         "comm_ctas, hbm_share"},
    };
    for (const auto& damage : damages) {
        Json json = whole;
        json["model"][Json::json_pointer(damage.pointer)] = Json::parse(damage.value);
        EXPECT_THAT(refusal([&] { boosted_trees_from_json(json, source); }), HasSubstr(damage.message))
            << damage.pointer;
    }
}

TEST(BoostedTrees, AreOneOfTheFitters) {
    NEEDS_XGBOOST();
    const auto truth = [](const KernelFootprint& kernel, const CommLoad&) { return kernel.hbm_share; };
    const auto model = fit_slowdown(made_samples(300, truth), {.fitter = Fitter::boosted_trees});
    const InterferenceSample s = made_samples(352, truth).back();
    // more than half of what the prior misses
    const double missed = std::log(s.factor() / PriorSlowdown{GpuLimits{}}.factor(s.kernel, s.load));
    EXPECT_NEAR(std::log(s.factor() / model->estimate(s.kernel, s.load, s.family).factor), 0, missed / 2);
    const auto again = LearnedSlowdown::from_json_text(model->to_json_text(), "model.json", GpuLimits{});
    EXPECT_EQ(again->estimate(s.kernel, s.load, s.family).factor,
              model->estimate(s.kernel, s.load, s.family).factor);
}

} // namespace
} // namespace echosim
