// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/etr.h"
#include "traces/trace.h"

#include <string>

namespace echosim {

struct TimelineOptions {
    bool force = false;             // .json, .json.gz: more events than a browser holds
    EtrCodec codec = EtrCodec::raw; // .etr
};

// Refuses a path whose ending is none of .etr, .json and .json.gz: before a simulation runs. Throws
// InputError.
void check_timeline_path(const std::string& path);

// Writes the trace in the format of the path's ending.
void write_timeline(const Trace& trace, const std::string& path, const TimelineOptions& options = {});

} // namespace echosim
