// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json/threads.h"

#include <algorithm>
#include <limits>

namespace echosim {
namespace {

constexpr std::uint64_t kFirstOwnTid = 1'000'000; // of streams whose number is taken or not known

// The thread that each event of a stream goes to, from 0; empty: all to the first.
std::vector<std::uint32_t> lanes_of(const EventColumns& events) {
    std::vector<std::vector<TimeNs>> open(1); // ends of the events that are still open, outermost first
    std::vector<std::uint32_t> lanes;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const TimeNs start = events.start_ns[i];
        const TimeNs end = start + events.dur_ns[i];
        std::size_t lane = 0;
        for (; lane < open.size(); ++lane) {
            while (!open[lane].empty() && open[lane].back() <= start) {
                open[lane].pop_back();
            }
            if (open[lane].empty() || end <= open[lane].back()) {
                break;
            }
        }
        if (lane == open.size()) {
            open.emplace_back();
            lanes.resize(events.size());
        }
        open[lane].push_back(end);
        if (lane > 0) {
            lanes[i] = static_cast<std::uint32_t>(lane);
        }
    }
    return lanes;
}

} // namespace

bool is_device_stream(const TraceStream& stream) {
    return stream.device >= 0 || (stream.kind != StreamKind::host && stream.kind != StreamKind::other);
}

TraceThreads::TraceThreads(const Trace& trace, TraceDialect dialect) : dialect_(dialect) {
    std::int32_t last_device = 999;
    for (const TraceStream& stream : trace.streams) {
        lanes_.push_back(lanes_of(stream.events));
        last_device = std::max(last_device, stream.device);
    }
    host_pid_ = static_cast<std::uint64_t>(last_device) + 1;
    threads_.resize(trace.streams.size());
    // perfetto: pids and tids share one range of numbers: a thread whose number is that of a process counts
    // as its main thread.
    next_tid_ =
        dialect == TraceDialect::perfetto ? trace.classes.size() + trace.streams.size() + 1 : kFirstOwnTid;
    for (std::size_t i = 0; i < trace.streams.size(); ++i) {
        if (dialect == TraceDialect::perfetto) {
            threads_[i].push_back({pid_of_class(trace.streams[i].rank_class), trace.classes.size() + i + 1});
        } else {
            number_as_recorded(trace, i);
        }
    }
    for (std::size_t i = 0; i < trace.streams.size(); ++i) {
        const auto last = std::max_element(lanes_[i].begin(), lanes_[i].end());
        for (std::uint32_t more = last == lanes_[i].end() ? 0 : *last; more > 0; --more) {
            const std::uint64_t pid = threads_[i].front().pid;
            threads_[i].push_back({pid, free_tid(pid)});
        }
    }
}

std::uint64_t TraceThreads::free_tid(std::uint64_t pid) {
    while (!used_.insert({pid, next_tid_}).second) {
        ++next_tid_;
    }
    return next_tid_++;
}

void TraceThreads::number_as_recorded(const Trace& trace, std::size_t stream) {
    const TraceStream& row = trace.streams[stream];
    const std::uint64_t pid =
        is_device_stream(row) ? static_cast<std::uint64_t>(std::max(row.device, 0)) : host_pid_;
    const std::int64_t number = row.number >= 0 ? row.number : std::int64_t{row.id};
    const bool fits = number <= std::numeric_limits<std::int32_t>::max();
    const auto tid = static_cast<std::uint64_t>(number);
    threads_[stream].push_back({pid, fits && used_.insert({pid, tid}).second ? tid : free_tid(pid)});
}

std::uint64_t TraceThreads::pid_of_class(std::uint32_t rank_class) const {
    return dialect_ == TraceDialect::perfetto ? rank_class + std::uint64_t{1} : host_pid_;
}

} // namespace echosim
