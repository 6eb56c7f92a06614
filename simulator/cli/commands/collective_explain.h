// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/commands/collective_rows.h"
#include "simulator/cli/console.h"

#include <string>

namespace echosim {

// Why each size takes as long as it does: the terms of the time, what NCCL weighed, the sizes at which its
// choice changes, and what the call occupies. `in_place` tells of that call.
std::string collective_explain_text(const CollectiveReport& report, bool in_place, const TextStyle& style);

// "16 MiB" where that is exact, else bytes.
std::string size_text(Bytes bytes);

} // namespace echosim
