// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/fair_share.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace echosim {
namespace {

// Relative; levels and loads closer than this count as equal.
constexpr double kSame = 1e-9;
constexpr double kRounding = 1e-13; // a rate within this of the former one has not changed
constexpr int kRounds = 6;

} // namespace

FairShare::ResourceId FairShare::add_resource(double capacity) {
    resources_.emplace_back().capacity = std::max(0.0, capacity);
    return static_cast<ResourceId>(resources_.size() - 1);
}

void FairShare::set_capacity(ResourceId resource, double capacity) {
    capacity = std::max(0.0, capacity);
    if (std::exchange(resources_[resource].capacity, capacity) != capacity)
        mark(resource);
}

void FairShare::mark(ResourceId resource) {
    if (resources_[resource].dirty)
        return;
    resources_[resource].dirty = true;
    dirty_.push_back(resource);
}

FairShare::FlowId FairShare::add_flow(std::span<const Demand> demands, double weight) {
    FlowId id = 0;
    if (free_.empty()) {
        id = static_cast<FlowId>(flows_.size());
        flows_.emplace_back();
    } else {
        id = free_.back();
        free_.pop_back();
    }
    Flow& flow = flows_[id]; // its list keeps its memory from use to use
    flow.uses.clear();
    flow.weight = weight;
    flow.rate = 0;
    flow.before = -1; // reported by the next solve()
    flow.bottleneck = kNoResource;
    flow.chosen = flow.settled = false;
    for (const Demand& demand : demands) {
        if (!(demand.amount > 0))
            continue;
        std::vector<User>& users = resources_[demand.resource].users;
        flow.uses.push_back({demand.resource, static_cast<std::uint32_t>(users.size()), demand.amount});
        users.push_back({id, static_cast<std::uint32_t>(flow.uses.size() - 1), demand.amount});
        mark(demand.resource);
    }
    added_.push_back(id);
    return id;
}

void FairShare::remove_flow(FlowId id) {
    Flow& flow = flows_[id];
    for (const Use& use : flow.uses) {
        std::vector<User>& users = resources_[use.resource].users;
        const User last = users.back();
        users[use.place] = last;
        flows_[last.flow].uses[last.use].place = use.place;
        users.pop_back();
        mark(use.resource);
    }
    flow.uses.clear();
    if (flow.before < 0)
        std::erase(added_, id);
    free_.push_back(id);
}

double FairShare::used(ResourceId resource) const {
    double sum = 0;
    for (const User& user : resources_[resource].users)
        sum += user.amount * flows_[user.flow].rate;
    return sum;
}

std::span<const FairShare::FlowId> FairShare::solve() {
    changed_.clear();
    choose_affected();
    for (int round = 0; !chosen_.empty(); ++round) {
        fill();
        if (!choose_broken())
            break;
        if (round == kRounds)
            choose_connected();
    }
    for (const FlowId id : chosen_) {
        Flow& flow = flows_[id];
        flow.chosen = false;
        if (std::abs(flow.rate - flow.before) <= kRounding * flow.before) {
            flow.rate = flow.before;
            continue;
        }
        changed_.push_back(id);
        flow.before = flow.rate;
    }
    std::sort(changed_.begin(), changed_.end());
    for (const ResourceId id : touched_)
        resources_[id].touched = false;
    for (const ResourceId id : dirty_)
        resources_[id].dirty = false;
    chosen_.clear();
    touched_.clear();
    dirty_.clear();
    added_.clear();
    return changed_;
}

void FairShare::choose(FlowId id) {
    Flow& flow = flows_[id];
    if (flow.chosen)
        return;
    flow.chosen = true;
    chosen_.push_back(id);
    for (const Use& use : flow.uses)
        if (!resources_[use.resource].touched) {
            resources_[use.resource].touched = true;
            touched_.push_back(use.resource);
        }
}

// New flows, those that a changed resource held back, and all of one that is over its capacity even without
// the new ones.
void FairShare::choose_affected() {
    for (const FlowId id : added_)
        choose(id);
    for (const ResourceId id : dirty_) {
        const Resource& resource = resources_[id];
        const bool over = used(id) > resource.capacity * (1 + kSame);
        for (const User& user : resource.users)
            if (over || flows_[user.flow].bottleneck == id)
                choose(user.flow);
    }
}

void FairShare::choose_connected() {
    for (std::size_t i = 0; i < chosen_.size(); ++i)
        for (const Use& use : flows_[chosen_[i]].uses)
            for (const User& user : resources_[use.resource].users)
                choose(user.flow);
}

