// SPDX-License-Identifier: Apache-2.0
#include "traces/json_text.h"

#include <cstdint>
#include <fmt/format.h>

namespace echosim {

std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
    const unsigned first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return continues(1) ? 2 : 0;
    }
    const unsigned second = byte(1);
    if (first >= 0xe0 && first <= 0xef) {
        const unsigned lowest = first == 0xe0 ? 0xa0 : 0x80;
        const unsigned highest = first == 0xed ? 0x9f : 0xbf; // no surrogates
        return second >= lowest && second <= highest && continues(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const unsigned lowest = first == 0xf0 ? 0x90 : 0x80;
        const unsigned highest = first == 0xf4 ? 0x8f : 0xbf;
        return second >= lowest && second <= highest && continues(2) && continues(3) ? 4 : 0;
    }
    return 0;
}

namespace {

void append_ascii(std::string& out, char c) {
    switch (c) {
    case '"':
        out += "\\\"";
        return;
    case '\\':
        out += "\\\\";
        return;
    case '\n':
        out += "\\n";
        return;
    case '\t':
        out += "\\t";
        return;
    case '\r':
        out += "\\r";
        return;
    default:
        break;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
        out += c;
    }
}

} // namespace

std::string json_string(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) {
            out += "\\ufffd";
        } else if (length == 1) {
            append_ascii(out, text.front());
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
    return out;
}

} // namespace echosim
