// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/recorded_rank.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace echosim::recorded {
namespace {

constexpr std::uint32_t kLookBack = 256;  // ops that a wait of an unknown event is looked for in
constexpr std::uint32_t kEndsBefore = 64; // ops that ended before a late one, likewise

class EdgeFinder {
  public:
    EdgeFinder(const Trace& trace, RecordedRank& rank)
        : trace_(trace), rank_(rank), waits_(rank.ops.size(), 0) {
        rank_.busy_until.assign(rank.streams.size(), kNever);
    }
    void find() {
        find_named();
        find_waits();
        infer();
        std::ranges::stable_sort(rank_.edges, {}, &Edge::to);
        std::size_t edge = 0;
        for (std::uint32_t op = 0; op < rank_.ops.size(); ++op) {
            while (edge < rank_.edges.size() && rank_.edges[edge].to < op)
                ++edge;
            rank_.ops[op].first_edge = static_cast<std::uint32_t>(edge);
        }
        measure_waits();
    }

  private:
    std::uint32_t recorded_op(const RecordedCall& wait) const;
    void find_named();
    void find_waits();
    void note_record(std::uint32_t call);
    bool take_wait(const RecordedCall& wait);
    bool add(std::uint32_t from, std::uint32_t to);
    void infer();
    void measure_waits();
    void infer_waits(std::uint32_t to, TimeNs& start);
    void infer_late(std::uint32_t to, TimeNs start);
    std::uint32_t ended_before(std::uint32_t to, TimeNs latest, TimeNs earliest) const;
    bool is_hidden_work(const RecordedOp& op, TimeNs start) const;

