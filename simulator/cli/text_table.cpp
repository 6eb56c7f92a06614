// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/text_table.h"

#include "simulator/cli/printable.h"
#include "simulator/core/error.h"

#include <algorithm>

namespace echosim {
namespace {

constexpr int kLeastWrapped = 24; // columns that a wrapped cell gets at least

std::string padded(const std::string& text, std::size_t width, TextTable::Align align) {
    const std::string gap(width - std::min(width, display_width(text)), ' ');
    return align == TextTable::Align::left ? text + gap : gap + text;
}

} // namespace

void TextTable::add(std::vector<std::string> row) {
    ECHOSIM_CHECK(row.size() == columns_.size(), "a cell for every column");
    for (std::string& cell : row)
        cell = printable_line(cell, PrintableKind::styled);
    rows_.push_back(std::move(row));
}

std::string TextTable::text(const TextStyle& style, int indent) const {
    std::vector<std::size_t> widths;
    for (const Column& column : columns_)
        widths.push_back(column.title.size());
    for (const auto& row : rows_)
        for (std::size_t c = 0; c < row.size(); ++c)
            widths[c] = std::max(widths[c], display_width(row[c]));

    const std::string margin(static_cast<std::size_t>(indent), ' ');
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string out = margin;
        int column = indent;
        for (std::size_t c = 0; c + 1 < cells.size(); ++c) {
            out += padded(cells[c], widths[c], columns_[c].align) + "  ";
            column += static_cast<int>(widths[c]) + 2;
        }
        const bool left = columns_.back().align == Align::left;
        const int room = std::max(style.width, column + kLeastWrapped);
        out += left ? wrap(cells.back(), room, column) : padded(cells.back(), widths.back(), Align::right);
        while (!out.empty() && out.back() == ' ')
            out.pop_back();
        return out + '\n';
    };

    std::vector<std::string> titles;
    for (const Column& column : columns_)
        titles.push_back(column.title);
    std::string titles_line = line(titles);
    titles_line.pop_back();
    std::string out = style.dim(titles_line) + '\n';
    for (const auto& row : rows_)
        out += line(row);
    return out;
}

} // namespace echosim
