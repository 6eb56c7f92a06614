// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/graph/annotate.h"
#include "simulator/graph/execution_graph.h"
#include "simulator/graph/recorded_rank.h"

#include <memory>
#include <vector>

// Last step of graph_from_trace: a rank's ops and calls as blocks of the execution graph.
namespace echosim::recorded {

struct Program {
    std::unique_ptr<RankGraph> graph;
    AnnotatedGraph annotated;
    std::vector<std::vector<std::uint64_t>> event_of; // instance -> op -> event
};

// First start and last end of the device ops and of the calls that are replayed.
TimeNs begin_of(const RecordedRank& rank);
TimeNs end_of(const RecordedRank& rank);

// `index`: of the rank in `groups`; `zero`: recorded time at which all clocks of the host start.
Program write_program(const Trace& trace, const RecordedRank& rank, const RecordedGroups& groups,
                      std::uint32_t index, TimeNs zero);

} // namespace echosim::recorded
