// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <string>

namespace echosim {

// One row an event, with the names of its class, stream, label and communication spelled out
// (docs/formats.md). Whole or not at all.
void write_csv(const Trace& trace, const std::string& path);

} // namespace echosim
