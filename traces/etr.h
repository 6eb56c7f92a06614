// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// The .etr container: columns in chunks of at most 65,536 events, each one section with a checksum, and an
// index at the end. Raw sections are used in place from the mapped file. docs/formats.md has the layout byte
// by byte.
namespace echosim {

enum class EtrCodec : std::uint8_t { raw, zstd };

// Readers skip kinds that they do not know.
enum class EtrSectionKind : std::uint32_t {
    meta = 1,
    strings,
    ranks,
    streams,
    labels,
    comm_ops,
    events,
    flows,
    counters,
    samples,
    index,
    communicators,
    launches,
    copies,
    syncs
};

// What a section holds: rows first_row .. first_row + count - 1 of its table; `events` and `samples` have a
// table for each stream and counter (`row`), and say which time they cover (first start, latest end).
struct EtrRoom {
    std::uint64_t count = 0;
    std::uint32_t row = 0;
    std::uint32_t rank_class = 0;
    TimeNs first_ns = 0;
    TimeNs last_ns = 0;
    std::uint64_t first_row = 0;
    bool operator==(const EtrRoom&) const = default;
};

struct EtrSection {
    EtrSectionKind kind = EtrSectionKind::meta;
    std::uint32_t id = 0;
    std::uint64_t offset = 0; // of the section header in the file
    std::uint64_t raw_bytes = 0;
    std::uint64_t stored_bytes = 0;
    EtrCodec codec = EtrCodec::raw;
    std::uint32_t crc = 0; // CRC-32C of the stored bytes
    EtrRoom room;
};

// Columns of one chunk and whatever keeps them alive: they may outlive the EtrFile.
struct EtrEvents {
    EventView events;
    std::shared_ptr<const void> owner;
};
struct EtrSamples {
    std::span<const TimeNs> time_ns;
    std::span<const double> value;
    std::shared_ptr<const void> owner;
};

class MappedFile;

// An open .etr file. Opening reads the index and the stream table, nothing else; each read checks the
// checksum and every index in what it returns. Const functions may be called from several threads. All of
// them throw InputError with the file and the offset.
class EtrFile {
  public:
    explicit EtrFile(const std::string& path);

    // False when the file was cut off: sections that are whole are readable, references may point at missing
    // events.
    bool complete() const { return complete_; }
    const std::vector<std::string>& warnings() const { return warnings_; }
    TimeNs t0_ns() const { return t0_ns_; }
    bool timed() const { return timed_; } // Trace::timed
    const std::vector<EtrSection>& sections() const { return sections_; }
    std::uint64_t event_count() const; // that the file holds

    Trace read_tables() const; // everything but events and samples; streams and counters are there, empty
    EtrEvents read_events(const EtrSection& section) const;
    EtrSamples read_samples(const EtrSection& section) const;

  private:
    struct Payload {
        std::span<const std::byte> bytes;
        std::shared_ptr<const void> owner;
    };
    void read_header();
    bool read_index();
    void read_index_entries(std::uint64_t offset, std::uint64_t end);
    void scan_sections();
    void check_section(const EtrSection& section, std::uint64_t after, std::uint64_t end) const;
    void check_rooms();
    void check_chunk(const EtrSection& section, const Trace& tables) const;
    Payload unpack(const EtrSection& section) const;
    Payload load(const EtrSection& section) const;
    std::span<const std::byte> bytes_at(std::uint64_t offset, std::uint64_t count) const;
    std::string at(std::uint64_t offset) const;

    std::string path_;
    std::shared_ptr<const MappedFile> mapping_;
    bool complete_ = false;
    std::vector<std::string> warnings_;
    TimeNs t0_ns_ = 0;
    bool timed_ = true;
    std::vector<EtrSection> sections_;
    TableSizes sizes_;
};

// Writes the file whole or not at all. Throws InputError when the trace is inconsistent (check_trace) or the
// file cannot be written.
void write_etr(const Trace& trace, const std::string& path, EtrCodec codec = EtrCodec::raw);

// The whole file as a Trace. A file that was cut off gives what it holds; `warnings`, if given, says so.
Trace read_etr(const std::string& path, std::vector<std::string>* warnings = nullptr);

} // namespace echosim
