// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/chrome_json/threads.h"
#include "traces/trace.h"

#include <string>

namespace echosim {

// The file up to the bracket that opens traceEvents.
std::string trace_events_header(const Trace& trace, const TraceThreads& threads, TraceDialect dialect);

} // namespace echosim
