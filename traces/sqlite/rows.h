// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/error.h"
#include "traces/sqlite/database.h"
#include "traces/trace.h"

#include <fmt/format.h>
#include <limits>
#include <string>
#include <string_view>

namespace echosim {

// Rows of one table in the order of their ids, with checked values.
class SqliteRows {
  public:
    SqliteRows(const SqliteDatabase& database, std::string_view table, std::string_view columns,
               std::string_view order = "id")
        : columns_(columns),
          statement_(database, fmt::format("SELECT {} FROM {} ORDER BY {}", columns, sql_name(table), order),
                     fmt::format("{}: table {}", database.path(), table)) {}

    bool next() {
        column_ = 0;
        return statement_.step();
    }
    // Values one after another, as the columns were named.
    std::int64_t integer() {
        expect(SqliteType::integer, "a whole number");
        return statement_.integer(column_++);
    }
    template <class T> T number() {
        const std::int64_t value = integer();
        if (value < std::int64_t{std::numeric_limits<T>::min()} ||
            value > std::int64_t{std::numeric_limits<T>::max()}) {
            refuse(fmt::format("value {} in column {} of the row; allowed are {} to {}", value, column_,
                               std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
        }
        return static_cast<T>(value);
    }
    template <class T> T number_or(T if_null) { return null() ? if_null : number<T>(); }
    std::uint64_t bits_or(std::uint64_t if_null) { return null() ? if_null : bits(); }
    std::uint64_t bits() { return static_cast<std::uint64_t>(integer()); }
    std::uint32_t row() { return null() ? kNoRow : number<std::uint32_t>(); }
    NameId name() { return NameId{row()}; }
    double real() {
        if (statement_.type(column_) == SqliteType::integer) {
            return static_cast<double>(integer());
        }
        expect(SqliteType::real, "a number");
        return statement_.real(column_++);
    }
    std::string_view text() {
        expect(SqliteType::text, "a text");
        return statement_.text(column_++);
    }
    // A word of an enumeration whose last value is `last`.
    template <class Enum> Enum word(Enum last) {
        const std::string_view given = text();
        for (int i = 0; i <= static_cast<int>(last); ++i) {
            if (to_string(static_cast<Enum>(i)) == given) {
                return static_cast<Enum>(i);
            }
        }
        refuse(fmt::format("unknown word '{}'", given.substr(0, 40)));
    }
    template <class Enum> Enum word_or(Enum last, Enum if_null) { return null() ? if_null : word(last); }
    template <class Enum> Enum code(Enum last) {
        const auto value = number<std::uint8_t>();
        if (value > static_cast<std::uint8_t>(last)) {
            refuse(fmt::format("unknown number {} of a kind", value));
        }
        return static_cast<Enum>(value);
    }
    // The row's id must be the number of rows before it.
    void expect_id() {
        if (integer() != static_cast<std::int64_t>(statement_.rows() - 1)) {
            refuse("ids do not run from 0 without a gap");
        }
    }
    [[noreturn]] void refuse(const std::string& what) const { throw InputError(statement_.where(), what); }

  private:
    bool null() {
        if (statement_.type(column_) != SqliteType::null) {
            return false;
        }
        ++column_;
        return true;
    }
    void expect(SqliteType type, std::string_view what) const {
        if (statement_.type(column_) != type) {
            refuse(fmt::format("value {} of columns {} is not {}", column_ + 1, columns_, what));
        }
    }
    std::string columns_;
    int column_ = 0;
    SqliteStatement statement_;
};

} // namespace echosim
