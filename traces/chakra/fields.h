// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chakra/graph.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace echosim {

// A node of Chakra, from protobuf or JSON, before it is known what kind of event it is.
struct ChakraFields {
    GraphNode node; // kind, lane, copy and comm are filled in by chakra_node(); args without the last brace
    int type = 0;   // NodeType of the schema
    std::string group;
    std::string input_types; // "['Tensor(float)']"
    std::array<std::pair<std::string_view, std::optional<std::int64_t>>, 10> numbers{{{"is_cpu_op", {}},
                                                                                      {"tid", {}},
                                                                                      {"stream", {}},
                                                                                      {"tensor_size", {}},
                                                                                      {"comm_type", {}},
                                                                                      {"comm_size", {}},
                                                                                      {"comm_src", {}},
                                                                                      {"comm_dst", {}},
                                                                                      {"comm_tag", {}},
                                                                                      {"root", {}}}};

    std::optional<std::int64_t> number(std::string_view name) const;
    // False: no field of an event holds an attribute of this name.
    bool take(std::string_view name, std::int64_t number);
};

// Attributes of PyTorch that only number records (rf_id), and those that say that there is nothing.
bool says_nothing(std::string_view name, std::optional<std::int64_t> number, bool empty_text);
bool is_group_name(std::string_view attribute);
void add_argument(std::string& args, std::string_view name, std::string_view json_value);
GraphNode chakra_node(ChakraFields&& fields, ImportReport& report);

} // namespace echosim
