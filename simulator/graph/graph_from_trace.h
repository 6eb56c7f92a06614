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
// others. From the recording it takes durations, the delays of the host, and what waited for what; no start
// of a device op.
//
// Host. The calls of all threads, in order of their start, are one program.
//   - The time between two calls of a thread is work of the CPU, the call itself the launch cost. Calls that
//     neither launch nor wait (polling with cudaEventQuery, too) are work of the CPU.
//   - Threads run side by side, each with a clock of its own, except those that take turns with the busiest
//     one (autograd's: few bursts for their number of calls, none at the time of one of its calls): they
//     share its clock, so that what one waits for delays the other.
//   - A call that waited is a host op behind the ops that it waited for; what is left of it after they ended
//     is work of the CPU. These are the tails, at the moment of the call, of the stream (of all streams), or
//     what the event stands behind; for a copy to the host the copy. If the stream is not recorded: that of
//     the thread's last launch if its tail ended before the call did, else, of a call of 20 us and more, the
//     op that ended last, within 30 us before its return. Any other call of 20 us and more that returned
//     within 30 us after the device became idle waited for the device (cudaFree: whenever it returned); a
//     launch that took so long behind 256 ops and more waited for the op that ended then (full queue).
// Device.
//   - A stream runs its ops in order of launch; several ops of one launch (a CUDA graph) in recorded order.
//     An op is launched at the end of its call, or earlier where it started earlier; from there to the start
//     on an idle stream it takes the rank's median of that time (launch latency). Before an op on a busy
//     stream: the rank's mean gap before ops of its name, or, of fewer than four, before kernels, kernels of
//     one launch, or copies.
//   - Two ops of a stream that overlap (programmatic dependent launch) overlap again by the same time.
//   - A stream that waited for a CUDA event depends on the tail of the recording stream at the moment of the
//     record. Where the event is not recorded, n waits before a launch mean up to n of the streams lately in
//     use, those first whose last op ended last before the launched op began.
//   - An op of a simulated timeline depends on the op that the timeline names as the one it waited for.
//   - An op that started more than 4 us after all that (a stream of its own priority, an implicit barrier of
//     the default stream) depends on the op of another stream that ended last, within 30 us before it. If
//     there is none, the replay starts it earlier, and notes say so; but the first op of a stream that waited
//     while the device was idle (busy for less than a tenth of the time) waited for work of before the
//     recording: the stream is occupied so long.
//   - An op without a call in the file follows the op before it on its stream after the recorded time, or,
//     if it started late, the op of another stream as above. The first one of a stream: at its recorded
//     start.
//   - No dependency is used that the times contradict (by more than 2 us).
// Between ranks. Matched collectives and transfers (traces/align.h) start when the last member comes and end
// together; their time alone is the shortest of their members' durations, that of the member that came last.
// Where peers are missing the recorded duration stands, with the wait for them inside.
namespace echosim {

struct RecordedStep {
    std::vector<std::unique_ptr<RankGraph>> graphs; // one a rank
    std::vector<AnnotatedGraph> annotated; // of graphs, with the recorded times (provenance measured)
    Placement placement;                   // one cost class a rank
    std::vector<std::uint32_t> classes;    // simulated rank -> class of the trace
    // simulated rank -> instance of the program -> op of its block -> event of the trace, kNoEvent: host
    std::vector<std::vector<std::vector<std::uint64_t>>> event_of;
    TimeNs zero_ns = 0;           // recorded time at which the engine's clock is zero
    std::vector<TimeNs> begin_ns; // simulated rank -> start of the first op or call
    std::vector<TimeNs> end_ns;   // simulated rank -> end of the last op or call
    std::vector<std::string> notes;
};

// ignored: every rank runs on its own, as if its peers had not been recorded.
enum class Peers : std::uint8_t { matched, ignored };

// Throws InputError when the trace has no device work or no times.
RecordedStep graph_from_trace(const Trace& trace, Peers peers = Peers::matched);

} // namespace echosim
