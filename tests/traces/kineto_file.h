// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/kineto.h"

#include <string>
#include <string_view>

namespace echosim {

// What the importer makes of a file with this content.
Imported import_text(std::string_view content, const std::string& name = "trace.json");

// Path of a file with this content in the folder of temporary files.
std::string temporary_file(std::string_view content, const std::string& name = "trace.json");

// One gzip member of the text.
std::string gzip_member(std::string_view text);

// A recorded step of one rank: an operator, its launch, a GEMM and an all-reduce; five records. `name` of the
// GEMM is a JSON string without quotes.
std::string small_trace(std::string_view name = "sm90_gemm");

// The event with this name; fails the test when there is none.
Event event_named(const Trace& trace, std::string_view name);

} // namespace echosim
