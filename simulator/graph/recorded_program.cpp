// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/recorded_program.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace echosim::recorded {
namespace {

constexpr std::size_t kBlockOps = 32'768; // an op's number within its block has 16 bits

constexpr TimeNs kMostGap = std::numeric_limits<std::int32_t>::max(); // of OpCost::gap_ns

// A place in the program: a call begins, a call that waited returns, or an op without a call is there.
struct Item {
    enum class Kind : std::uint8_t { op, call, end };
    TimeNs time = 0;
    std::uint32_t index = 0;
    Kind kind = Kind::op;
};

bool is_replayed(const RecordedCall& call) {
    return call.kind == CallKind::launch || call.awaited > 0;
}

class Writer {
  public:
    Writer(const Trace& trace, const RecordedRank& rank, const RecordedGroups& groups, std::uint32_t index,
           TimeNs zero)
        : trace_(trace), rank_(rank), groups_(groups), index_(index), zero_(zero),
          last_(rank.clocks + rank.streams.size(), zero), longest_(rank.streams.size(), kNothing) {}
    Program write();

  private:
    void begin();
    std::vector<Item> order() const;
    void call_begins(const RecordedCall& call);
    void call_ends(const RecordedCall& call);
    void unlaunched(std::uint32_t index);
    void occupy_streams();
    void delay(std::uint32_t clock, TimeNs until);
    void host(std::uint32_t clock, TimeNs time, std::span<const std::uint32_t> awaited, NameId name);
    void device(std::uint32_t index, std::uint32_t clock, TimeNs launch_cost);
    void add_deps(std::uint32_t index, Op& op);
    TimeNs gap_before(std::uint32_t op) const;
    TimeNs last_end(std::span<const std::uint32_t> awaited) const;
    std::uint32_t work_of(const RecordedOp& op, std::uint32_t index);
    void append(const Op& op, const OpCost& cost, std::uint64_t event);
    NameId name(NameId of_trace);
    std::uint32_t queue() const;
    std::span<const std::uint32_t> awaited(const RecordedCall& call) const {
        return std::span(rank_.awaited).subspan(call.first_awaited, call.awaited);
    }

