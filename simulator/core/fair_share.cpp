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
constexpr double kNoLevel = 1e300;
constexpr int kRounds = 6;

} // namespace

FairShare::ResourceId FairShare::add_resource(double capacity) {
    resources_.emplace_back().capacity = std::max(0.0, capacity);
    return static_cast<ResourceId>(resources_.size() - 1);
}

void FairShare::set_capacity(ResourceId resource, double capacity) {
    capacity = std::max(0.0, capacity);
    if (std::exchange(resources_[resource].capacity, capacity) == capacity)
        return;
    mark(resource);
    note_alone(resources_[resource]);
}

// A resource has one user, or a second one now.
void FairShare::note_alone(const Resource& resource) {
    const std::size_t count = resource.users.size();
    for (std::size_t i = 0; i < count && count <= 2; ++i) {
        const User& user = resource.users[i];
        flows_[user.flow].uses[user.use].alone = count == 1 && user.amount <= resource.capacity;
    }
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
        flow.uses.push_back(
            {demand.resource, static_cast<std::uint32_t>(users.size()), demand.amount, false});
        users.push_back({id, static_cast<std::uint32_t>(flow.uses.size() - 1), demand.amount});
        mark(demand.resource);
        note_alone(resources_[demand.resource]);
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
        note_alone(resources_[use.resource]);
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
    for (const Use& use : flow.uses) {
        if (use.alone)
            continue;
        touch(use.resource);
        Resource& resource = resources_[use.resource];
        resource.kept -= use.amount * flow.rate;
        resource.demand += use.amount * flow.weight;
        ++resource.chosen;
    }
}

void FairShare::touch(ResourceId id) {
    Resource& resource = resources_[id];
    if (resource.touched)
        return;
    touched_.push_back(id);
    resource.touched = true;
    resource.chosen = 0;
    resource.demand = 0;
    resource.kept = used(id);
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

void FairShare::settle(FlowId id, double level, ResourceId bottleneck) {
    Flow& flow = flows_[id];
    flow.settled = true;
    flow.rate = bottleneck == kNoResource ? 1.0 : std::min(1.0, level * flow.weight);
    flow.bottleneck = bottleneck;
    for (const Use& use : flow.uses) {
        if (use.alone)
            continue;
        Resource& resource = resources_[use.resource];
        resource.left = std::max(0.0, resource.left - use.amount * flow.rate);
        resource.wanted -= use.amount * flow.weight;
        --resource.open;
        resource.highest = std::max(resource.highest, level);
    }
}

// Collects the resources that may fill, and returns the weight of the lightest flow.
double FairShare::start_filling() {
    double lightest = flows_[chosen_.front()].weight, heaviest = lightest;
    for (const FlowId id : chosen_) {
        flows_[id].settled = false;
        lightest = std::min(lightest, flows_[id].weight);
        heaviest = std::max(heaviest, flows_[id].weight);
    }
    by_weight_.assign(chosen_.begin(), chosen_.end());
    if (lightest < heaviest)
        std::sort(by_weight_.begin(), by_weight_.end(), [&](FlowId a, FlowId b) {
            return flows_[a].weight != flows_[b].weight ? flows_[a].weight > flows_[b].weight : a < b;
        });
    at_one_ = 0;
    heap_.clear();
    for (const ResourceId id : touched_) {
        Resource& resource = resources_[id];
        resource.open = resource.chosen;
        resource.wanted = resource.demand;
        resource.left = std::max(0.0, resource.capacity - resource.kept);
        resource.held = -1;
        resource.highest = 0;
        if (resource.left * lightest < resource.wanted)
            heap_.push_back({resource.left / resource.wanted, id});
    }
    return lightest;
}

// Flows that reach 1 below this level.
std::size_t FairShare::settle_at_one(double level) {
    std::size_t settled = 0;
    for (; at_one_ < by_weight_.size(); ++at_one_) {
        const Flow& flow = flows_[by_weight_[at_one_]];
        if (1 / flow.weight > level)
            break;
        if (flow.settled)
            continue;
        settle(by_weight_[at_one_], 1 / flow.weight, kNoResource);
        ++settled;
    }
    return settled;
}

std::size_t FairShare::settle_on(const Candidate& full) {
    std::size_t settled = 0;
    Resource& resource = resources_[full.resource];
    resource.held = full.level;
    for (const User& user : resource.users)
        if (flows_[user.flow].chosen && !flows_[user.flow].settled) {
            settle(user.flow, full.level, full.resource);
            ++settled;
        }
    return settled;
}

// Progressive filling of the chosen flows. The level at which a resource is full only rises while flows
// settle below it, so that a candidate is looked at again when it is the lowest, and not at every change.
void FairShare::fill() {
    const auto later = [](const Candidate& a, const Candidate& b) {
        return a.level != b.level ? a.level > b.level : a.resource > b.resource;
    };
    const double last = 1 / start_filling();
    std::make_heap(heap_.begin(), heap_.end(), later);
    for (std::size_t open = chosen_.size(); open > 0;) {
        if (heap_.empty()) {
            settle_at_one(last);
            return;
        }
        open -= settle_at_one(heap_.front().level);
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const Candidate next = heap_.back();
        heap_.pop_back();
        const Resource& resource = resources_[next.resource];
        if (resource.open == 0)
            continue;
        const double level = resource.left / resource.wanted;
        if (level > next.level) {
            heap_.push_back({level, next.resource});
            std::push_heap(heap_.begin(), heap_.end(), later);
            continue;
        }
        open -= settle_on(next);
    }
}

// Looks at the flows that share a resource with the chosen ones and kept their rates. They are no longer fair
// towards these where they have more than those that the resource holds back, or were held back by it and it
// has room now or lets others have more. True when there are such flows.
bool FairShare::choose_broken() {
    const std::size_t before = chosen_.size(), touched = touched_.size();
    for (std::size_t i = 0; i < touched; ++i) {
        const ResourceId id = touched_[i];
        const Resource& resource = resources_[id];
        if (resource.chosen == resource.users.size())
            continue;
        const bool room = resource.left > resource.capacity * kSame;
        const double most = resource.held < 0 ? kNoLevel : resource.held * (1 + kSame);
        const double least = room ? kNoLevel : resource.highest * (1 - kSame);
        for (const User& user : resource.users) {
            const Flow& flow = flows_[user.flow];
            if (flow.chosen)
                continue;
            const double level = flow.rate / flow.weight;
            if (level > most || (flow.bottleneck == id && level < least))
                choose(user.flow);
        }
    }
    return chosen_.size() > before;
}

} // namespace echosim
