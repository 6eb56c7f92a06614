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
// Progressive filling: raise all x_i / w_i (the level) together until a resource is full or a flow reaches 1;
// these flows keep their rate; go on with the others. Example: two transfers that each need 0.8 of a NIC
// alone run at x = 1 / 1.6 = 0.625; when one ends the other runs at 1.
//
// What a change reaches. Rates are max-min fair exactly when no resource is over its capacity and every flow
// either runs at 1 or has a bottleneck: a full resource on which no other flow has a higher level. So after a
// change only the flows whose bottleneck may have moved are filled again, the others keep their rates; flows
// whose condition this breaks join them, until none is broken. Rates that do not change are not computed
// again, and what stays is as fair as a solution from scratch. Where that goes on for kRounds rounds,
// everything that is connected joins at once, which bounds the work at that of a few full solutions.
//
// Source of the idea: max-min fairness by progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2),
// as SimGrid shares its links.
namespace echosim {

class FairShare {
  public:
    using FlowId = std::uint32_t;
    using ResourceId = std::uint32_t;
    static constexpr ResourceId kNoResource = 0xFFFFFFFF;
    struct Demand {
        ResourceId resource = 0;
        double amount = 0; // of the resource's capacity units, at rate 1; entries of 0 are left out
    };

    ResourceId add_resource(double capacity);
    void set_capacity(ResourceId resource, double capacity);
    // A resource at most once a flow.
    FlowId add_flow(std::span<const Demand> demands, double weight = 1);
    void remove_flow(FlowId flow); // its id may be used again

    // Brings the rates up to date after additions and removals; returns the flows whose rate changed, and all
    // that were added, in order. Valid until the next change.
    std::span<const FlowId> solve();

    double rate(FlowId flow) const { return flows_[flow].rate; }
    // What holds the flow below 1; kNoResource when it runs at 1.
    ResourceId bottleneck(FlowId flow) const { return flows_[flow].bottleneck; }
    std::size_t flows_on(ResourceId resource) const { return resources_[resource].users.size(); }
    double capacity(ResourceId resource) const { return resources_[resource].capacity; }
    double used(ResourceId resource) const;

  private:
    struct Use { // of a resource, in the list of its flow
        ResourceId resource = 0;
        std::uint32_t place = 0; // in the list of the resource
        double amount = 0;
        bool alone = false; // nobody else uses it and it is wide enough: it never matters
    };
    struct User { // of a resource, in its list
        FlowId flow = 0;
        std::uint32_t use = 0; // in the list of the flow
        double amount = 0;
    };
    struct Flow {
        std::vector<Use> uses;
        double weight = 1;
        double rate = 0;
        double before = 0; // rate at the last solve()
        ResourceId bottleneck = kNoResource;
        bool chosen = false;  // is being filled anew
        bool settled = false; // has its new rate
    };
    struct Resource {
        std::vector<User> users;
        double capacity = 0;
        bool dirty = false;
        // of one solve()
        bool touched = false;     // by a chosen flow
        std::uint32_t chosen = 0; // flows
        double kept = 0;          // used by the others
        double demand = 0;        // per unit of level, by the chosen ones
        // of one fill()
        std::uint32_t open = 0; // chosen flows that are not settled
        double wanted = 0;      // per unit of level, by these
        double left = 0;        // capacity
        double held = -1;       // level of the flows that it holds back; -1 = none
        double highest = 0;     // level of the chosen flows
    };
    struct Candidate { // a level at which a resource may be full
        double level = 0;
        ResourceId resource = 0;
    };

    void mark(ResourceId resource);
    void note_alone(const Resource& resource);
    void choose(FlowId flow);
    void touch(ResourceId resource);
    void choose_affected();
    void choose_connected();
    void fill();
    double start_filling();
    std::size_t settle_on(const Candidate& full);
    std::size_t settle_at_one(double level);
    void settle(FlowId flow, double level, ResourceId bottleneck);
    bool choose_broken();

    std::vector<Flow> flows_;
    std::vector<FlowId> free_;
    std::vector<Resource> resources_;
    std::vector<ResourceId> dirty_;   // since the last solve()
    std::vector<FlowId> added_;       // likewise
    std::vector<FlowId> chosen_;      // of this solve()
    std::vector<ResourceId> touched_; // resources of chosen flows
    std::vector<Candidate> heap_;     // lowest level first
    std::vector<FlowId> by_weight_;   // chosen flows, the heaviest reaches 1 first
    std::size_t at_one_ = 0;          // of these, looked at
    std::vector<FlowId> changed_;
};

} // namespace echosim
