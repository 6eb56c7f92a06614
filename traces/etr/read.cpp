// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/crc32c.h"
#include "traces/etr/layout.h"
#include "traces/mapped_file.h"

#include <algorithm>
#include <map>
#include <zstd.h>

namespace echosim {

using namespace etr;

namespace {

// Heap memory that begins at a multiple of 64, as the columns of a mapped file do.
struct alignas(kAlign) Block {
    std::array<std::byte, kAlign> bytes;
};

bool known_kind(EtrSectionKind kind) {
    return kind >= EtrSectionKind::meta && kind <= EtrSectionKind::syncs && kind != EtrSectionKind::index;
}

template <class T>
std::span<const T> column(std::span<const std::byte> payload, std::uint64_t at, std::uint64_t count) {
    return {reinterpret_cast<const T*>(payload.subspan(at, count * sizeof(T)).data()), count};
}

} // namespace

EtrFile::EtrFile(const std::string& path) : path_(path), mapping_(std::make_shared<const MappedFile>(path)) {
    read_header();
    complete_ = read_index();
    if (!complete_) {
        scan_sections();
    }
    check_rooms();
    if (!complete_) {
        warnings_.push_back(
            fmt::format("{}: the file was cut off: {} events in {} sections are readable, the rest "
                        "is missing",
                        path_, event_count(), sections_.size()));
    }
}

std::string EtrFile::at(std::uint64_t offset) const {
    return fmt::format("{}: byte {}", path_, offset);
}

std::span<const std::byte> EtrFile::bytes_at(std::uint64_t offset, std::uint64_t count) const {
    const std::span<const std::byte> all = mapping_->bytes();
    if (offset > all.size() || count > all.size() - offset) {
        throw InputError(at(offset),
                         fmt::format("{} bytes were expected, the file has {}", count, all.size()));
    }
    return all.subspan(offset, count);
}

void EtrFile::read_header() {
    if (mapping_->bytes().size() < kHeaderBytes) {
        throw InputError(path_, fmt::format("is no .etr file: {} bytes, the header alone has {}",
                                            mapping_->bytes().size(), kHeaderBytes));
    }
    ByteReader in(bytes_at(0, kHeaderBytes), path_);
    if (std::memcmp(in.take(8).data(), kMagic.data(), 8) != 0) {
        throw InputError(path_, "is no .etr file: it does not begin with ECHOTRC1");
    }
    const auto version = in.get<std::uint32_t>();
    const auto flags = in.get<std::uint32_t>();
    t0_ns_ = in.get<TimeNs>();
    const auto schema = in.get<std::uint64_t>();
    if (version < kVersion) {
        throw InputError(
            path_,
            fmt::format("is of version {}, written by an older echosim; this one reads version {}", version,
                        kVersion),
            "simulate or import again");
    }
    if (version > kVersion || flags > kUntimed || schema != kSchemaHash) {
        throw InputError(at(8),
                         fmt::format("version {}, flags {}, schema {:016x}; this program reads version {}, "
                                     "flags 0 and 1, schema {:016x}",
                                     version, flags, schema, kVersion, kSchemaHash));
    }
    timed_ = flags != kUntimed;
}

// False without a tail; a tail that does not fit its index is an error.
bool EtrFile::read_index() {
    const std::uint64_t size = mapping_->bytes().size();
    if (size < kHeaderBytes + kTailBytes ||
        std::memcmp(bytes_at(size - 8, 8).data(), kMagic.data(), kMagic.size()) != 0) {
        return false;
    }
    const std::uint64_t end = size - kTailBytes;
    const std::string where = at(end);
    ByteReader tail(bytes_at(end, kTailBytes), where);
    const auto offset = tail.get<std::uint64_t>();
    const auto crc = tail.get<std::uint32_t>();
    if (offset != section_start(offset) || offset > end ||
        end - offset < kSectionHeaderBytes + kIndexHeadBytes ||
        crc32c(bytes_at(offset, end - offset)) != crc) {
        throw InputError(where, fmt::format("the index at byte {} is damaged (checksum)", offset));
    }
    read_index_entries(offset, end);
    std::uint64_t after = kHeaderBytes;
    for (const EtrSection& section : sections_) {
        check_section(section, after, offset);
        after = section.offset + kSectionHeaderBytes + section.stored_bytes;
    }
    return true;
}

void EtrFile::read_index_entries(std::uint64_t offset, std::uint64_t end) {
    const std::string where = at(offset);
    ByteReader in(bytes_at(offset, end - offset), where);
    const EtrSection index = get_section_header(in.take(kSectionHeaderBytes), where);
    const auto count = in.get<std::uint64_t>();
    const auto header_crc = in.get<std::uint32_t>();
    in.take(4);
    if (index.kind != EtrSectionKind::index || header_crc != crc32c(bytes_at(0, kHeaderBytes)) ||
        count != in.left() / kIndexEntryBytes) {
        throw InputError(where, "the index and the header of the file do not fit together");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto section_at = in.get<std::uint64_t>();
        sections_.push_back(get_section_header(in.take(kSectionHeaderBytes), where));
        sections_.back().offset = section_at;
        sections_.back().room = get_room(in.take(kRoomFieldBytes), where);
    }
    in.expect_end();
}

// A section lies between `after` and `end`, aligned, with sizes that its codec allows.
void EtrFile::check_section(const EtrSection& section, std::uint64_t after, std::uint64_t end) const {
    if (section.offset < section_start(after) || section.offset != section_start(section.offset) ||
        section.offset > end || end - section.offset < kSectionHeaderBytes ||
        section.stored_bytes > end - section.offset - kSectionHeaderBytes) {
        throw InputError(at(section.offset),
                         fmt::format("a section of {} bytes does not lie between bytes {} and {}",
                                     section.stored_bytes, after, end));
    }
    const bool fits = section.codec == EtrCodec::raw ? section.raw_bytes == section.stored_bytes
                                                     : section.raw_bytes <= kMaxCompressed;
    if (!fits || (known_kind(section.kind) && section.raw_bytes < kRoomBytes)) {
        throw InputError(at(section.offset), fmt::format("a section of {} bytes, {} stored",
                                                         section.raw_bytes, section.stored_bytes));
    }
}

// Without an index: section by section until one is not whole.
void EtrFile::scan_sections() {
    const std::uint64_t size = mapping_->bytes().size();
    std::uint64_t offset = section_start(kHeaderBytes);
    while (offset <= size && size - offset >= kSectionHeaderBytes) {
        EtrSection section = get_section_header(bytes_at(offset, kSectionHeaderBytes), at(offset));
        section.offset = offset;
        if (section.kind == EtrSectionKind::index ||
            section.stored_bytes > size - offset - kSectionHeaderBytes) {
            return;
        }
        check_section(section, offset, size);
        if (known_kind(section.kind)) {
            const Payload payload = unpack(section);
            section.room = get_room(payload.bytes, at(offset));
        }
        sections_.push_back(section);
        offset = section_start(offset + kSectionHeaderBytes + section.stored_bytes);
    }
}

// The rows of each table follow each other without gaps, and chunks are as long as their columns.
void EtrFile::check_rooms() {
    Trace tables;
    std::map<std::pair<EtrSectionKind, std::uint32_t>, std::uint64_t>
        rows; // of a table; streams have one each
    for (const EtrSection& section : sections_) {
        if (!known_kind(section.kind)) {
            continue;
        }
        const EtrRoom& room = section.room;
        std::uint64_t& before = rows[{section.kind, room.row}];
        const std::uint64_t most = section.kind == EtrSectionKind::meta ? section.raw_bytes : kMaxRows;
        const bool twice = section.kind == EtrSectionKind::meta && section.id > 0;
        if (room.count > most || room.first_row != before || twice || room.first_ns > room.last_ns) {
            throw InputError(at(section.offset),
                             fmt::format("rows {} to {} of table {} after {} rows", room.first_row,
                                         room.first_row + room.count,
                                         static_cast<std::uint32_t>(section.kind), before));
        }
        before += room.count;
        if (section.kind == EtrSectionKind::streams) {
            read_table(section, ByteReader(load(section).bytes, path_), tables, sizes_.stream_events);
        }
    }
    sizes_.strings = rows[{EtrSectionKind::strings, 0}];
    sizes_.labels = rows[{EtrSectionKind::labels, 0}];
    sizes_.comm_ops = rows[{EtrSectionKind::comm_ops, 0}];
    sizes_.launches = rows[{EtrSectionKind::launches, 0}];
    sizes_.copies = rows[{EtrSectionKind::copies, 0}];
    sizes_.syncs = rows[{EtrSectionKind::syncs, 0}];
    for (const EtrSection& section : sections_) {
        check_chunk(section, tables);
    }
    for (std::uint32_t i = 0; i < sizes_.stream_events.size(); ++i) {
        const std::uint64_t held = rows[{EtrSectionKind::events, i}];
        if (held > sizes_.stream_events[i] || (complete_ && held < sizes_.stream_events[i])) {
            throw InputError(path_, fmt::format("stream {} has {} events, the file holds {}", i,
                                                sizes_.stream_events[i], held));
        }
    }
}

void EtrFile::check_chunk(const EtrSection& section, const Trace& tables) const {
    const EtrRoom& room = section.room;
    bool fits = true;
    if (section.kind == EtrSectionKind::events) {
        fits = section.raw_bytes == event_layout(room.count).bytes && room.row < tables.streams.size() &&
               room.rank_class == tables.streams[room.row].rank_class;
    } else if (section.kind == EtrSectionKind::samples) {
        fits = section.raw_bytes == sample_bytes(room.count);
    } else if (known_kind(section.kind)) {
        fits = room.row == 0;
    }
    if (!fits) {
        throw InputError(at(section.offset),
                         fmt::format("a chunk of {} rows of stream {} in {} bytes does not fit "
                                     "the tables",
                                     room.count, room.row, section.raw_bytes));
    }
}

std::uint64_t EtrFile::event_count() const {
    std::uint64_t count = 0;
    for (const EtrSection& section : sections_) {
        count += section.kind == EtrSectionKind::events ? section.room.count : 0;
    }
    return count;
}

// The raw bytes of a section after its checksum was found right.
EtrFile::Payload EtrFile::unpack(const EtrSection& section) const {
    const std::string where = at(section.offset);
    ByteWriter header;
    put_section_header(header, section);
    const std::span<const std::byte> stored =
        bytes_at(section.offset + kSectionHeaderBytes, section.stored_bytes);
    const std::span<const std::byte> found = bytes_at(section.offset, kSectionHeaderBytes);
    if (!std::equal(found.begin(), found.end(), header.bytes().begin()) || crc32c(stored) != section.crc) {
        throw InputError(where, "the section is damaged (checksum)");
    }
    if (section.codec == EtrCodec::raw) {
        return {stored, mapping_};
    }
    const auto blocks = std::make_shared<std::vector<Block>>(align_up(section.raw_bytes) / kAlign);
    const std::size_t size = ZSTD_decompress(blocks->data(), section.raw_bytes, stored.data(), stored.size());
    if (ZSTD_isError(size) != 0 || size != section.raw_bytes) {
        throw InputError(where, fmt::format("zstd: {}", ZSTD_isError(size) != 0 ? ZSTD_getErrorName(size)
                                                                                : "shorter than announced"));
    }
    return {std::as_bytes(std::span(*blocks)).first(size), blocks};
}

EtrFile::Payload EtrFile::load(const EtrSection& section) const {
    Payload payload = unpack(section);
    if (get_room(payload.bytes, path_) != section.room) {
        throw InputError(at(section.offset), "the section and the index do not fit together");
    }
    return payload;
}

Trace EtrFile::read_tables() const {
    Trace trace;
    trace.t0_ns = t0_ns_;
    trace.timed = timed_;
    std::vector<std::uint64_t> stream_events;
    for (const EtrSection& section : sections_) {
        if (known_kind(section.kind) && section.kind != EtrSectionKind::events &&
            section.kind != EtrSectionKind::samples) {
            const std::string where = at(section.offset);
            read_table(section, ByteReader(load(section).bytes, where), trace, stream_events);
        }
    }
    check_tables(trace, sizes_, path_);
    return trace;
}

EtrEvents EtrFile::read_events(const EtrSection& section) const {
    ECHOSIM_CHECK(section.kind == EtrSectionKind::events, "not a chunk of events");
    Payload payload = load(section);
    const std::uint64_t count = section.room.count;
    const EventLayout layout = event_layout(count);
    EtrEvents chunk;
    chunk.events = {column<TimeNs>(payload.bytes, layout.column[0], count),
                    column<TimeNs>(payload.bytes, layout.column[1], count),
                    column<std::uint32_t>(payload.bytes, layout.column[2], count),
                    column<EventKind>(payload.bytes, layout.column[3], count),
                    column<std::uint32_t>(payload.bytes, layout.column[4], count),
                    column<std::uint32_t>(payload.bytes, layout.column[5], count),
                    column<TimeNs>(payload.bytes, layout.column[6], count),
                    column<std::uint64_t>(payload.bytes, layout.column[7], count),
                    column<Provenance>(payload.bytes, layout.column[8], count),
                    column<std::uint32_t>(payload.bytes, layout.column[9], count),
                    column<std::uint32_t>(payload.bytes, layout.column[10], count)};
    chunk.owner = std::move(payload.owner);
    check_events(chunk.events, sizes_, at(section.offset));
    return chunk;
}

EtrSamples EtrFile::read_samples(const EtrSection& section) const {
    ECHOSIM_CHECK(section.kind == EtrSectionKind::samples, "not a chunk of samples");
    Payload payload = load(section);
    const std::uint64_t count = section.room.count;
    return {column<TimeNs>(payload.bytes, kRoomBytes, count),
            column<double>(payload.bytes, sample_values_at(count), count), std::move(payload.owner)};
}

namespace {

bool held(const Trace& trace, std::uint64_t ref) {
    return index_of(ref) < trace.streams.at(stream_of(ref)).events.size();
}

// Of a file that was cut off: references to events that are not in it.
void drop_dangling(Trace& trace) {
    for (TraceStream& stream : trace.streams) {
        for (std::uint64_t& pred : stream.events.binding_pred) {
            pred = pred != kNoEvent && !held(trace, pred) ? kNoEvent : pred;
        }
    }
    std::erase_if(trace.flows,
                  [&](const Flow& flow) { return !held(trace, flow.from) || !held(trace, flow.to); });
}

} // namespace

Trace read_etr(const std::string& path, std::vector<std::string>* warnings) {
    const EtrFile file(path);
    Trace trace = file.read_tables();
    for (const EtrSection& section : file.sections()) {
        if (section.kind == EtrSectionKind::events) {
            trace.streams.at(section.room.row).events.append(file.read_events(section).events);
        } else if (section.kind == EtrSectionKind::samples) {
            if (section.room.row >= trace.counters.size()) {
                throw InputError(path, fmt::format("samples of counter {} of {}", section.room.row,
                                                   trace.counters.size()));
            }
            const EtrSamples samples = file.read_samples(section);
            TraceCounter& counter = trace.counters[section.room.row];
            counter.time_ns.insert(counter.time_ns.end(), samples.time_ns.begin(), samples.time_ns.end());
            counter.value.insert(counter.value.end(), samples.value.begin(), samples.value.end());
        }
    }
    if (!file.complete()) {
        drop_dangling(trace);
    }
    check_trace(trace, path);
    if (warnings != nullptr) {
        warnings->insert(warnings->end(), file.warnings().begin(), file.warnings().end());
    }
    return trace;
}

} // namespace echosim
