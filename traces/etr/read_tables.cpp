// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/etr/layout.h"

namespace echosim::etr {
namespace {

void read_strings(const EtrRoom& room, ByteReader& in, Trace& trace) {
    ByteReader ends(in.take(room.count * 8), in.where());
    std::uint64_t begin = 0;
    for (std::uint64_t i = 0; i < room.count; ++i) {
        const auto end = ends.get<std::uint64_t>();
        if (end < begin) {
            throw InputError(in.where(), fmt::format("string {} ends before it begins", i));
        }
        const std::span<const std::byte> text = in.take(end - begin);
        const NameId id = trace.strings.intern({reinterpret_cast<const char*>(text.data()), text.size()});
        if (id.value != room.first_row + i) {
            throw InputError(in.where(), fmt::format("string {} is in the table twice", id.value));
        }
        begin = end;
    }
}

std::vector<RankRange> get_ranges(ByteReader& in) {
    const auto count = in.get<std::uint64_t>();
    if (count > in.left() / 12) {
        throw InputError(in.where(), fmt::format("{} ranges of ranks in {} bytes", count, in.left()));
    }
    std::vector<RankRange> ranges;
    for (std::uint64_t i = 0; i < count; ++i) {
        RankRange range;
        range.first = in.get<std::uint32_t>();
        range.count = in.get<std::uint32_t>();
        range.stride = in.get<std::uint32_t>();
        ranges.push_back(range);
    }
    return ranges;
}

TraceClass get_class(ByteReader& in) {
    TraceClass row;
    row.name.value = in.get<std::uint32_t>();
    row.stage = in.get<std::int32_t>();
    row.ranks = get_ranges(in);
    return row;
}

TraceCommunicator get_communicator(ByteReader& in) {
    TraceCommunicator row;
    row.name.value = in.get<std::uint32_t>();
    row.description.value = in.get<std::uint32_t>();
    row.ranks = get_ranges(in);
    return row;
}

TraceStream get_stream(ByteReader& in, std::vector<std::uint64_t>& stream_events) {
    TraceStream row;
    row.rank_class = in.get<std::uint32_t>();
    row.id = in.get<std::uint32_t>();
    row.name.value = in.get<std::uint32_t>();
    row.kind = static_cast<StreamKind>(in.get_byte_enum());
    row.device = in.get<std::int32_t>();
    in.take(4);
    row.number = in.get<std::int64_t>();
    stream_events.push_back(in.get<std::uint64_t>());
    return row;
}

Label get_label(ByteReader& in) {
    Label row;
    row.iteration = in.get<std::int32_t>();
    row.phase = static_cast<Phase>(in.get_byte_enum());
    row.micro_batch = in.get<std::int32_t>();
    row.chunk = in.get<std::int32_t>();
    row.layer = in.get<std::int32_t>();
    row.module.value = in.get<std::uint32_t>();
    return row;
}

CommOp get_comm_op(ByteReader& in) {
    CommOp row;
    row.kind = in.get<CollectiveKind>();
    row.dtype = in.get<DType>();
    row.algorithm = in.get<Algorithm>();
    row.protocol = in.get<Protocol>();
    row.channels = in.get<std::uint32_t>();
    row.bytes = in.get<std::uint64_t>();
    row.group.value = in.get<std::uint32_t>();
    row.group_size = in.get<std::uint32_t>();
    row.peer = in.get<std::int32_t>();
    row.communicator = in.get<std::uint32_t>();
    row.sequence = in.get<std::uint64_t>();
    row.in_elements = in.get<std::uint64_t>();
    row.out_elements = in.get<std::uint64_t>();
    row.direction = static_cast<Direction>(in.get_byte_enum());
    in.take(4);
    return row;
}

KernelLaunch get_launch(ByteReader& in) {
    KernelLaunch row;
    row.grid = in.get<std::array<std::uint32_t, 3>>();
    row.block = in.get<std::array<std::uint32_t, 3>>();
    row.registers = in.get<std::uint32_t>();
    row.shared_bytes = in.get<std::uint32_t>();
    return row;
}

CopyOp get_copy(ByteReader& in) {
    CopyOp row;
    row.kind = static_cast<CopyKind>(in.get_byte_enum());
    in.take(4);
    row.bytes = in.get<std::uint64_t>();
    return row;
}

SyncOp get_sync(ByteReader& in) {
    SyncOp row;
    row.kind = static_cast<SyncKind>(in.get_byte_enum());
    row.recorded_by = in.get<std::uint32_t>();
    row.stream = in.get<std::int64_t>();
    row.event = in.get<std::uint64_t>();
    return row;
}

Flow get_flow(ByteReader& in) {
    Flow row;
    row.from = in.get<std::uint64_t>();
    row.to = in.get<std::uint64_t>();
    row.kind = static_cast<FlowKind>(in.get_byte_enum());
    in.take(4);
    return row;
}

TraceCounter get_counter(ByteReader& in) {
    TraceCounter row;
    row.rank_class = in.get<std::uint32_t>();
    row.name.value = in.get<std::uint32_t>();
    row.unit.value = in.get<std::uint32_t>();
    in.take(12); // the number of samples is in the index
    return row;
}

template <class Row, class GetRow>
void read_rows(std::vector<Row>& table, std::uint64_t count, ByteReader& in, GetRow get_row) {
    for (std::uint64_t i = 0; i < count; ++i) {
        table.push_back(get_row(in));
    }
}

void read_meta(std::uint64_t count, ByteReader& in, Trace& trace) {
    const std::span<const std::byte> text = in.take(count);
    trace.meta.assign(reinterpret_cast<const char*>(text.data()), text.size());
}

} // namespace

void read_table(const EtrSection& section, ByteReader in, Trace& trace,
                std::vector<std::uint64_t>& stream_events) {
    const std::uint64_t count = section.room.count;
    const auto stream_row = [&](ByteReader& from) { return get_stream(from, stream_events); };
    const auto read = [&] {
        switch (section.kind) {
        case EtrSectionKind::meta:
            return read_meta(count, in, trace);
        case EtrSectionKind::strings:
            return read_strings(section.room, in, trace);
        case EtrSectionKind::ranks:
            return read_rows(trace.classes, count, in, get_class);
        case EtrSectionKind::streams:
            return read_rows(trace.streams, count, in, stream_row);
        case EtrSectionKind::labels:
            return read_rows(trace.labels, count, in, get_label);
        case EtrSectionKind::comm_ops:
            return read_rows(trace.comm_ops, count, in, get_comm_op);
        case EtrSectionKind::communicators:
            return read_rows(trace.communicators, count, in, get_communicator);
        case EtrSectionKind::launches:
            return read_rows(trace.launches, count, in, get_launch);
        case EtrSectionKind::copies:
            return read_rows(trace.copies, count, in, get_copy);
        case EtrSectionKind::syncs:
            return read_rows(trace.syncs, count, in, get_sync);
        case EtrSectionKind::flows:
            return read_rows(trace.flows, count, in, get_flow);
        case EtrSectionKind::counters:
            return read_rows(trace.counters, count, in, get_counter);
        default:
            ECHOSIM_CHECK(false, "not a table");
        }
    };
    in.take(kRoomBytes);
    read();
    in.expect_end();
}

} // namespace echosim::etr
