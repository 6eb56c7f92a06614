// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/gaussian_process.h"

#include "interference/fit/gp_likelihood.h"
#include "interference/fit/lbfgs.h"
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

// A smooth curve of the first column; the second says nothing. Noise of sd 0.03 / sqrt(weight).
double curve(double a) {
    return 0.6 * std::sin(2 * a);
}
FitData waves(std::size_t rows, std::uint64_t seed = 5) {
    FitData data;
    Draw draw(seed);
    for (std::size_t i = 0; i < rows; ++i) {
        const double a = 4 * draw.uniform(), b = draw.uniform(), weight = 0.2 + 0.8 * draw.uniform();
        add_row(data, {a, b}, curve(a) + 0.03 * draw.normal() / std::sqrt(weight), weight);
    }
    return data;
}

double predicted(const ResidualModel& model, const std::vector<double>& x) {
    return model.predict(x).mean;
}

// f = (1 - u)^2 + 100 (v - u^2)^2 (Rosenbrock): minimum 0 at (1, 1).
TEST(Lbfgs, FindsTheEndOfABentValley) {
    const SmoothFunction valley = [](const std::vector<double>& at, std::vector<double>& gradient) {
        const double u = at[0], v = at[1];
        gradient = {-2 * (1 - u) - 400 * u * (v - u * u), 200 * (v - u * u)};
        return (1 - u) * (1 - u) + 100 * (v - u * u) * (v - u * u);
    };
    const Minimum minimum = minimise(valley, {-1.2, 1}, 200);
    EXPECT_NEAR(minimum.at[0], 1, 0.05);
    EXPECT_NEAR(minimum.at[1], 1, 0.1);
    EXPECT_LT(minimum.value, 1e-3);
    EXPECT_LT(minimum.evaluations, 150);
}

// f = u - ln u, not finite for u <= 0: minimum at 1.
TEST(Lbfgs, StaysWhereTheFunctionIsFinite) {
    const SmoothFunction barrier = [](const std::vector<double>& at, std::vector<double>& gradient) {
        gradient = {1 - 1 / at[0]};
        return at[0] - std::log(at[0]);
    };
    EXPECT_NEAR(minimise(barrier, {0.05}, 50).at[0], 1, 0.02);
}

// q = sqrt(5) x 1 = 2.236; m = (1 + 2.236 + 1.667) exp(-2.236) = 4.903 x 0.1069 = 0.524
TEST(GpLikelihood, Matern) {
    const std::vector<double> a{0, 3}, b{1, 3};
    EXPECT_NEAR(matern52(a, b, {1, 1}), 0.524, 1e-3);
    EXPECT_EQ(matern52(a, a, {1, 1}), 1.0);
}

GpRows some_rows() {
    const FitData data = waves(12);
    return {2, data.x, data.y};
}

TEST(GpLikelihood, GradientIsThatOfDifferences) {
    const GpRows rows = some_rows();
    GpExpected expected;
    expected.scales = {{0.5, 0.7}, 1, 0.1};
    std::vector<double> precision(12, 1.0);
    precision[3] = 0.01;
    const std::vector<double> at{std::log(0.8), std::log(0.4), std::log(0.6), std::log(0.2)};
    std::vector<double> gradient(4), unused(4);
    gp_objective(rows, expected, precision, at, gradient);
    for (std::size_t i = 0; i < 4; ++i) {
        std::vector<double> low = at, high = at;
        low[i] -= 1e-5;
        high[i] += 1e-5;
        const double slope = (gp_objective(rows, expected, precision, high, unused) -
                              gp_objective(rows, expected, precision, low, unused)) /
                             2e-5;
        EXPECT_NEAR(gradient[i], slope, 1e-6 * (1 + std::abs(slope))) << i;
    }
}

// Two rows a distance apart that makes them independent, a^2 = 1, D = 1 + 1e-8: Sigma = 2 I, so alpha = y /
// 2, the diagonal of the inverse is 1/2, L = sqrt(2) I.
TEST(GpLikelihood, PosteriorOfIndependentRows) {
    const GpRows rows{1, {0, 1e6}, {0.4, -1}};
    const GpPosterior posterior = gp_condition(rows, {{1}, 1, 1}, {1, 1});
    EXPECT_NEAR(posterior.alpha[0], 0.2, 1e-12);
    EXPECT_NEAR(posterior.alpha[1], -0.5, 1e-12);
    EXPECT_NEAR(posterior.inverse_diagonal[1], 0.5, 1e-12);
    EXPECT_NEAR(posterior.lower[0], std::sqrt(2.0), 1e-12);
    EXPECT_NEAR(posterior.lower[1], 0, 1e-12);
}

