// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/boosted_trees.h"

#include "interference/fit/residual_json.h"
#include "interference/fit/xgboost_model.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRounds = 200;
constexpr std::size_t kFolds = 10;
constexpr std::size_t kMostRows = 10'000'000; // in a file
constexpr std::size_t kMostColumns = 64;
constexpr double kMargin = 0.05; // of a column's range, beyond which the trees know nothing

struct Range {
    double low = 0, high = 0;
};

// A handle with the function that frees it.
struct Freed {
    int (*free)(void*) = nullptr;
    void operator()(void* handle) const { free(handle); }
};
using Owned = std::unique_ptr<void, Freed>;

Owned make_booster(const XgboostLibrary& x, const std::vector<void*>& matrices) {
    void* booster = nullptr;
    x.check(x.booster_create(matrices.data(), matrices.size(), &booster));
    Owned owned(booster, Freed{x.booster_free});
    // of the process, not of the model: not in its JSON
    x.check(x.booster_set(booster, "nthread", "1"));
    x.check(x.booster_set(booster, "verbosity", "0"));
    return owned;
}

Owned make_matrix(const XgboostLibrary& x, const FitData& data, const std::vector<std::size_t>& rows) {
    std::vector<float> values, labels, weights;
    for (const std::size_t row : rows) {
        for (const double value : data.row(row))
            values.push_back(static_cast<float>(value));
        labels.push_back(static_cast<float>(data.y[row]));
        weights.push_back(static_cast<float>(data.weight[row]));
    }
    void* matrix = nullptr;
    x.check(x.matrix_create(values.data(), rows.size(), data.columns, std::numeric_limits<float>::quiet_NaN(),
                            &matrix));
    Owned owned(matrix, Freed{x.matrix_free});
    x.check(x.matrix_set_floats(matrix, "label", labels.data(), labels.size()));
    x.check(x.matrix_set_floats(matrix, "weight", weights.data(), weights.size()));
    return owned;
}

Owned train(const XgboostLibrary& x, const FitData& data, const std::vector<std::size_t>& rows,
            const TreeColumns& columns) {
    std::string monotone;
    for (const int sign : columns.monotone)
        monotone += fmt::format("{}{}", monotone.empty() ? "(" : ",", sign);
    monotone += ")";
    const std::array<std::pair<const char*, std::string>, 10> settings = {
        {{"objective", "reg:pseudohubererror"},
         {"huber_slope", "0.05"},
         {"base_score", "0"},
         {"tree_method", "exact"},
         {"max_depth", "3"},
         {"eta", "0.05"},
         {"min_child_weight", "8"},
         {"subsample", "0.7"},
         {"seed", "1"},
         {"monotone_constraints", monotone}}};
    const Owned matrix = make_matrix(x, data, rows);
    Owned booster = make_booster(x, {matrix.get()});
    for (const auto& [name, value] : settings)
        x.check(x.booster_set(booster.get(), name, value.c_str()));
    for (int round = 0; round < kRounds; ++round)
        x.check(x.booster_update(booster.get(), round, matrix.get()));
    std::vector<const char*> names;
    for (const std::string& name : columns.names)
        names.push_back(name.c_str());
    x.check(x.booster_set_strings(booster.get(), "feature_name", names.data(), names.size()));
    return booster;
}

std::string saved(const XgboostLibrary& x, void* booster) {
    XgboostLibrary::Length size = 0;
    const char* text = nullptr;
    x.check(x.booster_save(booster, R"({"format": "json"})", &size, &text));
    return std::string(text, size);
}

double predicted(const XgboostLibrary& x, void* booster, std::span<const double> row) {
    const std::vector<float> values(row.begin(), row.end());
    const std::string matrix =
        fmt::format(R"({{"data": [{}, true], "shape": [1, {}], "typestr": "<f4", "version": 3}})",
                    reinterpret_cast<std::uintptr_t>(values.data()), values.size());
    constexpr const char* kConfig =
        R"({"type": 0, "training": false, "iteration_begin": 0, )"
        R"("iteration_end": 0, "strict_shape": false, "cache_id": 0, "missing": NaN})";
    const XgboostLibrary::Length* shape = nullptr;
    XgboostLibrary::Length dimensions = 0;
    const float* result = nullptr;
    x.check(x.booster_predict(booster, matrix.c_str(), kConfig, nullptr, &shape, &dimensions, &result));
    return static_cast<double>(result[0]);
}

class BoostedTrees final : public ResidualModel {
  public:
    BoostedTrees(const XgboostLibrary& x, const Json& model, std::vector<Range> ranges,
                 std::vector<double> left_out)
        : x_(x), model_(model), ranges_(std::move(ranges)), left_out_(std::move(left_out)),
          booster_(make_booster(x_, {})) {
        const std::string text = model_.dump();
        x_.check(x_.booster_load(booster_.get(), text.data(), text.size()));
        x_.check(x_.booster_set(booster_.get(), "nthread", "1"));
    }

