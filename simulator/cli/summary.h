// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/console.h"
#include "simulator/run/result.h"

#include <string>
#include <vector>

// The one-screen answer of `echosim simulate`.
namespace echosim {

struct SummaryOptions {
    TextStyle style = {};
    bool all_rows = false;                       // -v: no table is shortened
    std::vector<std::string> next_commands = {}; // at the end
};

std::string summary_text(const Result& result, const SummaryOptions& options);

// Shares of a whole in tenths of a percent that add up to exactly 1000 (largest remainders).
std::vector<int> permille_shares(const std::vector<double>& parts);

} // namespace echosim
