// SPDX-License-Identifier: Apache-2.0
#include "traces/trace.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace echosim {
namespace {

template <class Value, std::size_t n>
std::string_view word(const std::array<std::string_view, n>& words, Value value) {
    const auto index = static_cast<std::size_t>(value);
    return index < n ? words[index] : std::string_view("unknown");
}

template <class T> void permute(std::vector<T>& column, const std::vector<std::uint32_t>& order) {
    std::vector<T> sorted;
    sorted.reserve(column.size());
    for (const std::uint32_t from : order) {
        sorted.push_back(column[from]);
    }
    column = std::move(sorted);
}

// Sorts one stream; returns the new index of each event, empty when it was sorted already.
std::vector<std::uint32_t> sort_by_start(EventColumns& events) {
    if (std::is_sorted(events.start_ns.begin(), events.start_ns.end())) {
        return {};
    }
    std::vector<std::uint32_t> order(events.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return events.start_ns[a] < events.start_ns[b];
    });
    permute(events.start_ns, order);
    permute(events.dur_ns, order);
    permute(events.name, order);
    permute(events.kind, order);
    permute(events.label, order);
    permute(events.ext, order);
    permute(events.alone_ns, order);
    permute(events.binding_pred, order);
    permute(events.provenance, order);
    permute(events.correlation, order);
    permute(events.args, order);
    std::vector<std::uint32_t> moved(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        moved[order[i]] = i;
    }
    return moved;
}

std::uint64_t renumbered(std::uint64_t ref, const std::vector<std::vector<std::uint32_t>>& moved) {
    if (ref == kNoEvent || stream_of(ref) >= moved.size() || moved[stream_of(ref)].empty()) {
        return ref;
    }
    return event_ref(stream_of(ref), moved[stream_of(ref)].at(index_of(ref)));
}

} // namespace

std::string_view to_string(EventKind value) {
    constexpr std::array<std::string_view, 12> kWords{"host",       "kernel", "memcpy",  "memset",
                                                      "comm",       "sync",   "graph",   "api",
                                                      "annotation", "python", "instant", "other"};
    return word(kWords, value);
}

std::string_view to_string(StreamKind value) {
    constexpr std::array<std::string_view, 10> kWords{"compute", "tp_comm", "dp_comm", "p2p",   "copy",
                                                      "host",    "cp_comm", "ep_comm", "other", "comm"};
    return word(kWords, value);
}

std::string_view to_string(FlowKind value) {
    constexpr std::array<std::string_view, 9> kWords{
        "collective", "p2p", "launch", "event", "sync", "control", "data", "forward_backward", "other"};
    return word(kWords, value);
}

std::string_view to_string(CopyKind value) {
    constexpr std::array<std::string_view, 7> kWords{"unknown", "HtoD", "DtoH",  "DtoD",
                                                     "PtoP",    "HtoH", "memset"};
    return word(kWords, value);
}

std::string_view to_string(SyncKind value) {
    constexpr std::array<std::string_view, 5> kWords{"event_record", "stream_wait_event", "event_synchronize",
                                                     "stream_synchronize", "device_synchronize"};
    return word(kWords, value);
}

std::string_view to_string(Direction value) {
    constexpr std::array<std::string_view, 4> kWords{"none", "send", "receive", "both"};
    return word(kWords, value);
}

std::vector<RankRange> compact_ranks(const std::vector<int>& ranks) {
    std::vector<RankRange> ranges;
    for (const int rank : ranks) {
        const auto value = static_cast<std::uint32_t>(rank);
        if (!ranges.empty()) {
            RankRange& last = ranges.back();
            const std::uint32_t end = last.first + (last.count - 1) * last.stride;
            if (last.count == 1 && value > last.first) {
                last.stride = value - last.first;
            }
            if (value > end && value - end == last.stride) {
                ++last.count;
                continue;
            }
        }
        ranges.push_back({value, 1, 1});
    }
    return ranges;
}

std::vector<int> expand_ranks(const std::vector<RankRange>& ranges) {
    std::vector<int> ranks;
    for (const RankRange& range : ranges) {
        for (std::uint32_t i = 0; i < range.count; ++i) {
            ranks.push_back(static_cast<int>(range.first + i * range.stride));
        }
    }
    return ranks;
}

