// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <string>

namespace echosim {

// A trace as a SQLite database for questions in SQL (docs/formats.md has the tables and the view `slice`).
// Whole or not at all; reading gives the same trace back.
void write_sqlite(const Trace& trace, const std::string& path);
Imported read_sqlite(const std::string& path);

} // namespace echosim