    const Trace& trace_;
    RecordedRank& rank_;
    std::unordered_map<std::uint64_t, std::uint32_t> last_record_;   // event -> call that recorded it last
    std::unordered_map<std::uint32_t, std::uint32_t> record_of_;     // correlation -> call
    std::unordered_map<std::uint32_t, std::uint32_t> last_op_;       // thread -> op that it launched last
    std::unordered_map<std::uint32_t, std::uint32_t> before_record_; // record call -> last_op_ at that moment
    std::unordered_map<std::uint32_t, std::uint32_t> unknown_;       // thread -> waits since its last launch
    std::vector<std::uint8_t> waits_; // op -> waits for unknown events before its launch
    std::vector<std::uint32_t> by_end_;
};

// The op that a wait's event stands behind: tail of the recording stream at the moment of the record.
std::uint32_t EdgeFinder::recorded_op(const RecordedCall& wait) const {
    std::uint32_t record = kNothing;
    if (const auto it = record_of_.find(wait.sync.recorded_by);
        wait.sync.recorded_by != 0 && it != record_of_.end())
        record = it->second;
    else if (const auto known = last_record_.find(wait.sync.event);
             wait.sync.event != 0 && known != last_record_.end())
        record = known->second;
    if (record == kNothing)
        return kNothing;
    const RecordedCall& call = rank_.calls[record];
    const std::uint32_t like = before_record_.at(record);
    const std::int64_t number = call.sync.stream >= 0 ? call.sync.stream : wait.wait_on_stream;
    const std::uint32_t stream = rank_.stream_of(trace_, number, like);
    if (stream != kNothing)
        return rank_.tail(stream, call.start);
    return number < 0 ? like : kNothing; // recorded behind what the thread launched last
}

void EdgeFinder::note_record(std::uint32_t index) {
    const RecordedCall& call = rank_.calls[index];
    if (call.sync.event != 0)
        last_record_[call.sync.event] = index;
    record_of_[call.correlation] = index;
    const auto last = last_op_.find(call.thread);
    before_record_[index] = last == last_op_.end() ? kNothing : last->second;
}

bool EdgeFinder::add(std::uint32_t from, std::uint32_t to) {
    if (from == kNothing || from >= to || rank_.ops[from].stream == rank_.ops[to].stream)
        return false;
    if (rank_.ops[from].end > rank_.ops[to].start + kRounding) {
        ++rank_.counts.contradicted;
        return false;
    }
    rank_.edges.push_back({from, to});
    return true;
}

// What a simulated timeline names: the op whose end let another one start.
void EdgeFinder::find_named() {
    const auto pred_of = [&](std::uint32_t op) {
        const std::uint64_t event = rank_.ops[op].event;
        return trace_.streams[stream_of(event)].events.binding_pred[index_of(event)];
    };
    std::unordered_map<std::uint64_t, std::uint32_t> op_of;
    for (std::uint32_t op = 0; op < rank_.ops.size(); ++op) {
        if (pred_of(op) != kNoEvent) {
            const auto from = op_of.find(pred_of(op));
            if (from != op_of.end() && add(from->second, op))
                ++rank_.counts.exact_edges;
        }
        op_of.emplace(rank_.ops[op].event, op);
    }
}

// True when the wait's event and stream are known.
bool EdgeFinder::take_wait(const RecordedCall& wait) {
    const std::uint32_t from = recorded_op(wait);
    if (from == kNothing) // recorded before the recording began, or not known
        return wait.sync.event != 0 || wait.sync.recorded_by != 0;
    if (wait.sync.stream < 0)
        return false;
    const std::uint32_t stream = rank_.stream_of(trace_, wait.sync.stream, from);
    if (stream == kNothing)
        return true; // nothing ran there
    const std::uint32_t next = rank_.enqueued_from(stream, wait.start);
    if (next < rank_.stream_ops[stream].size() && add(from, rank_.stream_ops[stream][next]))
        ++rank_.counts.exact_edges;
    return true;
}

void EdgeFinder::find_waits() {
    for (std::uint32_t i = 0; i < rank_.calls.size(); ++i) {
        RecordedCall& call = rank_.calls[i];
        if (call.kind == CallKind::launch) {
            last_op_[call.thread] = call.first_op + call.ops - 1;
            waits_[call.first_op] = static_cast<std::uint8_t>(std::min(unknown_[call.thread], 8U));
            unknown_[call.thread] = 0;
        } else if (call.kind == CallKind::record) {
            note_record(i);
        } else if (call.kind == CallKind::wait && !take_wait(call)) {
            ++unknown_[call.thread];
        } else if (call.kind == CallKind::sync && call.sync.kind == SyncKind::event_synchronize) {
            call.event_op = recorded_op(call);
        }
    }
}

void EdgeFinder::infer() {
    by_end_.resize(rank_.ops.size());
    std::iota(by_end_.begin(), by_end_.end(), 0U);
    std::ranges::stable_sort(by_end_, {}, [&](std::uint32_t op) { return rank_.ops[op].end; });
    std::ranges::stable_sort(rank_.edges, {}, &Edge::to);
    const std::vector<Edge> known = rank_.edges;
    std::size_t edge = 0;
    for (std::uint32_t to = 0; to < rank_.ops.size(); ++to) {
        TimeNs start = earliest_start(rank_, rank_.ops[to]);
        for (; edge < known.size() && known[edge].to <= to; ++edge)
            start = std::max(start, rank_.ops[known[edge].from].end);
        if (waits_[to] > 0)
            infer_waits(to, start);
        if (rank_.ops[to].start > start + kLate)
            infer_late(to, start);
    }
}

// Waits for events that are not recorded, before this launch: so many of the other streams that were in use
// are waited for, those first whose last op ended last, if before this op began.
void EdgeFinder::infer_waits(std::uint32_t to, TimeNs& start) {
    const RecordedOp& op = rank_.ops[to];
    std::vector<std::uint32_t> tails, streams = {op.stream};
    for (std::uint32_t from = to; from-- > 0 && to - from <= kLookBack;) {
        const std::uint32_t stream = rank_.ops[from].stream;
        if (std::ranges::find(streams, stream) != streams.end())
            continue;
        streams.push_back(stream);
        if (rank_.ops[from].end <= op.start + kRounding)
            tails.push_back(from);
    }
    std::ranges::stable_sort(tails, std::greater{}, [&](std::uint32_t from) { return rank_.ops[from].end; });
    for (std::size_t i = 0; i < tails.size() && i < waits_[to]; ++i)
        if (add(tails[i], to)) {
            ++rank_.counts.wait_edges;
            start = std::max(start, rank_.ops[tails[i]].end);
        }
}

// The op of another stream that ended last by `latest` and not before `earliest`.
std::uint32_t EdgeFinder::ended_before(std::uint32_t to, TimeNs latest, TimeNs earliest) const {
    const auto after =
        std::ranges::upper_bound(by_end_, latest, {}, [&](std::uint32_t i) { return rank_.ops[i].end; });
    const auto first = after - std::min<std::ptrdiff_t>(after - by_end_.begin(), kEndsBefore);
    for (auto it = after; it != first;) {
        const std::uint32_t from = *--it;
        if (rank_.ops[from].end < earliest)
            break;
        if (from < to && rank_.ops[from].stream != rank_.ops[to].stream)
            return from;
    }
    return kNothing;
}

// The op started although nothing that is known held it until then: the op that ended last before it, on
// another stream and not long ago, is what it waited for.
void EdgeFinder::infer_late(std::uint32_t to, TimeNs start) {
    const RecordedOp& op = rank_.ops[to];
    for (const TimeNs latest : {op.start, op.start + kRounding})
        if (const std::uint32_t from = ended_before(to, latest, std::max(start, op.start - kHandover));
            from != kNothing && add(from, to)) {
            ++rank_.counts.late_edges;
            return;
        }
    if (op.call == kNothing)
        return; // its launch is not recorded: the time before it is kept
    if (op.before == kNothing && is_hidden_work(op, start)) {
        ++rank_.counts.hidden;
        rank_.busy_until[op.stream] = op.start;
        return;
    }
    ++rank_.counts.unexplained;
    rank_.counts.unexplained_ns += op.start - start;
}

// The first op of a stream waited while next to nothing ran: for work that began before the recording.
bool EdgeFinder::is_hidden_work(const RecordedOp& op, TimeNs start) const {
    constexpr std::size_t kFew = 64;
    const auto end_of = [&](std::uint32_t i) { return rank_.ops[i].end; };
    const auto from = std::ranges::upper_bound(by_end_, start, {}, end_of);
    const auto to = std::ranges::upper_bound(by_end_, op.start, {}, end_of);
    if (static_cast<std::size_t>(to - from) > kFew)
        return false;
    TimeNs busy = 0;
    for (auto it = from; it != to; ++it)
        busy += rank_.ops[*it].end - std::max(start, rank_.ops[*it].start);
    return busy * 10 <= op.start - start;
}

// Of the edges that held an op back.
void EdgeFinder::measure_waits() {
    std::vector<TimeNs> waits;
    for (const Edge& edge : rank_.edges) {
        const RecordedOp& to = rank_.ops[edge.to];
        const TimeNs end = rank_.ops[edge.from].end;
        if (end > earliest_start(rank_, to) && to.start - end <= kHandover)
            waits.push_back(std::max<TimeNs>(0, to.start - end));
    }
    if (waits.empty())
        return;
    const auto middle = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 2);
    std::ranges::nth_element(waits, middle);
    rank_.event_wait = *middle;
}

} // namespace

void find_edges(const Trace& trace, RecordedRank& rank) {
    EdgeFinder(trace, rank).find();
}

} // namespace echosim::recorded
