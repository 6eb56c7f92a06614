// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/graph/annotate.h"
#include "simulator/graph/execution_graph.h"
#include "simulator/graph/rank_class.h"
#include "traces/trace.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// The execution graph of a recorded step: what the engine needs to run it again, with the recorded times or
// others.
//
// Host: the calls of all threads that launched, recorded events or waited, in order of their start, are one
// program; the time between two calls is a host op (work of the CPU), the call itself the launch cost. A call
// that waited for the device is a host op that depends on what it waited for. Device: each CUDA stream runs
// its ops in order of launch. A stream that waited for a CUDA event depends on the op that was the tail of
// the recording stream at the moment of the record. Collectives are matched across ranks (traces/align.h);
// their time alone is that of the member that came last.
//
// What the recording does not say (which event a wait means, who launched a kernel) is inferred from the
// times where they allow one answer, and always told in `notes`.
namespace echosim {

struct RecordedStep {
    std::vector<std::unique_ptr<RankGraph>> graphs; // one a rank
    std::vector<AnnotatedGraph> annotated; // of graphs, with the recorded times (provenance measured)
    Placement placement;                   // one cost class a rank
    std::vector<std::uint32_t> classes;    // simulated rank -> class of the trace
    std::vector<std::vector<std::uint64_t>>
        event_of;                 // simulated rank -> op in program order -> event, or kNoEvent
    std::vector<TimeNs> begin_ns; // simulated rank -> recorded time of the program's begin
    std::vector<std::string> notes;
};

// Throws InputError when the trace has no device work or no times.
RecordedStep graph_from_trace(const Trace& trace);

} // namespace echosim
