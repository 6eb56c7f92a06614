// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/engine_state.h"

#include <utility>

// With contention a collective or transfer is one flow over the links of all its GPUs, which it uses by the
// share of NVLink, NIC, PCIe and memory that it needs alone; FairShare says at what share of its speed it
// runs, and its rate is SlowdownModel's times that. NVLink, NIC and PCIe carry both directions at once: a
// collective uses both, a transfer the outgoing links of its sender and the incoming ones of its receiver.
// Kernels use no links; their part of the memory is SlowdownModel's business. What collectives share beyond
// the GPU, the switches, is in their time alone (GroupGeometry's shares).
namespace echosim::engine {

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

} // namespace echosim::engine
