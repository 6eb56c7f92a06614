// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/engine.h"

#include "simulator/core/error.h"
#include "simulator/engine/engine_state.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace echosim::engine {
namespace {

void reserve(RankTimeline& t, std::size_t rows) {
    t.start.reserve(rows);
    t.duration.reserve(rows);
    t.waited.reserve(rows);
    t.alone.reserve(rows);
    t.instance.reserve(rows);
    t.op.reserve(rows);
    t.binding.reserve(rows);
}

} // namespace

Engine::Engine(const EngineInput& input)
    : in_(input), slows_(!input.slowdown.identity()), fixed_(!slows_ && !input.contention) {
    const std::size_t count = input.placement.ranks.size();
    ranks_.resize(count);
    communicators_.resize(input.placement.communicators.size());
    channels_.resize(input.placement.channels.size());
    memos_.resize(input.graphs.size());
    for (std::size_t i = 0; in_.contention && i < count * kGpuLinks; ++i)
        links_.add_resource(1.0);
    timeline_.summaries.resize(count);
    timeline_.ranks.resize(count);
    timeline_.memory.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        RankState& r = ranks_[i];
        r.graph = &input.graphs[input.placement.ranks[i].costs];
        const RankGraph& graph = *r.graph->graph;
        ECHOSIM_CHECK(std::has_single_bit(graph.launch_queue), "the ring is indexed by mask");
        r.queue = graph.launch_queue;
        r.line.resize(graph.one_queue ? r.queue : 0);
        r.ring.resize(r.queue);
        r.host.resize(graph.threads);
        r.tail.resize(graph.streams.size());
        r.ports.resize(graph.ports);
        r.calls.resize(graph.communicators.size());
        r.messages.resize(graph.channels.size());
        std::size_t largest = 0;
        for (const Block& block : graph.blocks)
            largest = std::max(largest, block.ops.size());
        r.local.resize(largest);
        if (i < input.record.size() && input.record[i])
            reserve(timeline_.ranks[i], static_cast<std::size_t>(count_ops(graph)));
    }
}

Timeline Engine::run() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
        runnable_.push_back(rank);
    for (catch_up(); !heap_.empty(); catch_up()) {
        now_ = heap_.next().time;
        const std::uint32_t id = heap_.pop();
        if (id < ranks_.size())
            run_ahead(id);
        else
            group_event(id - static_cast<std::uint32_t>(ranks_.size()));
    }
    summarise();
    return std::move(timeline_);
}

// All that is known without another event.
void Engine::catch_up() {
    for (;;) {
        settle();
        if (runnable_.empty())
            return;
        const std::uint32_t rank = runnable_.back();
        runnable_.pop_back();
        advance(rank);
    }
}

void Engine::advance(std::uint32_t rank) {
    while (step(rank))
        if (!ready_.empty())
            settle();
}

// The next op of the rank's program. False when the host is blocked or has nothing left.
bool Engine::step(std::uint32_t rank) {
    RankState& r = ranks_[rank];
    const RankGraph& graph = *r.graph->graph;
    if (r.instance == graph.program.size())
        return false;
    const std::uint32_t block = graph.program[r.instance].block.value;
    const std::vector<Op>& ops = graph.blocks[block].ops;
    if (r.op == ops.size()) {
        ++r.instance;
        r.op = 0;
        return true;
    }
    const Op& op = ops[r.op];
    const OpCost& cost = r.graph->costs[block][r.op];
    const bool went = op.kind == OpKind::host ? host_op(rank, op, cost) : launch(rank, op, cost);
    if (!went)
        return false;
    if (op.memory != kNone)
        change_memory(rank, op);
    ++timeline_.summaries[rank].ops;
    ++r.op;
    return true;
}

