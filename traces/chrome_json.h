// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <iosfwd>
#include <string>

// Two files of one dialect of the Chrome trace event format, which docs/formats.md describes: kineto.h reads
// both back without loss. The path ends in .json or .json.gz. Throws InputError: another ending, too many
// events, cannot be written.
namespace echosim {

struct PerfettoOptions {
    bool force = false;                    // write more than max_events
    std::uint64_t max_events = 20'000'000; // about what a browser's memory holds
};

// The whole trace for ui.perfetto.dev and chrome://tracing: a process for each rank class, a thread for each
// stream.
void write_perfetto(const Trace& trace, const std::string& path, const PerfettoOptions& options = {});
void write_perfetto(const Trace& trace, std::ostream& out, const PerfettoOptions& options = {});

// One rank as Kineto writes it, for Holistic Trace Analysis, TraceLens and TensorBoard. Throws InputError too
// when the trace has more or fewer than one rank (select_ranks).
void write_chrome(const Trace& trace, const std::string& path, const PerfettoOptions& options = {});
void write_chrome(const Trace& trace, std::ostream& out, const PerfettoOptions& options = {});

} // namespace echosim
