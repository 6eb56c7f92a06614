// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace echosim {

// Which kinds of events (bits, by EventKind) use a key of the object for something of their own; nothing: the
// object has white space between its tokens and is not compact. `object` is valid JSON.
std::optional<std::uint16_t> reserved_keys(std::string_view object);

} // namespace echosim
