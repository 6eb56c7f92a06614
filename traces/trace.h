// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/ids.h"
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"
#include "traces/string_pool.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// A timeline in memory, simulated or recorded: columns of events, one set a stream, sorted by start. Ranks
// that behave alike are one class; a class is stored once and lists the ranks that it stands for (a recorded
// rank is a class of its own). All times are nanoseconds since Trace::t0_ns. docs/formats.md has the same
// tables as they lie in an .etr file.
namespace echosim {

inline constexpr std::uint32_t kNoRow = 0xffffffffU;               // no label, no ext row
inline constexpr std::uint64_t kNoEvent = 0xffffffffffffffffULL;   // no event
inline constexpr NameId kNoName{0xffffffffU};                      // no name
inline constexpr auto kNoAlgorithm = static_cast<Algorithm>(0xff); // not known, or not applicable
inline constexpr auto kNoProtocol = static_cast<Protocol>(0xff);
inline constexpr auto kNoCollective = static_cast<CollectiveKind>(0xff); // not known
inline constexpr auto kNoDType = static_cast<DType>(0xff);               // not known, or none that DType has

// host: work of a CPU thread (a framework's operator); api: a call of the CUDA runtime or driver; annotation:
// a range that the program named (record_function, NVTX), on a thread or mirrored on a stream; python: a
// Python function; instant: a point in time; sync: a wait on a stream (simulated: of the host); graph: a CUDA
// graph as one event; other: of a category that only the recorder knows.
enum class EventKind : std::uint8_t {
    host,
    kernel,
    memcpy,
    memset,
    comm,
    sync,
    graph,
    api,
    annotation,
    python,
    instant,
    other
};
enum class StreamKind : std::uint8_t {
    compute,
    tp_comm,
    dp_comm,
    p2p,
    copy,
    host,
    cp_comm,
    ep_comm,
    other,
    comm // of a recorded group whose part in the job is not known
};
// collective, p2p: members of one collective, a send and its receive; launch: the call that launched an
// event; event: a CUDA event that one stream recorded and another waits for; sync: the host waits for the
// device; control, data: dependencies that the file names; forward_backward: an operator and its gradient's.
enum class FlowKind : std::uint8_t {
    collective,
    p2p,
    launch,
    event,
    sync,
    control,
    data,
    forward_backward,
    other
};
enum class CopyKind : std::uint8_t {
    unknown,
    host_to_device,
    device_to_host,
    device_to_device,
    peer_to_peer,
    host_to_host,
    memset
};
enum class SyncKind : std::uint8_t {
    event_record,       // cudaEventRecord
    stream_wait_event,  // cudaStreamWaitEvent
    event_synchronize,  // cudaEventSynchronize
    stream_synchronize, // cudaStreamSynchronize
    device_synchronize  // cudaDeviceSynchronize
};
// Of one call of a point-to-point transfer; both: one kernel that sends and receives.
enum class Direction : std::uint8_t { none, send, receive, both };

std::string_view to_string(EventKind value);
std::string_view to_string(StreamKind value);
std::string_view to_string(FlowKind value);
std::string_view to_string(CopyKind value);
std::string_view to_string(SyncKind value);
std::string_view to_string(Direction value);

// Work of a GPU that occupies its stream: what "no kernel is dropped" counts.
constexpr bool is_device_work(EventKind kind) {
    return kind == EventKind::kernel || kind == EventKind::memcpy || kind == EventKind::memset ||
           kind == EventKind::comm || kind == EventKind::graph;
}

// An event of the trace in 64 bits: index of its stream in Trace::streams, index within the stream.
constexpr std::uint64_t event_ref(std::uint32_t stream, std::uint32_t index) {
    return (std::uint64_t{stream} << 32U) | index;
}
constexpr std::uint32_t stream_of(std::uint64_t ref) {
    return static_cast<std::uint32_t>(ref >> 32U);
}
constexpr std::uint32_t index_of(std::uint64_t ref) {
    return static_cast<std::uint32_t>(ref);
}

// Ranks first, first + stride, ... (count of them).
struct RankRange {
    std::uint32_t first = 0;
    std::uint32_t count = 1;
    std::uint32_t stride = 1;
    bool operator==(const RankRange&) const = default;
};
std::vector<RankRange> compact_ranks(const std::vector<int>& ranks); // keeps their order
std::vector<int> expand_ranks(const std::vector<RankRange>& ranges);

// Ranks that are provably identical; the first one is the representative.
struct TraceClass {
    NameId name = kNoName;
    std::int32_t stage = -1; // pipeline stage, -1: not known
    std::vector<RankRange> ranks;
    std::uint64_t rank_count() const;
    bool operator==(const TraceClass&) const = default;
};

// Where in the step an event belongs; -1 or none: does not apply.
struct Label {
    std::int32_t iteration = -1;
    Phase phase = Phase::other;
    std::int32_t micro_batch = -1;
    std::int32_t chunk = -1;
    std::int32_t layer = -1;
    NameId module = kNoName;
    bool operator==(const Label&) const = default;
};

// What a comm event adds to its columns.
struct CommOp {
    CollectiveKind kind = kNoCollective;
    DType dtype = kNoDType;
    Algorithm algorithm = kNoAlgorithm;
    Protocol protocol = kNoProtocol;
    std::uint32_t channels = 0;
    Bytes bytes = 0;        // per rank, as nccl-tests counts the message size
    NameId group = kNoName; // "tp", "dp_cp", ...
    std::uint32_t group_size = 0;
    std::int32_t peer = -1;              // global rank of the other end (p2p) or of the root
    std::uint64_t sequence = 0;          // number of the call on its communicator
    std::uint32_t communicator = kNoRow; // row of Trace::communicators
    Direction direction = Direction::none;
    std::uint64_t in_elements = 0; // of the send and receive buffers as recorded; 0: not known
    std::uint64_t out_elements = 0;
    bool operator==(const CommOp&) const = default;
};

// A process group as the recorder names it.
struct TraceCommunicator {
    NameId name = kNoName;        // "3", "0x7f12...": unique within a job together with the ranks
    NameId description = kNoName; // "TENSOR_MODEL_PARALLEL_GROUP"
    std::vector<RankRange> ranks; // in order of the ranks of the group; empty: not known
    bool operator==(const TraceCommunicator&) const = default;
};

// Launch configuration of a kernel.
struct KernelLaunch {
    std::array<std::uint32_t, 3> grid{};  // blocks
    std::array<std::uint32_t, 3> block{}; // threads of a block
    std::uint32_t registers = 0;          // of a thread
    std::uint32_t shared_bytes = 0;       // of a block, static and dynamic together
    bool operator==(const KernelLaunch&) const = default;
};

// What a memcpy or memset moves.
struct CopyOp {
    CopyKind kind = CopyKind::unknown;
    Bytes bytes = 0;
    bool operator==(const CopyOp&) const = default;
};

// What a synchronisation is about: of a call (kind api) or of a record on a stream (kind sync).
struct SyncOp {
    SyncKind kind = SyncKind::device_synchronize;
    std::int64_t stream = -1; // CUDA stream that records, waits or is waited for; -1: all, or not known
    std::uint64_t event = 0;  // CUDA event; 0: none, or not known
    std::uint32_t recorded_by =
        0; // wait for an event: correlation of the call that recorded it; 0: not known
    bool operator==(const SyncOp&) const = default;
};

// One event as a row: what goes in and comes out of the columns.
struct Event {
    TimeNs start = 0;
    TimeNs duration = 0;
    NameId name = kNoName;
    EventKind kind = EventKind::kernel;
    std::uint32_t label = kNoRow;          // row of Trace::labels
    std::uint32_t ext = kNoRow;            // row of the kind's table: see ext_rows()
    TimeNs alone = 0;                      // duration without interference and contention; 0: not known
    std::uint64_t binding_pred = kNoEvent; // the event whose end let this one start
    Provenance provenance = Provenance::assumed;
    // What joins a call (api) and what it launched, as the recorder numbers it; host: the operator's external
    // id; 0: none. Unique within a class.
    std::uint32_t correlation = 0;
    NameId args =
        kNoName; // JSON object of what else the recorder says; none of the keys that other fields hold
    bool operator==(const Event&) const = default;
};

// Columns of equal length that somebody else owns: an EventColumns, or a chunk of a mapped file.
struct EventView {
    std::span<const TimeNs> start_ns;
    std::span<const TimeNs> dur_ns;
    std::span<const std::uint32_t> name;
    std::span<const EventKind> kind;
    std::span<const std::uint32_t> label;
    std::span<const std::uint32_t> ext;
    std::span<const TimeNs> alone_ns;
    std::span<const std::uint64_t> binding_pred;
    std::span<const Provenance> provenance;
    std::span<const std::uint32_t> correlation;
    std::span<const std::uint32_t> args;

