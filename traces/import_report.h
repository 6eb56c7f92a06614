// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/align.h"
#include "traces/trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What every importer returns: the trace, and an account of what was read, mended and not known. Nothing is
// mended in silence, and no event of the GPU is left out without a count.
namespace echosim {

struct ImportReport {
    std::string format;                // "Kineto", "Nsight Systems SQLite", "Chakra ET", ...
    std::vector<std::string> files;    // in the order of the ranks
    std::uint64_t events = 0;          // records of the files, of any kind
    std::uint64_t complete_events = 0; // those with a start and a duration (trace events of phase X)
    std::uint64_t kernels = 0;         // kernels, communication kernels among them
    std::map<std::string, std::uint64_t> warnings; // what was mended or dropped: "negative_duration" -> count
    std::vector<std::string> notes;                // what cannot be known from these files, in words
    std::map<std::string, std::vector<std::uint64_t>> counted_notes; // likewise, with a count for each "{}"
    std::optional<Alignment> alignment; // of several recordings, when it was measured

    void warn(std::string_view kind, std::uint64_t count = 1);
    void note(std::string text); // once each
    // "{} of {} kernels have no size", {3, 8}: once each text, with the sums of the counts.
    void note_counts(std::string text, const std::vector<std::uint64_t>& counts);
    void add(const ImportReport& other);        // sums; notes once each
    std::vector<std::string> all_notes() const; // those with counts spelled out, after the others
};

struct Imported {
    Trace trace;
    ImportReport report;
};

} // namespace echosim
