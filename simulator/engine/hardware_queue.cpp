// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/engine_state.h"

#include <utility>

// CUDA_DEVICE_MAX_CONNECTIONS=1: launches and event waits of all streams enter one queue of the GPU in launch
// order. What is at its head leaves when the events of other streams that it waits for are over; the op
// before it on its own stream does not hold the queue: the kernel leaves it and waits on the GPU for its
// turn.
namespace echosim::engine {

// A dependency of the op that is being launched on one of another stream.
void Engine::depend_in_queue(QueuePlace& at, const Flight& before, TimeNs lag) {
    if (before.state != Flight::State::done) {
        ++at.open;
    } else if (before.time + lag > at.time) {
        at.time = before.time + lag;
        at.binding = before.row;
    }
}

// The op behind all that are in the queue; its dependencies are known.
void Engine::enter_queue(RankState& r, FlightRef who) {
    QueuePlace& at = r.line[who.place];
    Flight& f = r.ring[who.place];
    at.queued = true;
    const std::uint64_t last = std::exchange(r.queued, r.launched + 1);
    if (last == 0 || r.launched - (last - 1) >= r.queue)
        return;
    QueuePlace& ahead = r.line[(last - 1) & (r.queue - 1)];
    if (ahead.open > 0) {
        ahead.holds_next = true;
        ++at.open;
        ++f.open;
        return;
    }
    if (ahead.time > at.time) {
        at.time = ahead.time;
        at.binding = ahead.binding;
    }
    if (ahead.time > f.time) {
        f.time = ahead.time;
        f.binding = ahead.binding;
    }
}

// One of what the op waits for in the queue is over, at `time`. Whoever is now free to leave does, and lets
// the next one come to the head.
void Engine::progress_in_queue(FlightRef who, TimeNs time, std::uint32_t binding) {
    RankState& r = ranks_[who.rank];
    for (std::uint32_t place = who.place;;) {
        QueuePlace& at = r.line[place];
        if (time > at.time) {
            at.time = time;
            at.binding = binding;
        }
        if (--at.open > 0 || !at.holds_next)
            return;
        time = at.time;
        binding = at.binding;
        do
            place = (place + 1) & static_cast<std::uint32_t>(r.queue - 1);
        while (!r.line[place].queued);
        Flight& next = r.ring[place];
        if (time > next.time) {
            next.time = time;
            next.binding = binding;
        }
        if (--next.open == 0)
            ready_.push_back({who.rank, place});
    }
}

} // namespace echosim::engine
