// SPDX-License-Identifier: Apache-2.0
#include "traces/align/edges.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace echosim {
namespace {

constexpr std::uint64_t kLeastCollectives = 5;

struct Meeting {
    Interval from;
    Interval to;
};
using EdgeKey = std::tuple<bool, std::uint32_t, std::uint32_t>; // pairs, from, to

// Whether a member may leave before the last one has come: not of most collectives, nor of one that is not
// known.
bool leaves_early(const Trace& trace, std::uint64_t event) {
    const EventColumns& events = trace.streams.at(stream_of(event)).events;
    const std::uint32_t row = events.ext.at(index_of(event));
    if (events.kind.at(index_of(event)) != EventKind::comm || row == kNoRow) {
        return true;
    }
    const CollectiveKind kind = trace.comm_ops.at(row).kind;
    return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ||
           kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
}

std::map<EdgeKey, std::vector<Meeting>> meetings_of(const Trace& trace,
                                                    const std::vector<std::uint32_t>& clock_of_class) {
    std::map<EdgeKey, std::vector<Meeting>> found;
    const auto clock_of = [&](std::uint64_t event) {
        return clock_of_class.at(trace.streams.at(stream_of(event)).rank_class);
    };
    for (const Flow& flow : trace.flows) {
        const bool pair = flow.kind == FlowKind::p2p;
        if ((!pair && flow.kind != FlowKind::collective) || leaves_early(trace, flow.from) ||
            leaves_early(trace, flow.to)) {
            continue;
        }
        std::uint64_t from = flow.from;
        std::uint64_t to = flow.to;
        if (clock_of(from) == clock_of(to)) {
            continue;
        }
        if (clock_of(from) > clock_of(to)) {
            std::swap(from, to);
        }
        found[{pair, clock_of(from), clock_of(to)}].push_back(
            {interval_of(trace, from), interval_of(trace, to)});
    }
    return found;
}

TimeNs median_gap(std::vector<Meeting>& meetings) {
    std::sort(meetings.begin(), meetings.end(),
              [](const Meeting& a, const Meeting& b) { return a.from.end < b.from.end; });
    std::vector<TimeNs> gaps;
    for (std::size_t i = 1; i < meetings.size(); ++i) {
        gaps.push_back(meetings[i].from.end - meetings[i - 1].from.end);
    }
    return median_of(std::move(gaps));
}

// Meetings in which one begins after the other has ended, on the common clock.
std::uint64_t impossible(const std::vector<Meeting>& meetings, const Spread& spread, TimeNs noise) {
    return static_cast<std::uint64_t>(
        std::count_if(meetings.begin(), meetings.end(), [&](const Meeting& meeting) {
            return meeting.to.start - spread.median > meeting.from.end + noise ||
                   meeting.from.start > meeting.to.end - spread.median + noise;
        }));
}

// The first rule of align.h that the meetings break, in words.
std::string doubt(std::vector<Meeting>& meetings, const Spread& spread) {
    if (meetings.size() < kLeastCollectives) {
        return fmt::format("only {} matched collectives, {} are needed", meetings.size(), kLeastCollectives);
    }
    std::vector<TimeNs> durations;
    for (const Meeting& meeting : meetings) {
        durations.push_back(std::min(meeting.from.duration(), meeting.to.duration()));
    }
    const TimeNs noise = end_noise(median_of(std::move(durations)));
    if (spread.deviation > noise) {
        return fmt::format("the ends of {} matched collectives deviate by {} from one offset, {} is allowed",
                           meetings.size(), time_text(spread.deviation), time_text(noise));
    }
    if (const TimeNs gap = median_gap(meetings); spread.deviation > gap / 4) {
        return fmt::format("the ends of {} matched collectives deviate by {}, too much for collectives that "
                           "follow each other every {}",
                           meetings.size(), time_text(spread.deviation), time_text(gap));
    }
    const TimeNs near = 3 * std::max(spread.deviation, kEndNoise);
    const auto far = std::count_if(meetings.begin(), meetings.end(), [&](const Meeting& meeting) {
        return std::abs(meeting.to.end - meeting.from.end - spread.median) > near;
    });
    if (static_cast<std::uint64_t>(far) * 5 > meetings.size()) {
        return fmt::format("the ends of {} of {} matched collectives are more than {} off", far,
                           meetings.size(), time_text(near));
    }
    if (const std::uint64_t count = impossible(meetings, spread, noise); count * 10 > meetings.size()) {
        return fmt::format("in {} of {} matched collectives one rank would begin after another has ended",
                           count, meetings.size());
    }
    return {};
}

} // namespace

std::vector<ClockEdge> clock_edges(const Trace& trace, const std::vector<std::uint32_t>& clock_of_class) {
    std::vector<ClockEdge> edges;
    for (auto& [key, meetings] : meetings_of(trace, clock_of_class)) {
        ClockEdge edge;
        std::tie(edge.pairs, edge.from, edge.to) = key;
        std::vector<TimeNs> differences;
        for (const Meeting& meeting : meetings) {
            differences.push_back(meeting.to.end - meeting.from.end);
        }
        edge.count = meetings.size();
        edge.spread = spread_of(std::move(differences));
        edge.why = doubt(meetings, edge.spread);
        edges.push_back(std::move(edge));
    }
    return edges;
}

} // namespace echosim