std::uint64_t TraceClass::rank_count() const {
    std::uint64_t count = 0;
    for (const RankRange& range : ranks) {
        count += range.count;
    }
    return count;
}

void EventColumns::reserve(std::size_t events) {
    start_ns.reserve(events);
    dur_ns.reserve(events);
    name.reserve(events);
    kind.reserve(events);
    label.reserve(events);
    ext.reserve(events);
    alone_ns.reserve(events);
    binding_pred.reserve(events);
    provenance.reserve(events);
    correlation.reserve(events);
    args.reserve(events);
}

void EventColumns::push_back(const Event& event) {
    start_ns.push_back(event.start);
    dur_ns.push_back(event.duration);
    name.push_back(event.name.value);
    kind.push_back(event.kind);
    label.push_back(event.label);
    ext.push_back(event.ext);
    alone_ns.push_back(event.alone);
    binding_pred.push_back(event.binding_pred);
    provenance.push_back(event.provenance);
    correlation.push_back(event.correlation);
    args.push_back(event.args.value);
}

void EventColumns::append(const EventView& events) {
    start_ns.insert(start_ns.end(), events.start_ns.begin(), events.start_ns.end());
    dur_ns.insert(dur_ns.end(), events.dur_ns.begin(), events.dur_ns.end());
    name.insert(name.end(), events.name.begin(), events.name.end());
    kind.insert(kind.end(), events.kind.begin(), events.kind.end());
    label.insert(label.end(), events.label.begin(), events.label.end());
    ext.insert(ext.end(), events.ext.begin(), events.ext.end());
    alone_ns.insert(alone_ns.end(), events.alone_ns.begin(), events.alone_ns.end());
    binding_pred.insert(binding_pred.end(), events.binding_pred.begin(), events.binding_pred.end());
    provenance.insert(provenance.end(), events.provenance.begin(), events.provenance.end());
    correlation.insert(correlation.end(), events.correlation.begin(), events.correlation.end());
    args.insert(args.end(), events.args.begin(), events.args.end());
}

EventView EventColumns::view() const {
    return {start_ns, dur_ns, name, kind, label, ext, alone_ns, binding_pred, provenance, correlation, args};
}

Event EventView::row(std::size_t index) const {
    return {start_ns[index],   dur_ns[index],      NameId{name[index]}, kind[index],
            label[index],      ext[index],         alone_ns[index],     binding_pred[index],
            provenance[index], correlation[index], NameId{args[index]}};
}

std::uint64_t Trace::event_count() const {
    std::uint64_t count = 0;
    for (const TraceStream& stream : streams) {
        count += stream.events.size();
    }
    return count;
}

namespace {

std::size_t hash_of(std::initializer_list<std::uint64_t> fields) {
    std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
    for (const std::uint64_t field : fields) {
        hash = (hash ^ field) * 0xff51afd7ed558ccdULL;
        hash ^= hash >> 32U;
    }
    return hash;
}

// The row of an equal entry of `table`, or of the new one.
template <class Row, class Rows>
std::uint32_t shared_row(const Row& row, std::vector<Row>& table, Rows& rows) {
    const auto [entry, added] = rows.try_emplace(row, static_cast<std::uint32_t>(table.size()));
    if (added) {
        table.push_back(row);
    }
    return entry->second;
}

} // namespace

std::size_t TraceBuilder::RowHash::operator()(const Label& row) const noexcept {
    return hash_of({static_cast<std::uint32_t>(row.iteration), static_cast<std::uint32_t>(row.phase),
                    static_cast<std::uint32_t>(row.micro_batch), static_cast<std::uint32_t>(row.chunk),
                    static_cast<std::uint32_t>(row.layer), row.module.value});
}

std::size_t TraceBuilder::RowHash::operator()(const KernelLaunch& row) const noexcept {
    return hash_of({row.grid[0], row.grid[1], row.grid[2], row.block[0], row.block[1], row.block[2],
                    row.registers, row.shared_bytes});
}

std::size_t TraceBuilder::RowHash::operator()(const CopyOp& row) const noexcept {
    return hash_of({static_cast<std::uint64_t>(row.kind), row.bytes});
}

