// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/engine_state.h"

#include <algorithm>
#include <utility>

namespace echosim::engine {

// The last member to arrive starts the collective for all; it ends for all at once.
void Engine::arrive_collective(FlightRef ref, const CollectiveWork& work) {
    Flight& f = flight(ref);
    const std::uint32_t id = in_.placement.ranks[ref.rank].communicators[work.slot];
    const std::uint32_t members = in_.placement.communicators[id].members;
    const TimeNs alone = cost_of(ref.rank, f).alone_ns;
    const std::uint32_t call = ranks_[ref.rank].calls[work.slot]++;
    if (members == 1) {
        if (fixed_ || alone == 0)
            return done(ref, f.time, f.time + alone);
        f.state = Flight::State::waits_for_peers;
        return begin({&ref, 1}, f.time, alone, false);
    }
    f.state = Flight::State::waits_for_peers;
    CommunicatorState& c = communicators_[id];
    while (c.open.size() <= call - c.base)
        c.open.emplace_back();
    Rendezvous& group = c.open[call - c.base];
    group.start = std::max(group.start, f.time);
    group.members.push_back(ref);
    if (++group.arrived < members)
        return;
    const TimeNs start = group.start;
    std::vector<FlightRef> all = std::exchange(group.members, {});
    while (!c.open.empty() && c.open.front().arrived == members) {
        c.open.pop_front();
        ++c.base;
    }
    if (fixed_ || alone == 0)
        for (const FlightRef member : all)
            done(member, start, start + alone);
    else
        begin(all, start, alone, false);
}

void Engine::arrive_transfer(FlightRef ref, const TransferWork& work) {
    Flight& f = flight(ref);
    const RankState& r = ranks_[ref.rank];
    const std::vector<TimeNs>& times = r.graph->transfer_ns[op_of(ref.rank, f).work];
    f.state = Flight::State::waits_for_peers;
    f.open = static_cast<std::uint16_t>(work.parts.size());
    f.started = f.arrived;
    for (std::size_t i = 0; i < work.parts.size(); ++i) {
        const TransferPart& part = work.parts[i];
        const std::uint32_t number = ranks_[ref.rank].messages[part.channel]++;
        ChannelState& c = channels_[in_.placement.ranks[ref.rank].channels[part.channel]];
        while (c.open.size() <= number - c.base)
            c.open.emplace_back();
        Match& match = c.open[number - c.base];
        (part.send ? match.sent : match.received) = true;
        (part.send ? match.sender : match.receiver) = ref;
        match.start = std::max(match.start, f.arrived);
        match.duration = std::max(match.duration, times[i]);
        if (!match.sent || !match.received)
            continue;
        const Match whole = match;
        while (!c.open.empty() && c.open.front().sent && c.open.front().received) {
            c.open.pop_front();
            ++c.base;
        }
        if (fixed_) {
            finish_part(whole.sender, whole.start, whole.start + whole.duration);
            finish_part(whole.receiver, whole.start, whole.start + whole.duration);
        } else {
            const FlightRef ends[] = {whole.sender, whole.receiver};
            begin(ends, whole.start, whole.duration, true);
        }
    }
}

// A group of transfers is one kernel: done when its last part is.
void Engine::finish_part(FlightRef ref, TimeNs start, TimeNs end) {
    Flight& f = flight(ref);
    if (end > f.time) {
        f.time = end;
        f.started = start;
    }
    if (--f.open == 0)
        done(ref, f.started, f.time);
}

} // namespace echosim::engine
