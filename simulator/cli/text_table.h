// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/console.h"

#include <string>
#include <vector>

namespace echosim {

// Rows of texts in aligned columns, two spaces apart.
class TextTable {
  public:
    enum class Align : std::uint8_t { left, right };
    struct Column {
        std::string title;
        Align align = Align::left;
    };

    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row); // as many cells as columns
    bool empty() const { return rows_.empty(); }
    // Every line indented; the last column wraps at the width of the terminal when it is left-aligned.
    std::string text(const TextStyle& style, int indent) const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace echosim
