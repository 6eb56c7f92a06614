// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <string>
#include <string_view>

// Workload descriptions of other simulators as text: SimAI and ASTRA-sim 1 layer tables (.txt), AICB
// operation lists (.csv). Each becomes the graph of one representative rank (AICB: of each pipeline stage),
// without starts (Trace::timed false), with the durations that the file gives. docs/formats.md has the
// columns.
namespace echosim {

Imported read_workload_text(const std::string& path);

// Whether a text begins like such a file: a layer table's policy ("MICRO", "HYBRID_...") or AICB's header.
bool is_workload_text(std::string_view head);

} // namespace echosim
