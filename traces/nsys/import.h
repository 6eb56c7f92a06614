// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"
#include "traces/nsys/table.h"
#include "traces/sqlite/database.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// The reading of one export of Nsight Systems: what its stages share, and the stages in their order.
//
// A process or thread is a 64-bit number in the file: hardware (8 bits), virtual machine (8), process (24),
// thread (24); globalPid has 0 for the thread, globalTid all four.
namespace echosim {

inline constexpr std::uint64_t kNsysThreadBits = 0xffffffU;
constexpr std::uint64_t nsys_process(std::int64_t global_id) {
    return static_cast<std::uint64_t>(global_id) & ~kNsysThreadBits;
}
constexpr std::int64_t nsys_pid(std::uint64_t process) {
    return static_cast<std::int64_t>(process >> 24U & kNsysThreadBits);
}

// Table StringIds. A name enters the trace when something has it.
class NsysStrings {
  public:
    void read(SqliteDatabase& database);
    std::optional<std::string_view> text(std::optional<std::int64_t> id) const;
    // An id that is not in the table: counted, and named by its number.
    NameId name(std::optional<std::int64_t> id, TraceBuilder& builder, ImportReport& report);
    // Of a CUDA call, without the version of its interface: cudaLaunchKernel_v7000 is cudaLaunchKernel.
    NameId call(std::optional<std::int64_t> id, TraceBuilder& builder, ImportReport& report);

  private:
    struct Entry {
        std::string text;
        NameId name = kNoName;
        NameId call = kNoName;
    };
    std::unordered_map<std::int64_t, Entry> entries_;
};

// A process of the file and its streams in the trace.
struct NsysProcess {
    std::uint64_t id = 0;
    std::uint32_t rank_class = 0;
    std::unordered_map<std::int64_t, std::uint32_t> threads;                // by thread number
    std::map<std::pair<std::int32_t, std::int64_t>, std::uint32_t> streams; // by device, CUDA stream
    std::unordered_map<std::int64_t, std::int32_t> devices;                 // by CUDA context
    std::unordered_map<std::int64_t, std::uint32_t> recorded_by; // eventSyncId -> call that recorded it
    std::unordered_map<std::int64_t, std::string> domains;       // NVTX domains
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> categories; // by domain, number
};

// A CUDA call, to find the thread that launched some work.
struct NsysCall {
    std::uint32_t process = 0; // row of NsysImport::processes
    std::uint32_t correlation = 0;
    std::uint32_t thread = 0; // stream of the trace
    TimeNs start = 0;
    std::optional<SyncKind> sync = {}; // of a call that records, waits or synchronises
    auto key() const { return std::pair(process, correlation); }
};

// Row of CUPTI_ACTIVITY_KIND_SYNCHRONIZATION.
struct NsysSync {
    std::uint32_t process = 0;
    std::uint32_t correlation = 0;
    NsysTimes times;
    std::int32_t device = -1;
    std::int64_t context = -1;
    SyncOp op;
    bool kind_known = true;
};

// An NCCL kernel, and a call of NCCL as its NVTX range describes it.
struct NsysNcclKernel {
    std::uint32_t process = 0;
    std::uint32_t correlation = 0;
    std::uint32_t comm_op = 0; // row of Trace::comm_ops
    NameId name = kNoName;
};
struct NsysNcclCall {
    std::uint32_t thread = 0; // stream of the trace
    TimeNs start = 0;
    TimeNs end = 0;
    std::string name;               // "ncclAllReduce"
    std::uint64_t communicator = 0; // 0: not recorded
    std::optional<std::uint64_t> bytes;
    std::int32_t peer = -1; // or root
    std::int32_t rank = -1; // of the calls that make a communicator
    std::int32_t ranks = -1;
};

struct NsysImport {
    explicit NsysImport(const std::string& path) : database(SqliteDatabase::open(path)) {}

    SqliteDatabase database;
    TraceBuilder builder;
    ImportReport report;
    NsysStrings strings;
    TimeNs shift = 0; // subtracted from all times
    std::vector<NsysProcess> processes;
    std::unordered_map<std::uint64_t, std::uint32_t> process_rows;
    std::map<std::uint64_t, std::string> process_names;
    std::unordered_map<std::uint64_t, std::string> thread_names; // by globalTid
    std::vector<NsysCall> calls;                                 // by key() once all are read
    std::vector<NsysSync> syncs;
    std::vector<NsysNcclKernel> nccl_kernels;
    std::vector<NsysNcclCall> nccl_calls;
    struct StreamWork {
        std::uint64_t all = 0; // kernels, copies, graphs
        std::uint64_t comm = 0;
        std::uint64_t copies = 0;
    };
    std::vector<StreamWork> stream_work; // by stream of the trace
    std::vector<std::string> tables_read;

    NsysTable open(std::string_view table, const std::vector<std::string_view>& columns,
                   std::string_view where = {});
    // Row of `processes`; none for a process that used no GPU.
    std::optional<std::uint32_t> process_of(std::optional<std::int64_t> global_id) const;
    std::uint32_t thread_stream(std::uint32_t process, std::int64_t global_tid);
    std::uint32_t device_stream(std::uint32_t process, std::int32_t device, std::int64_t number);
    // 0: none, or out of range (counted).
    std::uint32_t correlation(std::optional<std::int64_t> number);
    const NsysCall* find_call(std::uint32_t process, std::uint32_t correlation) const;
    void add_device_event(std::uint32_t stream, const Event& event);
    void add_event_count(const NsysTimes& times) {
        ++report.events;
        report.complete_events += times.complete ? 1 : 0;
    }
};

void read_nsys_identity(NsysImport& import);    // strings, start time, processes, names
void read_nsys_calls(NsysImport& import);       // CUDA events, synchronisation records, CUDA calls
void read_nsys_device_work(NsysImport& import); // kernels, copies, graphs; emits the synchronisation records
void read_nsys_ranges(NsysImport& import);      // NVTX
void read_nsys_libraries(NsysImport& import);   // calls of other libraries, overhead
void read_nsys_metrics(NsysImport& import);     // sampled counters of the GPUs
// Joins NCCL kernels with the calls that NVTX recorded; ranks of processes where the file tells them.
void describe_nsys_collectives(NsysImport& import, Trace& trace);
void describe_nsys_ranks(NsysImport& import, Trace& trace);

// JSON object, key by key.
class NsysArgs {
  public:
    void add(std::string_view key, std::int64_t value);
    void add(std::string_view key, std::string_view text);
    void add_json(std::string_view key, std::string_view json);
    NameId name(TraceBuilder& builder) const; // kNoName when nothing was added

  private:
    void key(std::string_view key);
    std::string text_;
};

} // namespace echosim
