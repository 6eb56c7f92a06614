// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/unit_text.h"

#include <fmt/format.h>
#include <initializer_list>

namespace echosim {
namespace {

struct Unit {
    const char* name;
    double scale;
};

// The text in the largest unit of at least `smallest` of it that is read back as the very same value.
std::string in_unit(double value, std::initializer_list<Unit> units, double smallest,
                    double (*parse)(std::string_view)) {
    for (const Unit& unit : units) {
        if (value < unit.scale * smallest)
            continue;
        const std::string text = fmt::format("{:.12g}{}", value / unit.scale, unit.name);
        if (parse(text) == value)
            return text;
    }
    return {};
}

// Units are given largest first. Some decimal fractions are exact in a larger unit only ("0.3us", not
// "300ns").
std::string exact(double value, std::initializer_list<Unit> units, double (*parse)(std::string_view)) {
    std::string text = in_unit(value, units, 1, parse);
    if (text.empty())
        text = in_unit(value, units, 1e-3, parse);
    const Unit& base = *(units.end() - 1);
    return text.empty() ? fmt::format("{}{}", value / base.scale, base.name) : text;
}

} // namespace

std::string exact_bytes(Bytes value) {
    if (value != 0 && value % 1_GiB == 0)
        return fmt::format("{}GiB", value / 1_GiB);
    if (value != 0 && value % 1_MiB == 0)
        return fmt::format("{}MiB", value / 1_MiB);
    return fmt::format("{}B", value);
}

std::string exact_bandwidth(BytesPerSecond value) {
    return exact(value, {{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"B/s", 1}}, parse_bandwidth);
}

std::string exact_bit_rate(BytesPerSecond value) {
    return exact(value, {{"Gbps", 0.125e9}, {"Mbps", 0.125e6}, {"bps", 0.125}}, parse_bandwidth);
}

std::string exact_flops(FlopsPerSecond value) {
    return exact(value, {{"TFLOPS", 1e12}, {"GFLOPS", 1e9}, {"FLOPS", 1}}, parse_flops);
}

std::string exact_time(Seconds value) {
    return exact(value, {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1}}, parse_time);
}

} // namespace echosim
