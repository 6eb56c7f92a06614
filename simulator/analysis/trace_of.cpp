// SPDX-License-Identifier: Apache-2.0
#include "simulator/analysis/trace_of.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace echosim {
namespace {

constexpr std::uint32_t kHostStream = 0xFF;

StreamKind stream_kind(const StreamInfo& info) {
    if (!info.communication)
        return StreamKind::compute;
    switch (info.group) {
    case GroupKind::tp:
        return StreamKind::tp_comm;
    case GroupKind::dp:
    case GroupKind::dp_cp:
        return StreamKind::dp_comm;
    case GroupKind::pp:
        return StreamKind::p2p;
    case GroupKind::cp:
        return StreamKind::cp_comm;
    case GroupKind::ep:
        return StreamKind::ep_comm;
    default:
        return StreamKind::other;
    }
}

EventKind event_kind(const Op& op) {
    switch (op.kind) {
    case OpKind::compute:
        return EventKind::kernel;
    case OpKind::collective:
    case OpKind::p2p:
        return EventKind::comm;
    case OpKind::memory:
        return op.kernel_class == KernelClass::memset ? EventKind::memset : EventKind::memcpy;
    case OpKind::host:
        return EventKind::host;
    case OpKind::sync:
        return EventKind::sync;
    }
    return EventKind::kernel;
}

// A wait that cost nothing: no event of its own.
bool is_marker(const RankGraph& graph, const RankTimeline& t, std::uint32_t row) {
    const Block& block = graph.blocks[graph.program[t.instance[row]].block.value];
    return t.duration[row] == 0 && block.ops[t.op[row]].kind == OpKind::sync;
}

// One class of the trace: a recorded rank, and what it stands for there.
struct Shown {
    std::uint32_t simulated = 0;
    std::uint32_t column = 0; // position among the ranks of its stage: ranks that talk across stages share it
    std::vector<int> ranks;
};

std::vector<Shown> shown_ranks(const TimelineSource& s) {
    std::vector<Shown> shown;
    for (std::uint32_t i = 0; i < s.timeline.ranks.size(); ++i) {
        if (s.timeline.ranks[i].size() == 0)
            continue;
        const std::vector<int> represented = represented_ranks(s.job, s.placement, i);
        if (s.ranks.empty()) {
            shown.push_back({i, 0, represented});
            continue;
        }
        for (std::uint32_t column = 0; column < represented.size(); ++column)
            if (std::ranges::binary_search(s.ranks, represented[column]))
                shown.push_back({i, column, {represented[column]}});
    }
    std::ranges::stable_sort(shown, {}, [](const Shown& x) { return x.ranks.front(); });
    return shown;
}

// (collective or transfer, communicator or channel, call number, column)
using Meeting = std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t>;

class Converter {
  public:
    explicit Converter(const TimelineSource& source) : s_(source) {}

    Trace convert(std::string meta) {
        builder_.set_meta(std::move(meta));
        for (const Shown& shown : shown_ranks(s_))
            add_rank(shown);
        return builder_.finish();
    }

  private:
    void add_rank(const Shown& shown);
    std::uint32_t stream(std::uint32_t simulated, std::uint32_t cls, std::uint32_t index);
    std::uint32_t comm_row(std::uint32_t simulated, const Op& op, const AnnotatedGraph& graph);
    void connect(const Shown& shown, std::uint32_t cls, const Op& op, std::uint64_t event);
    void meet(const Meeting& key, std::uint64_t event, FlowKind kind);

