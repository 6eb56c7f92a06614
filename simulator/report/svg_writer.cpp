// SPDX-License-Identifier: Apache-2.0
#include "simulator/report/svg_writer.h"

#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::string_view kFont = "Helvetica, Arial, 'DejaVu Sans', sans-serif";

std::string number(double value) {
    const double rounded = std::round(value * 10) / 10;
    return fmt::format("{:g}", rounded == 0 ? 0.0 : std::isfinite(rounded) ? rounded : 0.0);
}

std::string stroke_attributes(const SvgStroke& stroke) {
    std::string out = fmt::format("stroke=\"{}\" stroke-width=\"{}\"", stroke.colour, number(stroke.width));
    if (!stroke.dashes.empty())
        out += fmt::format(" stroke-dasharray=\"{}\"", stroke.dashes);
    return out;
}

std::string point_list(const std::vector<SvgPoint>& points) {
    std::string out;
    for (const SvgPoint& p : points)
        out += fmt::format("{}{},{}", out.empty() ? "" : " ", number(p.x), number(p.y));
    return out;
}

// Bytes of the UTF-8 sequence that starts with this byte; 0 when none does.
std::size_t sequence_length(unsigned char first) {
    if (first < 0x80U)
        return 1;
    if (first >= 0xC2U && first < 0xE0U)
        return 2;
    if (first >= 0xE0U && first < 0xF0U)
        return 3;
    return first >= 0xF0U && first < 0xF5U ? 4 : 0;
}

bool is_whole_sequence(std::string_view text, std::size_t at, std::size_t length) {
    if (length == 0 || at + length > text.size())
        return false;
    for (std::size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(text[at + i]) & 0xC0U) != 0x80U)
            return false;
    return true;
}

} // namespace

std::string svg_escaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = sequence_length(static_cast<unsigned char>(text[i]));
        if (!is_whole_sequence(text, i, length)) {
            out += '?';
            ++i;
            continue;
        }
        const char c = text[i];
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else if (length == 1 && static_cast<unsigned char>(c) < 0x20U)
            out += c == '\t' || c == '\n' ? ' ' : '?';
        else
            out += text.substr(i, length);
        i += length;
    }
    return out;
}

double svg_text_width(std::string_view text, double size) {
    double units = 0; // of the font size; widths of Helvetica, rounded up
    for (const char c : text) {
        if (std::string_view("ijlI.,:;|!'()[] /-").find(c) != std::string_view::npos)
            units += 0.34;
        else if (std::string_view("mwMW@%").find(c) != std::string_view::npos)
            units += 0.92;
        else if (c >= 'A' && c <= 'Z')
            units += 0.72;
        else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U)
            units += 0.58;
    }
    return units * size;
}

SvgWriter::SvgWriter(int width, int height, std::string_view title)
    : out_(fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.2\" baseProfile=\"tiny\" "
                       "width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"{2}\">\n"
                       "<title>{3}</title>\n",
                       width, height, kFont, svg_escaped(title))) {
    rectangle({0, 0}, {static_cast<double>(width), static_cast<double>(height)}, "#ffffff");
}

void SvgWriter::rectangle(SvgPoint corner, SvgPoint size, std::string_view fill) {
    out_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                        number(corner.x), number(corner.y), number(size.x), number(size.y), fill);
}

void SvgWriter::line(SvgPoint from, SvgPoint to, const SvgStroke& stroke) {
    out_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", number(from.x),
                        number(from.y), number(to.x), number(to.y), stroke_attributes(stroke));
}

void SvgWriter::path(const std::vector<SvgPoint>& points, const SvgStroke& stroke) {
    if (points.size() < 2)
        return;
    out_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n",
                        point_list(points), stroke_attributes(stroke));
}

void SvgWriter::mark(SvgMark mark, SvgPoint at, std::string_view colour) {
    constexpr double r = 3.6;
    const auto polygon = [&](const std::vector<SvgPoint>& points) {
        out_ += fmt::format("<polygon points=\"{}\" fill=\"{}\"/>\n", point_list(points), colour);
    };
    switch (mark) {
    case SvgMark::circle:
        out_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", number(at.x),
                            number(at.y), r, colour);
        break;
    case SvgMark::ring:
        out_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"#ffffff\" stroke=\"{}\" "
                            "stroke-width=\"1.6\"/>\n",
                            number(at.x), number(at.y), r, colour);
        break;
    case SvgMark::square:
        rectangle({at.x - r + 0.4, at.y - r + 0.4}, {2 * r - 0.8, 2 * r - 0.8}, colour);
        break;
    case SvgMark::triangle:
        polygon({{at.x, at.y - r - 0.6}, {at.x + r + 0.4, at.y + r - 0.4}, {at.x - r - 0.4, at.y + r - 0.4}});
        break;
    case SvgMark::diamond:
        polygon({{at.x, at.y - r - 1}, {at.x + r + 1, at.y}, {at.x, at.y + r + 1}, {at.x - r - 1, at.y}});
        break;
    }
}

void SvgWriter::text(SvgPoint at, std::string_view text, const SvgText& style) {
    const std::string x = number(at.x);
    const std::string y = number(at.y);
    std::string attributes =
        fmt::format("x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", x, y, number(style.size), style.colour);
    if (style.anchor != SvgAnchor::start)
        attributes += style.anchor == SvgAnchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
    if (style.bold)
        attributes += " font-weight=\"bold\"";
    if (style.upwards)
        attributes += fmt::format(" transform=\"rotate(-90 {} {})\"", x, y);
    out_ += fmt::format("<text {}>{}</text>\n", attributes, svg_escaped(text));
}

std::string SvgWriter::finish() {
    return std::move(out_) + "</svg>\n";
}

} // namespace echosim
