// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/engine_state.h"

#include <algorithm>

// Time-ordered mode: events in the order of time as far as one can change what another finds.
//
// Two kinds of events. Those of one GPU, an op starts or ends there, lie with its rank; those of a group, its
// work begins or ends on all its GPUs, lie in the heap, and so does the next event of every rank. A rank that
// has no op with peers, from the moment such an op is ready until it is done, hears nothing from others: it
// runs ahead of them through its own events until it has one. A rank that has one takes its events in the
// order of the heap. What a rank does when it is ahead reaches others only through groups, whose work begins
// when the last member comes, and a member that came early has stopped there. So every GPU sees its events in
// the order of time, as if there were one queue.
//
// Of events at one time ends come before starts, and those in the order of their launches, which does not
// depend on how many ranks are simulated.
//
// An op that has its GPU to itself until its end needs no event for it.
namespace echosim::engine {

// Launches count from 0; the ring holds the last of them.
std::uint64_t Engine::launch_number(FlightRef ref) const {
    const RankState& r = ranks_[ref.rank];
    const std::uint64_t last = r.launched - 1;
    return last - ((last - ref.place) & (r.queue - 1));
}

void Engine::plan(FlightRef ref) {
    Flight& f = flight(ref);
    f.arrived = f.time = std::max(f.time, ranks_[ref.rank].now);
    if (f.state == Flight::State::waits_for_ops)
        f.state = Flight::State::ready;
    plan(ref.rank, {{f.time, kStart | launch_number(ref)}, ref.place, false});
}

void Engine::plan(std::uint32_t rank, const PlannedStart& start) {
    RankState& r = ranks_[rank];
    auto place = r.planned.end();
    while (place != r.planned.begin() && (place - 1)->at < start.at)
        --place;
    r.planned.insert(place, start);
    if (rank != current_)
        heap_.set(rank, next_of(r));
}

EventTime Engine::next_of(const RankState& r) const {
    EventTime next = r.planned.empty() ? kNever : r.planned.back().at;
    for (const RunningOn& on : r.running)
        next = std::min(next, on.end);
    return next;
}

void Engine::run_ahead(std::uint32_t rank) {
    current_ = rank;
    EventTime next;
    do {
        local_event(rank);
        catch_up();
        next = next_of(ranks_[rank]);
    } while (next != kNever && (ranks_[rank].coupled == 0 || next < heap_.next()));
    current_ = kNone;
    if (next != kNever)
        heap_.set(rank, next);
}

void Engine::local_event(std::uint32_t rank) {
    RankState& r = ranks_[rank];
    EventTime first = r.planned.empty() ? kNever : r.planned.back().at;
    std::size_t ends = r.running.size();
    for (std::size_t i = 0; i < r.running.size(); ++i)
        if (r.running[i].end < first) {
            first = r.running[i].end;
            ends = i;
        }
    r.now = now_ = first.time;
    if (ends < r.running.size())
        return finish_here(rank, ends);
    const PlannedStart start = r.planned.back();
    r.planned.pop_back();
    start_here(rank, start);
}

void Engine::start_here(std::uint32_t rank, const PlannedStart& start) {
    RankState& r = ranks_[rank];
    const FlightRef ref{rank, start.place};
    Flight& f = flight(ref);
    const bool has_peers = f.state == Flight::State::waits_for_peers;
    if (start.delayed) {
        if (f.state == Flight::State::ready)
            run_here(ref);
        else if (has_peers && launch_number(ref) == (start.at.tie & ~kStart) && !find_running(ref))
            hold(ref);
        return;
    }
    f.started = now_;
    const TimeNs delay = start_delay(ref);
    const bool works = has_peers && arrive(ref, now_ + delay);
    if (delay > 0)
        return plan(rank, {{now_ + delay, start.at.tie}, start.place, true});
    if (has_peers) {
        if (!works)
            hold(ref);
        return;
    }
    const TimeNs end = now_ + cost_of(rank, f).alone_ns;
    if (!in_.contention && r.running.empty() && (r.planned.empty() || r.planned.back().at.time >= end) &&
        (r.coupled == 0 || heap_.next().time >= end)) {
        r.now = end;
        return done(ref, now_, end);
    }
    run_here(ref);
}

std::uint32_t Engine::new_activity() {
    if (free_activities_.empty()) {
        activities_.emplace_back();
        return static_cast<std::uint32_t>(activities_.size() - 1);
    }
    const std::uint32_t id = free_activities_.back();
    free_activities_.pop_back();
    return id;
}

void Engine::run_here(FlightRef ref) {
    const std::uint32_t id = new_activity();
    const Flight& f = flight(ref);
    Activity& a = activities_[id]; // its list of members keeps its memory from use to use
    a.remaining = static_cast<double>(cost_of(ref.rank, f).alone_ns);
    a.rate = a.share = 1.0;
    a.updated = now_;
    a.tie = launch_number(ref);
    a.running = true;
    a.coupled = a.transfer_part = false;
    a.members.assign(1, ref);
    RunningOn& on = ranks_[ref.rank].running.emplace_back(entry_of(ref));
    on.activity = id;
    reprice(ref.rank);
    touch(id);
    if (in_.contention)
        use_links(id);
}

void Engine::finish_here(std::uint32_t rank, std::size_t index) {
    RankState& r = ranks_[rank];
    const FlightRef ref{rank, r.running[index].place};
    const std::uint32_t id = r.running[index].activity;
    if (in_.contention)
        leave_links(id);
    r.running.erase(r.running.begin() + static_cast<std::ptrdiff_t>(index));
    reprice(rank);
    free_activities_.push_back(id);
    done(ref, flight(ref).started, now_);
}

void Engine::begin(std::span<const FlightRef> members, const GroupStart& group, bool transfer_part) {
    const std::uint32_t id = new_activity();
    Activity& a = activities_[id];
    a.remaining = static_cast<double>(group.alone);
    a.rate = a.share = 1.0;
    a.started = group.start;
    a.running = false;
    a.coupled = true;
    a.transfer_part = transfer_part;
    a.members.assign(members.begin(), members.end());
    a.tie = launch_number(members.front());
    for (const FlightRef member : members)
        a.tie = std::min(a.tie, launch_number(member));
    heap_.set(static_cast<std::uint32_t>(ranks_.size()) + id, {group.begin, kStart | a.tie});
}

void Engine::group_event(std::uint32_t id) {
    for (const FlightRef member : activities_[id].members)
        ranks_[member.rank].now = now_;
    if (activities_[id].running)
        finish_group(id);
    else
        start_group(id);
}

void Engine::start_group(std::uint32_t id) {
    Activity& a = activities_[id];
    a.running = true;
    a.updated = now_;
    for (const FlightRef member : a.members) {
        if (!slows_)
            break;
        RankState& r = ranks_[member.rank];
        RunningOn* on = find_running(member);
        const bool changes = on == nullptr || on->what.waiting;
        if (on == nullptr)
            on = &r.running.emplace_back(entry_of(member));
        on->what.waiting = false;
        if (a.transfer_part)
            r.parts.push_back({member.place, id});
        else
            on->activity = id;
        if (changes)
            reprice(member.rank);
    }
    touch(id);
    if (in_.contention)
        use_links(id);
}

void Engine::finish_group(std::uint32_t id) {
    if (in_.contention)
        leave_links(id);
    const Activity& a = activities_[id];
    for (const FlightRef member : a.members) {
        if (!slows_)
            break;
        RankState& r = ranks_[member.rank];
        const auto is_it = [&](const auto& on) { return on.place == member.place; };
        std::erase_if(r.parts, [&](const RunningPart& part) { return part.activity == id; });
        if (!a.transfer_part || flight(member).open == 1)
            std::erase_if(r.running, is_it);
        else if (std::ranges::none_of(r.parts, is_it))
            find_running(member)->what.waiting = true;
        reprice(member.rank);
    }
    for (const FlightRef member : a.members) {
        if (a.transfer_part)
            finish_part(member, a.started, now_);
        else
            group_done(member, a.started, now_);
    }
    free_activities_.push_back(id); // what is ready now starts later, in catch_up()
}

} // namespace echosim::engine
