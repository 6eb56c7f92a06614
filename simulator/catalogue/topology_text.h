// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Taking topology files and logs apart, line by line.
namespace echosim {

// The lines of a text with their numbers (from 1), without line ends; a text of any size, each byte once.
class LineReader {
  public:
    explicit LineReader(std::string_view text) : rest_(text) {}
    bool next(std::string_view& line);
    int number() const { return number_; }

  private:
    std::string_view rest_;
    int number_ = 0;
};

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> words_of(std::string_view text);
std::string without_ansi(std::string_view text); // escape sequences of colours and underlines

// The number that stands at the beginning of the text, in decimal; nullopt when none does.
std::optional<double> leading_number(std::string_view text);
std::optional<int> leading_int(std::string_view text);
// The number right behind the first `label` in the text.
std::optional<double> number_after(std::string_view text, std::string_view label);
std::optional<int> int_after(std::string_view text, std::string_view label);
// The word (up to a blank) right behind the first `label`; empty when there is none.
std::string_view word_after(std::string_view text, std::string_view label);

} // namespace echosim
