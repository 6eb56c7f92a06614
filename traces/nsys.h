// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <string>

namespace echosim {

// An export of Nsight Systems (`nsys export --type sqlite`) of any version: tables and columns are looked up,
// what is missing is noted. One class for each process that used a GPU.
Imported read_nsys(const std::string& path);

} // namespace echosim
