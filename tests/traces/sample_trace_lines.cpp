// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/sample_trace.h"

#include <fmt/format.h>

namespace echosim::test {
namespace {

std::string ranks_of(const std::vector<RankRange>& ranges) {
    std::string text;
    for (const RankRange& range : ranges) {
        text += fmt::format(" {}+{}*{}", range.first, range.count, range.stride);
    }
    return text;
}

std::string communicator_of(const Trace& trace, std::uint32_t row) {
    if (row == kNoRow) {
        return "none";
    }
    const TraceCommunicator& communicator = trace.communicators.at(row);
    return fmt::format("'{}' '{}'{}", trace.text(communicator.name), trace.text(communicator.description),
                       ranks_of(communicator.ranks));
}

std::string comm_of(const Trace& trace, const CommOp& op) {
    return fmt::format(
        "{} {} {} {} channels {} bytes {} group '{}' of {} peer {} seq {} {} in {} out {} of {}",
        to_string(op.kind), to_string(op.dtype), static_cast<int>(op.algorithm),
        static_cast<int>(op.protocol), op.channels, op.bytes, trace.text(op.group), op.group_size, op.peer,
        op.sequence, to_string(op.direction), op.in_elements, op.out_elements,
        communicator_of(trace, op.communicator));
}

std::string row_of(const Trace& trace, const Event& event) {
    if (event.ext == kNoRow) {
        return "no row";
    }
    switch (event.kind) {
    case EventKind::comm:
        return comm_of(trace, trace.comm_ops.at(event.ext));
    case EventKind::kernel: {
        const KernelLaunch& row = trace.launches.at(event.ext);
        return fmt::format("grid {} block {} registers {} shared {}", fmt::join(row.grid, ","),
                           fmt::join(row.block, ","), row.registers, row.shared_bytes);
    }
    case EventKind::memcpy:
    case EventKind::memset:
        return fmt::format("{} {} bytes", to_string(trace.copies.at(event.ext).kind),
                           trace.copies.at(event.ext).bytes);
    case EventKind::api:
    case EventKind::sync: {
        const SyncOp& row = trace.syncs.at(event.ext);
        return fmt::format("{} stream {} event {} by {}", to_string(row.kind), row.stream, row.event,
                           row.recorded_by);
    }
    default:
        return fmt::format("category '{}'", trace.text(NameId{event.ext}));
    }
}

std::string label_of(const Trace& trace, std::uint32_t row) {
    if (row == kNoRow) {
        return "no label";
    }
    const Label& label = trace.labels.at(row);
    return fmt::format("{} {} {} {} {} '{}'", label.iteration, to_string(label.phase), label.micro_batch,
                       label.chunk, label.layer, trace.text(label.module));
}

std::string event_of(const Trace& trace, const Event& event) {
    return fmt::format("  {} +{} '{}' {} [{}] [{}] alone {} after {:x} {} correlation {} args '{}'",
                       event.start, event.duration, trace.text(event.name), to_string(event.kind),
                       label_of(trace, event.label), row_of(trace, event), event.alone, event.binding_pred,
                       to_string(event.provenance), event.correlation, trace.text(event.args));
}

} // namespace

std::vector<std::string> spelled_out(const Trace& trace) {
    std::vector<std::string> lines{
        fmt::format("t0 {} timed {} meta '{}'", trace.t0_ns, trace.timed, trace.meta)};
    for (const TraceClass& row : trace.classes) {
        lines.push_back(
            fmt::format("class '{}' stage {}{}", trace.text(row.name), row.stage, ranks_of(row.ranks)));
    }
    for (std::uint32_t i = 0; i < trace.communicators.size(); ++i) {
        lines.push_back("communicator " + communicator_of(trace, i));
    }
    for (const TraceStream& row : trace.streams) {
        lines.push_back(fmt::format("stream {} of {} '{}' {} {} {}", row.id, row.rank_class,
                                    trace.text(row.name), to_string(row.kind), row.device, row.number));
        for (std::size_t i = 0; i < row.events.size(); ++i) {
            lines.push_back(event_of(trace, row.events.row(i)));
        }
    }
    for (const Flow& flow : trace.flows) {
        lines.push_back(fmt::format("flow {} {:x} to {:x}", to_string(flow.kind), flow.from, flow.to));
    }
    for (const TraceCounter& row : trace.counters) {
        lines.push_back(fmt::format("counter '{}' '{}' of {}: {} at {}", trace.text(row.name),
                                    trace.text(row.unit), row.rank_class, fmt::join(row.value, " "),
                                    fmt::join(row.time_ns, " ")));
    }
    return lines;
}

} // namespace echosim::test
