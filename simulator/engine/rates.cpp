// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/engine_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

// Time-ordered mode: each op has remaining work w (ns alone) and a rate x in (0, 1]. When the set of ops on a
// GPU changes at time t, every op on it is advanced, w -= x (t - updated), gets its new rate, and its end is
// re-keyed to t + w / x. An op on several GPUs (a collective, a transfer) runs at the lowest rate any of them
// allows.
//
// Links. With contention a collective or transfer is one flow over the links of all its GPUs, which it uses
// by the share of NVLink, NIC, PCIe and memory that it needs alone; FairShare says at what share of its speed
// it runs, and its rate is SlowdownModel's times that. NVLink, NIC and PCIe carry both directions at once: a
// collective uses both, a transfer the outgoing links of its sender and the incoming ones of its receiver.
// Kernels use no links; their part of the memory is SlowdownModel's business. What collectives share beyond
// the GPU, the switches, is in their time alone (GroupGeometry's shares).
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
    a.rate = a.share = 1.0;
    a.started = a.updated = start;
    a.running = false;
    a.members.assign(members.begin(), members.end());
    a.transfer_part = transfer_part;
    heap_.push(id, std::max(start, now_));
}

Running Engine::what_runs(std::uint32_t rank, const Op& op) const {
    const AnnotatedGraph& graph = *ranks_[rank].graph;
    Running running{.kind = op.kind};
    if (op.work == kNone || op.work >= graph.kernels.size())
        return running;
    if (op.kind == OpKind::compute)
        running.kernel = &graph.kernels[op.work];
    else
        running.comm = &graph.communications[op.work];
    return running;
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
            running_[member.rank].push_back({id, 1.0, what_runs(member.rank, op)});
        }
        for (const FlightRef member : a.members)
            reprice(member.rank);
        if (in_.contention)
            use_links(id);
        return;
    }
    if (in_.contention)
        leave_links(id);
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

void Engine::use_links(std::uint32_t id) {
    Activity& a = activities_[id];
    demands_.clear();
    for (std::size_t i = 0; i < a.members.size(); ++i) {
        const FlightRef member = a.members[i];
        const OpCost& cost = cost_of(member.rank, flight(member));
        const OpKind kind = op_of(member.rank, flight(member)).kind;
        if (kind != OpKind::collective && kind != OpKind::p2p)
            continue;
        const auto add = [&](GpuLink link, float share) {
            demands_.push_back({member.rank * kGpuLinks + static_cast<std::uint32_t>(link), share});
        };
        const bool sends = !a.transfer_part || i == 0, receives = !a.transfer_part || i == 1;
        add(GpuLink::nvlink_out, sends ? cost.nvlink_share : 0);
        add(GpuLink::nvlink_in, receives ? cost.nvlink_share : 0);
        add(GpuLink::nic_out, sends ? cost.nic_share : 0);
        add(GpuLink::nic_in, receives ? cost.nic_share : 0);
        add(GpuLink::pcie_out, sends ? cost.pcie_share : 0);
        add(GpuLink::pcie_in, receives ? cost.pcie_share : 0);
        add(GpuLink::memory, cost.hbm_share);
    }
    if (demands_.empty())
        return;
    a.flow = links_.add_flow(demands_);
    if (a.flow >= activity_of_.size())
        activity_of_.resize(a.flow + 1);
    activity_of_[a.flow] = id;
    share_links();
}

void Engine::leave_links(std::uint32_t id) {
    Activity& a = activities_[id];
    if (a.flow == kNone)
        return;
    links_.remove_flow(std::exchange(a.flow, kNone));
    share_links();
}

// The ops on the links have changed: new rates for those that this reaches.
void Engine::share_links() {
    for (const FairShare::FlowId flow : links_.solve()) {
        Activity& a = activities_[activity_of_[flow]];
        if (a.share == links_.rate(flow))
            continue;
        a.share = links_.rate(flow);
        touch(activity_of_[flow]);
    }
}

// The set of ops on this GPU has changed: new rates for all of them.
void Engine::reprice(std::uint32_t rank) {
    std::vector<RunningOn>& on = running_[rank];
    if (on.empty() || in_.slowdown.identity())
        return;
    what_.clear();
    for (const RunningOn& op : on)
        what_.push_back(op.what);
    rates_.assign(on.size(), 1.0);
    in_.slowdown.rates(what_, rates_);
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
    a.rate *= a.share;
    heap_.update(id, now_ + static_cast<TimeNs>(std::llround(a.remaining / a.rate)));
}

} // namespace echosim::engine
