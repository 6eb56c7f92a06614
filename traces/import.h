// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace echosim {

enum class AlignMode : std::uint8_t {
    automatic, // ranks that cannot be put on one clock are refused
    off        // times stay as recorded
};

struct ImportOptions {
    AlignMode align = AlignMode::automatic;
    unsigned threads = 0; // files read at once; 0: as many as the machine has processors
    std::function<void(const std::string& path)> on_file = {}; // before each file is read; one call at a time
};

// Any file or folder that people have, told by content: trace events (Kineto, Chrome), Nsight Systems SQLite,
// Chakra and PyTorch execution traces, SimAI and AICB workloads, SQLite that `export` wrote, .etr. The files
// of a folder, or several paths, are the ranks of one job: read in parallel, put on one clock (align.h),
// their collectives matched (match.h). Throws InputError.
Imported import_trace(const std::vector<std::string>& paths, const ImportOptions& options = {});

// The files that import_trace reads: of a folder those that are not hidden and no known companions of traces
// (logs, .nsys-rep beside its SQLite export, ...), in natural order ("rank_2" before "rank_10"). Notes say
// what was left out.
std::vector<std::string> trace_files(const std::vector<std::string>& paths, std::vector<std::string>& notes);

} // namespace echosim
