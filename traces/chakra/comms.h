// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chakra/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What PyTorch records of a collective in its execution trace: the operator record_param_comms. Its inputs
// are
//   tensors, number of the call, process group, rank, word, split sizes in, split sizes out
// and from schema 1.0.3 first global rank, stride and size of the group; from 1.1.0 the same again by name in
// "attrs". The rank is the root or the other end where the collective has one, else the caller's in the
// group.
namespace echosim {

// What attributes say.
struct CommRecord {
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

// Inputs, their types and outputs: lists as JSON text.
struct CommTexts {
    std::string_view inputs;
    std::string_view types;
    std::string_view outputs;
};

// False: the attribute is none of these.
bool take_comm_attribute(CommRecord& record, std::string_view key, std::string_view json_value);

// The collective of the record, its group told to the graph; empty: a wait, or none that is known.
std::optional<GraphComm> recorded_comm(CommRecord record, const CommTexts& texts, GraphBuilder& graph);

} // namespace echosim
