// SPDX-License-Identifier: Apache-2.0
#include "traces/align.h"

#include "traces/align/edges.h"
#include "traces/align/spread.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace echosim {
namespace {

constexpr TimeNs kNodeNoise = 10'000; // ns: clocks that differ by less are one

int rank_of(const TraceClass& cls) {
    return cls.rank_count() == 1 ? static_cast<int>(cls.ranks.front().first) : -1;
}

std::uint32_t root_of(const std::vector<std::uint32_t>& parent, std::uint32_t clock) {
    while (parent[clock] != clock) {
        clock = parent[clock];
    }
    return clock;
}

// Kruskal: the trusted edges that connect clocks, those with the smallest deviation first; collectives before
// sends and receives.
std::vector<ClockEdge> tree_of(std::vector<ClockEdge> edges, std::uint32_t clocks,
                               std::vector<std::uint32_t>& component) {
    std::stable_sort(edges.begin(), edges.end(), [](const ClockEdge& a, const ClockEdge& b) {
        return std::pair(a.pairs, a.spread.deviation) < std::pair(b.pairs, b.spread.deviation);
    });
    std::vector<std::uint32_t> parent(clocks);
    std::iota(parent.begin(), parent.end(), 0U);
    std::vector<ClockEdge> tree;
    for (const ClockEdge& edge : edges) {
        const std::uint32_t a = root_of(parent, edge.from);
        const std::uint32_t b = root_of(parent, edge.to);
        if (edge.why.empty() && a != b) {
            parent[std::max(a, b)] = std::min(a, b);
            tree.push_back(edge);
        }
    }
    component.resize(clocks);
    for (std::uint32_t clock = 0; clock < clocks; ++clock) {
        component[clock] = root_of(parent, clock);
    }
    return tree;
}

// Offsets along the tree from clock 0 on.
std::vector<RankAlignment> offsets_of(const std::vector<ClockEdge>& tree, std::uint32_t clocks) {
    std::vector<RankAlignment> found(clocks);
    std::vector<bool> known(clocks, false);
    known[0] = true;
    for (bool moved = true; moved;) {
        moved = false;
        for (const ClockEdge& edge : tree) {
            if (known[edge.from] == known[edge.to]) {
                continue;
            }
            const std::uint32_t from = known[edge.from] ? edge.from : edge.to;
            const std::uint32_t to = known[edge.from] ? edge.to : edge.from;
            const RankAlignment& base = found[from];
            found[to].offset = base.offset + (to == edge.to ? edge.spread.median : -edge.spread.median);
            found[to].residual = std::max(base.residual, edge.spread.deviation);
            found[to].worst = std::max(base.worst, edge.spread.worst);
            found[to].collectives = from == 0 ? edge.count : std::min(base.collectives, edge.count);
            known[to] = true;
            moved = true;
        }
    }
    const auto nearest = std::max_element(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.collectives < b.collectives;
    });
    found[0].collectives = nearest->collectives;
    return found;
}

// Clocks whose offsets agree within their noise are one: they get one offset, 0 with the first clock.
void join_clocks_of_nodes(std::vector<RankAlignment>& clocks) {
    std::vector<std::size_t> order(clocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return clocks[a].offset < clocks[b].offset; });
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin;
        std::vector<TimeNs> offsets;
        bool first = false;
        while (end < order.size()) {
            const RankAlignment& clock = clocks[order[end]];
            const TimeNs noise = std::max(kNodeNoise, 4 * clock.residual);
            if (end > begin && clock.offset - clocks[order[end - 1]].offset > noise) {
                break;
            }
            offsets.push_back(clock.offset);
            first = first || order[end] == 0;
            ++end;
        }
        const TimeNs offset = first ? 0 : median_of(std::move(offsets));
        for (; begin < end; ++begin) {
            clocks[order[begin]].offset = offset;
        }
    }
}

