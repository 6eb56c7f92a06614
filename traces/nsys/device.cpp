// SPDX-License-Identifier: Apache-2.0
#include "traces/nccl_names.h"
#include "traces/nsys/import.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace echosim {
namespace {

// The columns that all tables of device work have, first in each list.
enum Column : int { start, end, device, context, stream, correlation, process, first_own };
using Columns = std::vector<std::string_view>;

Columns with_common(std::initializer_list<std::string_view> own) {
    Columns columns{"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"};
    columns.insert(columns.end(), own);
    return columns;
}

// Where a piece of device work happened. Exports before 2019 have no globalPid: the call with its correlation
// tells the process; where several processes have such a call, or none has, it is the first one, counted.
std::uint32_t owner_of(NsysImport& import, const NsysTable& rows, std::uint32_t number) {
    if (const std::optional<std::int64_t> id = rows.integer(process)) {
        return import.process_rows.at(nsys_process(*id));
    }
    if (import.processes.size() == 1) {
        return 0;
    }
    std::vector<std::uint32_t> callers;
    for (std::uint32_t i = 0; i < import.processes.size(); ++i) {
        if (import.find_call(i, number) != nullptr) {
            callers.push_back(i);
        }
    }
    if (callers.size() != 1) {
        import.report.warn("ambiguous_process");
    }
    return callers.empty() ? 0 : callers.front();
}

struct Placed {
    std::uint32_t owner = 0;
    std::uint32_t stream = 0;
    Event event;
};

// Reads the common columns of the current row.
Placed place(NsysImport& import, const NsysTable& rows, EventKind kind) {
    const NsysTimes times = nsys_times(rows, import.shift, import.report);
    import.add_event_count(times);
    Placed placed;
    placed.event.start = times.start;
    placed.event.duration = times.duration;
    placed.event.kind = kind;
    placed.event.provenance = Provenance::measured;
    placed.event.correlation = import.correlation(rows.integer(correlation));
    placed.owner = owner_of(import, rows, placed.event.correlation);
    const auto gpu = static_cast<std::int32_t>(rows.within(device, 0, 0x7fffffff, -1));
    if (const std::optional<std::int64_t> in = rows.integer(context)) {
        import.processes[placed.owner].devices[*in] = gpu;
    }
    placed.stream = import.device_stream(placed.owner, gpu, rows.integer(stream, -1));
    if (placed.event.correlation != 0 &&
        import.find_call(placed.owner, placed.event.correlation) == nullptr) {
        import.report.warn("unmatched_correlation");
    }
    return placed;
}

constexpr std::array<std::string_view, 12> kKernelArgs{"greenContextId",   "launchType",
                                                       "cacheConfig",      "localMemoryPerThread",
                                                       "localMemoryTotal", "sharedMemoryExecuted",
                                                       "graphNodeId",      "graphId",
                                                       "clusterX",         "clusterY",
                                                       "clusterZ",         "priority"};
enum KernelColumn : int {
    demangled = first_own,
    short_name,
    mangled,
    grid_x, // six in a row
    registers = grid_x + 6,
    static_shared,
    dynamic_shared,
    first_arg
};

KernelLaunch launch_of(const NsysTable& rows) {
    KernelLaunch launch;
    for (int i = 0; i < 3; ++i) {
        launch.grid[static_cast<std::size_t>(i)] = rows.unsigned_32(grid_x + i);
        launch.block[static_cast<std::size_t>(i)] = rows.unsigned_32(grid_x + 3 + i);
    }
    launch.registers = rows.unsigned_32(registers);
    const std::uint64_t shared =
        std::uint64_t{rows.unsigned_32(static_shared)} + rows.unsigned_32(dynamic_shared);
    launch.shared_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(shared, 0xffffffffU));
    return launch;
}

std::string triple(const std::array<std::uint32_t, 3>& values) {
    return fmt::format("[{},{},{}]", values[0], values[1], values[2]);
}

// What the columns of the trace do not hold; zero and NULL say that something was not used.
NameId kernel_args(NsysImport& import, const NsysTable& rows, const KernelLaunch* launch) {
    NsysArgs args;
    if (const std::optional<std::int64_t> in = rows.integer(context)) {
        args.add("context", *in);
    }
    if (launch != nullptr) {
        args.add_json("grid", triple(launch->grid));
        args.add_json("block", triple(launch->block));
        args.add("registers per thread", launch->registers);
        args.add("shared memory", launch->shared_bytes);
    }
    for (std::size_t i = 0; i < kKernelArgs.size(); ++i) {
        if (const std::int64_t value = rows.integer(first_arg + static_cast<int>(i), 0); value != 0) {
            args.add(kKernelArgs[i], value);
        }
    }
    return args.name(import.builder);
}