// What the flows that keep their rates leave of a resource, and who wants it.
void FairShare::measure(ResourceId id) {
    Resource& resource = resources_[id];
    double kept = 0;
    resource.wanted = 0;
    resource.open = 0;
    resource.highest = -1;
    for (const User& user : resource.users) {
        const Flow& flow = flows_[user.flow];
        if (flow.chosen) {
            resource.wanted += user.amount * flow.weight;
            ++resource.open;
        } else {
            kept += user.amount * flow.rate;
        }
    }
    resource.left = std::max(0.0, resource.capacity - kept);
}

void FairShare::settle(FlowId id, double level, ResourceId bottleneck) {
    Flow& flow = flows_[id];
    flow.settled = true;
    flow.rate = bottleneck == kNoResource ? 1.0 : std::min(1.0, level * flow.weight);
    flow.bottleneck = bottleneck;
    for (const Use& use : flow.uses) {
        Resource& resource = resources_[use.resource];
        resource.left = std::max(0.0, resource.left - use.amount * flow.rate);
        resource.wanted -= use.amount * flow.weight;
        --resource.open;
    }
}

// Progressive filling of the chosen flows. The level at which a resource is full only rises while flows
// settle below it, so that a candidate is looked at again when it is the lowest, and not at every change.
void FairShare::fill() {
    heap_.clear();
    const auto later = [](const Candidate& a, const Candidate& b) {
        if (a.level != b.level)
            return a.level > b.level;
        return a.flow != b.flow ? b.flow : a.id > b.id; // a flow that reaches 1 before a resource that fills
    };
    double least_weight = 1e300;
    for (const FlowId id : chosen_) {
        flows_[id].settled = false;
        least_weight = std::min(least_weight, flows_[id].weight);
        heap_.push_back({1 / flows_[id].weight, id, true});
    }
    for (const ResourceId id : touched_) {
        measure(id);
        const Resource& resource = resources_[id];
        if (resource.open > 0 && resource.left * least_weight < resource.wanted)
            heap_.push_back({resource.left / resource.wanted, id, false});
    }
    std::make_heap(heap_.begin(), heap_.end(), later);
    for (std::size_t open = chosen_.size(); open > 0;) {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const Candidate next = heap_.back();
        heap_.pop_back();
        if (next.flow) {
            if (!flows_[next.id].settled) {
                settle(next.id, next.level, kNoResource);
                --open;
            }
            continue;
        }
        Resource& resource = resources_[next.id];
        if (resource.open == 0)
            continue;
        const double level = resource.left / resource.wanted;
        if (level > next.level) {
            heap_.push_back({level, next.id, false});
            std::push_heap(heap_.begin(), heap_.end(), later);
            continue;
        }
        resource.highest = next.level;
        for (const User& user : resource.users)
            if (flows_[user.flow].chosen && !flows_[user.flow].settled) {
                settle(user.flow, next.level, next.id);
                --open;
            }
    }
}

// Whether this flow, which kept its rate, is no longer fair towards those that were filled.
bool FairShare::broken(const Flow& flow, ResourceId resource, bool full, double highest) const {
    const double level = flow.rate / flow.weight;
    const double held = resources_[resource].highest;
    if (held >= 0 && level > held * (1 + kSame))
        return true; // it has more than those that this resource holds back
    return flow.bottleneck == resource && (!full || level < highest * (1 - kSame));
}

// Looks at the flows that share a resource with the chosen ones; true when there are new ones to choose.
bool FairShare::choose_broken() {
    const std::size_t chosen_before = chosen_.size(), touched_before = touched_.size();
    for (std::size_t i = 0; i < touched_before; ++i) {
        const ResourceId id = touched_[i];
        const Resource& resource = resources_[id];
        double highest = 0;
        bool held = false, others = false; // by this resource; flows that kept their rates
        for (const User& user : resource.users) {
            const Flow& flow = flows_[user.flow];
            if (flow.chosen && flow.settled)
                highest = std::max(highest, flow.rate / flow.weight);
            others |= !flow.chosen;
            held |= flow.bottleneck == id;
        }
        if (!others || !held)
            continue;
        const bool full = resource.left <= resource.capacity * kSame;
        for (const User& user : resource.users)
            if (!flows_[user.flow].chosen && broken(flows_[user.flow], id, full, highest))
                choose(user.flow);
    }
    return chosen_.size() > chosen_before;
}

} // namespace echosim