    std::size_t size() const { return start_ns.size(); }
    Event row(std::size_t index) const;
};

// The events of one stream in columns of equal length.
struct EventColumns {
    std::vector<TimeNs> start_ns;
    std::vector<TimeNs> dur_ns;
    std::vector<std::uint32_t> name;
    std::vector<EventKind> kind;
    std::vector<std::uint32_t> label;
    std::vector<std::uint32_t> ext;
    std::vector<TimeNs> alone_ns;
    std::vector<std::uint64_t> binding_pred;
    std::vector<Provenance> provenance;
    std::vector<std::uint32_t> correlation;
    std::vector<std::uint32_t> args;

    std::size_t size() const { return start_ns.size(); }
    void reserve(std::size_t events);
    void push_back(const Event& event);
    void append(const EventView& events);
    EventView view() const;
    Event row(std::size_t index) const { return view().row(index); }
    bool operator==(const EventColumns&) const = default;
};

struct TraceStream {
    std::uint32_t rank_class = 0; // row of Trace::classes
    std::uint32_t id = 0;         // number within the class, from 0
    NameId name = kNoName;
    StreamKind kind = StreamKind::compute;
    std::int32_t device = -1; // number of the GPU in its node; -1: a thread, or not known
    std::int64_t number = -1; // CUDA stream, or thread of the operating system; -1: not known
    EventColumns events;
    bool operator==(const TraceStream&) const = default;
};

// Two events that belong together.
struct Flow {
    std::uint64_t from = kNoEvent;
    std::uint64_t to = kNoEvent;
    FlowKind kind = FlowKind::collective;
    bool operator==(const Flow&) const = default;
};

// A value over time on one class: memory, link use, SM use.
struct TraceCounter {
    std::uint32_t rank_class = 0;
    NameId name = kNoName;
    NameId unit = kNoName;
    std::vector<TimeNs> time_ns;
    std::vector<double> value;
    bool operator==(const TraceCounter&) const = default;
};

struct Trace {
    std::string meta;  // JSON object: tool version, job, hardware
    TimeNs t0_ns = 0;  // wall clock of time zero; 0 for a simulated timeline
    bool timed = true; // false: a graph without times; starts are 0, durations what the file gives (or 0)
    StringPool strings;
    std::vector<TraceClass> classes;
    std::vector<TraceStream> streams;
    std::vector<Label> labels;
    std::vector<CommOp> comm_ops;
    std::vector<TraceCommunicator> communicators;
    std::vector<KernelLaunch> launches;
    std::vector<CopyOp> copies;
    std::vector<SyncOp> syncs;
    std::vector<Flow> flows;
    std::vector<TraceCounter> counters;

