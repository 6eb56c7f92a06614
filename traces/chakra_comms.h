// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chakra_graph.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

// What PyTorch records of a collective in its execution trace: the operator record_param_comms. Its inputs are
//   tensors, number of the call, process group, rank, word, split sizes in, split sizes out
// and from schema 1.0.3 first global rank, stride and size of the group; from 1.1.0 the same again by name in
// "attrs". The rank is the root or the other end where the collective has one, else the caller's in the group.
namespace echosim {

struct CommRecord {
    nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
    nlohmann::ordered_json input_types = nlohmann::ordered_json::array();
    nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
    std::string word; // "allreduce"
    std::string dtype;
    std::string group;
    std::string description;
    std::uint64_t in_elements = 0;
    std::uint64_t out_elements = 0;
    std::uint64_t group_size = 0;
    std::int64_t rank_start = -1;
    std::int64_t rank_stride = 0;
};

// False: the attribute is none of these.
bool take_comm_attribute(CommRecord& record, const std::string& key, const nlohmann::ordered_json& value);

// The collective of the record, its group told to the graph; empty: a wait, or none that is known.
std::optional<GraphComm> recorded_comm(CommRecord& record, GraphBuilder& graph);

} // namespace echosim
