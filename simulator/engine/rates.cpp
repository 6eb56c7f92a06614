// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "simulator/engine/engine_state.h"

#include <algorithm>
#include <cmath>

// Each op on a GPU has remaining work w (ns alone) and a rate x in (0, 1]. When the set of ops on a GPU
// changes at time t, those whose rate changes are advanced, w -= x (t - updated), and their end is re-keyed
// to t + w / x. An op on several GPUs (a collective, a transfer) runs at the lowest rate any of them allows.
//
// The model is asked once for every ordered set of ops (RateMemo), and not for one op: alone it runs at 1.
namespace echosim::engine {
namespace {

constexpr std::uint64_t kWaiting = 1; // bit of a memo's key

} // namespace

RunningOn Engine::entry_of(FlightRef ref) const {
    const AnnotatedGraph& graph = *ranks_[ref.rank].graph;
    const Op& op = op_of(ref.rank, flight(ref));
    RunningOn on;
    on.place = ref.place;
    on.key = std::uint64_t{op.work} << 8U | static_cast<std::uint64_t>(op.kind) << 1U;
    on.what.kind = op.kind;
    if (op.work == kNone || op.work >= graph.kernels.size())
        return on;
    if (op.kind == OpKind::compute)
        on.what.kernel = &graph.kernels[op.work];
    else
        on.what.comm = &graph.communications[op.work];
    return on;
}

RunningOn* Engine::find_running(FlightRef ref) {
    for (RunningOn& on : ranks_[ref.rank].running)
        if (on.place == ref.place)
            return &on;
    return nullptr;
}

// Communication that waits for its peers holds its SMs meanwhile; what holds none has no effect.
void Engine::hold(FlightRef ref) {
    RunningOn on = entry_of(ref);
    if (on.what.comm == nullptr || on.what.comm->ctas <= 0)
        return;
    on.what.waiting = true;
    ranks_[ref.rank].running.push_back(on);
    reprice(ref.rank);
}

// How long an op waits for SMs that starts now.
TimeNs Engine::start_delay(FlightRef ref) {
    const std::vector<RunningOn>& running = ranks_[ref.rank].running;
    if (running.empty())
        return 0;
    what_.clear();
    left_.clear();
    for (const RunningOn& on : running) {
        what_.push_back(on.what);
        left_.push_back(remaining(ref.rank, on));
    }
    return to_ns(std::max(0.0, in_.slowdown.start_delay(entry_of(ref).what, what_, left_)));
}

// Work alone of an op on this GPU that is still to do.
Seconds Engine::remaining(std::uint32_t rank, const RunningOn& on) {
    const auto of = [&](std::uint32_t id) {
        const Activity& a = activities_[id];
        return std::max(0.0, a.remaining - a.rate * static_cast<double>(now_ - a.updated)) * 1e-9;
    };
    if (on.activity != kNone)
        return of(on.activity);
    if (on.what.waiting)
        return to_seconds(cost_of(rank, flight({rank, on.place})).alone_ns);
    Seconds longest = 0;
    for (const RunningPart& part : ranks_[rank].parts)
        if (part.place == on.place)
            longest = std::max(longest, of(part.activity));
    return longest;
}

// The set of ops on this GPU has changed: new rates.
void Engine::reprice(std::uint32_t rank) {
    std::vector<RunningOn>& running = ranks_[rank].running;
    if (!slows_ || running.empty())
        return;
    constexpr double alone[] = {1.0};
    const std::span<const double> rates = running.size() == 1 ? alone : rates_of(rank);
    for (std::size_t i = 0; i < running.size(); ++i) {
        RunningOn& on = running[i];
        if (rates[i] == on.rate)
            continue;
        on.rate = rates[i];
        if (on.activity != kNone)
            touch(on.activity);
        for (const RunningPart& part : ranks_[rank].parts)
            if (part.place == on.place)
                touch(part.activity);
    }
}

std::span<const double> Engine::rates_of(std::uint32_t rank) {
    const std::vector<RunningOn>& running = ranks_[rank].running;
    set_.clear();
    for (const RunningOn& on : running)
        set_.push_back(on.key | (on.what.waiting ? kWaiting : 0));
    RateMemo& memo = memos_[in_.placement.ranks[rank].costs];
    if (const double* known = memo.find(set_))
        return {known, set_.size()};
    what_.clear();
    for (const RunningOn& on : running)
        what_.push_back(on.what);
    rates_.assign(running.size(), 1.0);
    in_.slowdown.rates(what_, rates_);
    for (const double rate : rates_)
        ECHOSIM_CHECK(rate > 0 && rate <= 1, "a slowdown model gave a rate outside (0, 1]");
    memo.add(set_, rates_);
    return rates_;
}

// The rate of an activity has changed.
void Engine::touch(std::uint32_t id) {
    Activity& a = activities_[id];
    a.remaining = std::max(0.0, a.remaining - a.rate * static_cast<double>(now_ - a.updated));
    a.updated = now_;
    a.rate = 1.0;
    for (const FlightRef member : a.members)
        if (const RunningOn* on = find_running(member))
            a.rate = std::min(a.rate, on->rate);
    a.rate *= a.share;
    const EventTime end{now_ + static_cast<TimeNs>(std::llround(a.remaining / a.rate)), a.tie};
    if (a.coupled) {
        heap_.set(static_cast<std::uint32_t>(ranks_.size()) + id, end);
        return;
    }
    const FlightRef here = a.members.front();
    find_running(here)->end = end;
    if (here.rank != current_)
        heap_.set(here.rank, next_of(ranks_[here.rank]));
}

} // namespace echosim::engine
