// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

// Sharing of resources by weighted max-min, solved anew after each change and only for what the change
// reaches.
//
//   Flow i runs at rate x_i <= 1 (1 = as fast as alone) and then uses x_i d_ir of resource r.
//   Maximise the smallest x_i / w_i, then the next smallest, ..., subject to sum_i d_ir x_i <= C_r for every
//   r.
//
// Progressive filling: raise all x_i / w_i together until a resource is full or a flow reaches 1; these flows
// keep their rate; go on with the others. Example: two transfers that each need 0.8 of a NIC alone run at x =
// 1 / 1.6 = 0.625; when one ends the other runs at 1. Source of the idea: max-min fairness as SimGrid solves
// it.
namespace echosim {

class FairShare {
  public:
    using FlowId = std::uint32_t;
    using ResourceId = std::uint32_t;
    struct Demand {
        ResourceId resource = 0;
        double amount = 0; // of the resource's capacity units, at rate 1
    };

    ResourceId add_resource(double capacity);
    FlowId add_flow(std::span<const Demand> demands, double weight = 1);
    void remove_flow(FlowId flow); // its id may be used again

    // Brings the rates up to date after additions and removals; returns the flows whose rate changed, in
    // order.
    std::span<const FlowId> solve();
    double rate(FlowId flow) const;
};

} // namespace echosim
