// SPDX-License-Identifier: Apache-2.0
#include "traces/etr/layout.h"

#include "simulator/core/error.h"

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

std::uint8_t ByteReader::get_byte_enum() {
    const auto value = get<std::uint32_t>();
    if (value > 0xff) {
        throw InputError(where_, fmt::format("unknown enumerator {}", value));
    }
    return static_cast<std::uint8_t>(value);
}

} // namespace echosim::etr