NameId kernel_name(NsysImport& import, const NsysTable& rows) {
    for (const int column : {int{demangled}, int{short_name}, int{mangled}}) {
        if (const std::optional<std::int64_t> id = rows.integer(column)) {
            return import.strings.name(id, import.builder, import.report);
        }
    }
    import.report.warn("missing_name");
    return kNoName;
}

std::optional<CommOp> collective_of(std::string_view kernel) {
    if (!is_nccl_kernel(kernel)) {
        return std::nullopt;
    }
    const NcclKernelName name = parse_nccl_kernel(kernel);
    CommOp op;
    op.kind = name.kind;
    op.dtype = name.dtype;
    op.algorithm = name.algorithm;
    op.protocol = name.protocol;
    op.direction = op.kind == CollectiveKind::send_recv ? Direction::both : Direction::none;
    return op;
}

void read_kernels(NsysImport& import) {
    Columns columns =
        with_common({"demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX",
                     "blockY", "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory"});
    columns.insert(columns.end(), kKernelArgs.begin(), kKernelArgs.end());
    NsysTable rows = import.open("CUPTI_ACTIVITY_KIND_KERNEL", columns);
    std::unordered_map<std::uint32_t, std::optional<CommOp>> collectives; // by name; none: another kernel
    while (rows.next()) {
        Placed placed = place(import, rows, EventKind::kernel);
        ++import.report.kernels;
        placed.event.name = kernel_name(import, rows);
        const auto [entry, added] = collectives.try_emplace(placed.event.name.value);
        if (added) {
            entry->second = collective_of(import.builder.so_far().text(placed.event.name));
        }
        const KernelLaunch launch = launch_of(rows);
        if (entry->second) {
            placed.event.kind = EventKind::comm;
            placed.event.ext = import.builder.add_comm_op(*entry->second);
            import.nccl_kernels.push_back(
                {placed.owner, placed.event.correlation, placed.event.ext, placed.event.name});
        } else {
            placed.event.ext = import.builder.add_launch(launch);
        }
        placed.event.args = kernel_args(import, rows, entry->second ? &launch : nullptr);
        import.add_device_event(placed.stream, placed.event);
    }
}

// ENUM_CUDA_MEMCPY_OPER: 1 HtoD, 2 DtoH, 3 HtoA, 4 AtoH, 5 AtoA, 6 AtoD, 7 DtoA, 8 DtoD, 9 HtoH, 10 PtoP,
// 11 to 13 HtoD, DtoH and DtoD of managed memory.
CopyKind copy_kind(std::int64_t number) {
    switch (number) {
    case 1:
    case 3:
    case 11:
        return CopyKind::host_to_device;
    case 2:
    case 4:
    case 12:
        return CopyKind::device_to_host;
    case 5:
    case 6:
    case 7:
    case 8:
    case 13:
        return CopyKind::device_to_device;
    case 9:
        return CopyKind::host_to_host;
    case 10:
        return CopyKind::peer_to_peer;
    default:
        return CopyKind::unknown;
    }
}

// ENUM_CUDA_MEM_KIND.
std::string_view memory_kind(std::optional<std::int64_t> number) {
    constexpr std::array<std::string_view, 7> kWords{"Pageable", "Pinned",        "Device",        "Array",
                                                     "Managed",  "Device Static", "Managed Static"};
    return number && *number >= 0 && *number < 7 ? kWords[static_cast<std::size_t>(*number)] : "Unknown";
}

Bytes bytes_of(const NsysTable& rows, int column) {
    return static_cast<Bytes>(rows.within(column, 0, std::int64_t{1} << 61U, 0));
}

NameId args_of(NsysImport& import, const NsysTable& rows, int first,
               std::initializer_list<std::string_view> keys) {
    NsysArgs args;
    if (const std::optional<std::int64_t> in = rows.integer(context)) {
        args.add("context", *in);
    }
    for (const std::string_view key : keys) {
        if (const std::optional<std::int64_t> value = rows.integer(first++)) {
            args.add(key, *value);
        }
    }
    return args.name(import.builder);
}

void read_copies(NsysImport& import) {
    const auto more = {std::string_view("srcDeviceId"), std::string_view("dstDeviceId"),
                       std::string_view("migrationCause"), std::string_view("graphNodeId"),
                       std::string_view("copyCount")};
    Columns columns = with_common({"bytes", "copyKind", "srcKind", "dstKind"});
    columns.insert(columns.end(), more);
    NsysTable rows = import.open("CUPTI_ACTIVITY_KIND_MEMCPY", columns);
    while (rows.next()) {
        Placed placed = place(import, rows, EventKind::memcpy);
        const std::int64_t oper = rows.integer(first_own + 1, 0);
        const CopyKind kind = copy_kind(oper);
        std::string name = fmt::format("Memcpy {}", to_string(kind));
        if (rows.integer(first_own + 2) || rows.integer(first_own + 3)) {
            name += fmt::format(" ({} -> {})", memory_kind(rows.integer(first_own + 2)),
                                memory_kind(rows.integer(first_own + 3)));
        }
        placed.event.name = import.builder.name(name);
        placed.event.ext = import.builder.add_copy({kind, bytes_of(rows, first_own)});
        placed.event.args = args_of(import, rows, first_own + 4, more);
        import.add_device_event(placed.stream, placed.event);
    }
}

