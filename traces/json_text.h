// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace echosim {

// `text` as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

// Length of the well-formed UTF-8 sequence at the front of `text` (Unicode 15, table 3-7); 0: there is none.
std::size_t utf8_length(std::string_view text);

} // namespace echosim
