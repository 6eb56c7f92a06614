// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/error.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Reading of tables in comma-separated values (RFC 4180; docs/formats.md, interference samples): fields in
// quotation marks, CRLF, a byte-order mark, comments and empty lines; columns by name.
namespace echosim {

struct CsvRow {
    std::size_t line = 0; // of the file, from 1
    std::vector<std::string> fields;
};

// The rows of a text, one after the other; a quoted field may span lines.
class CsvReader {
  public:
    // `text` is kept by reference. Messages start with "PATH:LINE".
    CsvReader(std::string_view text, std::string path);
    // The next row that is neither empty nor a comment; nothing at the end. Throws InputError when a
    // quotation mark is not closed or a row has more than 4,096 fields.
    std::optional<CsvRow> next();
    const std::string& path() const { return path_; }

  private:
    bool skip_line(); // true when the line at at_ is empty or a comment: it is passed over
    std::string quoted(std::size_t line);
    std::string plain();

    std::string_view text_;
    std::string path_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
};

// One column that a form has.
struct CsvColumn {
    std::string_view name;
    bool needed = false;
};

// Which field holds which column: names without regard to case, to spaces at the ends, and to space or
// underscore within.
class CsvColumns {
  public:
    // Throws InputError naming the needed columns that the header lacks (each with the nearest name that it
    // has) and columns that it names twice.
    CsvColumns(const CsvRow& header, const std::vector<CsvColumn>& form, const std::string& path);
    static int matches(const CsvRow& header, const std::vector<CsvColumn>& form); // columns of the form

    std::optional<std::size_t> find(std::string_view name) const;
    std::size_t width() const { return width_; }
    std::vector<std::string> ignored; // names of the header that the form has not
    std::vector<std::string> missing; // names of the form, not needed, that the header has not

  private:
    std::vector<std::pair<std::string, std::size_t>> places_;
    std::size_t width_ = 0;
};

// The values of one row. What is wrong is added to `problems`, and the default given back.
class CsvValues {
  public:
    CsvValues(const CsvColumns& columns, const CsvRow& row, std::string where, std::vector<Problem>& problems)
        : columns_(columns), row_(row), where_(std::move(where)), problems_(problems) {}

    struct Range {
        double low = 0, high = 1;
        bool above_low = false;     // low itself is not allowed
        bool needed = false;        // an empty field is wrong
        double otherwise = 0;       // for an empty field or a missing column
        std::string_view unit = {}; // for messages: "ns"
    };
    double number(std::string_view column, const Range& range);
    bool flag(std::string_view column);        // 0, 1, true, false, yes, no; empty: false
    std::string text(std::string_view column); // trimmed; empty: none
    double product(std::string_view column);   // "32x32x1" or "1024"; empty: 0
    void wrong(std::string_view column, const std::string& message, const std::string& hint = {});

  private:
    const CsvColumns& columns_;
    const CsvRow& row_;
    std::string where_;
    std::vector<Problem>& problems_;
};

} // namespace echosim
