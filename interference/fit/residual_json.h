// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/json.h"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

// Lists of numbers in the residual models of a model file.
namespace echosim {

struct NumberList {
    std::string_view key;
    std::size_t least = 0; // numbers
    std::size_t most = 0;
    double min = -1e12; // of each
    double max = 1e12;
};

// The list of that key; empty, with problems reported, when it is not there or not as described.
std::vector<double> read_numbers(ObjectReader& reader, const NumberList& list);

// A list of rows of so many numbers each, row after row in one vector.
std::vector<double> read_rows(ObjectReader& reader, const NumberList& rows, std::size_t columns);
nlohmann::ordered_json rows_json(std::span<const double> values, std::size_t rows, std::size_t columns);

} // namespace echosim
