// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <string>
#include <string_view>

// What the tracer of the Echo paper writes (NetX-lab/Echo-workload-tracer): graphs of operators, a JSON array
// of {"name", "op", "input_nodes", "output_nodes", input and output types and shapes}, and the operators'
// times beside it, a JSON object {"addmm": 0.128, ...} in milliseconds (mean over repeated launches).
namespace echosim {

// Either file. With a graph, its times are looked for where the tracer puts them: the path with
// "graph_profiling" replaced by "ops_profiling" ("workload_graph", "graph2" by "workload_runtime",
// "runtime"). Without starts (Trace::timed false).
Imported read_echo_json(const std::string& path);

// Whether a text begins like one of the two files.
bool is_echo_json(std::string_view head);

} // namespace echosim
