// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"
#include "traces/trace.h"

#include <cstdint>
#include <string>
#include <vector>

// Replay of a recorded step: its execution graph (simulator/graph/graph_from_trace.h) run by the engine with
// the recorded durations, without interference and contention, and compared with the recorded timeline.
//
// Span: from the start of the first to the end of the last device op or replayed call. Of a rank, in the
// span of that rank:
//   busy       union of all device work
//   exposed    union of communication while no other device work of the rank runs
//   idle       no device work runs: span - busy
// Ops are device ops; the start of an op counts from the begin of the whole recording, the same for all
// ranks.
namespace echosim {

struct ReplayTimes {
    TimeNs span = 0;
    TimeNs busy = 0;
    TimeNs exposed = 0;
    TimeNs idle = 0;
};

// Absolute differences, replayed - recorded, of the device ops of a rank (or of all).
struct ReplayOpErrors {
    std::uint64_t ops = 0;
    TimeNs start_median = 0, start_p95 = 0, start_worst = 0;
    TimeNs duration_median = 0, duration_p95 = 0, duration_worst = 0;
};

struct ReplayRow {
    std::uint32_t rank_class = 0; // row of Trace::classes; of the total: kNoRow
    std::string name;             // "rank 3"; "total"
    ReplayTimes recorded;         // total: span of all ranks; the other times are means over the ranks
    ReplayTimes replayed;
    ReplayOpErrors errors;
    // 100 (replayed - recorded) / recorded of the span; 0 of an empty span
    double span_error_percent() const;
};

// One device op in both timelines.
struct ReplayedOp {
    std::uint64_t event = kNoEvent; // of the trace
    TimeNs start = 0;               // replayed, on the clock of the trace
    TimeNs duration = 0;
};

struct ReplayComparison {
    std::vector<ReplayRow> ranks; // classes with device work, in the order of the trace
    ReplayRow total;
    std::vector<ReplayedOp> ops;    // in order of rank and launch
    std::vector<std::string> notes; // what the recording does not say, and what was inferred instead
};

// Throws InputError when the trace has no device work or no times.
ReplayComparison replay(const Trace& trace);

} // namespace echosim