    const Trace& trace_;
    const RecordedRank& rank_;
    const RecordedGroups& groups_;
    std::uint32_t index_;
    TimeNs zero_;
    std::vector<TimeNs> last_;           // clock -> recorded time up to which its program is written
    std::vector<std::uint32_t> longest_; // stream -> op that ended last so far
    std::vector<std::uint32_t> names_;   // name of the trace -> of the graph
    NameId cpu_ = kNoName;
    Program out_;
};

// Work of the CPU up to a call.
void Writer::delay(std::uint32_t clock, TimeNs until) {
    if (until > last_[clock]) {
        host(clock, until - last_[clock], {}, cpu_);
        last_[clock] = until;
    }
}

void Writer::host(std::uint32_t clock, TimeNs time, std::span<const std::uint32_t> awaited, NameId name) {
    constexpr std::size_t kMostDeps = 0xFFFF;
    for (; awaited.size() > kMostDeps; awaited = awaited.subspan(kMostDeps))
        host(clock, 0, awaited.first(kMostDeps), name);
    Op op;
    op.name = name;
    op.kind = OpKind::host;
    op.launch = Launch::none;
    op.thread = static_cast<std::uint16_t>(clock);
    OpCost cost;
    cost.alone_ns = time;
    cost.provenance = Provenance::measured;
    append(op, cost, kNoEvent);
    Block& block = out_.graph->blocks.back();
    Op& added = block.ops.back();
    added.first_dep = static_cast<std::uint32_t>(block.deps.size());
    added.dep_count = static_cast<std::uint16_t>(awaited.size());
    for (const std::uint32_t from : awaited)
        block.deps.push_back(Dep::port(from));
}

void Writer::append(const Op& op, const OpCost& cost, std::uint64_t event) {
    RankGraph& graph = *out_.graph;
    if (graph.blocks.empty() || graph.blocks.back().ops.size() == kBlockOps) {
        graph.program.push_back({BlockId{static_cast<std::uint32_t>(graph.blocks.size())}, -1, -1, -1});
        graph.blocks.push_back({"recorded", {}, {}});
        out_.annotated.costs.emplace_back();
        out_.event_of.emplace_back();
    }
    graph.blocks.back().ops.push_back(op);
    out_.annotated.costs.back().push_back(cost);
    out_.event_of.back().push_back(event);
}

NameId Writer::name(NameId of_trace) {
    if (of_trace == kNoName)
        return out_.graph->names.intern("");
    std::uint32_t& known = names_[of_trace.value];
    if (known == kNothing)
        known = out_.graph->names.intern(trace_.strings[of_trace]).value;
    return NameId{known};
}

// To the op before it on its stream: the rank's mean, or the recorded overlap. Before an op without a call
// that nothing else held back all of the recorded time.
TimeNs Writer::gap_before(std::uint32_t index) const {
    const RecordedOp& op = rank_.ops[index];
    const TimeNs mean = op.gap;
    if (op.before == kNothing)
        return mean;
    const RecordedOp& before = rank_.ops[op.before];
    const TimeNs recorded = std::max(op.start, before.start) - before.end;
    const bool free = op.call == kNothing && rank_.edges_into(index).empty() && recorded > mean + kRounding;
    return recorded < 0 || free ? recorded : mean;
}

void Writer::add_deps(std::uint32_t index, Op& op) {
    const RecordedOp& recorded = rank_.ops[index];
    Block& block = out_.graph->blocks.back();
    op.first_dep = static_cast<std::uint32_t>(block.deps.size());
    const std::span<const Edge> edges = rank_.edges_into(index);
    for (const Edge& edge : edges.first(std::min<std::size_t>(edges.size(), 0xFFFE)))
        block.deps.push_back(Dep::port(edge.from));
    // behind an op that outlasted the one before it on the stream
    std::uint32_t& longest = longest_[recorded.stream];
    if (longest != kNothing && longest != recorded.before &&
        rank_.ops[longest].end > rank_.ops[recorded.before].end &&
        rank_.ops[longest].end <= recorded.start + kRounding)
        block.deps.push_back(Dep::port(longest));
    if (longest == kNothing || rank_.ops[longest].end <= recorded.end)
        longest = index;
    op.dep_count = static_cast<std::uint16_t>(block.deps.size() - op.first_dep);
}

std::uint32_t Writer::work_of(const RecordedOp& op, std::uint32_t index) {
    CollectiveWork work{.kind = kNoCollective, .dtype = kNoDType}; // its time is the recorded one
    work.slot = groups_.slot_of[index_][index];
    const std::uint32_t row = trace_.streams[stream_of(op.event)].events.ext[index_of(op.event)];
    if (row != kNoRow) {
        work.kind = trace_.comm_ops[row].kind;
        work.bytes = trace_.comm_ops[row].bytes;
        work.dtype = trace_.comm_ops[row].dtype;
    }
    out_.graph->works.emplace_back(work);
    return static_cast<std::uint32_t>(out_.graph->works.size() - 1);
}

void Writer::device(std::uint32_t index, std::uint32_t clock, TimeNs launch_cost) {
    constexpr TimeNs kMostHost = std::numeric_limits<std::uint32_t>::max();
    if (launch_cost > kMostHost)
        host(clock, launch_cost - kMostHost, {}, cpu_);
    const RecordedOp& recorded = rank_.ops[index];
    Op op;
    op.name = name(recorded.name);
    op.stream = static_cast<std::uint16_t>(recorded.stream);
    op.thread = static_cast<std::uint16_t>(clock);
    op.record_port = index;
    OpCost cost;
    cost.alone_ns = groups_.alone[index_][index];
    cost.host_ns = static_cast<std::uint32_t>(std::clamp<TimeNs>(launch_cost, 0, kMostHost));
    cost.gap_ns = static_cast<std::int32_t>(std::clamp(gap_before(index), -kMostGap, kMostGap));
    cost.provenance = Provenance::measured;
    if (recorded.kind == EventKind::comm) {
        op.kind = OpKind::collective;
        op.launch = Launch::collective;
        op.work = work_of(recorded, index);
    } else if (recorded.kind == EventKind::memcpy || recorded.kind == EventKind::memset) {
        op.kind = OpKind::memory;
        op.kernel_class = recorded.kind == EventKind::memset ? KernelClass::memset : KernelClass::copy;
    }
    append(op, cost, recorded.event);
    add_deps(index, out_.graph->blocks.back().ops.back());
}

TimeNs Writer::last_end(std::span<const std::uint32_t> awaited) const {
    TimeNs end = std::numeric_limits<TimeNs>::min();
    for (const std::uint32_t op : awaited)
        end = std::max(end, rank_.ops[op].end);
    return end;
}

void Writer::call_begins(const RecordedCall& call) {
    TimeNs& last = last_[call.clock];
    delay(call.clock, call.start);
    const bool queue_was_full = call.awaited > 0 && !call.blocks;
    if (queue_was_full) {
        host(call.clock, 0, awaited(call), cpu_);
        last = std::clamp(last_end(awaited(call)), last, std::max(last, call.end));
    }
    const TimeNs launched = std::max(last, queue_was_full ? call.end : submitted(rank_, call));
    for (std::uint32_t i = 0; i < call.ops; ++i)
        device(call.first_op + i, call.clock, i == 0 ? launched - last : 0);
    last = launched;
    if (!call.blocks)
        delay(call.clock, call.end);
}

void Writer::call_ends(const RecordedCall& call) {
    TimeNs& last = last_[call.clock];
    delay(call.clock, call.start);
    const NameId of_call{trace_.streams[stream_of(call.event)].events.name[index_of(call.event)]};
    const TimeNs from = std::max(last, last_end(awaited(call)));
    host(call.clock, std::max<TimeNs>(0, call.end - from), awaited(call), name(of_call));
    last = std::max(last, call.end);
}

void Writer::unlaunched(std::uint32_t index) {
    const RecordedOp& op = rank_.ops[index];
    const std::uint32_t clock = rank_.clocks + op.stream;
    if (op.before == kNothing)
        delay(clock, op.start - rank_.latency);
    else if (gap_before(index) > kMostGap) // more than an op can hold
        host(clock, gap_before(index) - rank_.latency, {&op.before, 1}, cpu_);
    device(index, clock, 0);
}

// Streams that began the recording with work that it does not hold are occupied so long.
void Writer::occupy_streams() {
    for (std::uint32_t stream = 0; stream < rank_.streams.size(); ++stream) {
        if (rank_.busy_until[stream] == kNever)
            continue;
        Op op;
        op.name = out_.graph->names.intern("work of before the recording");
        op.stream = static_cast<std::uint16_t>(stream);
        op.launch = Launch::none;
        OpCost cost;
        const std::uint32_t first = rank_.stream_ops[stream].front();
        cost.alone_ns =
            std::max<TimeNs>(0, rank_.busy_until[stream] - gap_before(first) - zero_ - rank_.latency);
        cost.provenance = Provenance::measured;
        append(op, cost, kNoEvent);
    }
}

std::vector<Item> Writer::order() const {
    std::vector<Item> items;
    std::uint32_t op = 0;
    const auto ops_until = [&](std::uint32_t end) {
        for (; op < end; ++op)
            if (rank_.ops[op].call == kNothing)
                items.push_back({rank_.ops[op].enqueued, op, Item::Kind::op});
    };
    for (std::uint32_t i = 0; i < rank_.calls.size(); ++i) {
        const RecordedCall& call = rank_.calls[i];
        if (call.kind == CallKind::launch) {
            ops_until(call.first_op + call.ops);
            items.push_back({call.start, i, Item::Kind::call});
        }
        if (call.awaited > 0 && (call.kind != CallKind::launch || call.blocks))
            items.push_back({call.end, i, Item::Kind::end});
    }
    ops_until(static_cast<std::uint32_t>(rank_.ops.size()));
    std::ranges::stable_sort(items, {}, &Item::time);
    return items;
}

// Ops that may be on their way at once: twice as many as were recorded.
std::uint32_t Writer::queue() const {
    std::vector<TimeNs> ends;
    for (const RecordedOp& op : rank_.ops)
        ends.push_back(op.end);
    std::ranges::sort(ends);
    std::size_t done = 0, most = 0;
    for (std::size_t i = 0; i < rank_.ops.size(); ++i) {
        while (done < ends.size() && ends[done] < rank_.ops[i].enqueued)
            ++done;
        most = std::max(most, i + 1 - std::min(done, i));
    }
    return std::max(kLaunchQueue, std::bit_ceil(static_cast<std::uint32_t>(2 * most)));
}

void Writer::begin() {
    out_.graph = std::make_unique<RankGraph>();
    RankGraph& graph = *out_.graph;
    graph.stage = static_cast<int>(index_);
    for (const std::uint32_t row : rank_.streams) {
        const TraceStream& stream = trace_.streams[row];
        const bool compute = stream.kind == StreamKind::compute || stream.kind == StreamKind::copy;
        graph.streams.push_back({std::string(trace_.text(stream.name)), GroupKind::world, !compute});
    }
    graph.communicators.assign(groups_.slots[index_].size(), GroupKind::world);
    graph.ports = static_cast<std::uint32_t>(rank_.ops.size());
    graph.threads = static_cast<std::uint32_t>(last_.size());
    graph.launch_queue = queue();
    names_.assign(trace_.strings.size(), kNothing);
    cpu_ = graph.names.intern("cpu");
    out_.annotated.graph = &graph;
    out_.annotated.event_wait_ns = rank_.event_wait;
    out_.annotated.launch_latency_ns = rank_.latency;
}

Program Writer::write() {
    begin();
    occupy_streams();
    for (const Item& item : order())
        switch (item.kind) {
        case Item::Kind::op:
            unlaunched(item.index);
            break;
        case Item::Kind::call:
            call_begins(rank_.calls[item.index]);
            break;
        case Item::Kind::end:
            call_ends(rank_.calls[item.index]);
            break;
        }
    out_.annotated.communication.resize(out_.graph->works.size());
    out_.annotated.transfer_ns.resize(out_.graph->works.size());
    return std::move(out_);
}

} // namespace

TimeNs begin_of(const RecordedRank& rank) {
    TimeNs begin = std::numeric_limits<TimeNs>::max();
    for (const RecordedOp& op : rank.ops)
        begin = std::min(begin, op.start);
    for (const RecordedCall& call : rank.calls)
        if (is_replayed(call))
            begin = std::min(begin, call.start);
    return begin;
}

TimeNs end_of(const RecordedRank& rank) {
    TimeNs end = std::numeric_limits<TimeNs>::min();
    for (const RecordedOp& op : rank.ops)
        end = std::max(end, op.end);
    for (const RecordedCall& call : rank.calls)
        if (is_replayed(call))
            end = std::max(end, call.end);
    return end;
}

Program write_program(const Trace& trace, const RecordedRank& rank, const RecordedGroups& groups,
                      std::uint32_t index, TimeNs zero) {
    constexpr std::size_t kMost = 0xFFFF;
    if (rank.streams.size() > kMost || rank.clocks + rank.streams.size() > kMost)
        throw InputError(std::string(trace.text(trace.classes[rank.rank_class].name)),
                         "more than 65,535 streams and threads", "");
    return Writer(trace, rank, groups, index, zero).write();
}

} // namespace echosim::recorded
