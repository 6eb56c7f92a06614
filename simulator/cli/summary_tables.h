// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/summary.h"

#include <string>

// The tables of the summary.
namespace echosim {

std::string memory_text(const Result& result, const SummaryOptions& options);
std::string contributors_text(const Result& result, const SummaryOptions& options);
std::string communication_text(const Result& result, const SummaryOptions& options);

} // namespace echosim
