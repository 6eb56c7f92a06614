// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <string>

namespace echosim {

// An export of Nsight Systems (`nsys export --type sqlite`) of any version: tables and columns are looked up,
// what is missing is noted. One class for each process that used a GPU.
Imported read_nsys(const std::string& path);

// Whether the file is a report that has not been exported: .nsys-rep, or .qdrep as it was called to 2021.
bool is_nsys_report(const std::string& path);
// Refuses such a file; the hint is the command that exports it.
[[noreturn]] void refuse_nsys_report(const std::string& path);

} // namespace echosim