std::string reason_of(const Trace& trace, const std::vector<std::uint32_t>& clocks, std::uint32_t lost,
                      const std::vector<ClockEdge>& edges) {
    const auto name_of = [&](std::uint32_t clock) {
        const auto at = std::find(clocks.begin(), clocks.end(), clock) - clocks.begin();
        return std::string(trace.text(trace.classes.at(static_cast<std::size_t>(at)).name));
    };
    const ClockEdge* nearest = nullptr;
    for (const ClockEdge& edge : edges) {
        if ((edge.from == lost || edge.to == lost) && !edge.why.empty() &&
            (nearest == nullptr || edge.count > nearest->count)) {
            nearest = &edge;
        }
    }
    if (nearest == nullptr) {
        return name_of(lost) + " shares no collective with the ranks before it";
    }
    return fmt::format("{} and {}: {}", name_of(nearest->from), name_of(nearest->to), nearest->why);
}

TimeNs less(TimeNs time, TimeNs offset) {
    TimeNs result = 0;
    if (__builtin_sub_overflow(time, offset, &result)) {
        return offset > 0 ? std::numeric_limits<TimeNs>::min() : std::numeric_limits<TimeNs>::max();
    }
    return result;
}

TimeNs plus(TimeNs time, TimeNs offset) {
    TimeNs result = 0;
    if (__builtin_add_overflow(time, offset, &result)) {
        return offset > 0 ? std::numeric_limits<TimeNs>::max() : std::numeric_limits<TimeNs>::min();
    }
    return result;
}

// Of all events: each stream begins with its earliest.
TimeNs earliest(const Trace& trace) {
    TimeNs first = std::numeric_limits<TimeNs>::max();
    for (const TraceStream& stream : trace.streams) {
        if (stream.events.size() > 0) {
            first = std::min(first, stream.events.start_ns.front());
        }
    }
    return first;
}

void shift(Trace& trace, const std::vector<TimeNs>& offset_of_class) {
    for (TraceStream& stream : trace.streams) {
        for (TimeNs& start : stream.events.start_ns) {
            start = less(start, offset_of_class.at(stream.rank_class));
        }
    }
    for (TraceCounter& counter : trace.counters) {
        for (TimeNs& time : counter.time_ns) {
            time = less(time, offset_of_class.at(counter.rank_class));
        }
    }
}

} // namespace

Alignment measure_alignment(const Trace& trace, const std::vector<std::uint32_t>& clocks) {
    std::vector<std::uint32_t> clock_of = clocks;
    if (clock_of.empty()) {
        clock_of.resize(trace.classes.size());
        std::iota(clock_of.begin(), clock_of.end(), 0U);
    }
    Alignment alignment;
    if (clock_of.empty()) {
        alignment.trusted = true;
        return alignment;
    }
    const std::uint32_t count = *std::max_element(clock_of.begin(), clock_of.end()) + 1;
    const std::vector<ClockEdge> edges = clock_edges(trace, clock_of);
    std::vector<std::uint32_t> component;
    const std::vector<ClockEdge> tree = tree_of(edges, count, component);
    std::vector<RankAlignment> found = offsets_of(tree, count);
    const auto lost =
        std::find_if(component.begin(), component.end(), [](std::uint32_t c) { return c != 0; });
    alignment.trusted = lost == component.end();
    if (alignment.trusted) {
        join_clocks_of_nodes(found);
    } else {
        alignment.reason =
            reason_of(trace, clock_of, static_cast<std::uint32_t>(lost - component.begin()), edges);
    }
    for (std::size_t cls = 0; cls < trace.classes.size(); ++cls) {
        alignment.ranks.push_back(found.at(clock_of.at(cls)));
        alignment.ranks.back().rank = rank_of(trace.classes[cls]);
    }
    return alignment;
}

bool needs_alignment(const Alignment& alignment) {
    return std::any_of(alignment.ranks.begin(), alignment.ranks.end(),
                       [](const RankAlignment& rank) { return rank.offset != 0; });
}

void apply_alignment(Trace& trace, Alignment& alignment) {
    const TimeNs before = earliest(trace);
    std::vector<TimeNs> offsets;
    for (const RankAlignment& rank : alignment.ranks) {
        offsets.push_back(rank.offset);
    }
    shift(trace, offsets);
    const TimeNs moved = less(earliest(trace), before);
    shift(trace, std::vector<TimeNs>(trace.classes.size(), moved));
    trace.t0_ns = trace.t0_ns == 0 ? 0 : plus(trace.t0_ns, moved);
    alignment.applied = true;
}

} // namespace echosim