    ResidualPrediction predict(std::span<const double> x) const override {
        bool inside = true;
        for (std::size_t i = 0; i < ranges_.size(); ++i) {
            const double margin = kMargin * (ranges_[i].high - ranges_[i].low);
            inside = inside && x[i] >= ranges_[i].low - margin && x[i] <= ranges_[i].high + margin;
        }
        return {predicted(x_, booster_.get(), x), inside ? 0.0 : 1.0};
    }
    const std::vector<double>& left_out() const override { return left_out_; }
    void relevance(std::span<const double>, std::span<double> weight) const override {
        std::ranges::fill(weight, 1.0);
    }
    std::string name() const override { return "boosted_trees"; }
    Json to_json() const override {
        std::vector<double> ends;
        for (const Range& range : ranges_)
            ends.insert(ends.end(), {range.low, range.high});
        return {{"name", name()},
                {"left_out", left_out_},
                {"ranges", rows_json(ends, ranges_.size(), 2)},
                {"model", model_}};
    }

  private:
    XgboostLibrary x_;
    Json model_;
    std::vector<Range> ranges_;
    std::vector<double> left_out_;
    Owned booster_;
};

std::vector<Range> ranges_of(const FitData& data) {
    std::vector<Range> ranges;
    for (std::size_t column = 0; column < data.columns; ++column) {
        Range range{data.x[column], data.x[column]};
        for (std::size_t row = 0; row < data.rows(); ++row)
            range = {std::min(range.low, data.row(row)[column]), std::max(range.high, data.row(row)[column])};
        ranges.push_back(range);
    }
    return ranges;
}

std::vector<double> left_out_of(const XgboostLibrary& x, const FitData& data, const TreeColumns& columns) {
    std::vector<double> residuals(data.rows());
    for (std::size_t fold = 0; fold < std::min(kFolds, data.rows()); ++fold) {
        std::vector<std::size_t> rest;
        for (std::size_t row = 0; row < data.rows(); ++row)
            if (row % kFolds != fold)
                rest.push_back(row);
        const Owned booster = train(x, data, rest, columns);
        for (std::size_t row = fold; row < data.rows(); row += kFolds)
            residuals[row] = data.y[row] - predicted(x, booster.get(), data.row(row));
    }
    return residuals;
}

// Of a file: XGBoost's complaints name the file.
std::unique_ptr<ResidualModel> loaded(const Json& model, std::vector<Range> ranges,
                                      std::vector<double> left_out, const TreeSource& source) {
    check_xgboost_model(model, source.where);
    const XgboostLibrary x = load_xgboost(source.where, source.library);
    try {
        return std::make_unique<BoostedTrees>(x, model, std::move(ranges), std::move(left_out));
    } catch (const std::runtime_error& error) {
        throw InputError(source.where, fmt::format("the model is not read by {}", error.what()));
    }
}

} // namespace

std::unique_ptr<ResidualModel> fit_boosted_trees(const FitData& data, const TreeColumns& columns,
                                                 const std::string& library) {
    ECHOSIM_CHECK(columns.names.size() == data.columns && columns.monotone.size() == data.columns,
                  "a name and a sign for each column");
    const XgboostLibrary x = load_xgboost("boosted_trees", library);
    std::vector<std::size_t> rows(data.rows());
    for (std::size_t row = 0; row < rows.size(); ++row)
        rows[row] = row;
    const std::string text = saved(x, train(x, data, rows, columns).get());
    return std::make_unique<BoostedTrees>(x, Json::parse(text), ranges_of(data),
                                          left_out_of(x, data, columns));
}

std::unique_ptr<ResidualModel> boosted_trees_from_json(const Json& json, const TreeSource& source) {
    std::vector<Problem> problems;
    ObjectReader reader(json, source.where, "residual", problems);
    std::string name;
    reader.read({.key = "name", .required = true}, name);
    const std::vector<double> residuals = read_numbers(reader, {.key = "left_out", .most = kMostRows});
    const std::vector<double> ends =
        read_rows(reader, {.key = "ranges", .least = 1, .most = kMostColumns}, 2);
    const Json* model = reader.object({.key = "model", .required = true});
    reader.finish();
    std::vector<Range> ranges;
    for (std::size_t i = 0; i + 1 < ends.size(); i += 2)
        ranges.push_back({ends[i], ends[i + 1]});
    if (problems.empty()) {
        const std::vector<std::string> names = xgboost_feature_names(*model, source.where);
        if (ranges.size() != names.size())
            reader.fail("ranges", fmt::format("{} for a model of {} columns", ranges.size(), names.size()));
        if (!source.columns.empty() && source.columns != names)
            reader.fail("model", fmt::format("its feature_names are {}; features.columns are {}", join(names),
                                             join(source.columns)));
    }
    if (!problems.empty())
        throw InputError(std::move(problems));
    return loaded(*model, std::move(ranges), residuals, source);
}

std::unique_ptr<ResidualModel> boosted_trees_from_xgboost(const Json& model, const TreeSource& source) {
    return loaded(model, {}, {}, source);
}

} // namespace echosim
