// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/engine_state.h"

#include <algorithm>
#include <cmath>

// Time-ordered mode: each op has remaining work w (ns alone) and a rate x in (0, 1]. When the set of ops on a
// GPU changes at time t, every op on it is advanced, w -= x (t - updated), gets its new rate, and its end is
// re-keyed to t + w / x. An op on several GPUs (a collective, a transfer) runs at the lowest rate any of them
// allows.
namespace echosim::engine {

void Engine::begin(std::span<const FlightRef> members, TimeNs start, TimeNs alone, bool transfer_part) {
    std::uint32_t id = 0;
    if (free_activities_.empty()) {
        id = static_cast<std::uint32_t>(activities_.size());
        activities_.emplace_back();
    } else {
        id = free_activities_.back();
        free_activities_.pop_back();
    }
    Activity& a = activities_[id]; // its list of members keeps its memory from use to use
    a.remaining = static_cast<double>(alone);
    a.rate = 1.0;
    a.started = a.updated = start;
    a.running = false;
    a.members.assign(members.begin(), members.end());
    a.transfer_part = transfer_part;
    heap_.push(id, std::max(start, now_));
}

void Engine::next_event() {
    now_ = heap_.next_time();
    const std::uint32_t id = heap_.pop();
    Activity& a = activities_[id];
    if (!a.running) {
        a.running = true;
        a.started = a.updated = now_;
        heap_.push(id, now_ + static_cast<TimeNs>(std::llround(a.remaining)));
        for (const FlightRef member : a.members) {
            const Flight& f = flight(member);
            const Op& op = op_of(member.rank, f);
            const OpCost& cost = cost_of(member.rank, f);
            running_[member.rank].push_back({id,
                                             1.0,
                                             {op.kind, op.kernel_class, cost.ctas, cost.hbm_share},
                                             {cost.nvlink_share, cost.nic_share}});
        }
        for (const FlightRef member : a.members)
            reprice(member.rank);
        return;
    }
    for (const FlightRef member : a.members) {
        std::erase_if(running_[member.rank], [&](const RunningOn& on) { return on.activity == id; });
        reprice(member.rank);
    }
    for (const FlightRef member : a.members) {
        if (a.transfer_part)
            finish_part(member, a.started, now_);
        else
            done(member, a.started, now_);
    }
    free_activities_.push_back(id); // what is ready now begins later, in settle()
}

// Ops that run together on one GPU share its links.
void Engine::share_links(const std::vector<RunningOn>& on) {
    demands_.clear();
    for (const RunningOn& op : on)
        demands_.push_back(op.demand);
    shares_.assign(on.size(), 1.0);
    fair_rates(demands_, shares_);
    for (std::size_t i = 0; i < on.size(); ++i)
        rates_[i] *= shares_[i];
}

// The set of ops on this GPU has changed: new rates for all of them.
void Engine::reprice(std::uint32_t rank) {
    std::vector<RunningOn>& on = running_[rank];
    if (on.empty())
        return;
    what_.clear();
    for (const RunningOn& op : on)
        what_.push_back(op.what);
    rates_.assign(on.size(), 1.0);
    in_.slowdown.rates(what_, rates_);
    if (in_.contention)
        share_links(on);
    for (std::size_t i = 0; i < on.size(); ++i)
        if (rates_[i] != on[i].rate) {
            on[i].rate = rates_[i];
            touch(on[i].activity);
        }
}

void Engine::touch(std::uint32_t id) {
    Activity& a = activities_[id];
    a.remaining = std::max(0.0, a.remaining - a.rate * static_cast<double>(now_ - a.updated));
    a.updated = now_;
    a.rate = 1.0;
    for (const FlightRef member : a.members)
        for (const RunningOn& on : running_[member.rank])
            if (on.activity == id)
                a.rate = std::min(a.rate, on.rate);
    heap_.update(id, now_ + static_cast<TimeNs>(std::llround(a.remaining / a.rate)));
}

} // namespace echosim::engine
