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
        lists_.emplace_back();
        before_.emplace_back();
    } else {
        id = free_.back();
        free_.pop_back();
    }
    Flow& flow = flows_[id];
    std::vector<Use>& uses = lists_[id]; // keeps its memory from use to use
    uses.clear();
    flow.weight = weight;
    flow.rate = 0;
    before_[id] = -1; // reported by the next solve()
    flow.bottleneck = kNoResource;
    for (const Demand& demand : demands) {
        if (!(demand.amount > 0))
            continue;
        std::vector<User>& users = resources_[demand.resource].users;
        uses.push_back({demand.resource, static_cast<std::uint32_t>(users.size()), demand.amount});
        users.push_back({id, static_cast<std::uint32_t>(uses.size() - 1), demand.amount});
        mark(demand.resource);
    }
    added_.push_back(id);
    return id;
}

void FairShare::remove_flow(FlowId id) {
    Flow& flow = flows_[id];
    for (const Use& use : lists_[id]) {
        std::vector<User>& users = resources_[use.resource].users;
        const User last = users.back();
        users[use.place] = last;
        lists_[last.flow][last.use].place = use.place;
        users.pop_back();
        mark(use.resource);
    }
    hold(flow, kNoResource);
    lists_[id].clear();
    if (before_[id] < 0)
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
    for (const ResourceId id : dirty_) {
        Resource& resource = resources_[id];
        double most = 0;
        for (const User& user : resource.users)
            most += user.amount;
        resource.narrow = most > resource.capacity;
        touch(id);
    }
    for (const FlowId id : added_)
        open(id);
    sweep();
    report();
    return changed_;
}

void FairShare::touch(ResourceId id) {
    Resource& resource = resources_[id];
    if (!resource.touched) {
        touched_.push_back(id);
        resource.touched = true;
        resource.full = false;
        resource.open = 0;
        resource.wanted = 0;
        resource.left = resource.capacity - used(id);
        resource.next = kNoLevel;
    }
    if (resource.waiting)
        return;
    resource.waiting = true;
    waiting_.push_back(id);
}

void FairShare::open(FlowId id) {
    Flow& flow = flows_[id];
    flow.state = State::open;
    moved_.push_back(id);
    ++open_;
    hold(flow, kNoResource);
    for (const Use& use : lists_[id]) {
        Resource& resource = resources_[use.resource];
        if (!resource.narrow)
            continue;
        touch(use.resource);
        resource.left += use.amount * flow.rate;
        resource.wanted += use.amount * flow.weight;
        ++resource.open;
    }
    ones_.push_back({1 / flow.weight, id});
    std::push_heap(ones_.begin(), ones_.end());
}

void FairShare::hold(Flow& flow, ResourceId bottleneck) {
    if (flow.bottleneck != kNoResource)
        --resources_[flow.bottleneck].holding;
    flow.bottleneck = bottleneck;
    if (bottleneck != kNoResource)
        ++resources_[bottleneck].holding;
}

// An open flow has its rate.
void FairShare::settle(FlowId id, double level, ResourceId bottleneck) {
    Flow& flow = flows_[id];
    flow.state = State::settled;
    --open_;
    flow.rate = bottleneck == kNoResource ? 1.0 : std::min(1.0, level * flow.weight);
    hold(flow, bottleneck);
    for (const Use& use : lists_[id]) {
        Resource& resource = resources_[use.resource];
        if (!resource.narrow)
            continue;
        resource.left -= use.amount * flow.rate;
        resource.wanted -= use.amount * flow.weight;
        --resource.open;
    }
}

// A flow that kept its rate comes down.
void FairShare::lower(FlowId id, double level, ResourceId bottleneck) {
    Flow& flow = flows_[id];
    const double rate = level * flow.weight;
    for (const Use& use : lists_[id]) {
        Resource& resource = resources_[use.resource];
        if (!resource.narrow)
            continue;
        touch(use.resource);
        resource.left += use.amount * (flow.rate - rate);
    }
    flow.state = State::settled;
    moved_.push_back(id);
    hold(flow, bottleneck);
    flow.rate = rate;
}

double FairShare::next_level() const {
    const double event = events_.empty() ? kNoLevel : events_.front().level;
    return open_ > 0 ? std::min(event, ones_.front().level) : event;
}

