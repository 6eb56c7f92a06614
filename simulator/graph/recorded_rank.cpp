// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/recorded_rank.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace echosim::recorded {
namespace {

struct Numbered { // an op by the correlation of its call
    std::uint32_t correlation = 0;
    std::uint32_t op = 0;
};

// Value of an integer key in compact JSON text, -1: none.
std::int64_t integer_of(std::string_view json, std::string_view key) {
    const std::size_t at = json.find(key);
    std::int64_t value = -1;
    if (at != std::string_view::npos)
        std::from_chars(json.data() + at + key.size(), json.data() + json.size(), value);
    return value;
}

class Collector {
  public:
    Collector(const Trace& trace, RecordedRank& rank) : trace_(trace), rank_(rank) {}
    void collect() {
        read_streams();
        std::ranges::sort(numbered_, {}, [](const Numbered& n) { return std::pair(n.correlation, n.op); });
        read_calls();
        order_unlaunched();
        order_ops();
        assign_clocks();
    }

  private:
    void read_streams();
    void read_device(std::uint32_t row);
    void read_calls();
    bool keep_call(RecordedCall& call, const Event& event);
    void take_sync(RecordedCall& call, const Event& event) const;
    void order_unlaunched();
    void order_ops();
    void assign_clocks();

    const Trace& trace_;
    RecordedRank& rank_;
    std::vector<Numbered> numbered_;
    std::unordered_map<std::uint32_t, std::uint64_t> sync_records_; // correlation -> record on a stream
};

void Collector::read_streams() {
    for (std::uint32_t row = 0; row < trace_.streams.size(); ++row) {
        const TraceStream& stream = trace_.streams[row];
        if (stream.rank_class != rank_.rank_class)
            continue;
        const auto is = [&](auto test) { return std::ranges::any_of(stream.events.kind, test); };
        if (is([](EventKind kind) { return kind == EventKind::api; }))
            rank_.threads.push_back(row);
        if (is(is_device_work))
            rank_.streams.push_back(row);
        for (std::uint32_t i = 0; i < stream.events.size(); ++i)
            if (stream.events.kind[i] == EventKind::sync && stream.events.correlation[i] != 0)
                sync_records_.try_emplace(stream.events.correlation[i], event_ref(row, i));
    }
    for (std::uint32_t i = 0; i < rank_.streams.size(); ++i) {
        rank_.numbered[trace_.streams[rank_.streams[i]].number].push_back(i);
        read_device(i);
    }
}

void Collector::read_device(std::uint32_t local) {
    const std::uint32_t row = rank_.streams[local];
    const EventColumns& events = trace_.streams[row].events;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
        if (!is_device_work(events.kind[i]))
            continue;
        RecordedOp op;
        op.event = event_ref(row, i);
        op.start = op.enqueued = events.start_ns[i];
        op.end = op.start + events.dur_ns[i];
        op.stream = local;
        op.name = NameId{events.name[i]};
        op.kind = events.kind[i];
        if (op.kind == EventKind::memcpy || op.kind == EventKind::memset)
            op.kind_of_gap = Gap::copy;
        rank_.counts.comm += op.kind == EventKind::comm ? 1 : 0;
        if (events.correlation[i] != 0)
            numbered_.push_back({events.correlation[i], static_cast<std::uint32_t>(rank_.ops.size())});
        rank_.ops.push_back(op);
    }
    rank_.counts.ops = rank_.ops.size();
}

void Collector::take_sync(RecordedCall& call, const Event& event) const {
    bool known = false;
    if (event.ext != kNoRow) {
        call.sync = trace_.syncs[event.ext];
        known = true;
    }
    if (const auto it = sync_records_.find(call.correlation); it != sync_records_.end()) {
        const Event record = trace_.streams[stream_of(it->second)].events.row(index_of(it->second));
        call.wait_on_stream = integer_of(trace_.text(record.args), "\"wait_on_stream\":");
        if (record.ext != kNoRow && !known)
            call.sync = trace_.syncs[record.ext];
        if (record.ext != kNoRow && known) { // what the call does not say
            const SyncOp& more = trace_.syncs[record.ext];
            call.sync.stream = call.sync.stream < 0 ? more.stream : call.sync.stream;
            call.sync.event = call.sync.event == 0 ? more.event : call.sync.event;
            call.sync.recorded_by = call.sync.recorded_by == 0 ? more.recorded_by : call.sync.recorded_by;
        }
        known |= record.ext != kNoRow;
    }
    if (!known)
        return;
    call.kind = call.sync.kind == SyncKind::event_record        ? CallKind::record
                : call.sync.kind == SyncKind::stream_wait_event ? CallKind::wait
                                                                : CallKind::sync;
}

