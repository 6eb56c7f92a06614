// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <string>

namespace echosim {

// One rank's execution trace: Chakra ET protobuf (.et), Chakra's JSON form, and PyTorch's execution trace
// JSON (schema 1.0.1 to 1.1.x), plain or gzip. Without times of its own the trace is a graph (Trace::timed
// false).
Imported read_chakra(const std::string& path);

} // namespace echosim