// Launch number + 1 of the op that a dependency means; 0 = there is none.
std::uint64_t Engine::launch_of(const RankState& r, const Dep& dep) const {
    switch (dep.kind) {
    case Dep::Kind::op:
        return r.local[dep.index];
    case Dep::Kind::port:
        return r.ports[dep.index];
    case Dep::Kind::tail:
        return r.tail[dep.index];
    }
    return 0;
}

// Waits for an op that the host depends on; `until` becomes its end. True: the host is now blocked and comes
// back to the same op.
bool Engine::host_waits(std::uint32_t rank, std::uint64_t launch, TimeNs& until, std::uint32_t& binding) {
    RankState& r = ranks_[rank];
    if (launch == 0 || r.launched - (launch - 1) > r.queue)
        return false;
    Flight& f = r.ring[(launch - 1) & (r.queue - 1)];
    if (f.state != Flight::State::done) {
        wait(f, {rank, kNone}, 0);
        r.blocked = true;
        return true;
    }
    if (f.time > until) {
        until = f.time;
        binding = f.row;
    }
    return false;
}

bool Engine::host_op(std::uint32_t rank, const Op& op, const OpCost& cost) {
    RankState& r = ranks_[rank];
    const RankGraph& graph = *r.graph->graph;
    const Block& block = graph.blocks[graph.program[r.instance].block.value];
    TimeNs& host = r.host[op.thread];
    const TimeNs from = host;
    TimeNs until = from;
    std::uint32_t binding = kBoundByHost;
    for (std::uint32_t i = 0; i < op.dep_count; ++i)
        if (host_waits(rank, launch_of(r, block.deps[op.first_dep + i]), until, binding))
            return false;
    host = until + static_cast<TimeNs>(cost.host_ns) + cost.alone_ns;
    r.local[r.op] = 0; // what comes later in the program comes later anyhow
    if (host > from)
        add_host_row(rank, from, until, host, binding);
    return true;
}

bool Engine::launch(std::uint32_t rank, const Op& op, const OpCost& cost) {
    RankState& r = ranks_[rank];
    const std::uint64_t number = r.launched;
    const FlightRef who{rank, static_cast<std::uint32_t>(number & (r.queue - 1))};
    std::uint32_t ignored = 0;
    TimeNs& host = r.host[op.thread];
    if (number >= r.queue && host_waits(rank, number + 1 - r.queue, host, ignored))
        return false;
    host += cost.host_ns;
    Flight& f = r.ring[who.place];
    f = Flight{};
    f.time = host + r.graph->launch_latency_ns;
    f.instance = r.instance;
    f.op = static_cast<std::uint16_t>(r.op);
    f.stream = op.stream;
    f.state = Flight::State::waits_for_ops;
    if (!r.line.empty())
        r.line[who.place] = {.time = f.time};
    const bool recorded = rank < in_.record.size() && in_.record[rank];
    if (recorded)
        f.row = add_row(rank, r);
    const Block& block = r.graph->graph->blocks[r.graph->graph->program[r.instance].block.value];
    std::uint64_t& tail = r.tail[op.stream];
    depend(r, f, who, tail, op.kind == OpKind::sync ? 0 : r.graph->kernel_gap_ns + cost.gap_ns);
    for (std::uint32_t i = 0; i < op.dep_count; ++i)
        depend(r, f, who, launch_of(r, block.deps[op.first_dep + i]), r.graph->event_wait_ns);
    tail = r.local[r.op] = number + 1;
    if (op.record_port != kNoPort)
        r.ports[op.record_port] = number + 1;
    if (!r.line.empty() && op.kind != OpKind::memory && !op.in_graph)
        enter_queue(r, who);
    ++r.launched;
    if (f.open == 0)
        ready(who);
    return true;
}

void Engine::depend(RankState& r, Flight& f, FlightRef who, std::uint64_t launch, TimeNs lag) {
    if (launch == 0 || r.launched - (launch - 1) >= r.queue)
        return; // done long before this launch
    Flight& before = r.ring[(launch - 1) & (r.queue - 1)];
    if (!r.line.empty() && before.stream != f.stream)
        depend_in_queue(r.line[who.place], before, lag);
    if (before.state != Flight::State::done) {
        ++f.open;
        wait(before, who, lag);
    } else if (before.time + lag > f.time) {
        f.time = before.time + lag;
        f.binding = before.row;
    }
}