// What launched nothing, is no synchronisation and was short is work of the CPU like any other.
bool Collector::keep_call(RecordedCall& call, const Event& event) {
    if (call.correlation != 0) {
        const auto from = std::ranges::lower_bound(numbered_, call.correlation, {}, &Numbered::correlation);
        for (auto it = from; it != numbered_.end() && it->correlation == call.correlation; ++it)
            if (RecordedOp& op = rank_.ops[it->op]; op.call == kNothing) {
                op.call = 0; // numbered below
                call.kind = CallKind::launch;
            }
    }
    if (call.kind == CallKind::launch)
        return true;
    take_sync(call, event);
    return call.kind != CallKind::other || call.end - call.start >= kLongCall;
}

void Collector::read_calls() {
    std::vector<std::tuple<TimeNs, TimeNs, std::uint32_t, std::uint64_t>> order; // outer calls first
    for (std::uint32_t thread = 0; thread < rank_.threads.size(); ++thread) {
        const EventColumns& events = trace_.streams[rank_.threads[thread]].events;
        for (std::uint32_t i = 0; i < events.size(); ++i)
            if (events.kind[i] == EventKind::api)
                order.emplace_back(events.start_ns[i], -events.dur_ns[i], thread,
                                   event_ref(rank_.threads[thread], i));
    }
    std::ranges::sort(order);
    for (const auto& [start, negative, thread, ref] : order) {
        const Event event = trace_.streams[stream_of(ref)].events.row(index_of(ref));
        RecordedCall call;
        call.start = start;
        call.end = start - negative;
        call.event = ref;
        call.thread = thread;
        call.correlation = event.correlation;
        if (keep_call(call, event))
            rank_.calls.push_back(call);
    }
    for (std::uint32_t i = 0; i < rank_.calls.size(); ++i) {
        RecordedCall& call = rank_.calls[i];
        if (call.kind != CallKind::launch)
            continue;
        auto it = std::ranges::lower_bound(numbered_, call.correlation, {}, &Numbered::correlation);
        for (; it != numbered_.end() && it->correlation == call.correlation; ++it) {
            rank_.ops[it->op].call = i;
            rank_.ops[it->op].enqueued = call.start;
        }
    }
}

// An op without a call was enqueued before those that ran after it on its stream, and before it started.
void Collector::order_unlaunched() {
    TimeNs next = std::numeric_limits<TimeNs>::max();
    for (std::size_t i = rank_.ops.size(); i-- > 0;) { // as read: by stream and start
        RecordedOp& op = rank_.ops[i];
        if (i + 1 == rank_.ops.size() || rank_.ops[i + 1].stream != op.stream)
            next = std::numeric_limits<TimeNs>::max();
        if (op.call == kNothing) {
            op.enqueued = std::min(op.enqueued, next);
            ++rank_.counts.unlaunched;
        }
        next = std::min(next, op.enqueued);
    }
}

void Collector::order_ops() {
    std::ranges::sort(rank_.ops, {}, [](const RecordedOp& op) {
        return std::tuple(op.enqueued, op.call + 1, op.start, op.event); // kNothing + 1 = 0: before its calls
    });
    rank_.stream_ops.resize(rank_.streams.size());
    for (std::uint32_t i = 0; i < rank_.ops.size(); ++i) {
        RecordedOp& op = rank_.ops[i];
        std::vector<std::uint32_t>& line = rank_.stream_ops[op.stream];
        op.before = line.empty() ? kNothing : line.back();
        line.push_back(i);
        if (op.call != kNothing && rank_.calls[op.call].ops++ == 0)
            rank_.calls[op.call].first_op = i;
    }
    for (RecordedOp& op : rank_.ops)
        if (op.kind_of_gap == Gap::kernel && op.call != kNothing && rank_.calls[op.call].ops > 1)
            op.kind_of_gap = Gap::in_graph;
}

