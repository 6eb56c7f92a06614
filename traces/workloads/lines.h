// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Taking the tables of other simulators apart, line by line. Part of the reading of such files.
namespace echosim {

// The lines of a text with their numbers (from 1), without line ends.
class TextLines {
  public:
    explicit TextLines(std::string_view text) : rest_(text) {}
    bool next(std::string_view& line);
    bool next_filled(std::string_view& line); // skips blank lines
    int number() const { return number_; }

  private:
    std::string_view rest_;
    int number_ = 0;
};

std::vector<std::string_view> blank_separated(std::string_view line);
// Fields between commas; a comma within brackets, parentheses or double quotes does not separate.
std::vector<std::string_view> comma_separated(std::string_view line);
std::string_view without_blanks(std::string_view text); // at both ends

// All of the text as a number that is not negative; nullopt when it is anything else or above `most`.
std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t most);
std::optional<double> decimal_number(std::string_view text, double most);

// At most 64 bytes of what was read, in quotes, for messages.
std::string quoted(std::string_view text);
[[noreturn]] void refuse_line(const std::string& file, int line, std::string message, std::string hint = {});

} // namespace echosim
