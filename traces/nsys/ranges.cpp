// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys/import.h"
#include "traces/nsys/payload.h"

#include <cmath>
#include <fmt/format.h>

// NVTX: ranges that are pushed and popped (59) or started and ended (60), marks (34), and the names of
// categories (33) and domains (75). 65, 70 and 71 are marks and ranges of imported text files.
namespace echosim {
namespace {

enum Column : int {
    start,
    end,
    event_type,
    thread,
    text,
    text_id,
    domain,
    category,
    end_thread,
    first_value, // four whole numbers, two real ones
    double_value = first_value + 4,
    float_value,
    json_text,
    json_id,
    binary
};

const std::vector<std::string_view> kColumns{
    "start",      "end",         "eventType",    "globalTid",   "text",       "textId",
    "domainId",   "category",    "endGlobalTid", "uint64Value", "int64Value", "uint32Value",
    "int32Value", "doubleValue", "floatValue",   "jsonText",    "jsonTextId", "binaryData"};

NsysTable open_nvtx(NsysImport& import, std::string_view where) {
    return import.open("NVTX_EVENTS", kColumns, where);
}

std::string_view text_of(const NsysImport& import, const NsysTable& rows) {
    if (const std::optional<std::string_view> given = rows.text(text)) {
        return *given;
    }
    return import.strings.text(rows.integer(text_id)).value_or("");
}

void read_definitions(NsysImport& import) {
    NsysTable rows = open_nvtx(import, "WHERE eventType IN (33, 75)");
    while (rows.next()) {
        const std::optional<std::uint32_t> process = import.process_of(rows.integer(thread));
        if (!process) {
            continue;
        }
        NsysProcess& owner = import.processes[*process];
        const std::string name(text_of(import, rows));
        if (rows.integer(event_type, 0) == 75) {
            owner.domains[rows.integer(domain, 0)] = name;
        } else {
            owner.categories[{rows.integer(domain, 0), rows.integer(category, 0)}] = name;
        }
    }
}

std::string domain_name(const NsysProcess& owner, std::int64_t number) {
    if (number == 0) {
        return {}; // the default domain
    }
    const auto known = owner.domains.find(number);
    return known == owner.domains.end() ? fmt::format("domain {}", number) : known->second;
}

NsysPayload payload_of(const NsysImport& import, const NsysTable& rows, const NsysPayloadSchemas& schemas) {
    if (const std::string_view bytes = rows.blob(binary); !bytes.empty()) {
        return schemas.decode(rows.integer(domain, 0), bytes);
    }
    std::optional<std::string_view> json = rows.text(json_text);
    if (!json) {
        json = import.strings.text(rows.integer(json_id));
    }
    return json ? NsysPayloadSchemas::decode_json(*json) : NsysPayload{};
}

NameId args_of(NsysImport& import, const NsysTable& rows, const NsysProcess& owner,
               const NsysPayload& payload) {
    NsysArgs args;
    const std::int64_t in = rows.integer(domain, 0);
    if (const std::string name = domain_name(owner, in); !name.empty()) {
        args.add("domain", name);
    }
    if (const std::int64_t number = rows.integer(category, 0); number != 0) {
        const auto known = owner.categories.find({in, number});
        args.add("category", known == owner.categories.end() ? fmt::format("{}", number) : known->second);
    }
    const auto ends_in = rows.integer(end_thread);
    if (ends_in && *ends_in != 0 && ends_in != rows.integer(thread)) {
        args.add("end thread", *ends_in & static_cast<std::int64_t>(kNsysThreadBits));
    }
    for (int i = first_value; i < double_value; ++i) {
        if (const std::optional<std::int64_t> value = rows.integer(i)) {
            args.add(kColumns[static_cast<std::size_t>(i)], *value);
        }
    }
    for (const int column : {int{double_value}, int{float_value}}) {
        const std::optional<double> value = rows.real(column);
        if (value && std::isfinite(*value)) {
            args.add_json(kColumns[static_cast<std::size_t>(column)], fmt::format("{}", *value));
        }
    }
    for (const auto& [name, value] : payload) {
        args.add_json(name, fmt::format("{}", value));
    }
    return args.name(import.builder);
}

std::int32_t small(std::optional<std::uint64_t> value) {
    return value && *value < (std::uint64_t{1} << 24U) ? static_cast<std::int32_t>(*value) : -1;
}

// Field names as NCCL gives them to NVTX.
void add_nccl_call(NsysImport& import, std::uint32_t stream, const Event& event, const NsysPayload& payload) {
    NsysNcclCall call;
    call.thread = stream;
    call.start = event.start;
    call.end = event.start + event.duration;
    call.name = import.builder.so_far().text(event.name);
    call.communicator = payload_field(payload, "NCCL communicator ID").value_or(0);
    call.bytes = payload_field(payload, "Message size [bytes]");
    const auto peer = payload_field(payload, "Peer rank");
    call.peer = small(peer ? peer : payload_field(payload, "Root"));
    call.rank = small(payload_field(payload, "Rank"));
    call.ranks = small(payload_field(payload, "No. of ranks"));
    import.nccl_calls.push_back(std::move(call));
}

bool is_mark(std::int64_t type) {
    return type == 34 || type == 65;
}

bool is_range(std::int64_t type) {
    return type == 59 || type == 60 || type == 70 || type == 71;
}

// Older exports and small ones have no eventType: all rows are ranges then.
std::int64_t type_of(const NsysTable& rows) {
    return rows.integer(event_type, 59);
}

void read_event(NsysImport& import, const NsysTable& rows, const NsysPayloadSchemas& schemas) {
    const std::int64_t type = type_of(rows);
    NsysTimes times;
    if (is_mark(type)) {
        times = {rows.within(start, -(std::int64_t{1} << 61U), std::int64_t{1} << 61U, 0) - import.shift, 0,
                 true};
    } else {
        times = nsys_times(rows, import.shift, import.report, "unclosed_begin");
    }
    import.add_event_count(times);
    const std::optional<std::int64_t> tid = rows.integer(thread);
    const std::optional<std::uint32_t> process = import.process_of(tid);
    if (!process) {
        import.report.warn("event_of_process_without_gpu");
        return;
    }
    const std::uint32_t stream = import.thread_stream(*process, tid.value_or(0));
    const NsysProcess& owner = import.processes[*process];
    Event event{times.start, times.duration, import.builder.name(text_of(import, rows)),
                is_mark(type) ? EventKind::instant : EventKind::annotation};
    event.provenance = Provenance::measured;
    const NsysPayload payload = payload_of(import, rows, schemas);
    event.args = args_of(import, rows, owner, payload);
    if (is_mark(type)) {
        event.ext = import.builder.name("NVTX").value;
    }
    import.builder.add_event(stream, event);
    const std::string_view name = import.builder.so_far().text(event.name);
    if (name.substr(0, 4) == "nccl" && domain_name(owner, rows.integer(domain, 0)) == "NCCL") {
        add_nccl_call(import, stream, event, payload);
    }
}

} // namespace

void read_nsys_ranges(NsysImport& import) {
    NsysPayloadSchemas schemas;
    schemas.read(import.database);
    import.tables_read.emplace_back("NVTX_PAYLOAD_SCHEMAS");
    import.tables_read.emplace_back("NVTX_PAYLOAD_SCHEMA_ENTRIES");
    NsysTable rows = open_nvtx(import, "");
    if (rows.has(event_type)) {
        read_definitions(import);
    }
    while (rows.next()) {
        const std::int64_t type = type_of(rows);
        if (is_range(type) || is_mark(type)) {
            read_event(import, rows, schemas);
        } else if (type != 33 && type != 39 && type != 75 &&
                   type != 76) { // names of categories, threads, domains
            ++import.report.events;
            import.report.warn("unknown_nvtx_event");
        }
    }
}

} // namespace echosim
