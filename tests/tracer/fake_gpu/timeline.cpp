// SPDX-License-Identifier: Apache-2.0
#include "tests/tracer/fake_gpu/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace echosim::fake {
namespace {

constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();

// When a gate whose turn it is opens; kNever while nothing says so.
TimeNs opens(const Task& task, TimeNs ready) {
    const GateArguments& gate = task.gate;
    if (gate.host_ticket != nullptr)
        return *gate.host_ticket == gate.ticket ? ready : kNever;
    if (gate.release->ticket != gate.ticket)
        return kNever;
    return std::max(ready, static_cast<TimeNs>(gate.release->time + gate.delay_ns));
}

void open(const Task& task, TimeNs now) {
    const auto time = static_cast<unsigned long long>(now);
    if (task.gate.host_ticket != nullptr) {
        task.gate.release->time = time;
        task.gate.release->ticket = task.gate.ticket;
    }
    if (task.gate.begin != nullptr)
        *task.gate.begin = time;
}

struct Timeline {
    const std::vector<FakeStream*>& streams;
    const Settings& settings;
    TimeNs now;

    Task* running(const FakeStream& stream) const {
        return !stream.tasks.empty() && stream.tasks.front().begun >= 0
                   ? const_cast<Task*>(&stream.tasks.front())
                   : nullptr;
    }
    double rate(const Task& task) const {
        double slowdown = 1;
        for (const FakeStream* stream : streams)
            if (const Task* other = running(*stream); other != nullptr && other->kind != task.kind)
                slowdown += task.kind == Task::Kind::kernel ? .01 * other->ctas : .1;
        return 1 / slowdown;
    }
    void pop(FakeStream& stream) const {
        stream.tasks.pop_front();
        stream.ready = now + settings.gap;
    }
    // Whether something began or took place at `now`.
    bool begin(FakeStream& stream) const {
        if (stream.tasks.empty() || stream.tasks.front().begun >= 0 || stream.ready > now)
            return false;
        Task& task = stream.tasks.front();
        if (task.kind == Task::Kind::gate) {
            if (opens(task, stream.ready) > now)
                return false;
            open(task, now);
            pop(stream);
        } else if (task.kind == Task::Kind::stamp) {
            *task.to = static_cast<unsigned long long>(now);
            pop(stream);
        } else {
            task.begun = now;
            task.left = task.work;
        }
        return true;
    }
    TimeNs next(const FakeStream& stream) const {
        if (stream.tasks.empty())
            return kNever;
        const Task& task = stream.tasks.front();
        if (task.begun >= 0)
            return now + static_cast<TimeNs>(std::ceil(task.left / rate(task)));
        if (stream.ready > now)
            return stream.ready;
        return task.kind == Task::Kind::gate ? opens(task, stream.ready) : now;
    }
    void advance(TimeNs to) {
        std::vector<std::pair<Task*, double>> rates;
        for (const FakeStream* stream : streams)
            if (Task* task = running(*stream))
                rates.emplace_back(task, rate(*task));
        for (const auto& [task, speed] : rates)
            task->left -= static_cast<double>(to - now) * speed;
        now = to;
        for (FakeStream* stream : streams)
            if (Task* task = running(*stream); task != nullptr && task->left < .5) {
                if (task->slots != nullptr) {
                    task->slots[0] = static_cast<unsigned long long>(task->begun);
                    task->slots[kSlots * kSlotStride] = static_cast<unsigned long long>(now);
                }
                pop(*stream);
            }
    }
};

} // namespace

TimeNs run_timeline(const std::vector<FakeStream*>& streams, TimeNs now, const Settings& settings) {
    Timeline timeline{streams, settings, now};
    for (FakeStream* stream : streams)
        if (stream->gpu > 0)
            stream->tasks.clear();
    while (true) {
        bool began = false;
        for (FakeStream* stream : streams)
            while (timeline.begin(*stream))
                began = true;
        if (began)
            continue;
        TimeNs next = kNever;
        for (const FakeStream* stream : streams)
            next = std::min(next, timeline.next(*stream));
        if (next == kNever)
            return timeline.now;
        timeline.advance(next);
    }
}

} // namespace echosim::fake
