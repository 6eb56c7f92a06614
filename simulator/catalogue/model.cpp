// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/model.h"

#include "embedded/catalogue_models.h"
#include "simulator/core/json.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

namespace echosim {
namespace {

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

// "--num-layers 32 --swiglu" as pairs of flag and value; a switch has none.
void append_flags(CatalogueModel& model, const std::string& line) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        if (word.rfind("--", 0) == 0)
            model.flags.emplace_back(word, "");
        else
            model.flags.back().second = word;
    }
}

std::vector<CatalogueModel> read_models() {
    std::vector<CatalogueModel> models;
    const nlohmann::ordered_json json = parse_json(embedded::kModels, "models.json");
    for (const auto& entry : json.at("models")) {
        CatalogueModel model;
        model.id = entry.at("id").get<std::string>();
        model.aliases = entry.at("aliases").get<std::vector<std::string>>();
        model.description = entry.at("description").get<std::string>();
        model.source = entry.at("source").get<std::string>();
        for (const auto& line : entry.at("flags"))
            append_flags(model, line.get<std::string>());
        models.push_back(std::move(model));
    }
    return models;
}

} // namespace

const std::vector<CatalogueModel>& all_models() {
    static const std::vector<CatalogueModel> models = read_models();
    return models;
}

const CatalogueModel* find_model(std::string_view name) {
    const std::string wanted = lower_case(name);
    for (const CatalogueModel& model : all_models()) {
        if (lower_case(model.id) == wanted)
            return &model;
        for (const std::string& alias : model.aliases) {
            if (lower_case(alias) == wanted)
                return &model;
        }
    }
    return nullptr;
}

} // namespace echosim
