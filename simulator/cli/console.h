// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace echosim {

enum class ExitCode : int {
    ok = 0,
    internal_error = 1,
    wrong_input = 2,
    does_not_fit = 3,
    gate_failed = 4,
    interrupted = 130,
};

// How text looks on the terminal that reads it.
struct TextStyle {
    bool colour = false;
    bool utf8 = false;
    int width = 100; // columns

    std::string bold(std::string_view text) const;
    std::string dim(std::string_view text) const;
    std::string good(std::string_view text) const;
    std::string bad(std::string_view text) const;
    std::string caution(std::string_view text) const;
    // A bar of `share` (0..1) of `columns`, at an eighth of a column in UTF-8, whole columns of # in ASCII.
    std::string bar(double share, int columns) const;
};

enum class ColourChoice : std::uint8_t { automatic, always, never };

// Colour: --color, then NO_COLOR, CLICOLOR_FORCE, TERM=dumb, then whether stdout is a terminal. UTF-8: from
// LC_ALL, LC_CTYPE, LANG. Width: the terminal's, within 60 .. 120.
TextStyle detect_style(ColourChoice colour);

// Where a command writes: the result on `out`, everything else on `err`. All text is made printable
// (printable.h) here; what goes to out() goes as it is: documents for programs, and texts of our own.
class Console {
  public:
    Console(std::ostream& out, std::ostream& err, TextStyle style) : out_(out), err_(err), style_(style) {}
    void set_level(bool quiet, bool verbose);

    std::ostream& out() { return out_; }
    void print(std::string_view text); // a result for people
    const TextStyle& style() const { return style_; }
    void set_style(TextStyle style) { style_ = style; }
    bool verbose() const { return verbose_; }
    void warn(std::string_view text);   // not with -q
    void detail(std::string_view text); // only with -v
    void error(std::string_view text);

  private:
    std::ostream& out_;
    std::ostream& err_;
    TextStyle style_;
    bool quiet_ = false;
    bool verbose_ = false;
};

// Words of one paragraph in lines of `width` columns, all but the first indented.
std::string wrap(std::string_view text, int width, int indent);
// 1536 -> "1,536".
std::string with_separators(long long value);
// Columns that the text takes: UTF-8 sequences count once, colour codes not at all.
std::size_t display_width(std::string_view text);

} // namespace echosim
