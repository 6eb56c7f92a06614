// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"
#include "traces/trace.h"

#include <cstdint>
#include <string>
#include <vector>

// What a piece of a trace file holds, before it is put on streams: the rows of its events in the order of the
// file, with names of the piece's own pool. Pieces are parsed side by side and joined in order, so that the
// result does not depend on how many threads there are, nor on where the file was cut.
namespace echosim {

// Where an event lies: on a thread, a stream of a GPU, beside one (annotations of the device), or on none
// (asynchronous: beside the threads of its process).
enum class KinetoLane : std::uint8_t { thread, device, annotations, async };

inline constexpr std::int64_t kNoNumber = -1;

struct KinetoRow {
    TimeNs start = 0; // as in the file, nanoseconds
    TimeNs duration = 0;
    NameId name = kNoName;
    NameId category = kNoName;
    NameId args = kNoName;
    std::uint32_t track = 0; // row of KinetoPiece::tracks
    std::uint32_t correlation = 0;
    std::uint32_t detail = kNoRow; // row of launches, copies, syncs or comms, by kind
    std::int64_t stream = kNoNumber;
    std::int32_t device = -1;
    EventKind kind = EventKind::other;
    KinetoLane lane = KinetoLane::thread;
    bool timed = true; // false: no time in the file
    bool operator==(const KinetoRow&) const = default;
};

// A pid or tid: a number, or a text that is none.
struct KinetoPlace {
    std::int64_t number = kNoNumber;
    NameId text = kNoName;
    bool operator==(const KinetoPlace&) const = default;
};

struct KinetoTrack {
    KinetoPlace pid;
    KinetoPlace tid;
    bool operator==(const KinetoTrack&) const = default;
};

struct KinetoComm {
    CommOp op;
    NameId group = kNoName; // process group: name, description, JSON list of its ranks
    NameId description = kNoName;
    NameId ranks = kNoName;
    bool described = false; // the recorder gave the sizes
    bool operator==(const KinetoComm&) const = default;
};

// One end of something: B and E, async b, n and e, flow s, t and f.
enum class KinetoMarkKind : std::uint8_t {
    begin,
    end,
    async_begin,
    async_end,
    flow_start,
    flow_step,
    flow_end
};

struct KinetoMark {
    KinetoRow row; // of begin and async_begin: the event without its duration
    KinetoMarkKind kind = KinetoMarkKind::begin;
    NameId id = kNoName;
    bool next_slice = false; // flow end that binds to the slice that begins next
};

// [memory] of the PyTorch profiler, at one moment.
struct KinetoMemory {
    TimeNs time = 0;
    std::int64_t device_type = 0; // 0: CPU
    std::int64_t device = -1;
    std::int64_t bytes = 0;      // allocated, or freed (negative)
    std::int64_t allocated = -1; // in all, -1: not recorded
    std::int64_t reserved = -1;
};

struct KinetoSample {
    TimeNs time = 0;
    double value = 0;
    NameId name = kNoName;
    NameId series = kNoName;
    std::uint32_t track = 0;
    std::uint32_t counter = kNoRow; // of our own files: row of the table
};

// Metadata: process_name, thread_name, process_labels.
struct KinetoName {
    NameId what = kNoName;
    NameId text = kNoName;
    std::uint32_t track = 0;
};

// What our own files say of an event beside what Kineto knows; in the order of the rows.
struct OwnRow {
    Label label;
    bool has_label = false;
    bool has_row = false; // of the table of its kind
    Provenance provenance = Provenance::measured;
    TimeNs alone = 0;
    std::uint64_t binding_pred = kNoEvent; // stream, number among the events of the stream
    NameId group = kNoName;                // of communication
};

struct KinetoPiece {
    StringPool strings;
    std::vector<KinetoRow> rows;
    std::vector<OwnRow> own; // of our own files only
    std::vector<KinetoMark> marks;
    std::vector<KinetoTrack> tracks;
    std::vector<KernelLaunch> launches;
    std::vector<CopyOp> copies;
    std::vector<SyncOp> syncs;
    std::vector<KinetoComm> comms;
    std::vector<KinetoMemory> memory;
    std::vector<KinetoSample> samples;
    std::vector<KinetoName> names;
    std::vector<Flow> flows;             // of our own files
    std::vector<std::uint64_t> launched; // ids of the arrows from calls to device work: beginnings,
    std::vector<std::uint64_t> arrived;  // and ends
    std::map<std::string, std::uint64_t> dropped_fields; // members of events that are not kept -> count
    ImportReport report;                                 // counts of the records and of what was mended
    bool kineto = false;                                 // a category of Kineto occurs
    bool recognised = false;                             // a record with a phase occurs
};

} // namespace echosim
