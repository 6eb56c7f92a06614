// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/trace.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace echosim {
namespace {

constexpr std::uint64_t kMaxRanks = 1U << 24U; // of a class or communicator

[[noreturn]] void refuse(const std::string& where, const std::string& message) {
    throw InputError(where, message);
}

void check_name(NameId name, const TableSizes& sizes, const std::string& where) {
    if (name != kNoName && name.value >= sizes.strings) {
        refuse(where, fmt::format("name {} of {} strings", name.value, sizes.strings));
    }
}

bool exists(std::uint64_t ref, const TableSizes& sizes) {
    return stream_of(ref) < sizes.stream_events.size() && index_of(ref) < sizes.stream_events[stream_of(ref)];
}

template <class Enum> bool known(Enum value, Enum last) {
    return value <= last;
}

void check_ranges(const std::vector<RankRange>& ranges, const std::string& at) {
    std::uint64_t ranks = 0;
    for (const RankRange& range : ranges) {
        const std::uint64_t last = range.first + (std::uint64_t{range.count} - 1) * range.stride;
        if (range.count == 0 || range.stride == 0 || last > std::numeric_limits<std::int32_t>::max()) {
            refuse(at,
                   fmt::format("range of {} ranks from {} by {}", range.count, range.first, range.stride));
        }
        ranks += range.count;
    }
    if (ranks > kMaxRanks) {
        refuse(at, fmt::format("{} ranks; at most {}", ranks, kMaxRanks));
    }
}

void check_classes(const Trace& trace, const TableSizes& sizes, const std::string& where) {
    for (std::size_t i = 0; i < trace.classes.size(); ++i) {
        const std::string at = fmt::format("{}: class {}", where, i);
        check_name(trace.classes[i].name, sizes, at);
        check_ranges(trace.classes[i].ranks, at);
    }
}

void check_communicators(const Trace& trace, const TableSizes& sizes, const std::string& where) {
    for (std::size_t i = 0; i < trace.communicators.size(); ++i) {
        const std::string at = fmt::format("{}: communicator {}", where, i);
        check_name(trace.communicators[i].name, sizes, at);
        check_name(trace.communicators[i].description, sizes, at);
        check_ranges(trace.communicators[i].ranks, at);
    }
}

void check_streams(const Trace& trace, const TableSizes& sizes, const std::string& where) {
    for (std::size_t i = 0; i < trace.streams.size(); ++i) {
        const TraceStream& stream = trace.streams[i];
        const std::string at = fmt::format("{}: stream {}", where, i);
        check_name(stream.name, sizes, at);
        if (stream.rank_class >= trace.classes.size()) {
            refuse(at, fmt::format("class {} of {}", stream.rank_class, trace.classes.size()));
        }
        if (!known(stream.kind, StreamKind::comm)) {
            refuse(at, fmt::format("unknown stream kind {}", static_cast<int>(stream.kind)));
        }
        if (sizes.stream_events.at(i) > 0xffffffffULL) {
            refuse(at, fmt::format("{} events; at most 2^32 - 1", sizes.stream_events[i]));
        }
    }
}

void check_labels(const Trace& trace, const TableSizes& sizes, const std::string& where) {
    for (std::size_t i = 0; i < trace.labels.size(); ++i) {
        if (!known(trace.labels[i].phase, Phase::other)) {
            refuse(fmt::format("{}: label {}", where, i),
                   fmt::format("unknown phase {}", static_cast<int>(trace.labels[i].phase)));
        }
        check_name(trace.labels[i].module, sizes, where);
    }
}

void check_comm_ops(const Trace& trace, const TableSizes& sizes, const std::string& where) {
    for (std::size_t i = 0; i < trace.comm_ops.size(); ++i) {
        const CommOp& op = trace.comm_ops[i];
        const bool collective = known(op.kind, CollectiveKind::send_recv) || op.kind == kNoCollective;
        const bool dtype = known(op.dtype, DType::int64) || op.dtype == kNoDType;
        const bool algorithm = known(op.algorithm, Algorithm::direct) || op.algorithm == kNoAlgorithm;
        const bool protocol = known(op.protocol, Protocol::simple) || op.protocol == kNoProtocol;
        if (!collective || !dtype || !algorithm || !protocol || !known(op.direction, Direction::both)) {
            refuse(fmt::format("{}: comm op {}", where, i),
                   "unknown kind, data type, algorithm, protocol or direction");
        }
        check_name(op.group, sizes, where);
        if (op.communicator != kNoRow && op.communicator >= trace.communicators.size()) {
            refuse(fmt::format("{}: comm op {}", where, i),
                   fmt::format("communicator {} of {}", op.communicator, trace.communicators.size()));
        }
    }
}

void check_copies_and_syncs(const Trace& trace, const std::string& where) {
    for (std::size_t i = 0; i < trace.copies.size(); ++i) {
        if (!known(trace.copies[i].kind, CopyKind::memset)) {
            refuse(fmt::format("{}: copy {}", where, i),
                   fmt::format("unknown kind {}", static_cast<int>(trace.copies[i].kind)));
        }
    }
    for (std::size_t i = 0; i < trace.syncs.size(); ++i) {
        if (!known(trace.syncs[i].kind, SyncKind::device_synchronize)) {
            refuse(fmt::format("{}: sync {}", where, i),
                   fmt::format("unknown kind {}", static_cast<int>(trace.syncs[i].kind)));
        }
    }
}

void check_flows(const Trace& trace, const TableSizes& sizes, const std::string& where) {
    for (std::size_t i = 0; i < trace.flows.size(); ++i) {
        const Flow& flow = trace.flows[i];
        if (!exists(flow.from, sizes) || !exists(flow.to, sizes) || !known(flow.kind, FlowKind::other)) {
            refuse(fmt::format("{}: flow {}", where, i),
                   "an end that is no event of the trace, or an unknown kind");
        }
    }
}

void check_counters(const Trace& trace, const TableSizes& sizes, const std::string& where) {
    for (std::size_t i = 0; i < trace.counters.size(); ++i) {
        const TraceCounter& counter = trace.counters[i];
        const std::string at = fmt::format("{}: counter {}", where, i);
        check_name(counter.name, sizes, at);
        check_name(counter.unit, sizes, at);
        if (counter.rank_class >= trace.classes.size()) {
            refuse(at, fmt::format("class {} of {}", counter.rank_class, trace.classes.size()));
        }
        if (counter.time_ns.size() != counter.value.size()) {
            refuse(at, fmt::format("{} times, {} values", counter.time_ns.size(), counter.value.size()));
        }
        for (std::size_t j = 0; j < counter.value.size(); ++j) {
            if (!std::isfinite(counter.value[j]) || (j > 0 && counter.time_ns[j] < counter.time_ns[j - 1])) {
                refuse(at, fmt::format("sample {} is not finite or earlier than the one before", j));
            }
        }
    }
}

// What is wrong with one event, or nothing.
std::string fault(const EventView& events, std::size_t i, const TableSizes& sizes) {
    if (events.dur_ns[i] < 0 || events.alone_ns[i] < 0 ||
        events.start_ns[i] > std::numeric_limits<TimeNs>::max() - events.dur_ns[i]) {
        return fmt::format("start {} ns, duration {} ns, alone {} ns", events.start_ns[i], events.dur_ns[i],
                           events.alone_ns[i]);
    }
    if (i > 0 && events.start_ns[i] < events.start_ns[i - 1]) {
        return "starts before the event in front of it";
    }
    if (events.name[i] != kNoName.value && events.name[i] >= sizes.strings) {
        return fmt::format("name {} of {} strings", events.name[i], sizes.strings);
    }
    if (!known(events.kind[i], EventKind::other) || !known(events.provenance[i], Provenance::assumed)) {
        return fmt::format("unknown kind {} or provenance {}", static_cast<int>(events.kind[i]),
                           static_cast<int>(events.provenance[i]));
    }
    if (events.label[i] != kNoRow && events.label[i] >= sizes.labels) {
        return fmt::format("label {} of {}", events.label[i], sizes.labels);
    }
    const std::uint64_t rows = ext_rows(events.kind[i], sizes);
    if (events.ext[i] != kNoRow && events.ext[i] >= rows) {
        return fmt::format("ext row {} of {}", events.ext[i], rows);
    }
    if (events.args[i] != kNoName.value && events.args[i] >= sizes.strings) {
        return fmt::format("args {} of {} strings", events.args[i], sizes.strings);
    }
    if (events.binding_pred[i] != kNoEvent && !exists(events.binding_pred[i], sizes)) {
        return fmt::format("binding predecessor {:#x} is no event of the trace", events.binding_pred[i]);
    }
    return {};
}

} // namespace