void FairShare::sweep() {
    find_events();
    while (!events_.empty() || open_ > 0) {
        if (open_ > 0 && ones_.front().level <= next_level()) {
            const Event one = ones_.front();
            std::pop_heap(ones_.begin(), ones_.end());
            ones_.pop_back();
            if (flows_[one.id].state == State::open)
                settle(one.id, one.level, kNoResource);
            continue;
        }
        const Event event = events_.front();
        std::pop_heap(events_.begin(), events_.end());
        events_.pop_back();
        look_at(event);
        find_events();
    }
    ones_.clear();
}

void FairShare::expect(ResourceId id, double level) {
    resources_[id].next = level;
    events_.push_back({level, id});
    std::push_heap(events_.begin(), events_.end());
}

// The next events of the resources that have been touched. Events only move up while flows settle, so that
// one is looked at again when it is the lowest, and not before.
void FairShare::find_events() {
    for (const ResourceId id : waiting_) {
        Resource& resource = resources_[id];
        resource.waiting = false;
        const double level = std::min(resource.holding > 0 ? resource.level : kNoLevel,
                                      resource.open > 0 ? std::max(0.0, resource.left) / resource.wanted
                                      : resource.left < -kSame * resource.capacity ? 0.0
                                                                                   : kNoLevel);
        if (level < resource.next && !resource.full)
            expect(id, level);
    }
    waiting_.clear();
}

void FairShare::look_at(const Event& event) {
    Resource& resource = resources_[event.id];
    if (event.level != resource.next || resource.full)
        return;
    resource.next = kNoLevel;
    const double slack = kSame * resource.capacity;
    const double held = resource.holding > 0 ? resource.level : kNoLevel;
    if (event.level >= held && resource.left - resource.wanted * held > slack)
        return release(event.id);
    if (resource.open == 0 && resource.left >= -slack) {
        if (held > event.level && held < kNoLevel)
            expect(event.id, held);
        return;
    }
    const auto waits = [&](double level) { // nothing to do before this level
        const double next = std::min(level, held);
        if (next <= event.level || (level <= held && level <= next_level()))
            return false;
        expect(event.id, next);
        return true;
    };
    double level = resource.open > 0 ? std::max(0.0, resource.left) / resource.wanted : 0.0;
    if (waits(level))
        return;
    level = level_when_full(resource, std::max(level, std::min(event.level, held)));
    if (!waits(level))
        fill(event.id, level);
}

// Room for the flows that it held back.
void FairShare::release(ResourceId id) {
    for (const User& user : resources_[id].users) {
        const Flow& flow = flows_[user.flow];
        if (flow.bottleneck == id && flow.state == State::kept)
            open(user.flow);
    }
}

double FairShare::level_when_full(const Resource& resource, double level) const {
    while (resource.open < resource.users.size()) {
        double left = resource.left, wanted = resource.wanted, lowest = kNoLevel;
        for (const User& user : resource.users) {
            const Flow& flow = flows_[user.flow];
            if (flow.rate <= level * flow.weight * (1 + kSame) || flow.state != State::kept)
                continue;
            left += user.amount * flow.rate;
            wanted += user.amount * flow.weight;
            lowest = std::min(lowest, flow.rate / flow.weight);
        }
        if (lowest == kNoLevel)
            return level;
        level = std::max(level, std::max(0.0, left) / wanted);
        if (level <= lowest) // and so all of them come down to it
            return level;
    }
    return level;
}

void FairShare::fill(ResourceId id, double level) {
    Resource& resource = resources_[id];
    resource.full = true;
    for (const User& user : resource.users) {
        Flow& flow = flows_[user.flow];
        const double at = level * flow.weight;
        if (flow.state == State::open)
            settle(user.flow, level, id);
        else if (flow.state == State::kept && flow.rate > at * (1 + kSame))
            lower(user.flow, level, id);
        else if (flow.state == State::kept && flow.bottleneck != kNoResource && flow.rate >= at * (1 - kSame))
            hold(flow, id); // should the other one let it go at this level
    }
    if (!(std::abs(level - resource.level) <= kSame * level)) // some may be held from before
        resource.level = level;
}

void FairShare::report() {
    changed_.clear();
    for (const FlowId id : moved_) {
        Flow& flow = flows_[id];
        flow.state = State::kept;
        if (std::abs(flow.rate - before_[id]) <= kRounding * before_[id]) {
            flow.rate = before_[id];
            continue;
        }
        changed_.push_back(id);
        before_[id] = flow.rate;
    }
    std::sort(changed_.begin(), changed_.end());
    for (const ResourceId id : touched_)
        resources_[id].touched = false;
    for (const ResourceId id : dirty_)
        resources_[id].dirty = false;
    moved_.clear();
    touched_.clear();
    dirty_.clear();
    added_.clear();
}

} // namespace echosim
