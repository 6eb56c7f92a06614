// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra_json.h"

#include "simulator/core/error.h"
#include "traces/chakra_fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 200;

// The characters of the file; says how far the parser has come.
struct TrackedChar {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at = nullptr;
    const char** reached = nullptr;

    reference operator*() const { return *at; }
    TrackedChar& operator++() {
        *reached = ++at;
        return *this;
    }
    bool operator==(const TrackedChar& other) const { return at == other.at; }
};

std::string plain_key(std::string_view key) {
    std::string out;
    for (const char c : key) {
        if (c != '_') {
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return out;
}

std::vector<std::uint64_t> ids_of(const Json& value, const std::string& where) {
    std::vector<std::uint64_t> ids;
    for (const Json& id : value.is_array() ? value : Json::array({value})) {
        if (!id.is_number_unsigned()) {
            throw InputError(where, fmt::format("a dependency that is no node id: {}", id.dump().substr(0, 80)),
                             "dependencies are lists of the ids of nodes");
        }
        ids.push_back(id.get<std::uint64_t>());
    }
    return ids;
}

struct Place {
    const std::string& where;
    ImportReport& report;
};

// The fields of a node of Chakra's JSON form, whose keys differ in case and underscores from file to file.
bool take_field(ChakraFields& fields, const std::string& key, const Json& value, const Place& at) {
    const std::optional<std::int64_t> number = whole_number(value);
    if (key == "id") {
        fields.node.id = node_id(value, at.where);
    } else if (key == "name" && value.is_string()) {
        fields.node.name = value.get<std::string>();
    } else if ((key == "nodetype" || key == "type") && number) {
        fields.type = static_cast<int>(std::clamp<std::int64_t>(*number, -1, 1000));
    } else if (key == "ctrldeps") {
        fields.node.control = ids_of(value, at.where);
    } else if (key == "datadeps") {
        fields.node.data = ids_of(value, at.where);
    } else if (key == "runtime" || key == "durationmicros") {
        fields.node.duration = micros_to_ns(value, at.report);
    } else if (key == "starttimemicros") {
        fields.node.start = micros_to_ns(value, at.report);
    } else if (key == "pgname" || key == "commgroup") {
        fields.group = value.is_string() ? value.get<std::string>() : value.dump();
    } else if (number || value.is_boolean()) {
        const auto field = std::find_if(fields.numbers.begin(), fields.numbers.end(),
                                        [&](const auto& entry) { return plain_key(entry.first) == key; });
        return field != fields.numbers.end() &&
               fields.take(field->first, number ? *number : value.get<bool>() ? 1 : 0);
    } else {
        return false;
    }
    return true;
}

void add_chakra_node(const JsonNode& node, GraphBuilder& graph) {
    ChakraFields fields;
    bool named = false;
    for (const auto& [key, value] : node.value.items()) {
        const std::string plain = plain_key(key);
        named = named || plain == "id";
        if (!take_field(fields, plain, value, {node.where, graph.report})) {
            add_argument(fields.node.args, key, value.dump());
        }
    }
    if (!named) {
        throw InputError(node.where, "a node without an id", "every node of workload_graph has an Id");
    }
    graph.add(chakra_node(std::move(fields), graph.report));
}

// Takes each element of "nodes" or "workload_graph" as soon as it is whole, so that no tree of the file is
// built.
class NodeParser {
  public:
    NodeParser(const std::string& path, std::string_view text, GraphBuilder& graph)
        : path_(path), text_(text), reached_(text.data()), graph_(graph) {}

    void run() {
        Json header;
        try {
            header = Json::parse(TrackedChar{text_.data(), &reached_},
                                 TrackedChar{text_.data() + text_.size(), &reached_},
                                 [this](int depth, Json::parse_event_t event, Json& parsed) {
                                     return on_event(depth, event, parsed);
                                 });
        } catch (const Json::parse_error& error) {
            throw InputError(fmt::format("{}:{}", path_, error.byte > 0 ? error.byte - 1 : 0),
                             fmt::format("not JSON: {}", plain_reason(error.what())),
                             "the file is cut off or damaged; write it again");
        } catch (const Json::exception& error) {
            throw InputError(where(), plain_reason(error.what()), "the file is damaged; write it again");
        }
        if (!found_) {
            throw InputError(path_ + ":0", "no list of nodes",
                             "an execution trace has \"nodes\" (PyTorch) or \"workload_graph\" (Chakra)");
        }
        Json meta = Json::object({{"format", graph_.report.format}});
        for (const auto& [key, value] : header.items()) {
            if (key != "nodes" && key != "workload_graph") {
                meta[key] = value;
            }
        }
        if (header.contains("rank") && header["rank"].is_number_unsigned() && header["rank"] <= 0x7fffffff) {
            graph_.set_rank(header["rank"].get<int>());
        }
        graph_.set_meta(meta.dump());
        if (pytorch_) {
            graph_.order_by_id();
        }
    }

  private:
    std::string where() const {
        return fmt::format("{}:{}", path_, static_cast<std::size_t>(reached_ - text_.data()));
    }

    // The reason without the library's number of it.
    static std::string plain_reason(std::string_view what) {
        const std::size_t end = what.find("] ");
        return std::string(end == std::string_view::npos ? what : what.substr(end + 2));
    }

    // False: the value is not kept.
    bool on_event(int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > kMaxDepth) {
            throw InputError(where(), fmt::format("JSON nested deeper than {}", kMaxDepth),
                             "no execution trace is: the file is damaged");
        }
        if (depth == 1 && event == Json::parse_event_t::key) {
            const std::string& key = parsed.get_ref<const std::string&>();
            in_nodes_ = key == "nodes" || key == "workload_graph";
            if (in_nodes_) {
                found_ = true;
                pytorch_ = key == "nodes";
                graph_.report.format = pytorch_ ? "PyTorch execution trace" : "Chakra JSON";
            }
        }
        if (depth == 2 && in_nodes_ && event == Json::parse_event_t::object_end) {
            const JsonNode node{parsed, where()};
            pytorch_ ? add_pytorch_node(node, graph_) : add_chakra_node(node, graph_);
            return false;
        }
        return true;
    }

    const std::string& path_;
    std::string_view text_;
    const char* reached_;
    GraphBuilder& graph_;
    bool in_nodes_ = false;
    bool found_ = false;
    bool pytorch_ = false;
};

} // namespace

std::uint64_t node_id(const Json& value, const std::string& where) {
    if (!value.is_number_unsigned()) {
        throw InputError(where, fmt::format("{} as the id of a node", value.dump().substr(0, 80)),
                         "ids of nodes are whole numbers from 0");
    }
    return value.get<std::uint64_t>();
}

std::optional<std::int64_t> whole_number(const Json& value) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        return number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                   ? std::optional(static_cast<std::int64_t>(number))
                   : std::nullopt;
    }
    return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

std::optional<TimeNs> micros_to_ns(const Json& value, ImportReport& report) {
    if (value.is_number_unsigned()) {
        return nanoseconds(value.get<std::uint64_t>(), report);
    }
    if (value.is_null()) {
        return std::nullopt;
    }
    const double ns = value.is_number() ? value.get<double>() * 1000 : -1;
    if (ns >= 0 && ns < 4e18) {
        return std::llround(ns);
    }
    report.warn("time_out_of_range");
    return std::nullopt;
}

Imported read_chakra_json(const std::string& path, std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    GraphBuilder graph(path, {});
    NodeParser(path, text, graph).run();
    return graph.finish();
}

} // namespace echosim
