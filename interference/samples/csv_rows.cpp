// SPDX-License-Identifier: Apache-2.0
#include "interference/samples/csv_rows.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kMaxFields = 4096;
constexpr std::size_t kShown = 40; // characters of a field in a message

std::string_view trimmed(std::string_view text) {
    const auto space = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && space(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::string column_key(std::string_view name) {
    std::string key(trimmed(name));
    std::ranges::transform(key, key.begin(), [](unsigned char c) {
        return c == ' ' ? '_' : static_cast<char>(std::tolower(c));
    });
    return key;
}

std::string shown(std::string_view field) {
    return field.size() <= kShown ? std::string(field) : std::string(field.substr(0, kShown)) + "...";
}

std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    text = text.starts_with('+') ? text.substr(1) : text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

} // namespace

CsvReader::CsvReader(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {
    if (text_.starts_with(kByteOrderMark)) {
        at_ = kByteOrderMark.size();
    }
}

bool CsvReader::skip_line() {
    std::size_t end = text_.find('\n', at_);
    end = end == std::string_view::npos ? text_.size() : end;
    std::string_view line = text_.substr(at_, end - at_);
    line = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    line = trimmed(line);
    if (!line.empty() && line.front() != '#') {
        return false;
    }
    at_ = std::min(end + 1, text_.size());
    ++line_;
    return true;
}

// The field behind the quotation mark at at_; what stands between its end and the comma is kept as well.
std::string CsvReader::quoted(std::size_t line) {
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
        if (text_[at_] == '"' && at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
            field += '"';
            ++at_;
        } else if (text_[at_] == '"') {
            ++at_;
            return field + plain();
        } else {
            line_ += text_[at_] == '\n' ? 1 : 0;
            field += text_[at_];
        }
    }
    throw InputError(fmt::format("{}:{}", path_, line), "a quotation mark is not closed",
                     "a field in quotation marks ends with one; write \"\" for one within");
}

std::string CsvReader::plain() {
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    std::string_view field = text_.substr(at_, end - at_);
    at_ = end;
    if (field.ends_with('\r') && (end == text_.size() || text_[end] == '\n')) {
        field.remove_suffix(1);
    }
    return std::string(field);
}

std::optional<CsvRow> CsvReader::next() {
    while (at_ < text_.size() && skip_line()) {
    }
    if (at_ >= text_.size()) {
        return std::nullopt;
    }
    CsvRow row{line_, {}};
    while (true) {
        std::size_t first = text_.find_first_not_of(" \t", at_);
        first = first == std::string_view::npos ? text_.size() : first;
        if (first < text_.size() && text_[first] == '"') {
            at_ = first;
            row.fields.push_back(quoted(row.line));
        } else {
            row.fields.push_back(plain());
        }
        if (row.fields.size() > kMaxFields) {
            throw InputError(fmt::format("{}:{}", path_, row.line),
                             fmt::format("a row of more than {} fields", kMaxFields));
        }
        if (at_ >= text_.size() || text_[at_++] == '\n') {
            break;
        }
    }
    ++line_;
    return row;
}

CsvColumns::CsvColumns(const CsvRow& header, const std::vector<CsvColumn>& form, const std::string& path)
    : width_(header.fields.size()) {
    const std::string where = fmt::format("{}:{}", path, header.line);
    std::vector<Problem> problems;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < header.fields.size(); ++i) {
        const std::string key = column_key(header.fields[i]);
        const bool known =
            std::ranges::any_of(form, [&](const CsvColumn& c) { return column_key(c.name) == key; });
        if (known && find(key)) {
            problems.push_back({where, fmt::format("the column \"{}\" stands twice", shown(key)), {}});
        } else if (known) {
            places_.emplace_back(key, i);
        } else if (!key.empty()) {
            ignored.push_back(shown(trimmed(header.fields[i])));
        }
        names.emplace_back(trimmed(header.fields[i]));
    }
    for (const CsvColumn& column : form) {
        if (find(column.name)) {
            continue;
        }
        missing.emplace_back(column.name);
        if (column.needed) {
            problems.push_back({where,
                                fmt::format("the column \"{}\" is missing{}", column.name,
                                            did_you_mean(ignored, column.name)),
                                {}});
        }
    }
    if (!problems.empty()) {
        problems.back().hint = "docs/formats.md lists the columns, section \"Interference samples\"";
        throw InputError(problems);
    }
}

int CsvColumns::matches(const CsvRow& header, const std::vector<CsvColumn>& form) {
    return static_cast<int>(std::ranges::count_if(form, [&](const CsvColumn& column) {
        return std::ranges::any_of(header.fields, [&](const std::string& name) {
            return column_key(name) == column_key(column.name);
        });
    }));
}

std::optional<std::size_t> CsvColumns::find(std::string_view name) const {
    const std::string key = column_key(name);
    const auto place = std::ranges::find(places_, key, &std::pair<std::string, std::size_t>::first);
    return place == places_.end() ? std::nullopt : std::optional(place->second);
}

void CsvValues::wrong(std::string_view column, const std::string& message, const std::string& hint) {
    problems_.push_back({fmt::format("{}: {}", where_, column), message, hint});
}

std::string CsvValues::text(std::string_view column) {
    const auto place = columns_.find(column);
    if (!place || *place >= row_.fields.size()) {
        return {};
    }
    return std::string(trimmed(row_.fields[*place]));
}

double CsvValues::number(std::string_view column, const Range& range) {
    const std::string field = text(column);
    if (field.empty()) {
        if (range.needed) {
            wrong(column, "is empty; a number is needed");
        }
        return range.otherwise;
    }
    const auto value = parse_number(field);
    if (!value) {
        wrong(column, fmt::format("\"{}\" is no number", shown(field)));
        return range.otherwise;
    }
    const std::string unit = range.unit.empty() ? std::string() : fmt::format(" {}", range.unit);
    if (range.above_low ? *value <= range.low : *value < range.low) {
        wrong(column, fmt::format("{}{} is not allowed: {} {}{}", field, unit,
                                  range.above_low ? "above" : "at least", range.low, unit));
        return range.otherwise;
    }
    if (*value > range.high) {
        wrong(column, fmt::format("{}{} is not allowed: at most {}{}", field, unit, range.high, unit));
        return range.otherwise;
    }
    return *value;
}

bool CsvValues::flag(std::string_view column) {
    const std::string field = column_key(text(column));
    if (field == "1" || field == "true" || field == "yes") {
        return true;
    }
    if (!field.empty() && field != "0" && field != "false" && field != "no") {
        wrong(column, fmt::format("\"{}\" is neither 0 nor 1", shown(field)));
    }
    return false;
}

double CsvValues::product(std::string_view column) {
    const std::string field = text(column);
    double result = field.empty() ? 0 : 1;
    std::string_view rest = field;
    if (field.ends_with('x')) {
        wrong(column, fmt::format("\"{}\" is no size: 1024 or 32x32x1", shown(field)));
        return 0;
    }
    for (int i = 0; !rest.empty(); ++i) {
        const std::size_t end = rest.find('x');
        const auto value = parse_number(rest.substr(0, end));
        if (!value || *value < 1 || *value > 4294967295.0 || *value != std::floor(*value) || i == 3) {
            wrong(column, fmt::format("\"{}\" is no size: 1024 or 32x32x1", shown(field)));
            return 0;
        }
        result *= *value;
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return result;
}

} // namespace echosim
