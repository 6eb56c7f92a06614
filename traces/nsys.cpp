// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys.h"

#include "simulator/core/error.h"
#include "traces/nsys/import.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::array<std::string_view, 5> kSomeTable{"CUPTI_ACTIVITY_KIND_KERNEL",
                                                     "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS",
                                                     "StringIds", "META_DATA_EXPORT"};

void check_kind(NsysImport& import) {
    const std::vector<std::string> tables = import.database.tables();
    const auto has = [&](std::string_view name) {
        return std::find(tables.begin(), tables.end(), name) != tables.end();
    };
    if (std::none_of(kSomeTable.begin(), kSomeTable.end(), has)) {
        throw InputError(import.database.path(),
                         "is a SQLite database, but not an export of Nsight Systems: it has none of the "
                         "tables CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME, NVTX_EVENTS");
    }
    for (const char* table :
         {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
          "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_RUNTIME"}) {
        const std::vector<std::string> columns = import.database.columns(table);
        for (const char* column : {"start", "end"}) {
            if (!columns.empty() && std::find(columns.begin(), columns.end(), column) == columns.end()) {
                throw InputError(fmt::format("{}: table {}", import.database.path(), table),
                                 fmt::format("has no column {}", column));
            }
        }
    }
}

// Tables with rows that no stage asked for, apart from descriptions of the machine and of the export.
void note_unread(NsysImport& import) {
    std::string unread;
    for (const std::string& table : import.database.tables()) {
        const auto begins = [&](std::string_view word) { return table.compare(0, word.size(), word) == 0; };
        const auto& read = import.tables_read;
        if (begins("ENUM_") || begins("TARGET_INFO_") || begins("META_DATA_") || begins("sqlite_") ||
            begins("ANALYSIS_") || table == "ProcessStreams" || table == "DIAGNOSTIC_EVENT" ||
            std::find(read.begin(), read.end(), table) != read.end()) {
            continue;
        }
        NsysTable rows(import.database, table, {"start"});
        if (rows.next()) {
            unread += (unread.empty() ? "" : ", ") + table;
        }
    }
    if (!unread.empty()) {
        import.report.note("tables that are not read: " + unread);
    }
}

StreamKind kind_of(const NsysImport::StreamWork& work) {
    if (work.all > 0 && work.comm * 2 > work.all) {
        return StreamKind::comm;
    }
    return work.all > 0 && work.copies == work.all ? StreamKind::copy : StreamKind::compute;
}

// Work that begins before the work in front of it on its stream ended.
std::uint64_t overlaps(const EventColumns& events) {
    std::uint64_t count = 0;
    TimeNs end = std::numeric_limits<TimeNs>::min();
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (is_device_work(events.kind[i])) {
            count += events.start_ns[i] < end ? 1 : 0;
            end = std::max(end, events.start_ns[i] + events.dur_ns[i]);
        }
    }
    return count;
}

} // namespace

Imported read_nsys(const std::string& path) {
    NsysImport import(path);
    import.report.format = "Nsight Systems SQLite";
    import.report.files = {path};
    check_kind(import);
    read_nsys_identity(import);
    read_nsys_calls(import);
    read_nsys_device_work(import);
    read_nsys_ranges(import);
    read_nsys_libraries(import);
    read_nsys_metrics(import);
    for (std::uint32_t i = 0; i < import.stream_work.size(); ++i) {
        if (import.stream_work[i].all > 0) {
            import.builder.set_stream_kind(i, kind_of(import.stream_work[i]));
        }
    }
    Trace trace = import.builder.finish();
    for (const TraceStream& stream : trace.streams) {
        import.report.warn("overlapping_kernels", overlaps(stream.events));
    }
    describe_nsys_collectives(import, trace);
    describe_nsys_ranks(import, trace);
    note_unread(import);
    check_trace(trace, path);
    return {std::move(trace), std::move(import.report)};
}

bool is_nsys_report(const std::string& path) {
    const std::string ending = std::filesystem::path(path).extension().string();
    return ending == ".nsys-rep" || ending == ".qdrep";
}

void refuse_nsys_report(const std::string& path) {
    std::filesystem::path database(path);
    database.replace_extension(".sqlite");
    const auto word = [](const std::string& text) {
        const bool plain = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                  "0123456789_./+-=@,:") == std::string::npos;
        std::string quoted = "'";
        for (const char sign : text) {
            quoted += sign == '\'' ? std::string("'\\''") : std::string(1, sign);
        }
        return plain && !text.empty() && text[0] != '-' ? text : quoted + "'";
    };
    throw InputError(
        path, "is a report of Nsight Systems in its own closed format; its SQLite export is read",
        fmt::format("nsys export --type sqlite --output {} {}", word(database.string()), word(path)));
}

} // namespace echosim
