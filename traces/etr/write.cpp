// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/crc32c.h"
#include "traces/etr/layout.h"
#include "traces/output_file.h"

#include <algorithm>
#include <map>
#include <zstd.h>

namespace echosim {
namespace {

using namespace etr;

constexpr int kZstdLevel = 3;

ByteWriter file_header(const Trace& trace) {
    ByteWriter out;
    out.put_all(std::span(kMagic));
    out.put(kVersion);
    out.put(trace.timed ? std::uint32_t{0} : kUntimed);
    out.put(trace.t0_ns);
    out.put(kSchemaHash);
    out.pad_to(kHeaderBytes);
    return out;
}

// Writes sections one behind the other and remembers them for the index.
class SectionWriter {
  public:
    SectionWriter(OutputFile& out, EtrCodec codec) : out_(out), codec_(codec) {}

    void write(std::span<const std::byte> bytes) {
        out_.write(bytes);
        offset_ += bytes.size();
    }
    void add(const TablePart& part) { add(part.kind, part.room, part.payload.bytes()); }
    void add(EtrSectionKind kind, const EtrRoom& room, std::span<const std::byte> payload) {
        EtrSection section;
        section.kind = kind;
        section.id = next_id_[kind]++;
        section.room = room;
        section.raw_bytes = payload.size();
        if (codec_ == EtrCodec::zstd && payload.size() <= kMaxCompressed) {
            section.codec = EtrCodec::zstd;
            payload = compress(payload);
        }
        section.stored_bytes = payload.size();
        section.crc = crc32c(payload);
        put(section, payload);
        sections_.push_back(section);
    }
    void finish(const ByteWriter& header);

  private:
    std::span<const std::byte> compress(std::span<const std::byte> payload) {
        compressed_.resize(ZSTD_compressBound(payload.size()));
        const std::size_t size =
            ZSTD_compress(compressed_.data(), compressed_.size(), payload.data(), payload.size(), kZstdLevel);
        ECHOSIM_CHECK(ZSTD_isError(size) == 0, "zstd refused a section");
        return std::span(compressed_).first(size);
    }
    void put(EtrSection& section, std::span<const std::byte> payload) {
        ByteWriter head;
        head.pad_to(section_start(offset_) - offset_);
        section.offset = section_start(offset_);
        put_section_header(head, section);
        write(head.bytes());
        write(payload);
    }

    OutputFile& out_;
    EtrCodec codec_;
    std::uint64_t offset_ = 0;
    std::vector<EtrSection> sections_;
    std::map<EtrSectionKind, std::uint32_t> next_id_;
    std::vector<std::byte> compressed_;
};

// The index section and the tail. The tail's checksum covers the index with its section header.
void SectionWriter::finish(const ByteWriter& header) {
    ByteWriter index;
    index.put(static_cast<std::uint64_t>(sections_.size()));
    index.put(crc32c(header.bytes()));
    index.put(std::uint32_t{0});
    for (const EtrSection& section : sections_) {
        index.put(section.offset);
        put_section_header(index, section);
        put_room(index, section.room);
    }
    EtrSection section;
    section.kind = EtrSectionKind::index;
    section.raw_bytes = index.size();
    section.stored_bytes = index.size();
    section.crc = crc32c(index.bytes());
    put(section, index.bytes());

    ByteWriter covered;
    put_section_header(covered, section);
    covered.put_bytes(index.bytes());
    ByteWriter tail;
    tail.put(section.offset);
    tail.put(crc32c(covered.bytes()));
    tail.put_all(std::span(kMagic));
    write(tail.bytes());
}

TimeNs latest_end(const EventView& events, std::uint64_t first, std::uint64_t count) {
    TimeNs latest = events.start_ns[first] + events.dur_ns[first];
    for (std::uint64_t i = first; i < first + count; ++i) {
        latest = std::max(latest, events.start_ns[i] + events.dur_ns[i]);
    }
    return latest;
}

template <class T>
void put_column(ByteWriter& out, std::uint64_t at, std::span<const T> column, const EtrRoom& room) {
    out.pad_to(at);
    out.put_all(column.subspan(room.first_row, room.count));
}

ByteWriter event_chunk(const EventView& events, const EtrRoom& room) {
    const EventLayout layout = event_layout(room.count);
    ByteWriter out;
    out.reserve(layout.bytes);
    put_room(out, room);
    put_column(out, layout.column[0], events.start_ns, room);
    put_column(out, layout.column[1], events.dur_ns, room);
    put_column(out, layout.column[2], events.name, room);
    put_column(out, layout.column[3], events.kind, room);
    put_column(out, layout.column[4], events.label, room);
    put_column(out, layout.column[5], events.ext, room);
    put_column(out, layout.column[6], events.alone_ns, room);
    put_column(out, layout.column[7], events.binding_pred, room);
    put_column(out, layout.column[8], events.provenance, room);
    put_column(out, layout.column[9], events.correlation, room);
    put_column(out, layout.column[10], events.args, room);
    out.pad_to(layout.bytes);
    return out;
}

void add_events(SectionWriter& out, const Trace& trace) {
    for (std::uint32_t row = 0; row < trace.streams.size(); ++row) {
        const EventView events = trace.streams[row].events.view();
        for (std::uint64_t first = 0; first < events.size(); first += kMaxRows) {
            EtrRoom room;
            room.count = std::min<std::uint64_t>(kMaxRows, events.size() - first);
            room.row = row;
            room.rank_class = trace.streams[row].rank_class;
            room.first_ns = events.start_ns[first];
            room.last_ns = latest_end(events, first, room.count);
            room.first_row = first;
            out.add(EtrSectionKind::events, room, event_chunk(events, room).bytes());
        }
    }
}

void add_samples(SectionWriter& out, const Trace& trace) {
    for (std::uint32_t row = 0; row < trace.counters.size(); ++row) {
        const TraceCounter& counter = trace.counters[row];
        for (std::uint64_t first = 0; first < counter.value.size(); first += kMaxRows) {
            EtrRoom room;
            room.count = std::min<std::uint64_t>(kMaxRows, counter.value.size() - first);
            room.row = row;
            room.rank_class = counter.rank_class;
            room.first_ns = counter.time_ns[first];
            room.last_ns = counter.time_ns[first + room.count - 1];
            room.first_row = first;
            ByteWriter payload;
            put_room(payload, room);
            put_column(payload, kRoomBytes, std::span(counter.time_ns), room);
            put_column(payload, sample_values_at(room.count), std::span(counter.value), room);
            payload.pad_to(sample_bytes(room.count));
            out.add(EtrSectionKind::samples, room, payload.bytes());
        }
    }
}

} // namespace

void write_etr(const Trace& trace, const std::string& path, EtrCodec codec) {
    check_trace(trace, "trace");
    OutputFile file(path);
    SectionWriter out(file, codec);
    const ByteWriter header = file_header(trace);
    out.write(header.bytes());
    const TableSink add_table = [&](const TablePart& part) { out.add(part); };
    put_leading_tables(trace, add_table);
    add_events(out, trace);
    put_trailing_tables(trace, add_table);
    add_samples(out, trace);
    out.finish(header);
    file.commit();
}

} // namespace echosim
