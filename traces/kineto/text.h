// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Tokens of JSON text (RFC 8259) as they stand in a trace, without a tree of values.
namespace echosim {

inline constexpr std::size_t kMaxJsonDepth = 512;

constexpr bool is_json_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
std::size_t skip_json_space(std::string_view text, std::size_t at);

// Index behind the string that begins at text[at] == '"'; npos: it does not end, or an escape is none of
// JSON's. Raw control characters are let through: simdjson has refused them.
std::size_t json_string_end(std::string_view text, std::size_t at);

bool is_json_number(std::string_view token);

// Content of a string token without its quotes: `scratch` holds it where there are escapes. Lone surrogates
// become U+FFFD.
std::string_view json_unescaped(std::string_view inside, std::string& scratch);

// Copies the value that begins at text[at] without white space to `out`. Returns the index behind it, npos
// where it is not valid JSON or nested deeper than kMaxJsonDepth (`out` is then of no use).
std::size_t copy_json_value(std::string_view text, std::size_t at, std::string& out);

// The members of an object, one after the other.
class JsonMembers {
  public:
    explicit JsonMembers(std::string_view text); // begins with '{'; what follows the object is not looked at
    bool next();                                 // false: at the end, or where the text is not valid JSON
    bool valid() const { return valid_; }
    std::string_view key() const { return key_; }     // between its quotes, escapes as they stand
    std::string_view value() const { return value_; } // without white space between tokens

  private:
    bool fail();
    std::string_view text_;
    std::size_t at_ = 1;
    bool first_ = true;
    bool valid_ = true;
    std::string_view key_;
    std::string_view value_;
    std::string copy_; // of a value with brackets
};

// "[1,2,3]" as numbers; empty: something else, or more than `most`.
std::optional<std::vector<std::int64_t>> whole_numbers(std::string_view compact, std::size_t most);

// A decimal number (JSON's, with or without quotes) of `unit` nanoseconds (1, 1000), to the nearest
// nanosecond and never through a double: 1708722576381804.123 us is 1708722576381804123 ns. Empty: not a
// number, or beyond 64 bits.
std::optional<TimeNs> decimal_ns(std::string_view number, int unit);

// Whole number in decimal, in quotes or not, or hexadecimal with 0x; empty: not one, or beyond 64 bits.
std::optional<std::int64_t> whole_number(std::string_view token);

} // namespace echosim
