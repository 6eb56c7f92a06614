// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys/import.h"

#include "traces/json_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace echosim {
namespace {

// "cudaLaunchKernel_v7000" without "_v7000". Driver calls keep suffixes like _v2: they are other functions.
std::string_view without_version(std::string_view name) {
    const std::size_t end = name.rfind("_v");
    if (end == std::string_view::npos || name.size() - end < 6) {
        return name;
    }
    const std::string_view digits = name.substr(end + 2);
    const bool number =
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    return number ? name.substr(0, end) : name;
}

} // namespace

void NsysStrings::read(SqliteDatabase& database) {
    NsysTable table(database, "StringIds", {"id", "value"});
    while (table.next()) {
        const std::optional<std::string_view> value = table.text(1);
        entries_[table.integer(0, -1)].text = value.value_or(std::string_view{});
    }
}

std::optional<std::string_view> NsysStrings::text(std::optional<std::int64_t> id) const {
    const auto entry = id ? entries_.find(*id) : entries_.end();
    return entry == entries_.end() ? std::nullopt : std::optional<std::string_view>(entry->second.text);
}

NameId NsysStrings::name(std::optional<std::int64_t> id, TraceBuilder& builder, ImportReport& report) {
    if (!id) {
        return kNoName;
    }
    const auto entry = entries_.find(*id);
    if (entry == entries_.end()) {
        report.warn("unknown_string");
        return builder.name(fmt::format("string {}", *id));
    }
    if (entry->second.name == kNoName) {
        entry->second.name = builder.name(entry->second.text);
    }
    return entry->second.name;
}

NameId NsysStrings::call(std::optional<std::int64_t> id, TraceBuilder& builder, ImportReport& report) {
    const auto entry = id ? entries_.find(*id) : entries_.end();
    if (entry == entries_.end()) {
        return name(id, builder, report);
    }
    if (entry->second.call == kNoName) {
        entry->second.call = builder.name(without_version(entry->second.text));
    }
    return entry->second.call;
}

NsysTable NsysImport::open(std::string_view table, const std::vector<std::string_view>& columns,
                           std::string_view where) {
    tables_read.emplace_back(table);
    return {database, table, columns, where};
}

std::optional<std::uint32_t> NsysImport::process_of(std::optional<std::int64_t> global_id) const {
    if (!global_id) {
        return processes.size() == 1 ? std::optional(0U) : std::nullopt;
    }
    const auto row = process_rows.find(nsys_process(*global_id));
    return row == process_rows.end() ? std::nullopt : std::optional(row->second);
}

std::uint32_t NsysImport::thread_stream(std::uint32_t process, std::int64_t global_tid) {
    NsysProcess& owner = processes[process];
    const std::int64_t tid = global_tid & static_cast<std::int64_t>(kNsysThreadBits);
    const auto [entry, added] = owner.threads.try_emplace(tid, 0U);
    if (added) {
        const auto name = thread_names.find(static_cast<std::uint64_t>(global_tid));
        entry->second =
            builder.add_stream(owner.rank_class, StreamKind::host,
                               name == thread_names.end() ? fmt::format("thread {}", tid)
                                                          : fmt::format("thread {} ({})", tid, name->second));
        builder.set_origin(entry->second, -1, tid);
    }
    return entry->second;
}

std::uint32_t NsysImport::device_stream(std::uint32_t process, std::int32_t device, std::int64_t number) {
    NsysProcess& owner = processes[process];
    const auto [entry, added] = owner.streams.try_emplace({device, number}, 0U);
    if (added) {
        entry->second = builder.add_stream(owner.rank_class, StreamKind::compute,
                                           number < 0 ? "no stream" : fmt::format("stream {}", number));
        builder.set_origin(entry->second, device, number);
    }
    return entry->second;
}

std::uint32_t NsysImport::correlation(std::optional<std::int64_t> number) {
    // CUPTI writes all ones for "none".
    if (!number || *number == 0 || *number == 0xffffffffLL) {
        return 0;
    }
    if (*number < 0 || *number > 0xffffffffLL) {
        report.warn("correlation_out_of_range");
        return 0;
    }
    return static_cast<std::uint32_t>(*number);
}

const NsysCall* NsysImport::find_call(std::uint32_t process, std::uint32_t number) const {
    const std::pair key(process, number);
    const auto found = std::lower_bound(calls.begin(), calls.end(), key,
                                        [](const NsysCall& call, const auto& k) { return call.key() < k; });
    return number != 0 && found != calls.end() && found->key() == key ? &*found : nullptr;
}

void NsysImport::add_device_event(std::uint32_t stream, const Event& event) {
    builder.add_event(stream, event);
    stream_work.resize(std::max<std::size_t>(stream_work.size(), stream + std::size_t{1}));
    StreamWork& work = stream_work[stream];
    ++work.all;
    work.comm += event.kind == EventKind::comm ? 1 : 0;
    work.copies += event.kind == EventKind::memcpy || event.kind == EventKind::memset ? 1 : 0;
}

void NsysArgs::key(std::string_view key) {
    text_ += text_.empty() ? "{" : ",";
    const bool plain = std::all_of(key.begin(), key.end(),
                                   [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
    if (plain) {
        text_ += '"';
        text_ += key;
        text_ += '"';
    } else {
        text_ += json_string(key);
    }
    text_ += ':';
}

void NsysArgs::add(std::string_view name, std::int64_t value) {
    key(name);
    fmt::format_to(std::back_inserter(text_), "{}", value);
}

void NsysArgs::add(std::string_view name, std::string_view text) {
    key(name);
    text_ += json_string(text);
}

void NsysArgs::add_json(std::string_view name, std::string_view json) {
    key(name);
    text_ += json;
}

NameId NsysArgs::name(TraceBuilder& builder) const {
    return text_.empty() ? kNoName : builder.name(text_ + "}");
}

} // namespace echosim
