// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// XGBoost's JSON model, as far as it is looked at before the library gets it.
namespace echosim {

bool is_xgboost_model(const nlohmann::ordered_json& json);

// Columns by name, in the model's order. Throws InputError when there are none: XGBoost writes them when the
// model was trained on a table with names.
std::vector<std::string> xgboost_feature_names(const nlohmann::ordered_json& model, const std::string& where);

// A regression by trees (booster gbtree) with numeric splits whose nodes point at nodes and columns that
// exist: the library does not check that. Throws InputError that says what is wrong.
void check_xgboost_model(const nlohmann::ordered_json& model, const std::string& where);

} // namespace echosim
