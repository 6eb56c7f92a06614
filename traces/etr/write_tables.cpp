// SPDX-License-Identifier: Apache-2.0
#include "traces/etr/layout.h"

#include <algorithm>

namespace echosim::etr {
namespace {

TablePart begin_part(EtrSectionKind kind, std::uint64_t first_row, std::uint64_t count) {
    TablePart part{kind, {}, {}};
    part.room.first_row = first_row;
    part.room.count = count;
    put_room(part.payload, part.room);
    part.payload.pad_to(kRoomBytes);
    return part;
}

// Cuts a table into parts; put_row(writer, row) writes one.
template <class Row, class PutRow>
void put_rows(const TableSink& sink, EtrSectionKind kind, const std::vector<Row>& rows, PutRow put_row) {
    for (std::uint64_t first = 0; first < rows.size(); first += kMaxRows) {
        const std::uint64_t count = std::min<std::uint64_t>(kMaxRows, rows.size() - first);
        TablePart part = begin_part(kind, first, count);
        for (std::uint64_t i = first; i < first + count; ++i) {
            put_row(part.payload, rows[i]);
        }
        sink(part);
    }
}

TablePart strings_part(const StringPool& strings, std::uint64_t first, std::uint64_t end) {
    TablePart part = begin_part(EtrSectionKind::strings, first, end - first);
    const std::uint64_t base = first == 0 ? 0 : strings.ends()[first - 1];
    for (std::uint64_t i = first; i < end; ++i) {
        part.payload.put(strings.ends()[i] - base);
    }
    part.payload.put_all(std::span(strings.bytes()).subspan(base, strings.ends()[end - 1] - base));
    return part;
}

void put_strings(const TableSink& sink, const StringPool& strings) {
    std::uint64_t first = 0;
    while (first < strings.size()) {
        const std::uint64_t base = first == 0 ? 0 : strings.ends()[first - 1];
        std::uint64_t end = first + 1;
        while (end < strings.size() && end - first < kMaxRows &&
               strings.ends()[end] - base <= kMaxStringBytes) {
            ++end;
        }
        sink(strings_part(strings, first, end));
        first = end;
    }
}

void put_ranges(ByteWriter& out, const std::vector<RankRange>& ranges) {
    out.put(static_cast<std::uint64_t>(ranges.size()));
    for (const RankRange& range : ranges) {
        out.put(range.first);
        out.put(range.count);
        out.put(range.stride);
    }
}

void put_class(ByteWriter& out, const TraceClass& row) {
    out.put(row.name.value);
    out.put(row.stage);
    put_ranges(out, row.ranks);
}

void put_communicator(ByteWriter& out, const TraceCommunicator& row) {
    out.put(row.name.value);
    out.put(row.description.value);
    put_ranges(out, row.ranks);
}

void put_stream(ByteWriter& out, const TraceStream& row) {
    out.put(row.rank_class);
    out.put(row.id);
    out.put(row.name.value);
    out.put(static_cast<std::uint32_t>(row.kind));
    out.put(row.device);
    out.put(std::uint32_t{0});
    out.put(row.number);
    out.put(static_cast<std::uint64_t>(row.events.size()));
}

void put_label(ByteWriter& out, const Label& row) {
    out.put(row.iteration);
    out.put(static_cast<std::uint32_t>(row.phase));
    out.put(row.micro_batch);
    out.put(row.chunk);
    out.put(row.layer);
    out.put(row.module.value);
}

void put_comm_op(ByteWriter& out, const CommOp& row) {
    out.put(row.kind);
    out.put(row.dtype);
    out.put(row.algorithm);
    out.put(row.protocol);
    out.put(row.channels);
    out.put(row.bytes);
    out.put(row.group.value);
    out.put(row.group_size);
    out.put(row.peer);
    out.put(row.communicator);
    out.put(row.sequence);
    out.put(row.in_elements);
    out.put(row.out_elements);
    out.put(static_cast<std::uint64_t>(row.direction));
}

void put_launch(ByteWriter& out, const KernelLaunch& row) {
    out.put(row.grid);
    out.put(row.block);
    out.put(row.registers);
    out.put(row.shared_bytes);
}

void put_copy(ByteWriter& out, const CopyOp& row) {
    out.put(static_cast<std::uint64_t>(row.kind));
    out.put(row.bytes);
}

void put_sync(ByteWriter& out, const SyncOp& row) {
    out.put(static_cast<std::uint32_t>(row.kind));
    out.put(row.recorded_by);
    out.put(row.stream);
    out.put(row.event);
}

void put_flow(ByteWriter& out, const Flow& row) {
    out.put(row.from);
    out.put(row.to);
    out.put(static_cast<std::uint64_t>(row.kind));
}

void put_counter(ByteWriter& out, const TraceCounter& row) {
    out.put(row.rank_class);
    out.put(row.name.value);
    out.put(row.unit.value);
    out.put(std::uint32_t{0});
    out.put(static_cast<std::uint64_t>(row.time_ns.size()));
}

} // namespace

void put_leading_tables(const Trace& trace, const TableSink& sink) {
    TablePart meta = begin_part(EtrSectionKind::meta, 0, trace.meta.size());
    meta.payload.put_all(std::span(trace.meta));
    sink(meta);
    put_strings(sink, trace.strings);
    put_rows(sink, EtrSectionKind::ranks, trace.classes, put_class);
    put_rows(sink, EtrSectionKind::streams, trace.streams, put_stream);
    put_rows(sink, EtrSectionKind::labels, trace.labels, put_label);
    put_rows(sink, EtrSectionKind::communicators, trace.communicators, put_communicator);
    put_rows(sink, EtrSectionKind::comm_ops, trace.comm_ops, put_comm_op);
    put_rows(sink, EtrSectionKind::launches, trace.launches, put_launch);
    put_rows(sink, EtrSectionKind::copies, trace.copies, put_copy);
    put_rows(sink, EtrSectionKind::syncs, trace.syncs, put_sync);
}

void put_trailing_tables(const Trace& trace, const TableSink& sink) {
    put_rows(sink, EtrSectionKind::flows, trace.flows, put_flow);
    put_rows(sink, EtrSectionKind::counters, trace.counters, put_counter);
}

} // namespace echosim::etr