std::size_t TraceBuilder::RowHash::operator()(const SyncOp& row) const noexcept {
    return hash_of({static_cast<std::uint64_t>(row.kind), static_cast<std::uint64_t>(row.stream), row.event,
                    row.recorded_by});
}

std::size_t TraceBuilder::RowHash::operator()(const TraceCommunicator& row) const noexcept {
    std::uint64_t hash = hash_of({row.name.value, row.description.value});
    for (const RankRange& range : row.ranks) {
        hash = hash_of({hash, range.first, range.count, range.stride});
    }
    return hash;
}

std::uint32_t TraceBuilder::add_class(std::string_view name, int stage, const std::vector<int>& ranks) {
    trace_.classes.push_back({trace_.strings.intern(name), stage, compact_ranks(ranks)});
    return static_cast<std::uint32_t>(trace_.classes.size() - 1);
}

std::uint32_t TraceBuilder::add_stream(std::uint32_t rank_class, StreamKind kind, std::string_view name) {
    streams_of_class_.resize(trace_.classes.size());
    const std::uint32_t id = streams_of_class_.at(rank_class)++;
    trace_.streams.push_back({rank_class, id, trace_.strings.intern(name), kind, -1, -1, {}});
    return static_cast<std::uint32_t>(trace_.streams.size() - 1);
}

void TraceBuilder::set_origin(std::uint32_t stream, std::int32_t device, std::int64_t number) {
    trace_.streams.at(stream).device = device;
    trace_.streams[stream].number = number;
}

std::uint32_t TraceBuilder::add_label(const Label& label) {
    return shared_row(label, trace_.labels, label_rows_);
}

std::uint32_t TraceBuilder::add_launch(const KernelLaunch& launch) {
    return shared_row(launch, trace_.launches, launch_rows_);
}

std::uint32_t TraceBuilder::add_copy(const CopyOp& copy) {
    return shared_row(copy, trace_.copies, copy_rows_);
}

std::uint32_t TraceBuilder::add_sync(const SyncOp& sync) {
    return shared_row(sync, trace_.syncs, sync_rows_);
}

std::uint32_t TraceBuilder::add_communicator(const TraceCommunicator& communicator) {
    return shared_row(communicator, trace_.communicators, communicator_rows_);
}

std::uint32_t TraceBuilder::add_comm_op(const CommOp& op) {
    trace_.comm_ops.push_back(op);
    return static_cast<std::uint32_t>(trace_.comm_ops.size() - 1);
}

std::uint64_t TraceBuilder::add_event(std::uint32_t stream, const Event& event) {
    EventColumns& events = trace_.streams.at(stream).events;
    events.push_back(event);
    return event_ref(stream, static_cast<std::uint32_t>(events.size() - 1));
}

void TraceBuilder::set_binding_pred(std::uint64_t event, std::uint64_t pred) {
    trace_.streams.at(stream_of(event)).events.binding_pred.at(index_of(event)) = pred;
}

std::uint32_t TraceBuilder::add_counter(std::uint32_t rank_class, std::string_view name,
                                        std::string_view unit) {
    const NameId name_id = trace_.strings.intern(name);
    trace_.counters.push_back({rank_class, name_id, trace_.strings.intern(unit), {}, {}});
    return static_cast<std::uint32_t>(trace_.counters.size() - 1);
}

void TraceBuilder::add_sample(std::uint32_t counter, TimeNs time, double value) {
    trace_.counters.at(counter).time_ns.push_back(time);
    trace_.counters[counter].value.push_back(value);
}

Trace TraceBuilder::finish() {
    std::vector<std::vector<std::uint32_t>> moved;
    moved.reserve(trace_.streams.size());
    for (TraceStream& stream : trace_.streams) {
        moved.push_back(sort_by_start(stream.events));
    }
    for (TraceStream& stream : trace_.streams) {
        for (std::uint64_t& pred : stream.events.binding_pred) {
            pred = renumbered(pred, moved);
        }
    }
    for (Flow& flow : trace_.flows) {
        flow.from = renumbered(flow.from, moved);
        flow.to = renumbered(flow.to, moved);
    }
    label_rows_.clear();
    launch_rows_.clear();
    copy_rows_.clear();
    sync_rows_.clear();
    communicator_rows_.clear();
    return std::move(trace_);
}

} // namespace echosim
