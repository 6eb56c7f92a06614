// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/etr.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The bytes of an .etr file (docs/formats.md), shared by its writer and its reader.
namespace echosim::etr {

static_assert(std::endian::native == std::endian::little, "columns are used in place: little-endian only");

inline constexpr std::string_view kMagic = "ECHOTRC1";
inline constexpr std::uint32_t kVersion = 2;
inline constexpr std::uint32_t kUntimed = 1; // flag: a graph without times
inline constexpr std::uint64_t kAlign = 64;
inline constexpr std::uint64_t kHeaderBytes = 64;
inline constexpr std::uint64_t kSectionHeaderBytes = 32; // sections start at 32 mod 64: payloads are aligned
inline constexpr std::uint64_t kRoomBytes = 64;          // front of each payload: the fields and zeros
inline constexpr std::uint64_t kRoomFieldBytes = 40;
inline constexpr std::uint64_t kIndexHeadBytes = 16;
inline constexpr std::uint64_t kIndexEntryBytes = 80;
inline constexpr std::uint64_t kTailBytes = 20;
inline constexpr std::uint64_t kMaxRows = 65536; // of one section
inline constexpr std::uint64_t kMaxStringBytes = std::uint64_t{16}
                                                 << 20U; // of one section, unless one string is longer
inline constexpr std::uint64_t kMaxCompressed = std::uint64_t{64} << 20U; // raw bytes of a zstd section

constexpr std::uint64_t align_up(std::uint64_t value) {
    return (value + kAlign - 1) / kAlign * kAlign;
}
// Where a section that cannot begin before `end` begins.
constexpr std::uint64_t section_start(std::uint64_t end) {
    return align_up(end + kSectionHeaderBytes) - kSectionHeaderBytes;
}

// FNV-1a of the columns, tables and enumerators: files of another schema are refused, not misread.
constexpr std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    return hash;
}
inline constexpr std::uint64_t kSchemaHash = fnv1a(
    "events: start_ns i64, dur_ns i64, name u32, kind u8 of 12, label u32, ext u32, alone_ns i64, "
    "binding_pred u64, provenance u8, correlation u32, args u32; strings; ranks: name, stage, ranges; "
    "streams: class, id, name, kind of 10, device, number, events; "
    "labels: iteration, phase, micro_batch, chunk, layer, module; "
    "communicators: name, description, ranges; "
    "comm_ops: kind, dtype, algorithm, protocol, channels, bytes, group, group_size, peer, communicator, "
    "sequence, in_elements, out_elements, direction; "
    "launches: grid, block, registers, shared; copies: kind, bytes; syncs: kind, recorded_by, stream, event; "
    "flows: from, to, kind of 9; counters: class, name, unit, samples; samples: time_ns i64, value f64");

// Where each column of an event chunk begins in the payload, and where the payload ends.
inline constexpr std::array<std::uint64_t, 11> kEventWidths{8, 8, 4, 1, 4, 4, 8, 8, 1, 4, 4};
struct EventLayout {
    std::array<std::uint64_t, kEventWidths.size()> column{};
    std::uint64_t bytes = 0;
};
constexpr EventLayout event_layout(std::uint64_t count) {
    EventLayout layout;
    std::uint64_t at = kRoomBytes;
    for (std::size_t i = 0; i < kEventWidths.size(); ++i) {
        layout.column[i] = at;
        at = align_up(at + count * kEventWidths[i]);
    }
    layout.bytes = at;
    return layout;
}
constexpr std::uint64_t sample_values_at(std::uint64_t count) {
    return align_up(kRoomBytes + count * 8);
}
constexpr std::uint64_t sample_bytes(std::uint64_t count) {
    return align_up(sample_values_at(count) + count * 8);
}

// Appends plain values to a payload.
class ByteWriter {
  public:
    template <class T> void put(T value) {
        const std::size_t at = bytes_.size();
        bytes_.resize(at + sizeof(T));
        std::memcpy(bytes_.data() + at, &value, sizeof(T));
    }
    template <class T> void put_all(std::span<const T> values) { put_bytes(std::as_bytes(values)); }
    void put_bytes(std::span<const std::byte> bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    void reserve(std::uint64_t size) { bytes_.reserve(size); }
    void pad_to(std::uint64_t size) { bytes_.resize(size); }
    std::size_t size() const { return bytes_.size(); }
    std::span<const std::byte> bytes() const { return bytes_; }
    std::span<std::byte> bytes() { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

// Takes plain values from a payload; running past its end is an InputError of `where`.
class ByteReader {
  public:
    ByteReader(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}
    template <class T> T get() {
        T value{};
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
        return value;
    }
    std::span<const std::byte> take(std::uint64_t count);
    std::uint8_t get_byte_enum(); // an enumerator of one byte in four
    const std::string& where() const { return where_; }
    std::uint64_t left() const { return bytes_.size(); }
    void expect_end() const;

  private:
    std::span<const std::byte> bytes_;
    const std::string& where_;
};

// The front of each payload, which the index repeats: its fields, without the zeros behind them.
void put_room(ByteWriter& out, const EtrRoom& room);
EtrRoom get_room(std::span<const std::byte> bytes, const std::string& where);
void put_section_header(ByteWriter& out, const EtrSection& section);
EtrSection get_section_header(std::span<const std::byte> bytes, const std::string& where);

// One payload with its room.
struct TablePart {
    EtrSectionKind kind = EtrSectionKind::meta;
    EtrRoom room;
    ByteWriter payload;
};
using TableSink = std::function<void(const TablePart&)>;
// Tables of a trace, part by part: those that events use, and flows and counters. Events and samples are in
// neither.
void put_leading_tables(const Trace& trace, const TableSink& sink);
void put_trailing_tables(const Trace& trace, const TableSink& sink);

// Appends what one table section holds to `trace`; `stream_events` grows with the declared counts of streams.
void read_table(const EtrSection& section, ByteReader in, Trace& trace,
                std::vector<std::uint64_t>& stream_events);

} // namespace echosim::etr
