// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/recorded_rank.h"

#include <algorithm>
#include <array>
#include <unordered_map>

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

struct Mean {
    TimeNs sum = 0, count = 0;
    void add(TimeNs value) {
        sum += value;
        ++count;
    }
    TimeNs value() const { return count == 0 ? 0 : sum / count; }
};

bool waited_for_stream(const RecordedRank& rank, std::uint32_t index) {
    const RecordedOp& op = rank.ops[index];
    const RecordedOp& before = rank.ops[op.before];
    const TimeNs gap = op.start - before.end;
    const bool launched =
        op.call == kNothing || submitted(rank, rank.calls[op.call]) + rank.latency <= before.end;
    if (!launched || gap < 0 || gap > (op.call == kNothing ? kLate : kLongestGap))
        return false;
    return std::ranges::none_of(rank.edges_into(index),
                                [&](const Edge& edge) { return rank.ops[edge.from].end > before.end; });
}

} // namespace

void measure_times(RecordedRank& rank) {
    rank.latency = measure_latency(rank);
    rank.launch = measure_launch(rank);
    measure_gaps(rank);
    for (const RecordedOp& op : rank.ops)
        rank.counts.overlaps += op.before != kNothing && op.start < rank.ops[op.before].end ? 1 : 0;
}

// Of ops that waited for the op before them and for nothing else: launched before that one ended. The mean,
// because gaps add up along a busy stream; of the ops of one name, or of one kind where there are few.
void measure_gaps(RecordedRank& rank) {
    constexpr TimeNs kEnough = 4;
    std::array<Mean, kGaps> of_kind;
    std::unordered_map<std::uint32_t, std::array<Mean, kGaps>> of_name;
    for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
        const RecordedOp& op = rank.ops[i];
        if (op.before == kNothing || !waited_for_stream(rank, i))
            continue;
        const TimeNs gap = op.start - rank.ops[op.before].end;
        of_kind[static_cast<std::size_t>(op.kind_of_gap)].add(gap);
        of_name[op.name.value][static_cast<std::size_t>(op.kind_of_gap)].add(gap);
    }
    for (RecordedOp& op : rank.ops) {
        const auto kind = static_cast<std::size_t>(op.kind_of_gap);
        const auto named = of_name.find(op.name.value);
        const bool enough = named != of_name.end() && named->second[kind].count >= kEnough;
        op.gap = (enough ? named->second[kind] : of_kind[kind]).value();
    }
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
        start = std::max(start, rank.ops[op.before].end + op.gap);
    return start;
}

} // namespace echosim::recorded
