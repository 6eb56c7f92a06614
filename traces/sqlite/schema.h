// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

// The tables of a trace in SQLite. docs/formats.md says what their columns mean.
namespace echosim {

inline constexpr int kSqliteFormat = 1;               // echosim_meta: format_version
inline constexpr int kSqliteApplication = 0x65636873; // "echs" in the head of the file

extern const std::string_view kSqliteTables;  // before the rows
extern const std::string_view kSqliteIndexes; // after them, with the view

} // namespace echosim
