// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/console.h"

#include "simulator/cli/printable.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace echosim {
namespace {

std::string coloured(bool colour, std::string_view code, std::string_view text) {
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool wants_colour(ColourChoice choice) {
    if (choice != ColourChoice::automatic)
        return choice == ColourChoice::always;
    if (!environment("NO_COLOR").empty())
        return false;
    const std::string force = environment("CLICOLOR_FORCE");
    if (!force.empty() && force != "0")
        return true;
    return environment("TERM") != "dumb" && ::isatty(STDOUT_FILENO) == 1;
}

bool locale_is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        std::string value = environment(name);
        if (value.empty())
            continue;
        std::transform(value.begin(), value.end(), value.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
    return false;
}

int terminal_width() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 100;
    return std::clamp<int>(size.ws_col, 60, 120);
}

} // namespace

std::string TextStyle::bold(std::string_view text) const {
    return coloured(colour, "1", text);
}
std::string TextStyle::dim(std::string_view text) const {
    return coloured(colour, "2", text);
}
std::string TextStyle::good(std::string_view text) const {
    return coloured(colour, "32", text);
}
std::string TextStyle::bad(std::string_view text) const {
    return coloured(colour, "1;31", text);
}
std::string TextStyle::caution(std::string_view text) const {
    return coloured(colour, "33", text);
}

std::string TextStyle::bar(double share, int columns) const {
    const double length = std::clamp(share, 0.0, 1.0) * columns;
    if (!utf8)
        return std::string(static_cast<std::size_t>(std::lround(length)), '#');
    const auto eighths = static_cast<int>(std::lround(length * 8));
    std::string text;
    for (int i = 0; i < eighths / 8; ++i)
        text += "\xe2\x96\x88"; // full block
    // U+2589 is seven eighths, U+258F one eighth.
    if (eighths % 8 != 0)
        text += std::string("\xe2\x96") + static_cast<char>(0x90 - eighths % 8);
    return text;
}

TextStyle detect_style(ColourChoice colour) {
    return {.colour = wants_colour(colour), .utf8 = locale_is_utf8(), .width = terminal_width()};
}

void Console::set_level(bool quiet, bool verbose) {
    quiet_ = quiet;
    verbose_ = verbose;
}

void Console::print(std::string_view text) {
    out_ << printable(text, style_.colour ? PrintableKind::styled : PrintableKind::plain);
}

void Console::warn(std::string_view text) {
    if (!quiet_)
        err_ << "warning: " << printable(text) << '\n';
}

void Console::detail(std::string_view text) {
    if (verbose_)
        err_ << printable(text) << '\n';
}

void Console::error(std::string_view text) {
    err_ << "error: " << printable(text) << '\n';
}

std::string wrap(std::string_view text, int width, int indent) {
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    std::string lines;
    std::size_t column = margin.size();
    bool first = true;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!first && column + 1 + word.size() > static_cast<std::size_t>(width)) {
            lines += '\n' + margin;
            column = margin.size();
        } else if (!first) {
            lines += ' ';
            ++column;
        }
        lines += word;
        column += word.size();
        first = false;
    }
    return lines;
}

std::string with_separators(long long value) {
    std::string digits = std::to_string(value);
    const std::size_t start = digits[0] == '-' ? 1 : 0;
    for (std::size_t at = digits.size(); at > start + 3; at -= 3)
        digits.insert(at - 3, 1, ',');
    return digits;
}

std::size_t display_width(std::string_view text) {
    std::size_t columns = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b') {
            i = std::min(text.find('m', i), text.size() - 1);
            continue;
        }
        if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U)
            ++columns;
    }
    return columns;
}

} // namespace echosim
