// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chakra/graph.h"
#include "traces/chakra/json_walk.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Tokens of a node in JSON. All are valid JSON without white space.
namespace echosim {

// The id of a node; throws InputError for what is no whole number from 0.
std::uint64_t node_id(std::string_view token, const std::string& where);
std::vector<std::uint64_t> node_ids(std::string_view list, const std::string& where); // a list, or one alone
std::optional<TimeNs> micros_to_ns(std::string_view token, ImportReport& report);
std::string text_of(std::string_view token); // of a string without its quotes, anything else as it stands

// PyTorch's execution trace: adds the node to the graph.
void add_pytorch_node(const JsonNode& node, GraphBuilder& graph);

} // namespace echosim
