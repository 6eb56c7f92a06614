// SPDX-License-Identifier: Apache-2.0
#include "traces/workloads/lines.h"

#include "simulator/core/error.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::string_view kBlanks = " \t\r";

} // namespace

bool TextLines::next(std::string_view& line) {
    if (rest_.empty())
        return false;
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    return true;
}

bool TextLines::next_filled(std::string_view& line) {
    while (next(line))
        if (line.find_first_not_of(kBlanks) != std::string_view::npos)
            return true;
    return false;
}

std::vector<std::string_view> blank_separated(std::string_view line) {
    std::vector<std::string_view> words;
    std::size_t begin = line.find_first_not_of(kBlanks);
    while (begin != std::string_view::npos) {
        const std::size_t end = line.find_first_of(kBlanks, begin);
        words.push_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(kBlanks, end);
    }
    return words;
}

std::vector<std::string_view> comma_separated(std::string_view line) {
    std::vector<std::string_view> fields;
    int depth = 0;
    bool in_quotes = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c == '"')
            in_quotes = !in_quotes;
        else if (c == '(' || c == '[')
            ++depth;
        else if (c == ')' || c == ']')
            depth = depth > 0 ? depth - 1 : 0;
        else if (c == ',' && depth == 0 && !in_quotes) {
            fields.push_back(without_blanks(line.substr(begin, i - begin)));
            begin = i + 1;
        }
    }
    fields.push_back(without_blanks(line.substr(begin)));
    return fields;
}

std::string_view without_blanks(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > most)
        return std::nullopt;
    return value;
}

std::optional<double> decimal_number(std::string_view text, double most) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > most)
        return std::nullopt;
    return value;
}

std::string quoted(std::string_view text) {
    std::string shown;
    for (const char c : text.substr(0, 64)) {
        const auto byte = static_cast<unsigned char>(c);
        shown += byte < 0x20 || byte >= 0x7f ? '?' : c;
    }
    return fmt::format("\"{}{}\"", shown, text.size() > 64 ? "..." : "");
}

void refuse_line(const std::string& file, int line, std::string message, std::string hint) {
    throw InputError(fmt::format("{}:{}", file, line), std::move(message), std::move(hint));
}

} // namespace echosim
