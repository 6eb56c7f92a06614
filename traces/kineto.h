// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <string>

namespace echosim {

// Trace event JSON: Kineto (PyTorch profiler) of any version, any other Chrome trace, and what chrome_json.h
// writes; `.json` or `.json.gz` (told by content, not by name). An object with traceEvents or a top-level
// array.
//
// One class for the process of a Kineto file (its rank from distributedInfo, else none), one for each process
// of another Chrome trace. Times are taken from the digits, not through a double: integers or decimals, in
// quotes or not, microseconds or (integers of 18 digits and more) nanoseconds; baseTimeNanoseconds is added.
//
// What is mended is counted in the report (docs/formats.md lists the words); what cannot be mended is an
// InputError "FILE:OFFSET" with the byte offset of the token or line.
Imported read_trace_events(const std::string& path);

} // namespace echosim
