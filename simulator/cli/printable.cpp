// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/printable.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::array<std::string_view, 6> kStyles{"\x1b[0m",  "\x1b[1m",    "\x1b[2m",
                                                  "\x1b[32m", "\x1b[1;31m", "\x1b[33m"};

unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// Bytes of the UTF-8 sequence at the front; 0: it is none (RFC 3629: shortest form, no surrogates, up to
// U+10FFFF).
std::size_t sequence_length(std::string_view text) {
    const unsigned lead = byte_at(text, 0);
    if (lead < 0x80) {
        return 1;
    }
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte_at(text, i) & 0xc0U) != 0x80) {
            return 0;
        }
    }
    const unsigned second = byte_at(text, 1);
    const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
    const bool beyond = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
    return overlong || beyond ? 0 : length;
}

bool is_control(std::string_view sequence) {
    const unsigned lead = byte_at(sequence, 0);
    if (sequence.size() == 1) {
        return (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7f;
    }
    return lead == 0xc2 && byte_at(sequence, 1) < 0xa0;
}

std::size_t style_length(std::string_view text) {
    const auto found =
        std::find_if(kStyles.begin(), kStyles.end(), [&](auto style) { return text.starts_with(style); });
    return found == kStyles.end() ? 0 : found->size();
}

} // namespace

std::string printable(std::string_view text, PrintableKind kind) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const std::size_t style = kind == PrintableKind::styled ? style_length(text) : 0;
        const std::size_t whole = style > 0 ? style : sequence_length(text);
        const std::string_view part = text.substr(0, std::max<std::size_t>(1, whole));
        if (style > 0 || (whole > 0 && !is_control(part))) {
            shown += part;
        } else {
            for (const char c : part) {
                shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
            }
        }
        text.remove_prefix(part.size());
    }
    return shown;
}

std::string printable_line(std::string_view text, PrintableKind kind) {
    std::string line;
    for (const char c : printable(text, kind)) {
        line += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
    }
    return line;
}

} // namespace echosim
