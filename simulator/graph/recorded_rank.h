// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"
#include "traces/trace.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

// One recorded rank on its way to an execution graph; inside of graph_from_trace, not for other folders. The
// rules are those of graph_from_trace.h.
namespace echosim::recorded {

inline constexpr std::uint32_t kNothing = 0xFFFFFFFF;
inline constexpr TimeNs kNever = std::numeric_limits<TimeNs>::min();
inline constexpr TimeNs kRounding = 2'000; // ends and starts of traces in whole microseconds disagree by this
inline constexpr TimeNs kLate = 4'000;     // an op that starts later than this after all it is known to wait
                                           // for waited for something else
inline constexpr TimeNs kHandover = 30'000;   // at most this between the end of an op and what waited for it
inline constexpr TimeNs kLongCall = 20'000;   // a call that takes longer may have waited for the device
inline constexpr TimeNs kLongestGap = 20'000; // between two ops of a busy stream; more is a wait

enum class Gap : std::uint8_t { kernel, in_graph, copy };
inline constexpr std::size_t kGaps = 3;

// Device work. Ops of a rank are numbered in order of their enqueue.
struct RecordedOp {
    std::uint64_t event = kNoEvent;
    TimeNs start = 0, end = 0;
    TimeNs enqueued = 0; // start of its call; without one: its own start, or before
    std::uint32_t stream = 0;
    std::uint32_t call = kNothing;
    std::uint32_t before = kNothing; // on its stream
    std::uint32_t first_edge = 0;    // edges into it: [first_edge, first_edge of the next op)
    NameId name = kNoName;
    EventKind kind = EventKind::kernel;
    Gap kind_of_gap = Gap::kernel;
    TimeNs gap = 0; // to the op before it on a busy stream
};

enum class CallKind : std::uint8_t { launch, record, wait, sync, other };

// A call of the runtime or driver that launched, recorded, waited or took long.
struct RecordedCall {
    TimeNs start = 0, end = 0;
    std::uint64_t event = kNoEvent;
    std::uint32_t thread = 0;
    std::uint32_t clock = 0;
    std::uint32_t correlation = 0;
    std::uint32_t first_op = 0, ops = 0;
    SyncOp sync;                       // of record, wait, sync
    std::uint32_t event_op = kNothing; // of sync: the op that its event stands behind, where known
    bool blocks = false;               // of launch: returns after its op (a copy to pageable memory)
    std::int64_t wait_on_stream = -1;  // of wait and sync: CUDA stream of the event, where the record says so
    std::uint32_t first_awaited = 0, awaited = 0; // RecordedRank::awaited: ops whose end the call waited for
    CallKind kind = CallKind::other;
};

// `to` starts after `from` has ended.
struct Edge {
    std::uint32_t from = 0, to = 0;
};

// What notes() tells.
struct Counts {
    std::uint64_t ops = 0, comm = 0;
    std::uint64_t unlaunched = 0;   // device ops without a call
    std::uint64_t exact_edges = 0;  // of recorded events
    std::uint64_t contradicted = 0; // recorded edges, or syncs, that the times contradict
    std::uint64_t wait_edges = 0;   // of waits whose event is not recorded
    std::uint64_t late_edges = 0;   // of ops that started late, right after another op
    std::uint64_t hidden = 0;       // streams that were busy with work of before the recording
    std::uint64_t unexplained = 0;  // ops that started late, and nothing says why
    TimeNs unexplained_ns = 0;
    std::uint64_t unknown_syncs = 0;  // syncs whose stream is not recorded
    std::uint64_t idle_syncs = 0;     // of those, such that no wait can be seen
    std::uint64_t implicit_syncs = 0; // long calls that ended with the device's work
    std::uint64_t full_queue = 0;     // launches that ended with an op of a full queue
    std::uint64_t overlaps = 0;       // ops of one stream that overlap
    std::uint64_t own_clocks = 0;     // threads beside the first that run side by side with it
    std::uint64_t shared_clocks = 0;  // threads that take turns with it
    std::uint64_t alone_comm = 0;     // communication whose peers are not known
    void add(const Counts& other);
};

struct RecordedRank {
    std::uint32_t rank_class = 0;
    std::vector<std::uint32_t> streams; // rows of Trace::streams with device work
    std::unordered_map<std::int64_t, std::vector<std::uint32_t>> numbered; // CUDA stream -> streams
    std::vector<std::vector<std::uint32_t>> stream_ops;                    // in order of enqueue
    std::vector<RecordedOp> ops;
    std::vector<RecordedCall> calls;    // by start
    std::vector<std::uint32_t> threads; // rows of Trace::streams with calls
    std::uint32_t clocks = 0;           // of threads; streams with ops without a call have one each besides
    std::vector<Edge> edges;            // by `to`
    std::vector<std::uint32_t> awaited; // ops, see RecordedCall
    TimeNs launch = 0;                  // duration of a launch: median
    TimeNs latency = 0;                 // end of a launch to the start on an idle stream: median
    std::vector<TimeNs> busy_until;     // stream -> end of unrecorded work before its first op, 0: none
    TimeNs event_wait = 0;              // end of an op to the start of one that waited for it: median
    Counts counts;

    // The stream of a CUDA stream's number. Devices of one process number their streams alike: that of the
    // device of `like`, an op. kNothing: no op ran there.
    std::uint32_t stream_of(const Trace& trace, std::int64_t number, std::uint32_t like) const;
    // Number within stream_ops[stream] of the first op that was enqueued at `moment` or later.
    std::uint32_t enqueued_from(std::uint32_t stream, TimeNs moment) const;
    // Last op of the stream that was enqueued before `moment`, kNothing: none.
    std::uint32_t tail(std::uint32_t stream, TimeNs moment) const;
    std::span<const Edge> edges_into(std::uint32_t op) const;
};

// recorded_rank.cpp: ops in order of enqueue, calls by start, clocks of the threads.
RecordedRank collect_rank(const Trace& trace, std::uint32_t rank_class);
// recorded_times.cpp: latency and gaps, the latter again once the edges are known.
void measure_times(RecordedRank& rank);
void measure_gaps(RecordedRank& rank);
// When the op, or the call's first op, reached the queue of the device: at the end of its call, or within it
// where it started earlier or the call returned after it.
TimeNs submitted(const RecordedRank& rank, const RecordedCall& call);
// Marks the launches that block. Before measure_times().
void find_blocking(const Trace& trace, RecordedRank& rank);
// When the op would start after its launch and the op before it on its stream.
TimeNs earliest_start(const RecordedRank& rank, const RecordedOp& op);
// recorded_edges.cpp: dependencies between streams.
void find_edges(const Trace& trace, RecordedRank& rank);
// recorded_host.cpp: what the calls waited for.
void find_awaited(const Trace& trace, RecordedRank& rank);

// recorded_comm.cpp: collectives and transfers between ranks.
struct RecordedGroups {
    std::vector<std::uint32_t> members;              // communicator -> number of members; 0: on its own
    std::vector<std::vector<std::uint32_t>> slots;   // rank -> slot -> communicator; slot 0: on its own
    std::vector<std::vector<std::uint32_t>> slot_of; // rank -> op -> slot
    std::vector<std::vector<TimeNs>> alone;          // rank -> op -> time alone
    std::uint64_t matched = 0;                       // collectives
    std::uint64_t repeated = 0;                      // not used: two of the members are of one rank
};
RecordedGroups find_groups(const Trace& trace, std::span<const Flow> flows, std::vector<RecordedRank>& ranks);

std::vector<std::string> notes(const std::vector<RecordedRank>& ranks, const RecordedGroups& groups);

} // namespace echosim::recorded
