// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/recorded_rank.h"

#include <algorithm>
#include <numeric>

namespace echosim::recorded {
namespace {

constexpr std::uint32_t kFullQueue =
    256; // ops on their way from which on a long launch may have met a full queue

class AwaitedFinder {
  public:
    AwaitedFinder(const Trace& trace, RecordedRank& rank)
        : trace_(trace), rank_(rank), last_op_(rank.threads.size(), kNothing) {
        std::vector<std::uint32_t> order(rank.ops.size());
        std::iota(order.begin(), order.end(), 0U);
        std::ranges::stable_sort(order, {}, [&](std::uint32_t op) { return rank.ops[op].end; });
        by_end_ = std::move(order);
    }
    void find() {
        for (RecordedCall& call : rank_.calls) {
            call.first_awaited = static_cast<std::uint32_t>(rank_.awaited.size());
            if (call.kind == CallKind::launch)
                launch(call);
            else if (call.kind == CallKind::sync)
                sync(call);
            else if (call.kind == CallKind::other)
                other(call);
            call.awaited = static_cast<std::uint32_t>(rank_.awaited.size()) - call.first_awaited;
        }
    }

  private:
    void launch(const RecordedCall& call);
    void sync(const RecordedCall& call);
    void sync_unknown(const RecordedCall& call);
    void other(const RecordedCall& call);
    void device(const RecordedCall& call);
    bool await(std::uint32_t op, const RecordedCall& call);
    std::uint32_t ended_with(const RecordedCall& call, TimeNs earliest) const;
    std::ptrdiff_t ended_by(TimeNs moment) const;

    const Trace& trace_;
    RecordedRank& rank_;
    std::vector<std::uint32_t> last_op_; // of each thread
    std::vector<std::uint32_t> by_end_;
};

std::ptrdiff_t AwaitedFinder::ended_by(TimeNs moment) const {
    return std::ranges::upper_bound(by_end_, moment, {},
                                    [&](std::uint32_t op) { return rank_.ops[op].end; }) -
           by_end_.begin();
}

// The op that ended last before the call returned and not before `earliest`, of those that were enqueued
// before the call.
std::uint32_t AwaitedFinder::ended_with(const RecordedCall& call, TimeNs earliest) const {
    constexpr std::ptrdiff_t kCandidates = 64;
    for (const TimeNs latest : {call.end, call.end + kRounding}) {
        const std::ptrdiff_t last = ended_by(latest);
        for (std::ptrdiff_t i = last; i-- > std::max<std::ptrdiff_t>(0, last - kCandidates);) {
            const std::uint32_t op = by_end_[static_cast<std::size_t>(i)];
            if (rank_.ops[op].end < earliest)
                break;
            if (rank_.ops[op].enqueued < call.start)
                return op;
        }
    }
    return kNothing;
}

bool AwaitedFinder::await(std::uint32_t op, const RecordedCall& call) {
    if (op == kNothing)
        return false;
    if (rank_.ops[op].end > call.end + kRounding) {
        ++rank_.counts.contradicted;
        return false;
    }
    rank_.awaited.push_back(op);
    return true;
}

void AwaitedFinder::launch(const RecordedCall& call) {
    last_op_[call.thread] = call.first_op + call.ops - 1;
    if (call.blocks) {
        rank_.awaited.push_back(call.first_op);
        return;
    }
    if (call.end - call.start < kLongCall || call.first_op < ended_by(call.start) + kFullQueue)
        return;
    if (await(ended_with(call, std::max(call.start, call.end - kHandover)), call))
        ++rank_.counts.full_queue;
}

void AwaitedFinder::device(const RecordedCall& call) {
    for (std::uint32_t stream = 0; stream < rank_.streams.size(); ++stream)
        await(rank_.tail(stream, call.start), call);
}

void AwaitedFinder::sync(const RecordedCall& call) {
    if (call.sync.kind == SyncKind::device_synchronize)
        return device(call);
    if (call.sync.kind == SyncKind::event_synchronize) {
        if (call.event_op != kNothing)
            await(call.event_op, call);
        else if (call.sync.event == 0 && call.sync.recorded_by == 0)
            sync_unknown(call);
        return;
    }
    if (call.sync.stream < 0)
        return sync_unknown(call);
    const std::uint32_t stream = rank_.stream_of(trace_, call.sync.stream, last_op_[call.thread]);
    if (stream != kNothing)
        await(rank_.tail(stream, call.start), call);
}

// The thread waits for a stream that is not recorded: most likely the one that it launched on last; if the
// call was long and that does not say why, for what ended as it returned.
void AwaitedFinder::sync_unknown(const RecordedCall& call) {
    ++rank_.counts.unknown_syncs;
    const bool longish = call.end - call.start >= kLongCall;
    if (const std::uint32_t last = last_op_[call.thread]; last != kNothing) {
        const std::uint32_t op = rank_.tail(rank_.ops[last].stream, call.start);
        const TimeNs end = op == kNothing ? 0 : rank_.ops[op].end;
        const bool possible = op != kNothing && end <= call.end + kRounding;
        const bool of_stream = call.sync.kind == SyncKind::stream_synchronize;
        if (possible && (longish ? end >= call.end - kHandover : of_stream)) {
            rank_.awaited.push_back(op);
            return;
        }
    }
    if (!longish || !await(ended_with(call, std::max(call.start, call.end - kHandover)), call))
        ++rank_.counts.idle_syncs;
}

// Calls that wait for the device although that is not their purpose (cudaFree): they return when the whole
// device has become idle.
void AwaitedFinder::other(const RecordedCall& call) {
    const EventColumns& events = trace_.streams[stream_of(call.event)].events;
    const std::string_view name = trace_.text(NameId{events.name[index_of(call.event)]});
    const bool frees = name.find("Free") != std::string_view::npos;
    const std::uint32_t last = ended_with(call, std::max(call.start, frees ? 0 : call.end - kHandover));
    if (last == kNothing)
        return;
    for (std::uint32_t stream = 0; stream < rank_.streams.size(); ++stream) {
        const std::uint32_t op = rank_.tail(stream, call.start);
        if (op != kNothing && rank_.ops[op].end > call.end + kRounding)
            return; // still at work
    }
    ++rank_.counts.implicit_syncs;
    device(call);
}

} // namespace

void find_awaited(const Trace& trace, RecordedRank& rank) {
    AwaitedFinder(trace, rank).find();
}

} // namespace echosim::recorded
