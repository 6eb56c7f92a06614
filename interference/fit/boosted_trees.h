// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/fit/residual.h"
#include "interference/fit/xgboost_library.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// Gradient boosted trees of XGBoost as the residual model: for some hundred samples and more, and only worth
// it after ridge and the Gaussian process. 200 rounds of depth 3, step 0.05, at least 8 samples a leaf (by
// their second derivative), 0.7 of the rows a round (fixed seed), pseudo-Huber loss, exact splits, one
// thread: the same data give the same trees.
//
// Trees say nothing about how sure they are, and give far outside the data what they give at its edge: there
// sd = 1, which the blend takes as "knows nothing"; within the range of every column (5 % wider on each side)
// sd = 0. left_out() refits without each tenth of the rows. All rows are equally relevant.
namespace echosim {

struct TreeColumns {
    std::vector<std::string> names;
    std::vector<int> monotone; // +1: the prediction never falls along it; 0: free
};

// Throws InputError when XGBoost is not to be had.
std::unique_ptr<ResidualModel> fit_boosted_trees(const FitData& data, const TreeColumns& columns,
                                                 const std::string& library = kXgboostLibrary);

// Where a model was read, for error messages; the columns that it must take, none = any; the library that
// evaluates it.
struct TreeSource {
    std::string where;
    std::vector<std::string> columns = {};
    std::string library = kXgboostLibrary;
};

// What to_json() wrote. Throws InputError that starts with `where`.
std::unique_ptr<ResidualModel> boosted_trees_from_json(const nlohmann::ordered_json& json,
                                                       const TreeSource& source);

// XGBoost's own JSON model (Booster.save_model), trained elsewhere to y = ln(factor / prior) on columns with
// the names of features.h. No data come with it: sd = 0 everywhere, left_out() is empty.
std::unique_ptr<ResidualModel> boosted_trees_from_xgboost(const nlohmann::ordered_json& model,
                                                          const TreeSource& source);

} // namespace echosim
