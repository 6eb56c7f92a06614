// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <string>
#include <vector>

namespace echosim {

// Any file or folder that people have, told by content: trace events (Kineto, Chrome), Nsight Systems SQLite,
// Chakra and PyTorch execution traces, SimAI and AICB workloads, SQLite that `export` wrote, .etr. The files
// of a folder, or several paths, are the ranks of one job: read in parallel, put on one clock (align.h),
// their collectives matched. Throws InputError.
Imported import_trace(const std::vector<std::string>& paths);

} // namespace echosim