    std::uint64_t event_count() const;
    // Text of a name, empty for kNoName.
    std::string_view text(NameId name) const { return name == kNoName ? std::string_view{} : strings[name]; }
    bool operator==(const Trace&) const = default;
};

// Sizes of the tables that events point into.
struct TableSizes {
    std::uint64_t strings = 0;
    std::uint64_t labels = 0;
    std::uint64_t comm_ops = 0;
    std::uint64_t launches = 0;
    std::uint64_t copies = 0;
    std::uint64_t syncs = 0;
    std::vector<std::uint64_t> stream_events;
};
// Rows of the table that `ext` of this kind points into: comm -> comm_ops, kernel -> launches, memcpy and
// memset -> copies, sync and api -> syncs, other and instant -> strings (the recorder's category); 0: none.
std::uint64_t ext_rows(EventKind kind, const TableSizes& sizes);
TableSizes table_sizes(const Trace& trace);

// Every index names an existing row, every enumerator is known, times are not negative durations and are
// sorted by start, columns have equal lengths. Throws InputError(where, ...) naming the first thing that is
// wrong.
void check_trace(const Trace& trace, const std::string& where);
void check_tables(const Trace& trace, const TableSizes& sizes,
                  const std::string& where); // all but the events
void check_events(const EventView& events, const TableSizes& sizes, const std::string& where);

// Fills a Trace event by event, in any order. References returned by add_event stay valid as arguments of the
// builder until finish(), which sorts each stream by start (equal starts keep their order) and renumbers
// them.
class TraceBuilder {
  public:
    NameId name(std::string_view text) { return trace_.strings.intern(text); }
    void set_meta(std::string json) { trace_.meta = std::move(json); }
    void set_t0(TimeNs t0) { trace_.t0_ns = t0; }
    std::uint32_t add_class(std::string_view name, int stage, const std::vector<int>& ranks);
    void set_timed(bool timed) { trace_.timed = timed; }
    std::uint32_t add_stream(std::uint32_t rank_class, StreamKind kind, std::string_view name);
    // Of a recorded stream: the GPU (-1: a thread) and its CUDA stream or thread number.
    void set_origin(std::uint32_t stream, std::int32_t device, std::int64_t number);
    void set_stream_kind(std::uint32_t stream, StreamKind kind) { trace_.streams.at(stream).kind = kind; }
    std::uint32_t add_label(const Label& label);                           // equal labels share a row
    std::uint32_t add_comm_op(const CommOp& op);                           // a row each
    std::uint32_t add_communicator(const TraceCommunicator& communicator); // equal ones share a row
    std::uint32_t add_launch(const KernelLaunch& launch);                  // likewise
    std::uint32_t add_copy(const CopyOp& copy);                            // likewise
    std::uint32_t add_sync(const SyncOp& sync);                            // likewise
    std::uint64_t add_event(std::uint32_t stream, const Event& event);
    void set_binding_pred(std::uint64_t event, std::uint64_t pred);
    void add_flow(std::uint64_t from, std::uint64_t to, FlowKind kind) {
        trace_.flows.push_back({from, to, kind});
    }
    std::uint32_t add_counter(std::uint32_t rank_class, std::string_view name, std::string_view unit);
    void add_sample(std::uint32_t counter, TimeNs time, double value); // in order of time
    void reserve(std::uint32_t stream, std::size_t events) {
        trace_.streams.at(stream).events.reserve(events);
    }
    Trace finish();

    const Trace& so_far() const { return trace_; } // as it stands: streams not yet sorted

  private:
    // Hash of a row by its fields, for tables in which equal rows share one.
    struct RowHash {
        std::size_t operator()(const Label& row) const noexcept;
        std::size_t operator()(const KernelLaunch& row) const noexcept;
        std::size_t operator()(const CopyOp& row) const noexcept;
        std::size_t operator()(const SyncOp& row) const noexcept;
        std::size_t operator()(const TraceCommunicator& row) const noexcept;
    };
    template <class Row> using Rows = std::unordered_map<Row, std::uint32_t, RowHash>;
    Trace trace_;
    Rows<Label> label_rows_;
    Rows<KernelLaunch> launch_rows_;
    Rows<CopyOp> copy_rows_;
    Rows<SyncOp> sync_rows_;
    Rows<TraceCommunicator> communicator_rows_;
    std::vector<std::uint32_t> streams_of_class_;
};

} // namespace echosim
