// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/engine_state.h"

#include <algorithm>
#include <utility>

namespace echosim::engine {

// A collective or a transfer is ready. Where rates depend on what runs together it comes to its peers by an
// event of its GPU, which may delay it.
void Engine::ready_to_communicate(FlightRef ref, const Op& op) {
    Flight& f = flight(ref);
    RankState& r = ranks_[ref.rank];
    if (op.kind == OpKind::collective) {
        const std::uint32_t slot = std::get<CollectiveWork>(r.graph->graph->works[op.work]).slot;
        const std::uint32_t id = in_.placement.ranks[ref.rank].communicators[slot];
        if (in_.placement.communicators[id].members == 1) {
            const TimeNs alone = cost_of(ref.rank, f).alone_ns;
            return fixed_ || alone == 0 ? done(ref, f.time, f.time + alone) : plan(ref);
        }
    }
    f.state = Flight::State::waits_for_peers;
    ++r.coupled;
    if (slows_)
        return plan(ref);
    if (!fixed_)
        f.arrived = f.time = std::max(f.time, r.now);
    arrive(ref, f.time);
}

bool Engine::arrive(FlightRef ref, TimeNs begin) {
    const Work& work = ranks_[ref.rank].graph->graph->works[op_of(ref.rank, flight(ref)).work];
    if (const auto* collective = std::get_if<CollectiveWork>(&work))
        return arrive_collective(ref, *collective, begin);
    return arrive_transfer(ref, std::get<TransferWork>(work), begin);
}

// The last member to arrive starts the collective for all; it ends for all at once.
bool Engine::arrive_collective(FlightRef ref, const CollectiveWork& work, TimeNs begin_here) {
    const std::uint32_t id = in_.placement.ranks[ref.rank].communicators[work.slot];
    const std::uint32_t members = in_.placement.communicators[id].members;
    const std::uint32_t call = ranks_[ref.rank].calls[work.slot]++;
    CommunicatorState& c = communicators_[id];
    while (c.open.size() <= call - c.base)
        c.open.emplace_back();
    Rendezvous& group = c.open[call - c.base];
    group.when.start = std::max(group.when.start, flight(ref).arrived);
    group.when.begin = std::max(group.when.begin, begin_here);
    group.when.alone = cost_of(ref.rank, flight(ref)).alone_ns;
    group.members.push_back(ref);
    if (++group.arrived < members)
        return false;
    const GroupStart when = group.when;
    std::vector<FlightRef> all = std::exchange(group.members, {});
    while (!c.open.empty() && c.open.front().arrived == members) {
        c.open.pop_front();
        ++c.base;
    }
    if (fixed_)
        for (const FlightRef member : all)
            group_done(member, when.start, when.start + when.alone);
    else
        begin(all, when, false);
    return when.begin == begin_here;
}

bool Engine::arrive_transfer(FlightRef ref, const TransferWork& work, TimeNs begin_here) {
    Flight& f = flight(ref);
    const RankState& r = ranks_[ref.rank];
    const std::vector<TimeNs>& times = r.graph->transfer_ns[op_of(ref.rank, f).work];
    f.open = static_cast<std::uint16_t>(work.parts.size());
    f.started = f.arrived;
    bool begins = false;
    for (std::size_t i = 0; i < work.parts.size(); ++i) {
        const TransferPart& part = work.parts[i];
        const std::uint32_t number = ranks_[ref.rank].messages[part.channel]++;
        ChannelState& c = channels_[in_.placement.ranks[ref.rank].channels[part.channel]];
        while (c.open.size() <= number - c.base)
            c.open.emplace_back();
        Match& match = c.open[number - c.base];
        (part.send ? match.sent : match.received) = true;
        (part.send ? match.sender : match.receiver) = ref;
        match.when.start = std::max(match.when.start, f.arrived);
        match.when.begin = std::max(match.when.begin, begin_here);
        match.when.alone = std::max(match.when.alone, times[i]);
        if (!match.sent || !match.received)
            continue;
        const Match whole = match;
        while (!c.open.empty() && c.open.front().sent && c.open.front().received) {
            c.open.pop_front();
            ++c.base;
        }
        if (fixed_) {
            finish_part(whole.sender, whole.when.start, whole.when.start + whole.when.alone);
            finish_part(whole.receiver, whole.when.start, whole.when.start + whole.when.alone);
        } else {
            const FlightRef ends[] = {whole.sender, whole.receiver};
            begin(ends, whole.when, true);
        }
        begins |= whole.when.begin == begin_here;
    }
    return begins;
}

// A group of transfers is one kernel: done when its last part is.
void Engine::finish_part(FlightRef ref, TimeNs start, TimeNs end) {
    Flight& f = flight(ref);
    if (end > f.time) {
        f.time = end;
        f.started = start;
    }
    if (--f.open == 0)
        group_done(ref, f.started, f.time);
}

void Engine::group_done(FlightRef ref, TimeNs start, TimeNs end) {
    --ranks_[ref.rank].coupled;
    done(ref, start, end);
}

} // namespace echosim::engine
