// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chakra/messages.h"

#include <cstdint>
#include <optional>
#include <string>

// Values of Chakra attributes, whatever type of number the writer chose, and nodes from their bytes.
namespace echosim::chakra {

class AttributeProto;
class Node;

std::optional<std::int64_t> whole_number(const AttributeProto& attribute); // empty: none, or beyond 64 bits
void append_json(std::string& out, const AttributeProto& attribute);       // null: no value

// Throws InputError with the offset of the message when it is no Node.
void parse_node(Node& node, const DelimitedMessages::Message& message, const std::string& path);

} // namespace echosim::chakra
