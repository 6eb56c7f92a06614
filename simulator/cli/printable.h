// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace echosim {

enum class PrintableKind : std::uint8_t {
    plain,  // every control byte is shown
    styled, // the colour codes of TextStyle are kept
};

// Text from files and names as a terminal may show it: control bytes but line feed and tab, DEL, the controls
// U+0080 to U+009F and bytes that are no UTF-8 become "\x1b" and the like. Text that is harmless stays as it
// is.
std::string printable(std::string_view text, PrintableKind kind = PrintableKind::plain);
// Likewise for a cell of a table: line feeds and tabs are shown too.
std::string printable_line(std::string_view text, PrintableKind kind = PrintableKind::plain);

} // namespace echosim
