// SPDX-License-Identifier: Apache-2.0
#include "simulator/report/chart_axis.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

// The smallest of 1, 2, 5 times a power of ten that is at least `least`.
double round_step(double least) {
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * (1 - 1e-9))
            return factor * power;
    return 10 * power;
}

std::string binary_label(double bytes) {
    constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < std::size(kUnits))
        bytes /= 1024, ++unit;
    return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

std::string time_label(double seconds) {
    constexpr std::pair<double, const char*> kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    for (const auto& [size, name] : kUnits)
        if (std::abs(seconds) >= size * (1 - 1e-9))
            return fmt::format("{:.4g} {}", seconds / size, name);
    return "0";
}

std::string tick_label(AxisUnit unit, double value) {
    if (unit == AxisUnit::bytes)
        return binary_label(value);
    if (unit == AxisUnit::seconds)
        return time_label(value);
    return fmt::format("{:.6g}", value == 0 ? 0.0 : value);
}

std::vector<double> linear_ticks(const AxisMap& map, int most) {
    const double step = round_step((map.to() - map.from()) / std::max(1, most));
    std::vector<double> ticks;
    for (double k = std::ceil(map.from() / step - 1e-9); k * step <= map.to() + step * 1e-9; ++k)
        ticks.push_back(k * step);
    return ticks;
}

std::vector<double> log_ticks(const AxisMap& map, double base, int most) {
    const double scale = std::log(base);
    const double first = std::ceil(std::log(map.from()) / scale - 1e-9);
    const double last = std::floor(std::log(map.to()) / scale + 1e-9);
    double step = 1;
    // 2 and 5 powers of two a step keep 1 KiB, 1 MiB and 1 GiB among the ticks
    for (const double next : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0}) {
        step = next;
        if ((last - first) / step + 1 <= most)
            break;
    }
    std::vector<double> ticks;
    for (double k = std::ceil(first / step - 1e-9) * step; k <= last + 1e-9; k += step)
        ticks.push_back(std::pow(base, k));
    return ticks;
}

} // namespace

bool AxisMap::shows(double value) const {
    return std::isfinite(value) && (scale_ == AxisScale::linear || value > 0);
}

double AxisMap::at(double value) const {
    const auto along = [this](double v) { return scale_ == AxisScale::linear ? v : std::log(v); };
    const double length = along(to_) - along(from_);
    const double share = length == 0 ? 0.5 : (along(value) - along(from_)) / length;
    return begin_ + std::clamp(share, 0.0, 1.0) * (end_ - begin_);
}

AxisMap axis_map(const ChartAxis& axis, double low, double high) {
    double from = axis.from.value_or(low);
    double to = axis.to.value_or(high);
    if (axis.scale != AxisScale::linear) {
        from = from > 0 && std::isfinite(from) ? from : 1;
        to = std::max(to, from);
        return to > from ? AxisMap(axis.scale, from, to) : AxisMap(axis.scale, from / 2, from * 2);
    }
    if (!axis.from && from > 0)
        from = 0;
    if (!(to > from))
        to = from + 1;
    const double step = round_step((to - from) / 8);
    if (!axis.from)
        from = std::floor(from / step + 1e-9) * step;
    if (!axis.to)
        to = std::ceil(to / step - 1e-9) * step;
    return {axis.scale, from, to};
}

std::vector<AxisTick> axis_ticks(const ChartAxis& axis, const AxisMap& map, int most) {
    const std::vector<double> values = axis.scale == AxisScale::linear
                                           ? linear_ticks(map, most)
                                           : log_ticks(map, axis.scale == AxisScale::log2 ? 2 : 10, most);
    std::vector<AxisTick> ticks;
    for (const double value : values)
        ticks.push_back({value, tick_label(axis.unit, value)});
    return ticks;
}

} // namespace echosim