TableSizes table_sizes(const Trace& trace) {
    TableSizes sizes{trace.strings.size(),
                     trace.labels.size(),
                     trace.comm_ops.size(),
                     trace.launches.size(),
                     trace.copies.size(),
                     trace.syncs.size(),
                     {}};
    for (const TraceStream& stream : trace.streams) {
        sizes.stream_events.push_back(stream.events.size());
    }
    return sizes;
}

std::uint64_t ext_rows(EventKind kind, const TableSizes& sizes) {
    switch (kind) {
    case EventKind::comm:
        return sizes.comm_ops;
    case EventKind::kernel:
        return sizes.launches;
    case EventKind::memcpy:
    case EventKind::memset:
        return sizes.copies;
    case EventKind::sync:
    case EventKind::api:
        return sizes.syncs;
    case EventKind::instant:
    case EventKind::other:
        return sizes.strings;
    default:
        return 0;
    }
}

void check_events(const EventView& events, const TableSizes& sizes, const std::string& where) {
    const std::size_t count = events.size();
    for (const std::size_t length :
         {events.dur_ns.size(), events.name.size(), events.kind.size(), events.label.size(),
          events.ext.size(), events.alone_ns.size(), events.binding_pred.size(), events.provenance.size(),
          events.correlation.size(), events.args.size()}) {
        if (length != count) {
            refuse(where, fmt::format("columns of {} and {} events", count, length));
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::string wrong = fault(events, i, sizes);
        if (!wrong.empty()) {
            refuse(fmt::format("{}: event {}", where, i), wrong);
        }
    }
}

void check_tables(const Trace& trace, const TableSizes& sizes, const std::string& where) {
    check_classes(trace, sizes, where);
    check_streams(trace, sizes, where);
    check_labels(trace, sizes, where);
    check_communicators(trace, sizes, where);
    check_comm_ops(trace, sizes, where);
    check_copies_and_syncs(trace, where);
    check_flows(trace, sizes, where);
    check_counters(trace, sizes, where);
}

void check_trace(const Trace& trace, const std::string& where) {
    const TableSizes sizes = table_sizes(trace);
    check_tables(trace, sizes, where);
    for (std::size_t i = 0; i < trace.streams.size(); ++i) {
        check_events(trace.streams[i].events.view(), sizes, fmt::format("{}: stream {}", where, i));
    }
}

} // namespace echosim
