// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/ridge.h"

#include "simulator/core/error.h"
#include "tests/interference/residual_data.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

// y = 0.3 + 0.5 x0 - 0.2 x1 + noise of sd 0.05; weights 0.1 to 1.
FitData plane(std::size_t rows) {
    FitData data;
    Draw draw(3);
    for (std::size_t i = 0; i < rows; ++i) {
        const double a = 4 * draw.uniform(), b = 10 + draw.normal();
        const double weight = 0.1 + 0.9 * draw.uniform();
        add_row(data, {a, b}, 0.3 + 0.5 * a - 0.2 * b + 0.05 * draw.normal() / std::sqrt(weight), weight);
    }
    return data;
}

double predicted(const ResidualModel& model, const std::vector<double>& x) {
    return model.predict(x).mean;
}

TEST(Ridge, FindsAPlane) {
    const auto model = fit_ridge(plane(100));
    // at (2, 10): 0.3 + 1 - 2 = -0.7; a hundred rows of sd 0.05: sd of the mean about 0.05 / 10
    EXPECT_NEAR(predicted(*model, {2, 10}), -0.7, 0.02);
    EXPECT_NEAR(predicted(*model, {3, 10}) - predicted(*model, {2, 10}), 0.5, 0.02);
    EXPECT_NEAR(predicted(*model, {2, 11}) - predicted(*model, {2, 10}), -0.2, 0.02);
    EXPECT_NEAR(model->predict(std::vector<double>{2, 10}).sd, 0.006, 0.004);
    EXPECT_GT(model->predict(std::vector<double>{2, 100}).sd, 0.1); // 90 sd outside
}

// Two rows: leaving one out leaves one, whose value is the prediction: r = 1 - 3 = -2 and 2.
TEST(Ridge, TwoRows) {
    FitData data;
    add_row(data, {0}, 1);
    add_row(data, {2}, 3);
    const auto model = fit_ridge(data);
    ASSERT_EQ(model->left_out().size(), 2U);
    EXPECT_NEAR(model->left_out()[0], -2, 1e-9);
    EXPECT_NEAR(model->left_out()[1], 2, 1e-9);
    EXPECT_NEAR(predicted(*model, {1}), 2, 1e-9);
}

// Left out, by normal equations of the other rows for b and beta, with the lambda, precisions and sd of the
// whole data.
TEST(Ridge, LeftOutResidualsAreThoseOfRefits) {
    const FitData data = plane(12);
    const auto model = fit_ridge(data);
    const Json json = model->to_json();
    const auto precision = json.at("precision").get<std::vector<double>>();
    const auto spread = json.at("spread").get<std::vector<double>>();
    for (std::size_t out = 0; out < data.rows(); ++out) {
        const auto row = [&](std::size_t i) {
            return std::vector<double>{1, data.row(i)[0] / spread[0], data.row(i)[1] / spread[1]};
        };
        std::vector<std::vector<double>> a(3, std::vector<double>(3));
        std::vector<double> b(3);
        for (std::size_t c = 1; c < 3; ++c)
            a[c][c] = json.at("lambda").get<double>();
        for (std::size_t i = 0; i < data.rows(); ++i)
            for (std::size_t c = 0; c < 3 && i != out; ++c) {
                b[c] += precision[i] * row(i)[c] * data.y[i];
                for (std::size_t k = 0; k < 3; ++k)
                    a[c][k] += precision[i] * row(i)[c] * row(i)[k];
            }
        const std::vector<double> beta = solved(a, b);
        const std::vector<double> x = row(out);
        const double prediction = beta[0] + beta[1] * x[1] + beta[2] * x[2];
        EXPECT_NEAR(model->left_out()[out], data.y[out] - prediction, 1e-8) << out;
    }
}

// Of a hundred rows five are off by 3: least squares would move by 0.15.
TEST(Ridge, GrossOutliersMoveItLittle) {
    FitData data = plane(100);
    for (std::size_t i = 0; i < 100; i += 20)
        data.y[i] += 3;
    EXPECT_NEAR(predicted(*fit_ridge(data), {2, 10}), -0.7, 0.02);
}

