// SPDX-License-Identifier: Apache-2.0
#include "validation/replay.h"

#include "simulator/core/error.h"
#include "simulator/engine/engine.h"
#include "simulator/graph/graph_from_trace.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace echosim {
namespace {

using Interval = std::pair<TimeNs, TimeNs>;

// Sorted and disjoint.
std::vector<Interval> united(std::vector<Interval> intervals) {
    std::ranges::sort(intervals);
    std::vector<Interval> out;
    for (const Interval& i : intervals)
        if (!out.empty() && i.first <= out.back().second)
            out.back().second = std::max(out.back().second, i.second);
        else
            out.push_back(i);
    return out;
}

TimeNs length(const std::vector<Interval>& disjoint) {
    TimeNs sum = 0;
    for (const Interval& i : disjoint)
        sum += i.second - i.first;
    return sum;
}

// One timeline of a rank: its ops on the device.
struct Ops {
    std::vector<Interval> communication, other;
    void add(EventKind kind, TimeNs start, TimeNs duration) {
        (kind == EventKind::comm ? communication : other).emplace_back(start, start + duration);
    }
    ReplayTimes times(TimeNs span) const {
        std::vector<Interval> all = other;
        all.insert(all.end(), communication.begin(), communication.end());
        ReplayTimes t;
        t.span = span;
        t.busy = length(united(std::move(all)));
        t.exposed = t.busy - length(united(other));
        t.idle = t.span - t.busy;
        return t;
    }
};

struct Differences {
    std::vector<TimeNs> start, duration;
    void add(const Differences& other) {
        start.insert(start.end(), other.start.begin(), other.start.end());
        duration.insert(duration.end(), other.duration.begin(), other.duration.end());
    }
    ReplayOpErrors errors() {
        std::ranges::sort(start);
        std::ranges::sort(duration);
        const auto at = [](const std::vector<TimeNs>& sorted, std::size_t percent) {
            return sorted.empty() ? 0 : sorted[(sorted.size() - 1) * percent / 100];
        };
        return {start.size(),     at(start, 50),    at(start, 95),    at(start, 100),
                at(duration, 50), at(duration, 95), at(duration, 100)};
    }
};

class Comparison {
  public:
    Comparison(const Trace& trace, const RecordedStep& step, const Timeline& timeline)
        : trace_(trace), step_(step), timeline_(timeline) {}
    ReplayComparison compare() {
        for (std::uint32_t rank = 0; rank < step_.classes.size(); ++rank)
            add_rank(rank);
        add_total();
        out_.notes = step_.notes;
        return std::move(out_);
    }

  private:
    void add_rank(std::uint32_t rank);
    void add_total();

    const Trace& trace_;
    const RecordedStep& step_;
    const Timeline& timeline_;
    Differences all_;
    ReplayComparison out_;
};

void Comparison::add_rank(std::uint32_t rank) {
    const RankTimeline& t = timeline_.ranks[rank];
    Ops recorded, replayed;
    Differences differences;
    for (std::uint32_t row = 0; row < t.size(); ++row) {
        const std::uint64_t ref = step_.event_of[rank][t.instance[row]][t.op[row]];
        if (ref == kNoEvent)
            continue;
        const EventColumns& events = trace_.streams[stream_of(ref)].events;
        const EventKind kind = events.kind[index_of(ref)];
        const TimeNs start = events.start_ns[index_of(ref)], duration = events.dur_ns[index_of(ref)];
        const ReplayedOp op{ref, t.start[row] + step_.zero_ns, t.duration[row]};
        recorded.add(kind, start, duration);
        replayed.add(kind, op.start, op.duration);
        differences.start.push_back(std::abs(op.start - start));
        differences.duration.push_back(std::abs(op.duration - duration));
        out_.ops.push_back(op);
    }
    const TimeNs begin = step_.begin_ns[rank];
    ReplayRow row;
    row.rank_class = step_.classes[rank];
    row.name = trace_.text(trace_.classes[row.rank_class].name);
    row.recorded = recorded.times(step_.end_ns[rank] - begin);
    row.replayed = replayed.times(timeline_.summaries[rank].end + step_.zero_ns - begin);
    all_.add(differences);
    row.errors = differences.errors();
    out_.ranks.push_back(std::move(row));
}

void Comparison::add_total() {
    ReplayRow& total = out_.total;
    total.rank_class = kNoRow;
    total.name = "total";
    total.errors = all_.errors();
    const auto count = static_cast<TimeNs>(out_.ranks.size());
    const auto mean = [&](ReplayTimes ReplayRow::*times, TimeNs ReplayTimes::*member) {
        TimeNs sum = 0;
        for (const ReplayRow& row : out_.ranks)
            sum += row.*times.*member;
        return sum / count;
    };
    for (const auto times : {&ReplayRow::recorded, &ReplayRow::replayed})
        for (const auto member : {&ReplayTimes::busy, &ReplayTimes::exposed, &ReplayTimes::idle})
            total.*times.*member = mean(times, member);
    const TimeNs begin = std::ranges::min(step_.begin_ns);
    total.recorded.span = std::ranges::max(step_.end_ns) - begin;
    total.replayed.span = timeline_.end + step_.zero_ns - begin;
}

ReplayComparison replay_with(const Trace& trace, Peers peers) {
    const RecordedStep step = graph_from_trace(trace, peers);
    const NoSlowdown none;
    const Timeline timeline = simulate({.placement = step.placement,
                                        .graphs = step.annotated,
                                        .slowdown = none,
                                        .record = std::vector<bool>(step.classes.size(), true)});
    return Comparison(trace, step, timeline).compare();
}

} // namespace

double ReplayRow::span_error_percent() const {
    return recorded.span == 0 ? 0.0
                              : 100.0 * static_cast<double>(replayed.span - recorded.span) /
                                    static_cast<double>(recorded.span);
}

ReplayComparison replay(const Trace& trace) {
    try {
        return replay_with(trace, Peers::matched);
    } catch (const DeadlockError&) {
        ReplayComparison comparison = replay_with(trace, Peers::ignored);
        comparison.notes.insert(
            comparison.notes.begin(),
            "the matched collectives would wait for each other in a circle: every rank is "
            "replayed on its own");
        return comparison;
    }
}

} // namespace echosim
