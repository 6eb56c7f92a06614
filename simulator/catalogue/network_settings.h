// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/error.h"

#include <optional>
#include <string>
#include <string_view>

// Files that come with SimAI, AICB and ASTRA-sim and describe neither a network nor a workload: settings of a
// packet simulator (SimAI.conf), bus bandwidths (busbw.yaml), scheduling and collective algorithms (ASTRA-sim
// system JSON), shapes without bandwidths (logical-dims), memory models, lists of benchmarks (AICB
// Workload_spec), kernel times of one layer (AIOB).
namespace echosim {

// What to answer when the text is such a file: where ("SimAI.conf:1"), what it is and what to give instead.
// `text` may be the first 64 KiB of the file; `name` stands for it in the message. nullopt: not such a file.
std::optional<Problem> foreign_setting(std::string_view text, const std::string& name);

} // namespace echosim