TEST(GpLikelihood, RowsThatRepeatWithoutNoiseGetJitter) {
    const GpRows rows{1, {0, 0, 0}, {0.5, 0.5, 0.5}};
    const GpPosterior posterior = gp_condition(rows, {{1}, 1, 1}, {1e-18, 1e-18, 1e-18});
    // the mean at the rows: k' alpha = the sum of alpha
    EXPECT_NEAR(posterior.alpha[0] + posterior.alpha[1] + posterior.alpha[2], 0.5, 1e-6);
}

TEST(GaussianProcess, FollowsTheDataAndRevertsToThePrior) {
    const auto model = fit_gaussian_process(waves(120));
    for (const double a : {0.5, 1.3, 2.2, 3.6}) {
        EXPECT_NEAR(predicted(*model, {a, 0.5}), curve(a), 0.05) << a;
        EXPECT_LT(model->predict(std::vector<double>{a, 0.5}).sd, 0.1) << a;
    }
    const ResidualPrediction far = model->predict(std::vector<double>{1000, 0.5});
    EXPECT_NEAR(far.mean, 0, 1e-9);
    EXPECT_NEAR(far.sd, model->to_json().at("amplitude").get<double>(), 1e-9);
    EXPECT_GT(far.sd, 0.4); // above what the blend trusts
}

TEST(GaussianProcess, RelevanceFallsWithDistance) {
    FitData data = waves(60);
    const auto model = fit_gaussian_process(data);
    std::vector<double> weight(60);
    model->relevance(data.row(7), weight);
    EXPECT_EQ(weight[7], data.weight[7]); // m(0) = 1
    for (std::size_t i = 0; i < 60; ++i)
        EXPECT_LE(weight[i], data.weight[i]);
    model->relevance(std::vector<double>{1000, 0.5}, weight);
    EXPECT_LT(weight[7], 1e-12);
}

// Left out, from the covariance of the other rows: mean = k' (K + D)^-1 y of the rest.
TEST(GaussianProcess, LeftOutResidualsAreThoseOfRefits) {
    const FitData data = waves(15);
    const auto model = fit_gaussian_process(data);
    const Json json = model->to_json();
    const auto spread = json.at("spread").get<std::vector<double>>();
    const auto length = json.at("length").get<std::vector<double>>();
    const auto variance = json.at("variance").get<std::vector<double>>();
    const double square = std::pow(json.at("amplitude").get<double>(), 2);
    const auto covariance = [&](std::size_t i, std::size_t j) {
        double sum = 0;
        for (std::size_t c = 0; c < 2; ++c)
            sum += std::pow((data.row(i)[c] - data.row(j)[c]) / spread[c] / length[c], 2);
        const double q = std::sqrt(5 * sum);
        return square * (1 + q + q * q / 3) * std::exp(-q);
    };
    for (std::size_t out = 0; out < data.rows(); ++out) {
        std::vector<std::vector<double>> sigma;
        std::vector<double> y, k;
        for (std::size_t i = 0; i < data.rows(); ++i) {
            if (i == out)
                continue;
            std::vector<double> row;
            for (std::size_t j = 0; j < data.rows(); ++j)
                if (j != out)
                    row.push_back(covariance(i, j) + (i == j ? variance[i] : 0));
            sigma.push_back(row);
            y.push_back(data.y[i]);
            k.push_back(covariance(i, out));
        }
        const std::vector<double> alpha = solved(sigma, y);
        double mean = 0;
        for (std::size_t i = 0; i < k.size(); ++i)
            mean += k[i] * alpha[i];
        EXPECT_NEAR(model->left_out()[out], data.y[out] - mean, 1e-7) << out;
    }
}

TEST(GaussianProcess, GrossOutliersMoveItLittle) {
    FitData data = waves(120);
    const auto clean = fit_gaussian_process(data);
    for (std::size_t i = 0; i < 120; i += 20) // 5 %
        data.y[i] += 2;
    const auto model = fit_gaussian_process(data);
    for (const double a : {0.5, 1.3, 2.2, 3.6})
        EXPECT_NEAR(predicted(*model, {a, 0.5}), predicted(*clean, {a, 0.5}), 0.06) << a;
}

