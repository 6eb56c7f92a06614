// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/etr_layout.h"

#include <algorithm>

namespace echosim::etr {

std::span<const std::byte> ByteReader::take(std::uint64_t count) {
    if (count > bytes_.size()) {
        throw InputError(where_, fmt::format("needs {} more bytes, {} are left", count, bytes_.size()));
    }
    const std::span<const std::byte> taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
}

void ByteReader::expect_end() const {
    if (!bytes_.empty()) {
        throw InputError(where_, fmt::format("{} bytes too many", bytes_.size()));
    }
}

void put_room(ByteWriter& out, const EtrRoom& room) {
    out.put(room.count);
    out.put(room.row);
    out.put(room.rank_class);
    out.put(room.first_ns);
    out.put(room.last_ns);
    out.put(room.first_row);
}

EtrRoom get_room(std::span<const std::byte> bytes, const std::string& where) {
    ByteReader in(bytes, where);
    EtrRoom room;
    room.count = in.get<std::uint64_t>();
    room.row = in.get<std::uint32_t>();
    room.rank_class = in.get<std::uint32_t>();
    room.first_ns = in.get<TimeNs>();
    room.last_ns = in.get<TimeNs>();
    room.first_row = in.get<std::uint64_t>();
    return room;
}

void put_section_header(ByteWriter& out, const EtrSection& section) {
    out.put(static_cast<std::uint32_t>(section.kind));
    out.put(section.id);
    out.put(section.raw_bytes);
    out.put(section.stored_bytes);
    out.put(static_cast<std::uint32_t>(section.codec)); // one byte and three zeros
    out.put(section.crc);
}

EtrSection get_section_header(std::span<const std::byte> bytes, const std::string& where) {
    ByteReader in(bytes, where);
    EtrSection section;
    section.kind = static_cast<EtrSectionKind>(in.get<std::uint32_t>());
    section.id = in.get<std::uint32_t>();
    section.raw_bytes = in.get<std::uint64_t>();
    section.stored_bytes = in.get<std::uint64_t>();
    const auto codec = in.get<std::uint32_t>();
    section.crc = in.get<std::uint32_t>();
    if (codec > 1) {
        throw InputError(where, fmt::format("unknown codec {}; known are 0 (raw) and 1 (zstd)", codec));
    }
    section.codec = static_cast<EtrCodec>(codec);
    return section;
}

namespace {

TablePart begin_part(EtrSectionKind kind, std::uint64_t first_row, std::uint64_t count) {
    TablePart part{kind, {}, {}};
    part.room.first_row = first_row;
    part.room.count = count;
    put_room(part.payload, part.room);
    part.payload.pad_to(kRoomBytes);
    return part;
}

// Cuts a table of rows of a fixed width into parts; put_row(writer, row) writes one.
template <class Row, class PutRow>
void add_rows(std::vector<TablePart>& parts, EtrSectionKind kind, const std::vector<Row>& rows,
              PutRow put_row) {
    for (std::uint64_t first = 0; first < rows.size(); first += kMaxRows) {
        const std::uint64_t count = std::min<std::uint64_t>(kMaxRows, rows.size() - first);
        TablePart part = begin_part(kind, first, count);
        for (std::uint64_t i = first; i < first + count; ++i) {
            put_row(part.payload, rows[i]);
        }
        parts.push_back(std::move(part));
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

void add_strings(std::vector<TablePart>& parts, const StringPool& strings) {
    std::uint64_t first = 0;
    while (first < strings.size()) {
        const std::uint64_t base = first == 0 ? 0 : strings.ends()[first - 1];
        std::uint64_t end = first + 1;
        while (end < strings.size() && end - first < kMaxRows &&
               strings.ends()[end] - base <= kMaxStringBytes) {
            ++end;
        }
        parts.push_back(strings_part(strings, first, end));
        first = end;
    }
}

void put_class(ByteWriter& out, const TraceClass& row) {
    out.put(row.name.value);
    out.put(row.stage);
    out.put(static_cast<std::uint64_t>(row.ranks.size()));
    for (const RankRange& range : row.ranks) {
        out.put(range.first);
        out.put(range.count);
        out.put(range.stride);
    }
}

void put_stream(ByteWriter& out, const TraceStream& row) {
    out.put(row.rank_class);
    out.put(row.id);
    out.put(row.name.value);
    out.put(static_cast<std::uint32_t>(row.kind));
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
    out.put(std::uint32_t{0});
    out.put(row.sequence);
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

TraceClass get_class(ByteReader& in) {
    TraceClass row;
    row.name.value = in.get<std::uint32_t>();
    row.stage = in.get<std::int32_t>();
    const auto ranges = in.get<std::uint64_t>();
    if (ranges > in.left() / 12) {
        throw InputError(in.where(), fmt::format("{} ranges of ranks in {} bytes", ranges, in.left()));
    }
    for (std::uint64_t i = 0; i < ranges; ++i) {
        RankRange range;
        range.first = in.get<std::uint32_t>();
        range.count = in.get<std::uint32_t>();
        range.stride = in.get<std::uint32_t>();
        row.ranks.push_back(range);
    }
    return row;
}

TraceStream get_stream(ByteReader& in, std::vector<std::uint64_t>& stream_events) {
    TraceStream row;
    row.rank_class = in.get<std::uint32_t>();
    row.id = in.get<std::uint32_t>();
    row.name.value = in.get<std::uint32_t>();
    row.kind = static_cast<StreamKind>(in.get_byte_enum());
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
    in.take(4);
    row.sequence = in.get<std::uint64_t>();
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

} // namespace

std::uint8_t ByteReader::get_byte_enum() {
    const auto value = get<std::uint32_t>();
    if (value > 0xff) {
        throw InputError(where_, fmt::format("unknown enumerator {}", value));
    }
    return static_cast<std::uint8_t>(value);
}

std::vector<TablePart> leading_tables(const Trace& trace) {
    std::vector<TablePart> parts;
    parts.push_back(begin_part(EtrSectionKind::meta, 0, trace.meta.size()));
    parts.back().payload.put_all(std::span(trace.meta));
    add_strings(parts, trace.strings);
    add_rows(parts, EtrSectionKind::ranks, trace.classes, put_class);
    add_rows(parts, EtrSectionKind::streams, trace.streams, put_stream);
    add_rows(parts, EtrSectionKind::labels, trace.labels, put_label);
    add_rows(parts, EtrSectionKind::comm_ops, trace.comm_ops, put_comm_op);
    return parts;
}

std::vector<TablePart> trailing_tables(const Trace& trace) {
    std::vector<TablePart> parts;
    add_rows(parts, EtrSectionKind::flows, trace.flows, put_flow);
    add_rows(parts, EtrSectionKind::counters, trace.counters, put_counter);
    return parts;
}

void read_table(const EtrSection& section, ByteReader in, Trace& trace,
                std::vector<std::uint64_t>& stream_events) {
    const EtrRoom& room = section.room;
    in.take(kRoomBytes);
    const auto rows = [&](auto& table, auto get_row) {
        for (std::uint64_t i = 0; i < room.count; ++i) {
            table.push_back(get_row(in));
        }
    };
    switch (section.kind) {
    case EtrSectionKind::meta: {
        const std::span<const std::byte> text = in.take(room.count);
        trace.meta.assign(reinterpret_cast<const char*>(text.data()), text.size());
        break;
    }
    case EtrSectionKind::strings:
        read_strings(room, in, trace);
        break;
    case EtrSectionKind::ranks:
        rows(trace.classes, get_class);
        break;
    case EtrSectionKind::streams:
        rows(trace.streams, [&](ByteReader& from) { return get_stream(from, stream_events); });
        break;
    case EtrSectionKind::labels:
        rows(trace.labels, get_label);
        break;
    case EtrSectionKind::comm_ops:
        rows(trace.comm_ops, get_comm_op);
        break;
    case EtrSectionKind::flows:
        rows(trace.flows, get_flow);
        break;
    case EtrSectionKind::counters:
        rows(trace.counters, get_counter);
        break;
    default:
        return;
    }
    in.expect_end();
}

} // namespace echosim::etr
