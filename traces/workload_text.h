// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <string>

namespace echosim {

// Workload descriptions of other simulators as text: SimAI and ASTRA-sim 1 layer tables (.txt), AICB
// operation lists
// (.csv). Each becomes the graph of one representative rank, with the durations that the file gives.
Imported read_workload_text(const std::string& path);

} // namespace echosim
