// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <iosfwd>
#include <string>

namespace echosim {

struct PerfettoOptions {
    bool force = false;                    // write more than max_events
    std::uint64_t max_events = 20'000'000; // about what a browser's memory holds
};

// The trace in the Chrome trace event format that ui.perfetto.dev and chrome://tracing open: a process for
// each rank class, a thread for each stream, times in microseconds. docs/formats.md lists the fields. The
// path ends in .json or .json.gz. Throws InputError: another ending, too many events, cannot be written.
void write_perfetto(const Trace& trace, const std::string& path, const PerfettoOptions& options = {});
void write_perfetto(const Trace& trace, std::ostream& out, const PerfettoOptions& options = {});

} // namespace echosim