// Threads that take turns with the busiest one share its clock: few bursts for their number of calls, and
// none of their calls at the time of one of its calls.
void Collector::assign_clocks() {
    struct Turns {
        std::uint64_t calls = 0, bursts = 0, together = 0, seen = 0;
        TimeNs last_end = std::numeric_limits<TimeNs>::min();
    };
    std::vector<Turns> turns(rank_.threads.size());
    for (const RecordedCall& call : rank_.calls)
        ++turns[call.thread].calls;
    if (turns.empty())
        return;
    const auto most = std::ranges::max_element(turns, {}, &Turns::calls);
    const auto first = static_cast<std::uint32_t>(most - turns.begin());
    std::uint64_t count = 0;
    for (const RecordedCall& call : rank_.calls) {
        Turns& t = turns[call.thread];
        if (call.thread == first) {
            ++count;
        } else {
            t.bursts += t.seen != count + 1 ? 1 : 0;
            t.seen = count + 1;
            t.together += call.start < most->last_end ? 1 : 0;
        }
        t.last_end = std::max(t.last_end, call.end);
    }
    rank_.clocks = 1;
    std::vector<std::uint32_t> clock(turns.size(), 0);
    for (std::uint32_t i = 0; i < turns.size(); ++i) {
        if (i == first || turns[i].calls == 0)
            continue;
        const bool shared = turns[i].bursts * 8 <= turns[i].calls && turns[i].together * 20 <= turns[i].calls;
        (shared ? rank_.counts.shared_clocks : rank_.counts.own_clocks) += 1;
        clock[i] = shared ? 0 : rank_.clocks++;
    }
    for (RecordedCall& call : rank_.calls)
        call.clock = clock[call.thread];
}

} // namespace

void Counts::add(const Counts& other) {
    ops += other.ops;
    comm += other.comm;
    unlaunched += other.unlaunched;
    exact_edges += other.exact_edges;
    contradicted += other.contradicted;
    wait_edges += other.wait_edges;
    late_edges += other.late_edges;
    hidden += other.hidden;
    unexplained += other.unexplained;
    unexplained_ns += other.unexplained_ns;
    unknown_syncs += other.unknown_syncs;
    idle_syncs += other.idle_syncs;
    implicit_syncs += other.implicit_syncs;
    full_queue += other.full_queue;
    overlaps += other.overlaps;
    own_clocks += other.own_clocks;
    shared_clocks += other.shared_clocks;
    alone_comm += other.alone_comm;
}

std::uint32_t RecordedRank::stream_of(const Trace& trace, std::int64_t number, std::uint32_t like) const {
    const auto it = number < 0 ? numbered.end() : numbered.find(number);
    if (it == numbered.end())
        return kNothing;
    if (like != kNothing) {
        const std::int32_t device = trace.streams[streams[ops[like].stream]].device;
        for (const std::uint32_t stream : it->second)
            if (trace.streams[streams[stream]].device == device)
                return stream;
    }
    return it->second.front();
}

std::uint32_t RecordedRank::enqueued_from(std::uint32_t stream, TimeNs moment) const {
    const std::vector<std::uint32_t>& line = stream_ops[stream];
    const auto it =
        std::ranges::lower_bound(line, moment, {}, [&](std::uint32_t op) { return ops[op].enqueued; });
    return static_cast<std::uint32_t>(it - line.begin());
}

std::uint32_t RecordedRank::tail(std::uint32_t stream, TimeNs moment) const {
    const std::uint32_t next = enqueued_from(stream, moment);
    return next == 0 ? kNothing : stream_ops[stream][next - 1];
}

std::span<const Edge> RecordedRank::edges_into(std::uint32_t op) const {
    const std::uint32_t from = ops[op].first_edge;
    const std::size_t to = op + 1 < ops.size() ? ops[op + 1].first_edge : edges.size();
    return std::span(edges).subspan(from, to - from);
}

RecordedRank collect_rank(const Trace& trace, std::uint32_t rank_class) {
    RecordedRank rank;
    rank.rank_class = rank_class;
    Collector(trace, rank).collect();
    return rank;
}

} // namespace echosim::recorded
