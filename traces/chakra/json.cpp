// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/json.h"

#include "simulator/core/error.h"
#include "traces/chakra/fields.h"
#include "traces/json_text.h"
#include "traces/kineto/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <limits>

namespace echosim {
namespace {

std::string plain_key(std::string_view key) {
    std::string out;
    for (const char c : key) {
        if (c != '_') {
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return out;
}

std::optional<std::int64_t> number_or_flag(std::string_view token) {
    if (token == "true" || token == "false") {
        return token == "true" ? 1 : 0;
    }
    return token.starts_with('"') ? std::nullopt : whole_number(token);
}

struct Place {
    const std::string& where;
    ImportReport& report;
};

// The fields of a node of Chakra's JSON form, whose keys differ in case and underscores from file to file.
// False: no field of an event holds it.
bool take_field(ChakraFields& fields, const std::string& key, std::string_view value, const Place& at) {
    const std::optional<std::int64_t> number = number_or_flag(value);
    if (key == "id") {
        fields.node.id = node_id(value, at.where);
    } else if (key == "name") {
        fields.node.name = text_of(value);
    } else if ((key == "nodetype" || key == "type") && number) {
        fields.type = static_cast<int>(std::clamp<std::int64_t>(*number, -1, 1000));
    } else if (key == "ctrldeps") {
        fields.node.control = node_ids(value, at.where);
    } else if (key == "datadeps") {
        fields.node.data = node_ids(value, at.where);
    } else if (key == "runtime" || key == "durationmicros") {
        fields.node.duration = micros_to_ns(value, at.report);
    } else if (key == "starttimemicros") {
        fields.node.start = micros_to_ns(value, at.report);
    } else if (key == "pgname" || key == "commgroup") {
        fields.group = text_of(value);
    } else {
        const auto field = std::find_if(fields.numbers.begin(), fields.numbers.end(),
                                        [&](const auto& entry) { return plain_key(entry.first) == key; });
        return number && field != fields.numbers.end() && fields.take(field->first, *number);
    }
    return true;
}

void add_chakra_node(const JsonNode& node, GraphBuilder& graph) {
    ChakraFields fields;
    bool named = false;
    JsonMembers members(node.text);
    while (members.next()) {
        const std::string key = plain_key(members.key());
        named = named || key == "id";
        if (!take_field(fields, key, members.value(), {node.where, graph.report})) {
            add_argument(fields.node.args, text_of('"' + std::string(members.key()) + '"'), members.value());
        }
    }
    if (!named) {
        throw InputError(node.where, "a node without an id", "every node of workload_graph has an Id");
    }
    graph.add(chakra_node(std::move(fields), graph.report));
}

} // namespace

std::uint64_t node_id(std::string_view token, const std::string& where) {
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), id);
    if (error != std::errc{} || end != token.data() + token.size()) {
        throw InputError(where, fmt::format("{} as the id of a node", token.substr(0, 80)),
                         "ids of nodes are whole numbers from 0");
    }
    return id;
}

std::vector<std::uint64_t> node_ids(std::string_view list, const std::string& where) {
    if (!list.starts_with('[')) {
        return {node_id(list, where)};
    }
    std::vector<std::uint64_t> ids;
    for (list = list.substr(1, list.size() - 2); !list.empty();) {
        const std::size_t end = std::min(list.find(','), list.size());
        ids.push_back(node_id(list.substr(0, end), where));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return ids;
}

std::optional<TimeNs> micros_to_ns(std::string_view token, ImportReport& report) {
    if (token == "null") {
        return std::nullopt;
    }
    const std::optional<TimeNs> ns = decimal_ns(token, 1000);
    if (!ns || *ns > std::numeric_limits<TimeNs>::max() / 2) {
        report.warn("time_out_of_range");
        return std::nullopt;
    }
    if (*ns < 0) {
        report.warn("negative_duration");
        return std::nullopt;
    }
    return ns;
}

std::string text_of(std::string_view token) {
    if (!token.starts_with('"')) {
        return std::string(token);
    }
    std::string scratch;
    return std::string(json_unescaped(token.substr(1, token.size() - 2), scratch));
}

Imported read_chakra_json(const std::string& path) {
    GraphBuilder graph(path, {});
    JsonWalk walk(path, graph.report);
    const std::string header = walk.run([&](const JsonNode& node) {
        walk.list() == "nodes" ? add_pytorch_node(node, graph) : add_chakra_node(node, graph);
    });
    if (walk.list().empty()) {
        throw InputError(path + ":0", "no list of nodes",
                         "an execution trace has \"nodes\" (PyTorch) or \"workload_graph\" (Chakra)");
    }
    const bool pytorch = walk.list() == "nodes";
    graph.report.format = pytorch ? "PyTorch execution trace" : "Chakra JSON";
    graph.set_meta("{\"format\":" + json_string(graph.report.format) + (header.empty() ? "" : ",") + header +
                   '}');
    const std::string object = '{' + header + '}';
    for (JsonMembers members(object); members.next();) {
        const std::optional<std::int64_t> rank =
            members.key() == "rank" ? number_or_flag(members.value()) : std::nullopt;
        if (rank && *rank >= 0 && *rank <= std::numeric_limits<int>::max()) {
            graph.set_rank(static_cast<int>(*rank));
        }
    }
    if (pytorch) {
        graph.order_by_id();
    }
    return graph.finish();
}

} // namespace echosim
