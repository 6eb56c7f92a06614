// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

// Trace files of real tools are often not quite JSON. What can be mended without a guess is, and counted:
//
//   non_finite_number       nan, inf, Infinity ... as a value: the member goes; in an array it becomes null
//   trailing_comma          a comma in front of a closing bracket
//   missing_closing_bracket the text ends behind a whole event (or member) of the outermost level
//   invalid_utf8            bytes of a string that are not UTF-8 become U+FFFD (counted once a string)
//   control_character       a raw line feed, tab ... in a string becomes an escape (once a string)
//   invalid_escape          a backslash in a string that begins no escape of JSON is doubled (once a string)
//
// Everything else is refused with the byte where the text stops to be JSON.
namespace echosim {

struct MendedText {
    std::string text; // valid JSON without white space
    std::map<std::string, std::uint64_t> counts;
};

struct MendPlace {
    std::string path;
    std::function<std::uint64_t(std::size_t)> offset; // in the file, of an index in the text
    bool ended = true; // the text ends where the file does; false: within something too large
};

// Throws InputError "FILE:OFFSET".
MendedText mend_json(std::string_view text, const MendPlace& place);

} // namespace echosim