TEST(GaussianProcess, SameDataSameModel) {
    EXPECT_EQ(fit_gaussian_process(waves(50))->to_json(), fit_gaussian_process(waves(50))->to_json());
}

TEST(GaussianProcess, RepeatedRowsConstantColumnsTwoRows) {
    FitData data = waves(30), wide;
    for (std::size_t twice = 0; twice < 2; ++twice)
        for (std::size_t i = 0; i < data.rows(); ++i)
            add_row(wide, {data.row(i)[0], 0.1, data.row(i)[1]}, data.y[i], data.weight[i]);
    EXPECT_NEAR(predicted(*fit_gaussian_process(wide), {1.3, 0.1, 0.5}), curve(1.3), 0.1);

    FitData two;
    add_row(two, {0}, 0.2);
    add_row(two, {1}, 0.2);
    const auto pair = fit_gaussian_process(two);
    EXPECT_NEAR(predicted(*pair, {0}), 0.2, 0.05);
    EXPECT_NEAR(predicted(*pair, {50}), 0, 1e-6);

    FitData same; // rows alike, values alike: no noise to be found
    for (int i = 0; i < 10; ++i)
        add_row(same, {3}, 0);
    EXPECT_NEAR(predicted(*fit_gaussian_process(same), {3}), 0, 1e-9);
}

TEST(GaussianProcess, ARowWithoutWeightSaysNothing) {
    FitData data = waves(60);
    const double before = predicted(*fit_gaussian_process(data), {1.3, 0.5});
    add_row(data, {1.3, 0.5}, 5, 0);
    EXPECT_NEAR(predicted(*fit_gaussian_process(data), {1.3, 0.5}), before, 0.01);
}

// Of more than 500 rows the scales come from 500; all rows are used.
TEST(GaussianProcess, ManyRows) {
    const auto model = fit_gaussian_process(waves(540));
    EXPECT_EQ(model->left_out().size(), 540U);
    EXPECT_NEAR(predicted(*model, {2.2, 0.5}), curve(2.2), 0.03);
}

TEST(GaussianProcess, JsonGivesTheSameToTheBit) {
    const auto model = fit_gaussian_process(waves(40));
    const auto again = gaussian_process_from_json(Json::parse(model->to_json().dump()), "m.json", 2);
    EXPECT_EQ(again->name(), "gaussian_process");
    for (const std::vector<double>& x : {std::vector<double>{1.3, 0.5}, {0, 0}, {-7, 1e6}}) {
        EXPECT_EQ(again->predict(x).mean, model->predict(x).mean);
        EXPECT_EQ(again->predict(x).sd, model->predict(x).sd);
    }
    EXPECT_EQ(again->left_out(), model->left_out());
    EXPECT_EQ(again->to_json(), model->to_json());
}

std::string refusal(const Json& json, std::size_t columns = 0) {
    try {
        gaussian_process_from_json(json, "m.json", columns);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(GaussianProcess, RefusesDamagedJson) {
    const Json good = fit_gaussian_process(waves(5))->to_json();
    EXPECT_EQ(refusal(good), "");
    EXPECT_THAT(refusal(good, 3), HasSubstr("m.json: residual.centre: expected a list of 3 numbers"));
    Json json = good;
    json["length"][0] = -1;
    EXPECT_THAT(refusal(json), HasSubstr("residual.length[0]: expected a number from 1e-15 to 1e+12"));
    json = good;
    json["variance"][4] = 0;
    EXPECT_THAT(refusal(json), HasSubstr("residual.variance[4]"));
    json = good;
    json["x"][2] = {1.0};
    EXPECT_THAT(refusal(json), HasSubstr("residual.x[2]: expected a list of 2 numbers, found a list of 1"));
    json = good;
    json["y"] = Json::array();
    EXPECT_THAT(refusal(json), HasSubstr("residual.y: expected a list of 2 to 2000 numbers"));
    json = good;
    json["y"][1] = nullptr;
    EXPECT_THAT(refusal(json), HasSubstr("residual.y[1]: expected a number from -1000 to 1000, found null"));
    json = good;
    json.erase("noise");
    EXPECT_THAT(refusal(json), HasSubstr("noise"));
    json = good;
    json["rows_of_data"] = 1;
    EXPECT_THAT(refusal(json), HasSubstr("rows_of_data"));
}

} // namespace
} // namespace echosim
