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
            spans.work.emplace_back(events.start_ns[i], end_of(events, i));
        }
        if (kind == EventKind::comm) {
            spans.communication.emplace_back(events.start_ns[i], end_of(events, i));
        }
    }
}

} // namespace

TraceFigures figures_of(const Trace& trace) {
    TraceFigures figures;
    figures.classes.resize(trace.classes.size());
    std::vector<ClassSpans> spans(trace.classes.size());
    TimeNs last = std::numeric_limits<TimeNs>::min();
    figures.first = std::numeric_limits<TimeNs>::max();
    for (const TraceStream& stream : trace.streams) {
        add(stream, spans.at(stream.rank_class), figures.classes.at(stream.rank_class));
        for (std::size_t i = 0; i < stream.events.size(); ++i) {
            figures.first = std::min(figures.first, stream.events.start_ns[i]);
            last = std::max(last, end_of(stream.events, i));
        }
    }
    if (last < figures.first) { // no event
        figures.first = last = 0;
    }
    figures.span = trace.timed ? difference(last, figures.first) : 0;
    for (std::size_t cls = 0; cls < trace.classes.size(); ++cls) {
        RankFigures& row = figures.classes[cls];
        row.name = trace.text(trace.classes[cls].name);
        row.ranks = trace.classes[cls].rank_count();
        figures.ranks += row.ranks;
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
