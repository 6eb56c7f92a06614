// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/commands/import_figures.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace echosim {
namespace {

using Spans = std::vector<std::pair<TimeNs, TimeNs>>; // start, end

TimeNs end_of(const EventColumns& events, std::size_t i) {
    TimeNs end = 0;
    const bool overflow = __builtin_add_overflow(events.start_ns[i], events.dur_ns[i], &end);
    return overflow ? std::numeric_limits<TimeNs>::max() : end;
}

TimeNs difference(TimeNs end, TimeNs start) {
    TimeNs result = 0;
    return __builtin_sub_overflow(end, start, &result) ? std::numeric_limits<TimeNs>::max() : result;
}

// Length of the union of the intervals.
TimeNs covered(Spans spans) {
    std::sort(spans.begin(), spans.end());
    TimeNs total = 0;
    TimeNs until = std::numeric_limits<TimeNs>::min();
    for (const auto& [start, end] : spans) {
        const TimeNs from = std::max(start, until);
        if (end > from) {
            total += difference(end, from);
            until = end;
        }
    }
    return total;
}

struct ClassSpans {
    Spans work;
    Spans communication;
};

// Length of all intervals together, for events without starts.
TimeNs summed(const Spans& spans) {
    TimeNs total = 0;
    for (const auto& [start, end] : spans) {
        if (__builtin_add_overflow(total, difference(end, start), &total)) {
            return std::numeric_limits<TimeNs>::max();
        }
    }
    return total;
}

void add(const TraceStream& stream, ClassSpans& spans, RankFigures& figures) {
    const EventColumns& events = stream.events;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const EventKind kind = events.kind[i];
        figures.kernels += kind == EventKind::kernel || kind == EventKind::comm ? 1 : 0;
        if (is_device_work(kind)) {
            figures.has_durations = figures.has_durations || events.dur_ns[i] > 0;
            spans.work.emplace_back(events.start_ns[i], end_of(events, i));
        }
        if (kind == EventKind::comm) {
            spans.communication.emplace_back(events.start_ns[i], end_of(events, i));
        }
    }
}

struct Extent {
    TimeNs first = std::numeric_limits<TimeNs>::max();
    TimeNs last = std::numeric_limits<TimeNs>::min();
    bool empty() const { return last < first; }
};

// From the first start to the last end of the events whose kind `counts`.
template <class Counts> Extent extent_of(const Trace& trace, const Counts& counts) {
    Extent extent;
    for (const TraceStream& stream : trace.streams) {
        for (std::size_t i = 0; i < stream.events.size(); ++i) {
            if (counts(stream.events.kind[i])) {
                extent.first = std::min(extent.first, stream.events.start_ns[i]);
                extent.last = std::max(extent.last, end_of(stream.events, i));
            }
        }
    }
    return extent;
}

// Of the work of the GPU, calls and operators: the profiler's own records and annotations may reach far
// beyond. Of all events where there is nothing else.
Extent extent_of_work(const Trace& trace) {
    const Extent work = extent_of(trace, [](EventKind kind) {
        return is_device_work(kind) || kind == EventKind::api || kind == EventKind::host;
    });
    return work.empty() ? extent_of(trace, [](EventKind) { return true; }) : work;
}

} // namespace

TraceFigures figures_of(const Trace& trace) {
    TraceFigures figures;
    figures.classes.resize(trace.classes.size());
    std::vector<ClassSpans> spans(trace.classes.size());
    for (const TraceStream& stream : trace.streams) {
        add(stream, spans.at(stream.rank_class), figures.classes.at(stream.rank_class));
    }
    if (const Extent extent = extent_of_work(trace); !extent.empty()) {
        figures.first = extent.first;
        figures.span = trace.timed ? difference(extent.last, extent.first) : 0;
    }
    for (std::size_t cls = 0; cls < trace.classes.size(); ++cls) {
        RankFigures& row = figures.classes[cls];
        row.name = trace.text(trace.classes[cls].name);
        row.ranks = trace.classes[cls].rank_count();
        figures.ranks += row.ranks;
        figures.kernels += row.kernels;
        figures.communication += spans[cls].communication.size();
        row.communication =
            trace.timed ? covered(std::move(spans[cls].communication)) : summed(spans[cls].communication);
        row.busy = trace.timed ? covered(std::move(spans[cls].work)) : summed(spans[cls].work);
    }
    return figures;
}

std::uint64_t count_kernels(const Trace& trace) {
    std::uint64_t count = 0;
    for (const TraceStream& stream : trace.streams) {
        count += static_cast<std::uint64_t>(
            std::count_if(stream.events.kind.begin(), stream.events.kind.end(), [](EventKind kind) {
                return kind == EventKind::kernel || kind == EventKind::comm;
            }));
    }
    return count;
}

bool is_wall_clock(TimeNs t0_ns) {
    constexpr TimeNs kYear1990 = 631'152'000'000'000'000;
    return t0_ns >= kYear1990;
}

std::string wall_clock_text(TimeNs time) {
    constexpr TimeNs second = 1'000'000'000;
    const TimeNs fraction = (time % second + second) % second;
    const auto seconds = static_cast<std::time_t>((time - fraction) / second);
    std::tm parts{};
    if (::gmtime_r(&seconds, &parts) == nullptr) {
        return fmt::format("{} ns", time);
    }
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} UTC", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                       fraction / 1'000'000);
}

} // namespace echosim
