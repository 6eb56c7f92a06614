// SPDX-License-Identifier: Apache-2.0
#include "traces/merge.h"

#include "simulator/core/error.h"
#include "traces/merge_rows.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

namespace echosim {
namespace {

using json = nlohmann::ordered_json;

bool equal_in_all(const std::vector<json>& metas, const std::string& key) {
    return std::all_of(metas.begin(), metas.end(), [&](const json& meta) {
        return meta.contains(key) && meta.at(key) == metas.front().at(key);
    });
}

std::string merged_meta(const std::vector<Trace>& traces) {
    const bool one = std::all_of(traces.begin(), traces.end(),
                                 [&](const Trace& trace) { return trace.meta == traces.front().meta; });
    if (one) {
        return traces.front().meta;
    }
    std::vector<json> metas;
    for (const Trace& trace : traces) {
        json meta = json::parse(trace.meta, nullptr, false);
        metas.push_back(meta.is_object() ? std::move(meta) : json{{"meta", trace.meta}});
    }
    json merged = json::object();
    for (const auto& [key, value] : metas.front().items()) {
        if (equal_in_all(metas, key)) {
            merged[key] = value;
        }
    }
    for (json& meta : metas) {
        for (const auto& [key, value] : merged.items()) {
            meta.erase(key);
        }
    }
    merged["merged"] = metas;
    return merged.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The wall clock that all times are moved to; 0: none has one.
TimeNs earliest_t0(const std::vector<Trace>& traces) {
    TimeNs earliest = 0;
    for (const Trace& trace : traces) {
        if (trace.t0_ns != 0 && (earliest == 0 || trace.t0_ns < earliest)) {
            earliest = trace.t0_ns;
        }
    }
    return earliest;
}

template <class Row> RowMap append_rows(std::vector<Row>&& from, std::vector<Row>& to) {
    RowMap map(from.size());
    std::iota(map.begin(), map.end(), static_cast<std::uint32_t>(to.size()));
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    std::vector<Row>().swap(from);
    return map;
}

class Merger {
  public:
    explicit Merger(TimeNs t0) { merged_.t0_ns = t0; }
    void add(Trace trace);
    Trace finish(std::string meta) {
        merged_.meta = std::move(meta);
        return std::move(merged_);
    }

  private:
    using CommunicatorKey =
        std::tuple<std::uint32_t, std::uint32_t, std::vector<std::array<std::uint32_t, 3>>>;
    RowMap add_communicators(const Trace& trace, const RowMap& strings);
    void add_comm_ops(Trace& trace, RowMaps& maps);
    void add_tables(Trace& trace, RowMaps& maps);
    void add_streams(Trace& trace, const RowMaps& maps, TimeNs shift);
    void add_counters(Trace& trace, const RowMaps& maps, TimeNs shift);

    Trace merged_;
    std::map<CommunicatorKey, std::uint32_t> communicators_;
};

RowMap Merger::add_communicators(const Trace& trace, const RowMap& strings) {
    RowMap map;
    for (TraceCommunicator row : trace.communicators) {
        row.name = moved_name(strings, row.name);
        row.description = moved_name(strings, row.description);
        CommunicatorKey key{row.name.value, row.description.value, {}};
        for (const RankRange& range : row.ranks) {
            std::get<2>(key).push_back({range.first, range.count, range.stride});
        }
        const auto [entry, added] = communicators_.try_emplace(
            std::move(key), static_cast<std::uint32_t>(merged_.communicators.size()));
        if (added) {
            merged_.communicators.push_back(std::move(row));
        }
        map.push_back(entry->second);
    }
    return map;
}

void Merger::add_comm_ops(Trace& trace, RowMaps& maps) {
    const RowMap communicators = add_communicators(trace, maps.strings);
    const std::size_t first = merged_.comm_ops.size();
    maps.comm_ops = append_rows(std::move(trace.comm_ops), merged_.comm_ops);
    for (std::size_t i = first; i < merged_.comm_ops.size(); ++i) {
        CommOp& op = merged_.comm_ops[i];
        op.group = moved_name(maps.strings, op.group);
        op.communicator = moved_row(communicators, op.communicator);
    }
}

void Merger::add_tables(Trace& trace, RowMaps& maps) {
    for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
        maps.strings.push_back(merged_.strings.intern(trace.strings[NameId{i}]).value);
    }
    trace.strings = {};
    const std::size_t first_label = merged_.labels.size();
    maps.labels = append_rows(std::move(trace.labels), merged_.labels);
    for (std::size_t i = first_label; i < merged_.labels.size(); ++i) {
        merged_.labels[i].module = moved_name(maps.strings, merged_.labels[i].module);
    }
    add_comm_ops(trace, maps);
    maps.launches = append_rows(std::move(trace.launches), merged_.launches);
    maps.copies = append_rows(std::move(trace.copies), merged_.copies);
    maps.syncs = append_rows(std::move(trace.syncs), merged_.syncs);
}

void Merger::add_streams(Trace& trace, const RowMaps& maps, TimeNs shift) {
    const auto first_class = static_cast<std::uint32_t>(merged_.classes.size() - trace.classes.size());
    const auto first_stream = static_cast<std::uint32_t>(merged_.streams.size());
    const MoveEvent move = [&](std::uint64_t ref) {
        return event_ref(first_stream + stream_of(ref), index_of(ref));
    };
    for (TraceStream& stream : trace.streams) {
        stream.rank_class += first_class;
        stream.name = moved_name(maps.strings, stream.name);
        renumber(stream.events, maps, move, shift);
        merged_.streams.push_back(std::move(stream));
    }
    for (const Flow& flow : trace.flows) {
        merged_.flows.push_back({move(flow.from), move(flow.to), flow.kind});
    }
}

void Merger::add_counters(Trace& trace, const RowMaps& maps, TimeNs shift) {
    const auto first_class = static_cast<std::uint32_t>(merged_.classes.size() - trace.classes.size());
    for (TraceCounter& counter : trace.counters) {
        counter.rank_class += first_class;
        counter.name = moved_name(maps.strings, counter.name);
        counter.unit = moved_name(maps.strings, counter.unit);
        for (TimeNs& time : counter.time_ns) {
            time = moved_time(time, shift);
        }
        merged_.counters.push_back(std::move(counter));
    }
}

void Merger::add(Trace trace) {
    RowMaps maps;
    add_tables(trace, maps);
    for (const TraceClass& row : trace.classes) {
        merged_.classes.push_back({moved_name(maps.strings, row.name), row.stage, row.ranks});
    }
    TimeNs shift = 0;
    if (trace.t0_ns != 0 && __builtin_sub_overflow(trace.t0_ns, merged_.t0_ns, &shift)) {
        throw InputError("merge", fmt::format("clocks of {} ns and {} ns", trace.t0_ns, merged_.t0_ns),
                         "the files are not of one job");
    }
    add_streams(trace, maps, shift);
    add_counters(trace, maps, shift);
    merged_.timed = merged_.timed && trace.timed;
}

} // namespace

Trace merge(std::vector<Trace> traces) {
    if (traces.empty()) {
        return {};
    }
    Merger merger(earliest_t0(traces));
    std::string meta = merged_meta(traces);
    for (Trace& trace : traces) {
        merger.add(std::move(trace));
    }
    return merger.finish(std::move(meta));
}

} // namespace echosim