TEST(Ridge, ConstantAndRepeatedColumnsAreHarmless) {
    const FitData data = plane(50);
    FitData wide;
    for (std::size_t i = 0; i < data.rows(); ++i)
        add_row(wide, {data.row(i)[0], 0.1, data.row(i)[1], data.row(i)[1]}, data.y[i], data.weight[i]);
    const auto model = fit_ridge(wide);
    EXPECT_NEAR(predicted(*model, {2, 0.1, 10, 10}), predicted(*fit_ridge(data), {2, 10}), 2e-3);
    EXPECT_EQ(predicted(*model, {2, 0.1, 10, 10}), predicted(*model, {2, 5, 10, 10}));
}

TEST(Ridge, ARowWithoutWeightSaysNothing) {
    FitData data = plane(50);
    const double before = predicted(*fit_ridge(data), {2, 10});
    add_row(data, {2, 10}, 100, 0);
    const auto model = fit_ridge(data);
    EXPECT_NEAR(predicted(*model, {2, 10}), before, 1e-3);
    std::vector<double> weight(51);
    model->relevance(std::vector<double>{2, 10}, weight);
    EXPECT_LT(weight[50], 1e-8);
    EXPECT_EQ(weight[0], data.weight[0]);
}

TEST(Ridge, NoWeightAtAllCountsAsEqualWeights) {
    FitData data = plane(20);
    FitData equal = data;
    data.weight.assign(20, 0.0);
    equal.weight.assign(20, 1.0);
    EXPECT_EQ(predicted(*fit_ridge(data), {2, 10}), predicted(*fit_ridge(equal), {2, 10}));
}

TEST(Ridge, JsonGivesTheSameToTheBit) {
    const auto model = fit_ridge(plane(30));
    const Json json = Json::parse(model->to_json().dump());
    const auto again = ridge_from_json(json, "m.json", 2);
    EXPECT_EQ(again->name(), "ridge");
    for (const std::vector<double>& x : {std::vector<double>{2, 10}, {0, 0}, {-7, 1e6}}) {
        EXPECT_EQ(again->predict(x).mean, model->predict(x).mean);
        EXPECT_EQ(again->predict(x).sd, model->predict(x).sd);
    }
    EXPECT_EQ(again->left_out(), model->left_out());
    EXPECT_EQ(again->to_json(), model->to_json());
}

std::string refusal(const Json& json, std::size_t columns = 0) {
    try {
        ridge_from_json(json, "m.json", columns);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(Ridge, RefusesDamagedJson) {
    const Json good = fit_ridge(plane(5))->to_json();
    EXPECT_EQ(refusal(good), "");
    EXPECT_THAT(refusal(good, 3), HasSubstr("m.json: residual.centre: expected a list of 3 numbers"));
    Json json = good;
    json["beta"] = {1.0};
    EXPECT_THAT(refusal(json), HasSubstr("residual.beta: expected a list of 2 numbers, found a list of 1"));
    json = good;
    json["spread"][1] = 0;
    EXPECT_THAT(refusal(json),
                HasSubstr("residual.spread[1]: expected a number from 1e-15 to 1e+12, found 0"));
    json = good;
    json["covariance"][0] = "no";
    EXPECT_THAT(refusal(json), HasSubstr("residual.covariance[0]: expected a list of 2 numbers"));
    json = good;
    json["covariance"].erase(1);
    EXPECT_THAT(refusal(json), HasSubstr("residual.covariance: expected 2 rows, found 1"));
    json = good;
    json["left_out"] = {1.0};
    EXPECT_THAT(refusal(json), HasSubstr("residual.left_out: expected a list of 2 to 1000000 numbers"));
    json = good;
    json.erase("intercept");
    EXPECT_THAT(refusal(json), HasSubstr("intercept"));
    json = good;
    json["mean_variance"] = -1;
    EXPECT_THAT(refusal(json), HasSubstr("mean_variance"));
    json = good;
    json["interceptt"] = 1;
    EXPECT_THAT(refusal(json), HasSubstr("interceptt"));
    EXPECT_NE(refusal(Json::array()), "");
}

} // namespace
} // namespace echosim
