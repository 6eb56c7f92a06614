// SPDX-License-Identifier: Apache-2.0
#include "interference/fit/residual_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kLongestShown = 40;

std::string count_of(const NumberList& list) {
    return list.least == list.most ? fmt::format("{}", list.least)
                                   : fmt::format("{} to {}", list.least, list.most);
}

// Appends the numbers of `array`; false: a problem was reported.
bool append(ObjectReader& reader, const NumberList& list, const std::string& key, const Json& array,
            std::vector<double>& to) {
    if (!array.is_array() || array.size() < list.least || array.size() > list.most) {
        const std::string count = count_of(list);
        const std::string found = array.is_array() ? fmt::format("a list of {}", array.size())
                                                   : fmt::format("{:.{}}", array.dump(), kLongestShown);
        reader.fail(key, fmt::format("expected a list of {} numbers, found {}", count, found));
        return false;
    }
    for (std::size_t i = 0; i < array.size(); ++i) {
        const double value = array[i].is_number() ? array[i].get<double>() : list.max + 1;
        if (!array[i].is_number() || !(value >= list.min && value <= list.max)) {
            reader.fail(fmt::format("{}[{}]", key, i),
                        fmt::format("expected a number from {:g} to {:g}, found {:.{}}", list.min, list.max,
                                    array[i].dump(), kLongestShown));
            return false;
        }
        to.push_back(value);
    }
    return true;
}

} // namespace

std::vector<double> read_numbers(ObjectReader& reader, const NumberList& list) {
    std::vector<double> values;
    const Json* array = reader.array({.key = list.key, .required = true});
    if (array == nullptr || !append(reader, list, std::string(list.key), *array, values))
        return {};
    return values;
}

std::vector<double> read_rows(ObjectReader& reader, const NumberList& rows, std::size_t columns) {
    const Json* array = reader.array({.key = rows.key, .required = true});
    if (array == nullptr)
        return {};
    if (array->size() < rows.least || array->size() > rows.most) {
        reader.fail(rows.key, fmt::format("expected {} rows, found {}", count_of(rows), array->size()));
        return {};
    }
    NumberList row = rows;
    row.least = row.most = columns;
    std::vector<double> values;
    for (std::size_t i = 0; i < array->size(); ++i)
        if (!append(reader, row, fmt::format("{}[{}]", rows.key, i), (*array)[i], values))
            return {};
    return values;
}

Json rows_json(std::span<const double> values, std::size_t rows, std::size_t columns) {
    Json list = Json::array();
    for (std::size_t i = 0; i < rows; ++i) {
        Json row = Json::array();
        for (const double value : values.subspan(i * columns, columns))
            row.push_back(value);
        list.push_back(std::move(row));
    }
    return list;
}

} // namespace echosim
