// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace echosim {

struct SvgPoint {
    double x = 0;
    double y = 0;
};

struct SvgStroke {
    std::string_view colour = "#222222";
    double width = 1;
    std::string_view dashes = {}; // "5 4"; empty = solid
};

enum class SvgAnchor : std::uint8_t { start, middle, end };

struct SvgText {
    double size = 12; // px
    std::string_view colour = "#222222";
    SvgAnchor anchor = SvgAnchor::start;
    bool bold = false;
    bool upwards = false; // turned by 90 degrees, read from below
};

// Shapes of second cue beside colour.
enum class SvgMark : std::uint8_t { circle, square, triangle, diamond, ring };

// An SVG picture of what every reader knows: presentation attributes only, shapes and text of SVG Tiny 1.2,
// no style sheets, filters, clips or scripts. Coordinates are px with one decimal, so that the same picture
// is the same text everywhere.
class SvgWriter {
  public:
    SvgWriter(int width, int height, std::string_view title);

    void rectangle(SvgPoint corner, SvgPoint size, std::string_view fill);
    void line(SvgPoint from, SvgPoint to, const SvgStroke& stroke);
    void path(const std::vector<SvgPoint>& points, const SvgStroke& stroke);
    void mark(SvgMark mark, SvgPoint at, std::string_view colour);
    void text(SvgPoint at, std::string_view text, const SvgText& style);

    std::string finish(); // call it last

  private:
    std::string out_;
};

// Text for an element or attribute: & < > " escaped, what XML does not allow replaced by "?".
std::string svg_escaped(std::string_view text);

// About how wide a text is in px in the sans-serif faces that browsers and Qt choose.
double svg_text_width(std::string_view text, double size);

} // namespace echosim
