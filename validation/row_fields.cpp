// SPDX-License-Identifier: Apache-2.0
#include "validation/row_fields.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

// A value as a message shows it; long ones are cut.
std::string shown(const nlohmann::ordered_json& value) {
    constexpr std::size_t most = 40;
    const std::string text = value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
    return text.size() <= most ? text : text.substr(0, most) + "...";
}

} // namespace

RowFields::RowFields(const nlohmann::ordered_json& row, std::string where, std::vector<Problem>& problems)
    : row_(row), where_(std::move(where)), problems_(problems) {}

bool RowFields::has(const char* key) const {
    const auto it = row_.find(key);
    return it != row_.end() && !it->is_null();
}

void RowFields::wrong(const char* key, const char* allowed) {
    Problem problem{fmt::format("{}: {}", where_, key),
                    fmt::format("read {}; allowed: {} or null", shown(row_.at(key)), allowed),
                    {}};
    const bool known =
        std::ranges::any_of(problems_, [&](const Problem& p) { return p.where == problem.where; });
    if (!known) // a field is read more than once
        problems_.push_back(std::move(problem));
}

std::string RowFields::text(const char* key, std::string fallback) {
    if (!has(key))
        return fallback;
    if (row_.at(key).is_string())
        return row_.at(key).get<std::string>();
    wrong(key, "a text");
    return fallback;
}

double RowFields::number(const char* key, double fallback) {
    if (!has(key))
        return fallback;
    if (row_.at(key).is_number())
        return row_.at(key).get<double>();
    wrong(key, "a number");
    return fallback;
}

int RowFields::count(const char* key, int fallback) {
    const double value = number(key, fallback);
    if (std::floor(value) != value) {
        wrong(key, "a whole number");
        return fallback;
    }
    if (std::abs(value) > std::numeric_limits<int>::max()) {
        refuse(fmt::format("{} {} is out of range", key, shown(row_.at(key))));
        return fallback;
    }
    return static_cast<int>(value);
}

bool RowFields::yes(const char* key, bool fallback) {
    if (!has(key))
        return fallback;
    if (row_.at(key).is_boolean())
        return row_.at(key).get<bool>();
    wrong(key, "true, false");
    return fallback;
}

std::vector<std::string> RowFields::texts(const char* key) {
    if (!has(key))
        return {};
    const auto& list = row_.at(key);
    if (list.is_array() && std::ranges::all_of(list, [](const auto& v) { return v.is_string(); }))
        return list.get<std::vector<std::string>>();
    wrong(key, "a list of texts");
    return {};
}

std::vector<std::pair<std::string, std::string>> RowFields::text_object(const char* key) {
    std::vector<std::pair<std::string, std::string>> members;
    if (!has(key))
        return members;
    const auto& object = row_.at(key);
    if (!object.is_object()) {
        wrong(key, "an object of texts");
        return members;
    }
    RowFields fields(object, fmt::format("{}: {}", where_, key), problems_);
    for (const auto& item : object.items())
        if (fields.has(item.key().c_str()))
            members.emplace_back(item.key(), fields.text(item.key().c_str()));
    return members;
}

void RowFields::require_counts(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
        if (!has(key))
            refuse(fmt::format("{} is not stated", key));
        else if (count(key, 1) < 1)
            refuse(fmt::format("{} {} is not 1 or more", key, shown(row_.at(key))));
    }
}

void RowFields::require_range(const char* key, double low, double high) {
    const double value = number(key, low);
    if (!(value >= low && value <= high))
        refuse(fmt::format("{} {} is not between {:g} and {:g}", key, shown(row_.at(key)), low, high));
}

void RowFields::refuse(std::string reason) {
    if (unusable_.empty())
        unusable_ = std::move(reason);
}

const Gpu* catalogue_gpu(RowFields& f) {
    const std::string name = f.text("gpu");
    const auto& gpus = all_gpus();
    const auto it = std::ranges::find(gpus, name, &Gpu::name);
    if (it != gpus.end())
        return &*it;
    f.refuse(name.empty() ? "gpu is not stated" : fmt::format("GPU \"{}\" is not in the catalogue", name));
    return nullptr;
}

int pcie_gen(Arch arch) {
    if (arch == Arch::volta)
        return 3;
    const bool gen5 =
        arch == Arch::hopper || arch == Arch::blackwell || arch == Arch::cdna3 || arch == Arch::cdna4;
    return gen5 ? 5 : 4;
}

} // namespace echosim
