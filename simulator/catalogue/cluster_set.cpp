// SPDX-License-Identifier: Apache-2.0
// --set: the cluster is written as JSON, one value of it is replaced, and the JSON is read again, so that the
// checks and the spelling are those of a file.
#include "simulator/catalogue/cluster.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

struct Setting {
    std::string where; // "--set cluster.node.gpus=0"
    std::vector<std::string> path;
    std::string value;
};

std::vector<std::string> split(std::string_view path) {
    std::vector<std::string> parts;
    std::istringstream stream{std::string(path)};
    for (std::string part; std::getline(stream, part, '.');)
        parts.push_back(part);
    return parts;
}

std::vector<std::string> keys_of(const Json& json, const std::string& prefix) {
    std::vector<std::string> keys;
    if (json.is_array())
        for (std::size_t i = 0; i < json.size(); ++i)
            keys.push_back(prefix + std::to_string(i));
    else
        for (const auto& [key, value] : json.items())
            keys.push_back(prefix + key);
    return keys;
}

[[noreturn]] void unknown_key(const Setting& setting, const Json& level, const std::string& prefix,
                              const std::string& key) {
    std::string hint = did_you_mean(keys_of(level, ""), key);
    throw InputError(setting.where, fmt::format("unknown key \"{}{}\"{}", prefix, key, hint),
                     "valid keys here: " + join(keys_of(level, prefix)));
}

// The value that the path leads to.
Json& locate(Json& root, const Setting& setting) {
    Json* at = &root;
    std::string prefix;
    for (const std::string& key : setting.path) {
        Json* next = nullptr;
        if (at->is_object() && at->contains(key))
            next = &(*at)[key];
        std::size_t index = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
        const bool is_index = error == std::errc() && end == key.data() + key.size();
        if (at->is_array() && is_index && index < at->size())
            next = &(*at)[index];
        if (next == nullptr && !at->is_structured())
            throw InputError(setting.where, fmt::format("\"{}\" is a value and has no key \"{}\"",
                                                        prefix.substr(0, prefix.size() - 1), key));
        if (next == nullptr)
            unknown_key(setting, *at, prefix, key);
        at = next;
        prefix += key + '.';
    }
    const bool replaceable = !at->is_structured() || prefix == "gpu.";
    if (!replaceable)
        throw InputError(setting.where,
                         fmt::format("\"{}\" is a group of values", prefix.substr(0, prefix.size() - 1)),
                         "set one of " + join(keys_of(*at, prefix)));
    return *at;
}

// The whole text as a number, with an optional suffix.
std::optional<double> number_of(std::string_view text, std::string_view suffix) {
    if (!text.ends_with(suffix))
        return std::nullopt;
    text.remove_suffix(suffix.size());
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
        return std::nullopt;
    return number;
}

Json multiplied(const Json& old, double factor, const Setting& setting) {
    if (!(factor >= 0) || factor > 1e6)
        throw InputError(setting.where, "a factor lies between 0x and 1000000x");
    if (old.is_number())
        return old.get<double>() * factor;
    if (old.is_string()) {
        const std::string& text = old.get_ref<const std::string&>();
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc())
            return fmt::format("{}{}", number * factor, end);
    }
    throw InputError(setting.where, fmt::format("the present value {} cannot be multiplied", old.dump()));
}

Json replacement(const Json& old, const Setting& setting) {
    if (const auto factor = number_of(setting.value, "x"))
        return multiplied(old, *factor, setting);
    if (old.is_number()) {
        const auto number = number_of(setting.value, "");
        if (!number)
            throw InputError(setting.where, fmt::format("\"{}\" is not a number", setting.value));
        return *number;
    }
    if (old.is_boolean()) {
        if (setting.value != "true" && setting.value != "false")
            throw InputError(setting.where, fmt::format("\"{}\" is neither true nor false", setting.value));
        return setting.value == "true";
    }
    return setting.value;
}

} // namespace

void set_value(Cluster& cluster, std::string_view path, std::string_view value) {
    const bool of_gpu = path.starts_with("gpu.");
    const Setting setting{fmt::format("--set {}{}={}", of_gpu ? "" : "cluster.", path, value), split(path),
                          std::string(value)};
    if (setting.path.empty())
        throw InputError(setting.where, "the key is empty");
    Json json = cluster_to_json(cluster);
    // Keys that are left out of the file while they have their default can be set as well.
    const bool default_efficiency_used = cluster.fabric.efficiency == 0;
    if (default_efficiency_used)
        json["fabric"]["efficiency"] = default_efficiency(cluster.fabric.kind);
    for (const char* key : {"nccl", "source"})
        if (!json.contains(key))
            json[key] = "";
    if (!json["node"]["nvlink"].contains("peers"))
        json["node"]["nvlink"]["peers"] = 0;
    if (!json.contains("sites"))
        json["sites"] = {{"count", 1}, {"bandwidth", "400Gbps"}, {"rtt", "20ms"}};
    Json& target = locate(json, setting);
    target = replacement(target, setting);
    if (path == "node.gpus" || path == "node.nics.count") // what follows from them
        json["node"]["nics"].erase("gpus_per_nic");
    if (default_efficiency_used && path != "fabric.efficiency")
        json["fabric"].erase("efficiency");
    cluster = cluster_from_json(json, setting.where);
}

} // namespace echosim