void read_memsets(NsysImport& import) {
    NsysTable rows =
        import.open("CUPTI_ACTIVITY_KIND_MEMSET", with_common({"bytes", "memKind", "value", "graphNodeId"}));
    while (rows.next()) {
        Placed placed = place(import, rows, EventKind::memset);
        const std::optional<std::int64_t> memory = rows.integer(first_own + 1);
        placed.event.name = import.builder.name(memory ? fmt::format("Memset ({})", memory_kind(memory))
                                                       : std::string("Memset"));
        placed.event.ext = import.builder.add_copy({CopyKind::memset, bytes_of(rows, first_own)});
        placed.event.args = args_of(import, rows, first_own + 2, {"value", "graphNodeId"});
        import.add_device_event(placed.stream, placed.event);
    }
}

// A CUDA graph as one record: profiled with --cuda-graph-trace=graph.
void read_graphs(NsysImport& import) {
    NsysTable rows = import.open("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", with_common({"graphId", "graphExecId"}));
    bool any = false;
    while (rows.next()) {
        Placed placed = place(import, rows, EventKind::graph);
        any = true;
        placed.event.name = import.builder.name(fmt::format("CUDA graph {}", rows.integer(first_own, 0)));
        placed.event.args = args_of(import, rows, first_own, {"graphId", "graphExecId"});
        import.add_device_event(placed.stream, placed.event);
    }
    if (any) {
        import.report.note("kernels inside CUDA graphs are not in the file, each launch of a graph is one "
                           "event (nsys profile --cuda-graph-trace=node records them)");
    }
}

std::string_view sync_name(const NsysSync& sync) {
    constexpr std::array<std::string_view, 5> kWords{"Event Record", "Stream Wait Event", "Event Sync",
                                                     "Stream Sync", "Context Sync"};
    return sync.kind_known ? kWords[static_cast<std::size_t>(sync.op.kind)] : "Sync";
}

// deviceId of these records is 0 for any GPU in some versions: the context tells the GPU where it is known.
// Their type has not always had the same numbers: the call that made the record tells the kind where it is
// in the file.
void add_syncs(NsysImport& import) {
    bool wait_unknown = false;
    for (NsysSync& sync : import.syncs) {
        const NsysCall* call = import.find_call(sync.process, sync.correlation);
        if (call != nullptr && call->sync) {
            sync.op.kind = *call->sync;
            sync.kind_known = true;
        }
        wait_unknown =
            wait_unknown || (sync.op.kind == SyncKind::stream_wait_event && sync.op.recorded_by == 0);
        const auto& devices = import.processes[sync.process].devices;
        const auto known = devices.find(sync.context);
        const std::int32_t gpu = known == devices.end() ? sync.device : known->second;
        Event event{sync.times.start, sync.times.duration, import.builder.name(sync_name(sync)),
                    EventKind::sync};
        event.provenance = Provenance::measured;
        event.correlation = sync.correlation;
        event.ext = sync.kind_known ? import.builder.add_sync(sync.op) : kNoRow;
        import.builder.add_event(import.device_stream(sync.process, gpu, sync.op.stream), event);
    }
    if (wait_unknown) {
        import.report.note("the file does not say which call recorded some of the CUDA events that streams "
                           "wait for (nsys profile --cuda-event-trace=true records them)");
    }
}

// The GPU of each context, where the file has a table of them.
void read_contexts(NsysImport& import) {
    NsysTable rows = import.open("TARGET_INFO_CUDA_CONTEXT_INFO", {"processId", "contextId", "deviceId"});
    while (rows.next()) {
        for (NsysProcess& owner : import.processes) {
            const std::optional<std::int64_t> in = rows.integer(1);
            if (in && rows.integer(0) == nsys_pid(owner.id)) {
                owner.devices[*in] = static_cast<std::int32_t>(rows.within(2, 0, 0x7fffffff, -1));
            }
        }
    }
}

} // namespace

void read_nsys_device_work(NsysImport& import) {
    read_contexts(import);
    read_kernels(import);
    read_copies(import);
    read_memsets(import);
    read_graphs(import);
    add_syncs(import);
}

} // namespace echosim
