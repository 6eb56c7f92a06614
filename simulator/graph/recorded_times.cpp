// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/recorded_rank.h"

#include <algorithm>

namespace echosim::recorded {
namespace {

// The stream was idle when the call returned, so that nothing but the launch held the op back.
bool found_idle_stream(const RecordedRank& rank, const RecordedOp& op) {
    const RecordedCall& call = rank.calls[op.call];
    return call.ops == 1 && op.kind != EventKind::memcpy &&
           (op.before == kNothing || rank.ops[op.before].end <= call.start);
}

TimeNs median(std::vector<TimeNs>& values) {
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

TimeNs measure_latency(const RecordedRank& rank) {
    std::vector<TimeNs> values;
    for (const RecordedOp& op : rank.ops)
        if (op.call != kNothing && found_idle_stream(rank, op))
            values.push_back(op.start - rank.calls[op.call].end);
    return median(values);
}

TimeNs measure_launch(const RecordedRank& rank) {
    std::vector<TimeNs> values;
    for (const RecordedCall& call : rank.calls)
        if (call.kind == CallKind::launch && !call.blocks && call.ops == 1)
            values.push_back(call.end - call.start);
    return median(values);
}

} // namespace

// Gaps of ops that waited for the op before them: launched before that one ended. The mean, because gaps add
// up along a busy stream.
void measure_times(RecordedRank& rank) {
    rank.latency = measure_latency(rank);
    rank.launch = measure_launch(rank);
    std::array<TimeNs, kGaps> sum{}, count{};
    for (const RecordedOp& op : rank.ops) {
        if (op.before == kNothing)
            continue;
        const RecordedOp& before = rank.ops[op.before];
        const TimeNs gap = op.start - before.end;
        const bool launched = op.call == kNothing || rank.calls[op.call].end + rank.latency <= before.end;
        rank.counts.overlaps += gap < 0 ? 1 : 0;
        if (!launched || gap < 0 || gap > (op.call == kNothing ? kLate : kLongestGap))
            continue;
        sum[static_cast<std::size_t>(op.gap)] += gap;
        ++count[static_cast<std::size_t>(op.gap)];
    }
    for (std::size_t i = 0; i < kGaps; ++i)
        rank.gaps[i] = count[i] == 0 ? 0 : sum[i] / count[i];
}

void find_blocking(const Trace& trace, RecordedRank& rank) {
    for (RecordedCall& call : rank.calls) {
        if (call.kind != CallKind::launch || call.ops != 1 ||
            rank.ops[call.first_op].kind != EventKind::memcpy)
            continue;
        const RecordedOp& op = rank.ops[call.first_op];
        const Event event = trace.streams[stream_of(op.event)].events.row(index_of(op.event));
        const EventColumns& calls = trace.streams[stream_of(call.event)].events;
        const bool to_host = event.ext != kNoRow && trace.copies[event.ext].kind == CopyKind::device_to_host;
        const bool asynchronous =
            trace.text(NameId{calls.name[index_of(call.event)]}).find("Async") != std::string_view::npos;
        call.blocks =
            op.end <= call.end + kRounding && (to_host || !asynchronous || op.start > call.start + kLongCall);
    }
}

TimeNs submitted(const RecordedRank& rank, const RecordedCall& call) {
    const TimeNs within = std::max(call.start, rank.ops[call.first_op].start - rank.latency);
    return std::min({call.end, within, call.blocks ? call.start + rank.launch : call.end});
}

TimeNs earliest_start(const RecordedRank& rank, const RecordedOp& op) {
    TimeNs start = op.call == kNothing ? op.enqueued : submitted(rank, rank.calls[op.call]) + rank.latency;
    if (op.before != kNothing)
        start = std::max(start, rank.ops[op.before].end + rank.gaps[static_cast<std::size_t>(op.gap)]);
    return start;
}

} // namespace echosim::recorded