    const TimelineSource& s_;
    TraceBuilder builder_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> streams_; // (class, stream of the rank)
    std::map<std::tuple<std::uint32_t, int, std::uint32_t>, std::uint32_t> calls_;
    std::map<Meeting, std::uint64_t> first_member_;
};

std::uint32_t Converter::stream(std::uint32_t simulated, std::uint32_t cls, std::uint32_t index) {
    const auto [it, added] = streams_.try_emplace({cls, index});
    if (added) {
        const RankGraph& graph = *s_.graphs[s_.placement.ranks[simulated].costs].graph;
        it->second = index == kHostStream ? builder_.add_stream(cls, StreamKind::host, "host")
                                          : builder_.add_stream(cls, stream_kind(graph.streams[index]),
                                                                graph.streams[index].name);
    }
    return it->second;
}

std::uint32_t Converter::comm_row(std::uint32_t simulated, const Op& op, const AnnotatedGraph& graph) {
    const CommCost& cost = graph.communication[op.work];
    CommOp row;
    row.algorithm = cost.algorithm;
    row.protocol = cost.protocol;
    row.channels = static_cast<std::uint32_t>(cost.channels);
    if (const auto* work = std::get_if<CollectiveWork>(&graph.graph->works[op.work])) {
        const Communicator& c =
            s_.placement.communicators[s_.placement.ranks[simulated].communicators[work->slot]];
        row.kind = work->kind;
        row.dtype = work->dtype;
        row.bytes = work->bytes;
        row.group = builder_.name(to_string(c.kind));
        row.group_size = static_cast<std::uint32_t>(c.geometry.ranks);
    } else {
        const auto& transfer = std::get<TransferWork>(graph.graph->works[op.work]);
        row.kind = CollectiveKind::send_recv;
        row.group = builder_.name("pp");
        row.group_size = 2;
        for (const TransferPart& part : transfer.parts)
            row.bytes += part.bytes;
    }
    return builder_.add_comm_op(row);
}

// The first member of a group that comes by waits for the others here; each later one is connected to it.
void Converter::meet(const Meeting& key, std::uint64_t event, FlowKind kind) {
    const auto [it, added] = first_member_.try_emplace(key, event);
    if (!added)
        builder_.add_flow(it->second, event, kind);
}

void Converter::connect(const Shown& shown, std::uint32_t cls, const Op& op, std::uint64_t event) {
    const SimulatedRank& rank = s_.placement.ranks[shown.simulated];
    const RankGraph& graph = *s_.graphs[rank.costs].graph;
    if (const auto* work = std::get_if<CollectiveWork>(&graph.works[op.work])) {
        const std::uint32_t id = rank.communicators[work->slot];
        const Communicator& communicator = s_.placement.communicators[id];
        const std::uint32_t column = communicator.kind == GroupKind::world ? 0 : shown.column;
        if (communicator.members > 1)
            meet({0, id, calls_[{cls, 0, work->slot}]++, column}, event, FlowKind::collective);
        return;
    }
    for (const TransferPart& part : std::get<TransferWork>(graph.works[op.work]).parts)
        meet({1, rank.channels[part.channel], calls_[{cls, 1, part.channel}]++, shown.column}, event,
             FlowKind::p2p);
}

void Converter::add_rank(const Shown& shown) {
    const std::uint32_t simulated = shown.simulated;
    const SimulatedRank& rank = s_.placement.ranks[simulated];
    const AnnotatedGraph& annotated = s_.graphs[rank.costs];
    const RankGraph& graph = *annotated.graph;
    const RankTimeline& t = s_.timeline.ranks[simulated];
    const std::uint32_t cls =
        builder_.add_class(fmt::format("rank {}", shown.ranks.front()), rank.stage, shown.ranks);
    std::vector<std::uint64_t> events(t.size());
    std::map<std::uint32_t, std::uint32_t> comm_rows;
    for (std::uint32_t row = 0; row < t.size(); ++row) {
        const Instance& at = graph.program[t.instance[row]];
        const Op& op = graph.blocks[at.block.value].ops[t.op[row]];
        const bool communication = op.kind == OpKind::collective || op.kind == OpKind::p2p;
        if (is_marker(graph, t, row)) { // who waits for it waits for its cause
            events[row] = t.binding[row] < row ? events[t.binding[row]] : kNoEvent;
            continue;
        }
        Event e;
        e.start = t.start[row];
        e.duration = t.duration[row];
        e.alone = t.alone[row];
        e.name = builder_.name(graph.names[op.name]);
        e.kind = event_kind(op);
        e.label = builder_.add_label({.phase = op.phase,
                                      .micro_batch = at.microbatch,
                                      .chunk = at.chunk,
                                      .layer = at.layer,
                                      .module = builder_.name(graph.blocks[at.block.value].name)});
        e.provenance = annotated.costs[at.block.value][t.op[row]].provenance;
        if (communication) {
            const auto [it, added] = comm_rows.try_emplace(op.work);
            if (added)
                it->second = comm_row(simulated, op, annotated);
            e.ext = it->second;
        }
        events[row] =
            builder_.add_event(stream(simulated, cls, op.kind == OpKind::host ? kHostStream : op.stream), e);
        if (communication)
            connect(shown, cls, op, events[row]);
    }
    for (std::uint32_t row = 0; row < t.size(); ++row)
        if (!is_marker(graph, t, row) && t.binding[row] < t.size() && events[t.binding[row]] != kNoEvent)
            builder_.set_binding_pred(events[row], events[t.binding[row]]);
    const std::uint32_t counter = builder_.add_counter(cls, "activations", "bytes");
    for (const MemorySample& sample : s_.timeline.memory[simulated])
        builder_.add_sample(counter, sample.time, static_cast<double>(sample.bytes));
}

} // namespace

std::uint64_t count_trace_events(const TimelineSource& source) {
    std::vector<std::uint64_t> rows(source.timeline.ranks.size(), 0);
    std::vector<bool> counted(rows.size(), false);
    std::uint64_t events = 0;
    for (const Shown& shown : shown_ranks(source)) {
        const RankTimeline& t = source.timeline.ranks[shown.simulated];
        const RankGraph& graph = *source.graphs[source.placement.ranks[shown.simulated].costs].graph;
        std::uint64_t& count = rows[shown.simulated];
        for (std::uint32_t row = 0; row < t.size() && !counted[shown.simulated]; ++row)
            count += is_marker(graph, t, row) ? 0 : 1;
        counted[shown.simulated] = true;
        events += count;
    }
    return events;
}

Trace trace_of(const TimelineSource& source, std::string meta) {
    return Converter(source).convert(std::move(meta));
}

} // namespace echosim
