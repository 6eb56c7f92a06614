// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/parse.h"
#include "traces/import.h"

namespace echosim {

// --align, and a line on stderr for each large file, when that is a terminal.
ImportOptions import_options(const Invocation& invocation);

} // namespace echosim
