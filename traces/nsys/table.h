// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"
#include "traces/sqlite/database.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echosim {

// One table of an export of Nsight Systems, row by row, in its order. Columns are asked for by name and
// counted in that order; the versions of the exporter differ in the columns they have, so a column that the
// table lacks reads as NULL. A value of a wrong type is refused with table and row.
class NsysTable {
  public:
    NsysTable(SqliteDatabase& database, std::string_view table, const std::vector<std::string_view>& columns,
              std::string_view where = {});

    bool exists() const { return statement_.has_value(); }
    bool has(int column) const { return present_.at(static_cast<std::size_t>(column)); }
    bool next() { return statement_ && statement_->step(); }

    std::optional<std::int64_t> integer(int column) const;
    std::int64_t integer(int column, std::int64_t if_null) const { return integer(column).value_or(if_null); }
    // An integer from least to most; if_null where the column holds none.
    std::int64_t within(int column, std::int64_t least, std::int64_t most, std::int64_t if_null) const;
    std::uint32_t unsigned_32(int column) const;
    std::optional<double> real(int column) const;
    std::optional<std::string_view> text(int column) const; // NULL and other types: none
    std::string_view blob(int column) const;                // likewise, empty

    [[noreturn]] void refuse(int column, std::string_view what) const;

  private:
    std::vector<std::string> names_;
    std::vector<bool> present_;
    std::optional<SqliteStatement> statement_;
};

struct NsysTimes {
    TimeNs start = 0;
    TimeNs duration = 0;
    bool complete = false;
};

// Start and end (columns 0 and 1 of the table) as start and duration. What is missing or reversed is counted
// in the report: missing_time, missing_duration (or `no_end`), negative_duration. `shift` is subtracted.
NsysTimes nsys_times(const NsysTable& table, TimeNs shift, ImportReport& report,
                     std::string_view no_end = "missing_duration");

} // namespace echosim
