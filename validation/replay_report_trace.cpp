// SPDX-License-Identifier: Apache-2.0
#include "validation/replay_report.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

double idle_share(const ReplayTimes& times) {
    return times.span > 0 ? static_cast<double>(times.idle) / static_cast<double>(times.span) : 0;
}

ReplayRank rank_of(const ReplayRow& row) {
    ReplayRank rank;
    rank.name = row.name;
    rank.span_measured = to_seconds(row.recorded.span);
    rank.span_predicted = to_seconds(row.replayed.span);
    rank.busy_measured = to_seconds(row.recorded.busy);
    rank.busy_predicted = to_seconds(row.replayed.busy);
    rank.idle_measured = idle_share(row.recorded);
    rank.idle_predicted = idle_share(row.replayed);
    rank.ops = row.errors.ops;
    rank.start_median = to_seconds(row.errors.start_median);
    rank.start_p95 = to_seconds(row.errors.start_p95);
    rank.start_worst = to_seconds(row.errors.start_worst);
    return rank;
}

ValidationRow row_of(const ReplayRow& row, const char* apart) {
    ValidationRow result;
    result.id = row.name;
    result.measured = to_seconds(row.recorded.span);
    result.apart = apart;
    if (row.recorded.span > 0) {
        result.predicted = to_seconds(row.replayed.span);
        result.error_percent = row.span_error_percent();
    } else {
        result.skipped = "the recorded span is zero";
    }
    return result;
}

TimeNs start_of(const Trace& trace, std::uint64_t event) {
    return trace.streams[stream_of(event)].events.start_ns[index_of(event)];
}

// A kernel's name as people know it: "void", the list of parameters and what goes beyond a line are left out.
std::string short_name(std::string_view name) {
    constexpr std::size_t kMost = 60;
    constexpr std::string_view kVoid = "void ";
    name.remove_prefix(name.starts_with(kVoid) ? kVoid.size() : 0);
    if (name.ends_with(')')) {
        std::size_t begin = name.size();
        int depth = 0;
        do {
            --begin;
            depth += name[begin] == ')' ? 1 : name[begin] == '(' ? -1 : 0;
        } while (begin > 0 && depth > 0);
        name = depth == 0 && begin > 0 ? name.substr(0, begin) : name;
    }
    if (name.size() <= kMost) {
        return std::string(name);
    }
    std::size_t end = kMost - 3;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) { // not within a character
        --end;
    }
    return std::string(name.substr(0, end)) + "...";
}

// Starts in seconds from the first device op of the recording.
std::vector<ReplayOp> worst_ops(const Trace& trace, const ReplayComparison& comparison) {
    std::vector<const ReplayedOp*> ops;
    TimeNs begin = 0;
    for (const ReplayedOp& op : comparison.ops) {
        const TimeNs start = start_of(trace, op.event);
        begin = ops.empty() ? start : std::min(begin, start);
        ops.push_back(&op);
    }
    const auto off = [&](const ReplayedOp* op) { return std::abs(op->start - start_of(trace, op->event)); };
    const std::size_t shown = std::min(kWorstOps, ops.size());
    std::ranges::partial_sort(ops, ops.begin() + static_cast<std::ptrdiff_t>(shown), std::ranges::greater{},
                              off);
    std::vector<ReplayOp> worst;
    for (std::size_t i = 0; i < shown && off(ops[i]) > 0; ++i) {
        const TraceStream& stream = trace.streams[stream_of(ops[i]->event)];
        const Event event = stream.events.row(index_of(ops[i]->event));
        worst.push_back({fmt::format("{} on {}", short_name(trace.text(event.name)), trace.text(stream.name)),
                         std::string(trace.text(trace.classes[stream.rank_class].name)),
                         to_seconds(event.start - begin), to_seconds(ops[i]->start - begin)});
    }
    return worst;
}

} // namespace

ReplayReport replay_report_of(const Trace& trace, const ReplayComparison& comparison, std::string path) {
    ReplayReport report;
    report.path = std::move(path);
    report.what = fmt::format("recorded trace of {} rank{}, {} ops of the GPUs", comparison.ranks.size(),
                              comparison.ranks.size() == 1 ? "" : "s", comparison.total.errors.ops);
    report.validation.kind = "replay";
    report.validation.rows.push_back(row_of(comparison.total, ""));
    for (const ReplayRow& row : comparison.ranks) {
        report.validation.rows.push_back(row_of(row, "single ranks"));
        report.ranks.push_back(rank_of(row));
    }
    report.worst = worst_ops(trace, comparison);
    report.notes = comparison.notes;
    return report;
}

} // namespace echosim
