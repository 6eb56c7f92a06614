// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// From the tracer output of the Echo paper to a graph. Part of the reading of such files.
namespace echosim {

struct EchoNode {
    std::string name; // "addmm_3", "AddmmBackward00", "ddp_Allreduce_0"
    std::string op;   // "torch.addmm", "AddmmBackward0", "ddp_Allreduce"
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    bool makes_tensor = false;
    std::string input_type; // of the first input: "torch.float32"
    std::uint64_t bucket_elements = 0;
    std::string args; // JSON object of the rest
};

using EchoTimes = std::vector<std::pair<std::string, TimeNs>>; // operator -> time

// Nodes with the times of those that have one. files: the graph, then the times.
Imported echo_graph(std::vector<EchoNode> nodes, const EchoTimes& times,
                    const std::vector<std::string>& files);

// Times alone: one operator after the other, as the tracer ran them.
Imported echo_chain(const EchoTimes& times, const std::string& file);

} // namespace echosim
