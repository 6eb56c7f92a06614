// SPDX-License-Identifier: Apache-2.0
#include "traces/echo_json.h"

#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/core/json.h"
#include "traces/workloads/echo_graph.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr Bytes kMostText = 256_MiB;
constexpr std::size_t kHead = 1U << 14U;
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kNumber = "0123456789.eE+-";

// Takes blanks and then `c` off the text.
bool take(std::string_view& text, char c) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (!text.starts_with(c))
        return false;
    text.remove_prefix(1);
    return true;
}

// {"input_ids": 0.0041, "size": 0.0037, ...: names and decimal numbers alone, as far as the head shows.
bool is_times(std::string_view head) {
    if (!take(head, '{'))
        return false;
    for (int pairs = 0; pairs < 4; ++pairs) {
        if (!take(head, '"'))
            return false;
        const std::size_t end = head.find('"');
        if (end == std::string_view::npos || end == 0)
            return false;
        head.remove_prefix(end + 1);
        if (!take(head, ':'))
            return false;
        head.remove_prefix(std::min(head.find_first_not_of(kBlanks), head.size()));
        const std::string_view number = head.substr(0, head.find_first_not_of(kNumber));
        if (number.find('.') == std::string_view::npos)
            return false;
        head.remove_prefix(number.size());
        if (take(head, '}'))
            return true;
        if (!take(head, ','))
            return false;
    }
    return true;
}

bool is_graph(std::string_view head) {
    if (!take(head, '[') || !take(head, '{'))
        return false;
    const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
    return has("\"op\"") && has("\"input_nodes\"") && has("\"output_nodes\"");
}

std::string name_at(const std::string& file, std::size_t node) {
    return fmt::format("{}: node {}", file, node);
}

// The texts of a list of the node.
std::vector<std::string> names_of(const Json& node, const char* key, const std::string& where) {
    const auto found = node.find(key);
    if (found == node.end() || !found->is_array())
        throw InputError(where, fmt::format("\"{}\" is missing or no list of names", key));
    std::vector<std::string> names;
    for (const Json& entry : *found) {
        if (!entry.is_string())
            throw InputError(where,
                             fmt::format("\"{}\" holds {} where a name belongs", key, entry.type_name()));
        names.push_back(entry.get<std::string>());
    }
    return names;
}

std::string text_of(const Json& node, const char* key, const std::string& where) {
    const auto found = node.find(key);
    if (found == node.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
        throw InputError(where, fmt::format("\"{}\" is missing or no text", key));
    return found->get<std::string>();
}

EchoNode node_of(const Json& json, const std::string& where) {
    if (!json.is_object())
        throw InputError(where, fmt::format("{} where an object belongs", json.type_name()));
    EchoNode node;
    node.name = text_of(json, "name", where);
    node.op = text_of(json, "op", where);
    node.inputs = names_of(json, "input_nodes", where);
    node.outputs = names_of(json, "output_nodes", where);
    Json args = Json::object();
    for (const auto& item : json.items()) {
        const std::string& key = item.key();
        if (key == "name" || key == "input_nodes" || key == "output_nodes")
            continue;
        if (!item.value().empty()) // empty lists say nothing
            args[key] = item.value();
        if (key == "output_types")
            node.makes_tensor = item.value().is_array() && !item.value().empty();
        if (key == "input_types" && item.value().is_array() && !item.value().empty() &&
            item.value().front().is_string())
            node.input_type = item.value().front().get<std::string>();
        if (key == "attrs" && item.value().is_object() && item.value().contains("bucket_size")) {
            const Json& size = item.value()["bucket_size"];
            if (!size.is_number_unsigned() || size.get<std::uint64_t>() > (1ULL << 50U))
                throw InputError(where, "\"bucket_size\" is no number of elements");
            node.bucket_elements = size.get<std::uint64_t>();
        }
    }
    node.args = args.dump(-1, ' ', false, Json::error_handler_t::replace);
    return node;
}

EchoTimes times_of(const Json& json, const std::string& file) {
    if (!json.is_object())
        throw InputError(file, "no object of operators and their times in milliseconds");
    EchoTimes times;
    for (const auto& item : json.items()) {
        const bool number = item.value().is_number();
        const double value = number ? item.value().get<double>() : -1;
        if (!number || !std::isfinite(value) || value < 0 || value > 1e9)
            throw InputError(
                fmt::format("{}: {}", file, item.key()),
                "no time in milliseconds from 0 to 1e9: " +
                    item.value().dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 64));
        times.emplace_back(item.key(), static_cast<TimeNs>(std::llround(value * 1e6)));
    }
    return times;
}

// Where the tracer puts the times of a graph, if the file is there.
std::optional<std::string> times_beside(const std::string& path) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kWords{
        {{"graph_profiling", "ops_profiling"},
         {"workload_graph", "workload_runtime"},
         {"graph2", "runtime"}}};
    std::string other = path;
    for (const auto& [from, to] : kWords)
        for (std::size_t at = other.find(from); at != std::string::npos;
             at = other.find(from, at + to.size()))
            other.replace(at, from.size(), to);
    std::error_code error;
    if (other == path || !std::filesystem::is_regular_file(other, error))
        return std::nullopt;
    return other;
}

Json read_json(const std::string& path) {
    return parse_json(read_text_file(path, kMostText), path, kMostText);
}

} // namespace

bool is_echo_json(std::string_view head) {
    return is_graph(head.substr(0, kHead)) || is_times(head.substr(0, kHead));
}

Imported read_echo_json(const std::string& path) {
    const Json json = read_json(path);
    if (json.is_object())
        return echo_chain(times_of(json, path), path);
    if (!json.is_array() || json.empty())
        throw InputError(path, "neither a list of operators nor an object of their times");
    EchoTimes times;
    std::vector<std::string> files = {path};
    if (const auto beside = times_beside(path)) {
        times = times_of(read_json(*beside), *beside);
        files.push_back(*beside);
    }
    std::vector<EchoNode> nodes;
    for (std::size_t i = 0; i < json.size(); ++i)
        nodes.push_back(node_of(json[i], name_at(path, i)));
    return echo_graph(std::move(nodes), times, files);
}

} // namespace echosim
