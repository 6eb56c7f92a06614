// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chakra_graph.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace echosim {

// A node of an execution trace in JSON, and where it stands.
struct JsonNode {
    const nlohmann::ordered_json& value;
    std::string where; // "FILE:OFFSET" of the end of the node
};

// The id of a node; throws InputError for what is no whole number from 0.
std::uint64_t node_id(const nlohmann::ordered_json& value, const std::string& where);
std::optional<std::int64_t> whole_number(const nlohmann::ordered_json& value); // empty: no whole number
std::optional<TimeNs> micros_to_ns(const nlohmann::ordered_json& value, ImportReport& report);

// PyTorch's execution trace: adds the node to the graph.
void add_pytorch_node(const JsonNode& node, GraphBuilder& graph);

} // namespace echosim
