// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys/import.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

// SYNCHRONIZATION.syncType of CUPTI: 1 event, 2 a stream waits for an event, 3 stream, 4 context.
std::optional<SyncKind> sync_kind(std::int64_t type) {
    switch (type) {
    case 1:
        return SyncKind::event_synchronize;
    case 2:
        return SyncKind::stream_wait_event;
    case 3:
        return SyncKind::stream_synchronize;
    case 4:
        return SyncKind::device_synchronize;
    default:
        return std::nullopt;
    }
}

std::optional<SyncKind> sync_kind(std::string_view call) {
    const auto begins = [&](std::string_view word) { return call.substr(0, word.size()) == word; };
    if (begins("cudaEventRecord") || begins("cuEventRecord")) {
        return SyncKind::event_record;
    }
    if (begins("cudaStreamWaitEvent") || begins("cuStreamWaitEvent")) {
        return SyncKind::stream_wait_event;
    }
    if (begins("cudaEventSynchronize") || begins("cuEventSynchronize")) {
        return SyncKind::event_synchronize;
    }
    if (begins("cudaStreamSynchronize") || begins("cuStreamSynchronize")) {
        return SyncKind::stream_synchronize;
    }
    if (begins("cudaDeviceSynchronize") || begins("cuCtxSynchronize") || begins("cudaThreadSynchronize")) {
        return SyncKind::device_synchronize;
    }
    return std::nullopt;
}

// CUPTI writes all ones where a stream or an event does not apply.
std::optional<std::int64_t> applies(std::optional<std::int64_t> number) {
    return number && *number >= 0 && *number != 0xffffffffLL ? number : std::nullopt;
}

// Syncs by the call that made them, as SyncOp of the call.
using SyncOfCall = std::map<std::pair<std::uint32_t, std::uint32_t>, SyncOp>;

// Rows of CUDA_EVENT are the records of events. Their time is that of the GPU, where it was collected.
void read_cuda_events(NsysImport& import, SyncOfCall& of_call) {
    NsysTable rows =
        import.open("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {"globalPid", "correlationId", "streamId", "eventId",
                                                       "eventSyncId", "timestamp", "deviceId", "contextId"});
    while (rows.next()) {
        ++import.report.events;
        const std::optional<std::uint32_t> process = import.process_of(rows.integer(0));
        if (!process) {
            import.report.warn("event_without_process");
            continue;
        }
        SyncOp op{SyncKind::event_record, applies(rows.integer(2)).value_or(-1),
                  static_cast<std::uint64_t>(applies(rows.integer(3)).value_or(0)), 0};
        const std::uint32_t correlation = import.correlation(rows.integer(1));
        of_call[{*process, correlation}] = op;
        if (const auto sync = applies(rows.integer(4)); sync && *sync != 0 && correlation != 0) {
            import.processes[*process].recorded_by[*sync] = correlation;
        }
        const TimeNs time = rows.within(5, 0, std::int64_t{1} << 61U, 0);
        if (time != 0) {
            ++import.report.complete_events;
            import.syncs.push_back({*process,
                                    correlation,
                                    {time - import.shift, 0, true},
                                    static_cast<std::int32_t>(rows.within(6, 0, 0x7fffffff, -1)),
                                    rows.integer(7, -1),
                                    op});
        }
    }
}

void read_synchronizations(NsysImport& import, SyncOfCall& of_call) {
    NsysTable rows = import.open("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                 {"start", "end", "globalPid", "correlationId", "streamId", "eventId",
                                  "eventSyncId", "syncType", "deprecatedSyncType", "deviceId", "contextId"});
    while (rows.next()) {
        const NsysTimes times = nsys_times(rows, import.shift, import.report);
        import.add_event_count(times);
        const std::optional<std::uint32_t> process = import.process_of(rows.integer(2));
        if (!process) {
            import.report.warn("event_without_process");
            continue;
        }
        const std::optional<std::int64_t> type = rows.integer(7);
        const std::optional<SyncKind> kind = sync_kind(type ? *type : rows.integer(8, 0));
        if (!kind) {
            import.report.warn("unknown_synchronization");
        }
        SyncOp op{kind.value_or(SyncKind::device_synchronize), applies(rows.integer(4)).value_or(-1),
                  static_cast<std::uint64_t>(applies(rows.integer(5)).value_or(0)), 0};
        const auto& recorded = import.processes[*process].recorded_by;
        if (const auto sync = applies(rows.integer(6)); sync && recorded.count(*sync) > 0) {
            op.recorded_by = recorded.at(*sync);
        }
        const std::uint32_t correlation = import.correlation(rows.integer(3));
        of_call[{*process, correlation}] = op;
        import.syncs.push_back({*process, correlation, times,
                                static_cast<std::int32_t>(rows.within(9, 0, 0x7fffffff, -1)),
                                rows.integer(10, -1), op, kind.has_value()});
    }
}

std::uint32_t sync_row(NsysImport& import, const SyncOfCall& of_call, const NsysCall& call) {
    if (!call.sync) {
        return kNoRow;
    }
    const auto known = call.correlation == 0 ? of_call.end() : of_call.find(call.key());
    SyncOp op = known == of_call.end() ? SyncOp{} : known->second;
    op.kind = *call.sync;
    return import.builder.add_sync(op);
}

// Names of calls are few: whether one synchronises is asked once a name.
struct CallWord {
    NameId name = kNoName;
    std::optional<SyncKind> sync;
};

void read_runtime(NsysImport& import, const SyncOfCall& of_call) {
    NsysTable rows = import.open("CUPTI_ACTIVITY_KIND_RUNTIME",
                                 {"start", "end", "globalTid", "correlationId", "nameId", "returnValue"});
    std::unordered_map<std::int64_t, CallWord> words;
    while (rows.next()) {
        const NsysTimes times = nsys_times(rows, import.shift, import.report);
        import.add_event_count(times);
        const std::optional<std::int64_t> tid = rows.integer(2);
        const std::optional<std::uint32_t> process = import.process_of(tid);
        if (!process) {
            import.report.warn("event_without_process");
            continue;
        }
        CallWord& word = words[rows.integer(4, -1)];
        if (word.name == kNoName) {
            word.name = import.strings.call(rows.integer(4), import.builder, import.report);
            word.sync = sync_kind(import.builder.so_far().text(word.name));
        }
        const NsysCall call{*process, import.correlation(rows.integer(3)),
                            import.thread_stream(*process, tid.value_or(0)), times.start, word.sync};
        Event event{times.start, times.duration, word.name, EventKind::api};
        event.provenance = Provenance::measured;
        event.correlation = call.correlation;
        event.ext = sync_row(import, of_call, call);
        if (const std::int64_t result = rows.integer(5, 0); result != 0) {
            NsysArgs args;
            args.add("returnValue", result);
            event.args = args.name(import.builder);
        }
        import.builder.add_event(call.thread, event);
        import.calls.push_back(call);
    }
}

} // namespace

void read_nsys_calls(NsysImport& import) {
    SyncOfCall of_call;
    read_cuda_events(import, of_call);
    read_synchronizations(import, of_call);
    read_runtime(import, of_call);
    std::stable_sort(import.calls.begin(), import.calls.end(),
                     [](const NsysCall& a, const NsysCall& b) { return a.key() < b.key(); });
}

} // namespace echosim
