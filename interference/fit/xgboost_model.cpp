// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/xgboost_model.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

// XGBoost writes its parameters as texts.
long parameter(const Json& object, const char* name) {
    return std::stol(object.at(name).get<std::string>());
}

void check_tree(const Json& tree, long columns, const std::string& where) {
    const auto left = tree.at("left_children").get<std::vector<long>>();
    const auto right = tree.at("right_children").get<std::vector<long>>();
    const auto column = tree.at("split_indices").get<std::vector<long>>();
    const auto count = static_cast<long>(left.size());
    bool good =
        count > 0 && parameter(tree.at("tree_param"), "num_nodes") == count && tree.at("categories").empty();
    for (const char* name : {"right_children", "split_indices", "parents", "split_conditions", "default_left",
                             "base_weights", "loss_changes", "sum_hessian", "split_type"})
        good = good && tree.at(name).size() == left.size();
    for (std::size_t node = 0; good && node < left.size(); ++node) {
        const bool leaf = left[node] == -1;
        // children come after their parent: no walk goes in a circle
        const auto is_child = [&](long child) { return child > static_cast<long>(node) && child < count; };
        good = (leaf ? right[node] == -1 : is_child(left[node]) && is_child(right[node])) &&
               (leaf || (column[node] >= 0 && column[node] < columns));
    }
    if (!good)
        throw InputError(where, fmt::format("tree {} of the model is damaged", tree.at("id").dump()));
}

void check_learner(const Json& learner, const std::string& where) {
    const Json& booster = learner.at("gradient_booster");
    const Json& parameters = learner.at("learner_model_param");
    const auto name = booster.at("name").get<std::string>();
    const auto objective = learner.at("objective").at("name").get<std::string>();
    if (name != "gbtree")
        throw InputError(where, fmt::format("the booster is \"{}\"; allowed: gbtree", name));
    // anything else transforms what the trees add up to
    constexpr const char* kAllowed[] = {"reg:pseudohubererror", "reg:squarederror", "reg:absoluteerror"};
    if (std::find(std::begin(kAllowed), std::end(kAllowed), objective) == std::end(kAllowed))
        throw InputError(where, fmt::format("the objective is \"{}\"; allowed: reg:pseudohubererror, "
                                            "reg:squarederror, reg:absoluteerror",
                                            objective));
    const auto columns = static_cast<long>(xgboost_feature_names(Json{{"learner", learner}}, where).size());
    const Json& model = booster.at("model");
    const Json& trees = model.at("trees");
    const auto groups = model.at("tree_info").get<std::vector<long>>();
    bool good = parameter(parameters, "num_feature") == columns && parameter(parameters, "num_class") <= 1 &&
                groups.size() == trees.size() &&
                parameter(model.at("gbtree_model_param"), "num_trees") == static_cast<long>(trees.size());
    for (const long group : groups)
        good = good && group == 0;
    if (!good)
        throw InputError(where, "the model's counts of columns and trees do not agree with its tables");
    for (const Json& tree : trees)
        check_tree(tree, columns, where);
}

} // namespace

bool is_xgboost_model(const Json& json) {
    return json.is_object() && json.contains("learner") && json.contains("version") &&
           !json.contains("schema");
}

std::vector<std::string> xgboost_feature_names(const Json& model, const std::string& where) {
    std::vector<std::string> names;
    try {
        names = model.at("learner").at("feature_names").get<std::vector<std::string>>();
    } catch (const Json::exception&) {
        names.clear();
    }
    if (names.empty())
        throw InputError(where, "the XGBoost model has no feature_names",
                         "train it on a table whose columns carry the names of docs/formats.md");
    return names;
}

void check_xgboost_model(const Json& model, const std::string& where) {
    try {
        check_learner(model.at("learner"), where);
    } catch (const InputError&) {
        throw;
    } catch (const std::exception& error) { // a key that is missing, a value of another type, no number
        throw InputError(where, fmt::format("is no whole JSON model of XGBoost: {}", error.what()),
                         "models are written by Booster.save_model(\"NAME.json\")");
    }
}

} // namespace echosim
