// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/engine/timeline.h"
#include "simulator/graph/annotate.h"
#include "simulator/graph/rank_class.h"
#include "simulator/workload/job.h"
#include "traces/trace.h"

#include <vector>

namespace echosim {

struct TimelineSource {
    const Job& job;
    const Placement& placement;
    const std::vector<AnnotatedGraph>& graphs; // by cost class
    const Timeline& timeline;
    std::vector<int> ranks; // global ranks to show, a class each; empty: one class a recorded rank
};

// Events of a trace of these ranks (empty: of one class a recorded rank), without making it.
std::uint64_t count_trace_events(const TimelineSource& source);

// The recorded ranks as a trace: a class each with the ranks that it stands for, a stream per CUDA stream
// that was used and one for the host thread, flows between the members of collectives and the ends of
// transfers, the memory curve as a counter. `meta` is a JSON text for the file's META section.
Trace trace_of(const TimelineSource& source, std::string meta);

} // namespace echosim
