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
// After a change the level rises once from 0, but the flows keep their rates from before and the level passes
// them by, until it meets one of three events at a resource that the change touched:
//
//   it is full at level L             its open flows settle at L; flows that kept a rate above L come down to
//                                     L, which touches their other resources
//   it held flows at level h and has  these flows are open again: they rise on from h together with the
//   level, room at h now                     which touches their other resources an open flow reaches 1 it
//   settles
//
// What is touched at a level has its events at this level or above: a flow that comes down or is opened had
// at least the level reached, and so had what its other resources held. So one pass in order of the level is
// progressive filling itself, less the flows whose rates it would only confirm. L solves
//
//   sum_open d w L + sum_kept d min(x, w L) = C,
//
// concave in L, by Newton's method from below. A resource whose flows fit at rate 1 together has no events.
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
    enum class State : std::uint8_t { kept, open, settled }; // of a flow in one solve()
    struct Use {                                             // of a resource, in the list of its flow
        ResourceId resource = 0;
        std::uint32_t place = 0; // in the list of the resource
        double amount = 0;
    };
    struct User { // of a resource, in its list
        FlowId flow = 0;
        std::uint32_t use = 0; // in the list of the flow
        double amount = 0;
    };
    struct Flow {
        double rate = 0;
        double weight = 1;
        ResourceId bottleneck = kNoResource;
        State state = State::kept;
    };
    struct Resource {
        std::vector<User> users;
        double capacity = 0;
        double level = 0;          // of the flows that it holds back
        std::uint32_t holding = 0; // so many
        // of one solve()
        std::uint32_t open = 0; // flows
        double wanted = 0;      // per unit of level, by these
        double left = 0;        // by the others
        double next = 0;        // level of its next event
        bool dirty = false;     // changed since the last solve()
        bool narrow = false;    // its flows do not fit at rate 1
        bool touched = false;
        bool waiting = false; // for its next event to be found
        bool full = false;    // for good
    };
    struct Event {
        double level = 0;
        std::uint32_t id = 0;                      // of a resource or a flow
        bool operator<(const Event& other) const { // the lowest level is on top
            return level != other.level ? level > other.level : id > other.id;
        }
    };

    void mark(ResourceId resource);
    void touch(ResourceId resource);
    void open(FlowId flow);
    void hold(Flow& flow, ResourceId bottleneck);
    void settle(FlowId flow, double level, ResourceId bottleneck);
    void lower(FlowId flow, double level, ResourceId bottleneck);
    void sweep();
    double next_level() const;
    void find_events();
    void expect(ResourceId resource, double level);
    void look_at(const Event& event);
    void release(ResourceId resource);
    double level_when_full(const Resource& resource, double level) const;
    void fill(ResourceId resource, double level);
    void report();

    std::vector<Flow> flows_;
    std::vector<std::vector<Use>> lists_; // by flow
    std::vector<double> before_;          // by flow, rate at the last solve()
    std::vector<FlowId> free_;
    std::vector<Resource> resources_;
    std::vector<ResourceId> dirty_;   // since the last solve()
    std::vector<FlowId> added_;       // likewise
    std::vector<FlowId> moved_;       // of this solve(): not kept
    std::vector<ResourceId> touched_; // likewise
    std::vector<ResourceId> waiting_; // of these
    std::vector<Event> events_;       // at resources, a heap
    std::vector<Event> ones_;         // open flows reach 1, a heap
    std::size_t open_ = 0;            // flows
    std::vector<FlowId> changed_;
};

} // namespace echosim
