// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json/header.h"

#include "traces/json_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using json = nlohmann::ordered_json;

// `"key":"text"` with a comma in front, nothing for an empty text.
std::string text_member(std::string_view key, std::string_view text) {
    return text.empty() ? std::string() : fmt::format(R"(,"{}":{})", key, json_string(text));
}

std::string ranges_of(const std::vector<RankRange>& ranges) {
    std::string text = "[";
    for (const RankRange& range : ranges) {
        text +=
            fmt::format("{}[{},{},{}]", text.size() == 1 ? "" : ",", range.first, range.count, range.stride);
    }
    return text + ']';
}

// A list with an entry for each row; put(row number) gives the members of one, a comma in front.
template <class Rows, class Put> std::string table(std::string_view key, const Rows& rows, Put put) {
    std::string text = fmt::format(R"(,"{}":[)", key);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        text += fmt::format("{}{{{}}}", i == 0 ? "" : ",", put(i).substr(1));
    }
    return text + ']';
}

std::string threads_of(const TraceThreads& threads, std::size_t stream) {
    std::string text;
    for (const TraceThread& thread : threads.of_stream(stream)) {
        text += fmt::format("{}[{},{}]", text.empty() ? "" : ",", thread.pid, thread.tid);
    }
    return text;
}

// What events cannot carry.
std::string tables(const Trace& trace, const TraceThreads& threads) {
    std::string text = fmt::format(R"({{"version":1,"t0_ns":{},"timed":{})", trace.t0_ns, trace.timed);
    text += table("classes", trace.classes, [&](std::size_t i) {
        const TraceClass& row = trace.classes[i];
        return text_member("name", trace.text(row.name)) +
               fmt::format(R"(,"stage":{},"ranks":{})", row.stage, ranges_of(row.ranks));
    });
    text += table("streams", trace.streams, [&](std::size_t i) {
        const TraceStream& row = trace.streams[i];
        return fmt::format(R"(,"class":{},"id":{})", row.rank_class, row.id) +
               text_member("name", trace.text(row.name)) +
               fmt::format(R"(,"kind":"{}","device":{},"number":{},"threads":[{}])", to_string(row.kind),
                           row.device, row.number, threads_of(threads, i));
    });
    text += table("communicators", trace.communicators, [&](std::size_t i) {
        const TraceCommunicator& row = trace.communicators[i];
        return text_member("name", trace.text(row.name)) +
               text_member("description", trace.text(row.description)) +
               fmt::format(R"(,"ranks":{})", ranges_of(row.ranks));
    });
    text += table("counters", trace.counters, [&](std::size_t i) {
        const TraceCounter& row = trace.counters[i];
        return fmt::format(R"(,"class":{})", row.rank_class) + text_member("name", trace.text(row.name)) +
               text_member("unit", trace.text(row.unit));
    });
    return text + '}';
}

json object_of(const std::string& text) {
    json value = json::parse(text, nullptr, false);
    return value.is_object() ? value : json::object();
}

// What the recorder said of a rank: of a trace of several ranks, in the list of what differs.
json recorded_info(const json& meta, std::uint32_t rank) {
    if (meta.contains("distributedInfo") && meta["distributedInfo"].is_object()) {
        return meta["distributedInfo"];
    }
    if (meta.contains("merged") && meta["merged"].is_array()) {
        for (const json& one : meta["merged"]) {
            const json info = one.is_object() ? one.value("distributedInfo", json::object()) : json::object();
            if (info.is_object() && info.value("rank", json()) == rank) {
                return info;
            }
        }
    }
    return json::object();
}

json group_list(const Trace& trace) {
    json groups = json::array();
    for (const TraceCommunicator& row : trace.communicators) {
        const std::vector<int> ranks = expand_ranks(row.ranks);
        groups.push_back({{"pg_name", trace.text(row.name)},
                          {"pg_desc", trace.text(row.description)},
                          {"pg_size", ranks.size()},
                          {"ranks", ranks}});
    }
    return groups;
}

std::string dumped(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// What Kineto writes in front of the events.
std::string kineto_members(const Trace& trace) {
    const json meta = object_of(trace.meta);
    std::string text = R"("schemaVersion":1,)";
    if (meta.contains("deviceProperties")) {
        text += fmt::format(R"("deviceProperties":{},)", dumped(meta["deviceProperties"]));
    }
    const TraceClass& rank_class = trace.classes.front();
    if (rank_class.ranks.empty()) {
        return text;
    }
    const std::uint32_t rank = rank_class.ranks.front().first;
    const json recorded = recorded_info(meta, rank);
    json info = {{"backend", recorded.value("backend", json("nccl"))}, {"rank", rank}};
    const json size =
        recorded.contains("world_size") ? recorded["world_size"] : meta.value("world_size", json());
    if (size.is_number_integer()) {
        info["world_size"] = size;
    }
    if (!trace.communicators.empty()) {
        info["pg_config"] = group_list(trace);
    }
    return text + fmt::format(R"("distributedInfo":{},)", dumped(info));
}

} // namespace

std::string trace_events_header(const Trace& trace, const TraceThreads& threads, TraceDialect dialect) {
    std::string text = "{";
    if (dialect == TraceDialect::chrome) {
        text += kineto_members(trace);
    }
    text += R"("displayTimeUnit":"ms",)";
    if (trace.t0_ns != 0) {
        text += fmt::format(R"("baseTimeNanoseconds":{},)", trace.t0_ns);
    }
    text += R"("otherData":{)";
    if (!trace.meta.empty()) {
        const bool object =
            trace.meta.starts_with('{') && trace.meta.ends_with('}') && nlohmann::json::accept(trace.meta);
        text += fmt::format(R"("echosim":{},)", object ? trace.meta : json_string(trace.meta));
    }
    return text + fmt::format(R"("echosim_trace":{}}},"traceEvents":[)", tables(trace, threads));
}

} // namespace echosim
