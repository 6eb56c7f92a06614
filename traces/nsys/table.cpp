// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys/table.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

// Far beyond any clock, far from overflow of sums and differences.
constexpr std::int64_t kMostTime = std::int64_t{1} << 61U;

} // namespace

NsysTable::NsysTable(SqliteDatabase& database, std::string_view table,
                     const std::vector<std::string_view>& columns, std::string_view where)
    : names_(columns.begin(), columns.end()), present_(columns.size(), false) {
    const std::vector<std::string> known = database.columns(table);
    if (known.empty()) {
        return;
    }
    std::string sql = "SELECT ";
    for (std::size_t i = 0; i < names_.size(); ++i) {
        present_[i] = std::find(known.begin(), known.end(), names_[i]) != known.end();
        sql += i > 0 ? ", " : "";
        sql += present_[i] ? sql_name(names_[i]) : "NULL";
    }
    sql += fmt::format(" FROM {} {}", sql_name(table), where);
    statement_.emplace(database, sql, fmt::format("{}: table {}", database.path(), table));
}

void NsysTable::refuse(int column, std::string_view what) const {
    throw InputError(statement_->where(),
                     fmt::format("column {} {}", names_.at(static_cast<std::size_t>(column)), what),
                     "export the report again: nsys export --type sqlite --force-overwrite true");
}

std::optional<std::int64_t> NsysTable::integer(int column) const {
    switch (statement_->type(column)) {
    case SqliteType::null:
        return std::nullopt;
    case SqliteType::integer:
        return statement_->integer(column);
    case SqliteType::real: {
        const double value = statement_->real(column);
        if (std::abs(value) < 9e15 && value == std::floor(value)) {
            return static_cast<std::int64_t>(value);
        }
        refuse(column, fmt::format("holds {}; a whole number is expected", value));
    }
    case SqliteType::text:
        refuse(column, fmt::format("holds the text '{}'; a whole number is expected",
                                   statement_->text(column).substr(0, 40)));
    case SqliteType::blob:
        refuse(column, "holds a blob; a whole number is expected");
    }
    return std::nullopt;
}

std::int64_t NsysTable::within(int column, std::int64_t least, std::int64_t most,
                               std::int64_t if_null) const {
    const std::int64_t value = integer(column, if_null);
    if (value != if_null && (value < least || value > most)) {
        refuse(column, fmt::format("is {}; allowed are {} to {}", value, least, most));
    }
    return value;
}

std::uint32_t NsysTable::unsigned_32(int column) const {
    return static_cast<std::uint32_t>(within(column, 0, 0xffffffffLL, 0));
}

std::optional<double> NsysTable::real(int column) const {
    const SqliteType type = statement_->type(column);
    if (type != SqliteType::integer && type != SqliteType::real) {
        return std::nullopt;
    }
    return statement_->real(column);
}

std::optional<std::string_view> NsysTable::text(int column) const {
    return statement_->type(column) == SqliteType::text ? std::optional(statement_->text(column))
                                                        : std::nullopt;
}

std::string_view NsysTable::blob(int column) const {
    return statement_->type(column) == SqliteType::blob ? statement_->blob(column) : std::string_view{};
}

NsysTimes nsys_times(const NsysTable& table, TimeNs shift, ImportReport& report, std::string_view no_end) {
    const std::optional<TimeNs> start = table.integer(0);
    const std::optional<TimeNs> end = table.integer(1);
    for (const auto& [time, column] : {std::pair(start, 0), std::pair(end, 1)}) {
        if (time && (*time < -kMostTime || *time > kMostTime)) {
            table.refuse(column, fmt::format("is {} ns; times go from -2^61 to 2^61", *time));
        }
    }
    if (!start || (*start == 0 && end == 0)) { // CUPTI writes 0 and 0 for times that it could not take
        report.warn("missing_time");
        return {end.value_or(shift) - shift, 0, false};
    }
    if (!end) {
        report.warn(no_end);
        return {*start - shift, 0, false};
    }
    if (*end < *start) {
        report.warn("negative_duration");
        return {*start - shift, 0, true};
    }
    return {*start - shift, *end - *start, true};
}

} // namespace echosim
