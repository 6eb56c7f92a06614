// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys/import.h"

#include <array>

// Tables of calls of other libraries and of the profiler's own work: all of them have start, end, globalTid
// and a name.
namespace echosim {
namespace {

struct LibraryTable {
    std::string_view table;
    std::string_view category;
};
constexpr std::array<LibraryTable, 11> kTables{{
    {"OSRT_API", "OS runtime"},
    {"CUBLAS_EVENTS", "cuBLAS"},
    {"CUDNN_EVENTS", "cuDNN"},
    {"CUDA_GRAPH_EVENTS", "CUDA graph"},
    {"CUDA_GRAPH_NODE_EVENTS", "CUDA graph node"},
    {"MPI_COLLECTIVES_EVENTS", "MPI"},
    {"MPI_P2P_EVENTS", "MPI"},
    {"MPI_START_WAIT_EVENTS", "MPI"},
    {"MPI_OTHER_EVENTS", "MPI"},
    {"PROFILER_OVERHEAD", "overhead"},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "overhead"},
}};
constexpr std::array<std::string_view, 12> kNumbers{
    "overheadType", "graphId",      "originalGraphId", "graphExecId", "graphNodeId", "originalGraphNodeId",
    "size",         "collSendSize", "collRecvSize",    "rootRank",    "remoteRank",  "returnValue"};

void read_table(NsysImport& import, const LibraryTable& which) {
    std::vector<std::string_view> columns{"start", "end", "globalTid", "nameId", "textId"};
    const int first = static_cast<int>(columns.size());
    columns.insert(columns.end(), kNumbers.begin(), kNumbers.end());
    NsysTable rows = import.open(which.table, columns);
    while (rows.next()) {
        const NsysTimes times = nsys_times(rows, import.shift, import.report);
        import.add_event_count(times);
        const std::optional<std::int64_t> tid = rows.integer(2);
        const std::optional<std::uint32_t> process = import.process_of(tid);
        if (!process) {
            import.report.warn("event_of_process_without_gpu");
            continue;
        }
        const std::optional<std::int64_t> id = rows.integer(3);
        Event event{times.start, times.duration,
                    import.strings.name(id ? id : rows.integer(4), import.builder, import.report),
                    EventKind::other};
        event.provenance = Provenance::measured;
        event.ext = import.builder.name(which.category).value;
        NsysArgs args;
        for (std::size_t i = 0; i < kNumbers.size(); ++i) {
            if (const std::int64_t value = rows.integer(first + static_cast<int>(i), 0); value != 0) {
                args.add(kNumbers[i], value);
            }
        }
        event.args = args.name(import.builder);
        import.builder.add_event(import.thread_stream(*process, tid.value_or(0)), event);
    }
}

} // namespace

void read_nsys_libraries(NsysImport& import) {
    for (const LibraryTable& which : kTables) {
        read_table(import, which);
    }
}

} // namespace echosim