void Engine::wait(Flight& on, FlightRef who, TimeNs lag) {
    std::uint32_t place = free_waiter_;
    if (place == kNone) {
        place = static_cast<std::uint32_t>(waiters_.size());
        waiters_.emplace_back();
    } else {
        free_waiter_ = waiters_[place].next;
    }
    waiters_[place] = {who, lag, on.waiters};
    on.waiters = place;
}

void Engine::settle() {
    while (!ready_.empty()) {
        const FlightRef ref = ready_.back();
        ready_.pop_back();
        ready(ref);
    }
}

// All dependencies are done: start it, or join its group.
void Engine::ready(FlightRef ref) {
    Flight& f = flight(ref);
    const Op& op = op_of(ref.rank, f);
    f.arrived = f.time;
    if (op.kind == OpKind::collective || op.kind == OpKind::p2p) {
        ready_to_communicate(ref, op);
    } else {
        const TimeNs alone = cost_of(ref.rank, f).alone_ns;
        if (!slows_ || alone == 0)
            done(ref, f.time, f.time + alone);
        else
            plan(ref);
    }
}

void Engine::done(FlightRef ref, TimeNs start, TimeNs end) {
    Flight& f = flight(ref);
    f.started = start;
    f.time = end;
    f.state = Flight::State::done;
    RankSummary& summary = timeline_.summaries[ref.rank];
    if (f.stream == 0) {
        summary.compute_busy += end - start;
        if (slows_ && op_of(ref.rank, f).kind == OpKind::compute)
            summary.compute_slowed += end - start - cost_of(ref.rank, f).alone_ns;
    }
    if (f.row != kNone)
        write_row(ref.rank, f, end);
    for (std::uint32_t place = f.waiters; place != kNone;) {
        const Waiter waiter = waiters_[place];
        waiters_[place].next = free_waiter_;
        free_waiter_ = place;
        place = waiter.next;
        if (waiter.who.place == kNone) {
            ranks_[waiter.who.rank].blocked = false;
            runnable_.push_back(waiter.who.rank);
            continue;
        }
        Flight& next = flight(waiter.who);
        if (end + waiter.lag > next.time) {
            next.time = end + waiter.lag;
            next.binding = f.row;
        }
        if (!ranks_[ref.rank].line.empty() && next.stream != f.stream)
            progress_in_queue(waiter.who, end + waiter.lag, f.row);
        if (--next.open == 0)
            ready_.push_back(waiter.who);
    }
    f.waiters = kNone;
}

std::uint32_t Engine::add_row(std::uint32_t rank, const RankState& r) {
    RankTimeline& t = timeline_.ranks[rank];
    const auto row = static_cast<std::uint32_t>(t.size());
    t.start.push_back(0);
    t.duration.push_back(0);
    t.waited.push_back(0);
    t.alone.push_back(0);
    t.instance.push_back(r.instance);
    t.op.push_back(static_cast<std::uint16_t>(r.op));
    t.binding.push_back(kBoundByHost);
    return row;
}

void Engine::write_row(std::uint32_t rank, const Flight& f, TimeNs end) {
    RankTimeline& t = timeline_.ranks[rank];
    t.start[f.row] = f.arrived;
    t.duration[f.row] = end - f.arrived;
    t.waited[f.row] = f.started - f.arrived;
    t.alone[f.row] = cost_of(rank, f).alone_ns;
    t.binding[f.row] = f.started > f.arrived ? kBoundByPeer : f.binding;
}

} // namespace echosim::engine

namespace echosim {

Timeline simulate(const EngineInput& input) {
    return engine::Engine(input).run();
}

} // namespace echosim
