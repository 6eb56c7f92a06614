// SPDX-License-Identifier: Apache-2.0
#include "comm_models/contention.h"

#include "simulator/core/error.h"
#include "simulator/core/fair_share.h"

#include <algorithm>
#include <queue>

namespace echosim {
namespace {

constexpr std::uint32_t kIdle = 0xFFFFFFFF;

class Concurrency {
  public:
    Concurrency(std::span<const ConcurrentOp> ops, const FabricLinks& fabric,
                const SharedEfficiency& efficiency)
        : ops_(ops), fabric_(fabric), efficiency_(efficiency), states_(ops.size()), results_(ops.size()),
          resource_of_(fabric.size(), kIdle) {}

    std::vector<ConcurrentResult> run() {
        for (std::size_t i = 0; i < ops_.size(); ++i)
            expect(static_cast<std::uint32_t>(i), ops_[i].start + std::min(ops_[i].latency, ops_[i].alone));
        while (!events_.empty()) {
            now_ = events_.top().time;
            while (!events_.empty() && events_.top().time <= now_) { // all of one moment, then one solution
                const Event event = events_.top();
                events_.pop();
                if (event.version == states_[event.op].version)
                    step(event.op);
            }
            share();
        }
        return std::move(results_);
    }

  private:
    struct Event {
        Seconds time = 0;
        std::uint32_t op = 0;
        std::uint32_t version = 0;
        bool operator<(const Event& other) const { // the earliest is on top
            return time != other.time ? time > other.time : op > other.op;
        }
    };
    struct State {
        FairShare::FlowId flow = kIdle; // while it works
        double remaining = 0;           // seconds of work alone
        double rate = 1;
        Seconds updated = 0;
        FairShare::ResourceId held_by = FairShare::kNoResource;
        std::vector<std::pair<LinkId, Seconds>> held; // how long each link was the bottleneck
        std::uint32_t version = 0;
    };

    void expect(std::uint32_t op, Seconds time) { events_.push({time, op, ++states_[op].version}); }

    void step(std::uint32_t op) {
        if (states_[op].flow != kIdle)
            return finish(op);
        const double work = ops_[op].alone - ops_[op].latency;
        if (work > 0)
            return begin(op, work);
        results_[op].finish = ops_[op].start + ops_[op].alone;
    }

    void begin(std::uint32_t op, double work) {
        State& state = states_[op];
        demands_.clear();
        for (const LinkBytes& load : ops_[op].traffic) {
            const double capacity = fabric_.link(load.link).capacity;
            demands_.push_back({resource_of(load.link), std::min(load.bytes / work, capacity)});
        }
        state.remaining = work;
        state.rate = 0; // until it is shared out, in this moment
        state.updated = now_;
        state.flow = share_.add_flow(demands_, ops_[op].weight);
        if (state.flow >= op_of_.size())
            op_of_.resize(state.flow + 1);
        op_of_[state.flow] = op;
        limit(op);
    }

    void finish(std::uint32_t op) {
        State& state = states_[op];
        advance(state);
        share_.remove_flow(state.flow);
        state.flow = kIdle;
        limit(op);
        results_[op].finish = now_;
        const auto longest = std::ranges::max_element(state.held, {}, &std::pair<LinkId, Seconds>::second);
        results_[op].shared = longest != state.held.end();
        if (results_[op].shared)
            results_[op].bottleneck = longest->first;
    }

    // Links of an operation that starts or ends: what they carry depends on how many use them.
    void limit(std::uint32_t op) {
        for (const LinkBytes& load : ops_[op].traffic) {
            const Link& link = fabric_.link(load.link);
            const FairShare::ResourceId resource = resource_of(load.link);
            const bool several = share_.flows_on(resource) > 1;
            share_.set_capacity(resource,
                                link.capacity *
                                    (several ? efficiency_.of[static_cast<std::size_t>(link.kind)] : 1.0));
        }
    }

    void share() {
        for (const FairShare::FlowId flow : share_.solve()) {
            State& state = states_[op_of_[flow]];
            advance(state);
            state.rate = share_.rate(flow);
            state.held_by = share_.bottleneck(flow);
            ECHOSIM_CHECK(state.rate > 0, "every link carries something");
            expect(op_of_[flow], now_ + state.remaining / state.rate);
        }
    }

    void advance(State& state) {
        const Seconds passed = now_ - state.updated;
        state.updated = now_;
        state.remaining = std::max(0.0, state.remaining - state.rate * passed);
        if (state.held_by == FairShare::kNoResource || passed <= 0)
            return;
        const LinkId link = link_of_[state.held_by];
        const auto known = std::ranges::find(state.held, link, &std::pair<LinkId, Seconds>::first);
        if (known == state.held.end())
            state.held.emplace_back(link, passed);
        else
            known->second += passed;
    }

    FairShare::ResourceId resource_of(LinkId link) {
        if (resource_of_[link] == kIdle) {
            resource_of_[link] = share_.add_resource(fabric_.link(link).capacity);
            link_of_.push_back(link);
        }
        return resource_of_[link];
    }

    std::span<const ConcurrentOp> ops_;
    const FabricLinks& fabric_;
    const SharedEfficiency& efficiency_;
    FairShare share_;
    Seconds now_ = 0;
    std::vector<State> states_;
    std::vector<ConcurrentResult> results_;
    std::vector<std::uint32_t> op_of_; // by flow
    std::vector<FairShare::ResourceId> resource_of_;
    std::vector<LinkId> link_of_;
    std::vector<FairShare::Demand> demands_;
    std::priority_queue<Event> events_;
};

} // namespace

std::vector<ConcurrentResult> run_concurrently(std::span<const ConcurrentOp> ops, const FabricLinks& fabric,
                                               const SharedEfficiency& efficiency) {
    return Concurrency(ops, fabric, efficiency).run();
}

} // namespace echosim
