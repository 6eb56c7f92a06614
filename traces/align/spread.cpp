// SPDX-License-Identifier: Apache-2.0
#include "traces/align/spread.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr TimeNs kFarthest = TimeNs{1} << 60;

// The value at this share of the sorted order; moves the values.
TimeNs quantile(std::vector<TimeNs>& values, double share) {
    const auto last = static_cast<double>(values.size() - 1);
    const auto at = static_cast<std::ptrdiff_t>(std::floor(last * share + 0.5));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

} // namespace

TimeNs median_of(std::vector<TimeNs> values) {
    if (values.empty()) {
        return 0;
    }
    const std::size_t half = values.size() / 2;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
    if (values.size() % 2 == 1) {
        return values[half];
    }
    const TimeNs below =
        *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half));
    return below + (values[half] - below) / 2;
}

Spread spread_of(std::vector<TimeNs> values) {
    Spread spread;
    if (values.empty()) {
        return spread;
    }
    spread.median = median_of(values);
    for (TimeNs& value : values) {
        value = std::abs(value - spread.median);
    }
    spread.worst = quantile(values, 0.95);
    spread.deviation = median_of(std::move(values));
    return spread;
}

TimeNs end_noise(TimeNs median_duration) {
    return std::max(kEndNoise, median_duration / 50);
}

Interval interval_of(const Trace& trace, std::uint64_t event) {
    const EventColumns& events = trace.streams.at(stream_of(event)).events;
    const TimeNs start = std::clamp(events.start_ns.at(index_of(event)), -kFarthest, kFarthest);
    return {start, start + std::clamp<TimeNs>(events.dur_ns.at(index_of(event)), 0, kFarthest)};
}

std::string time_text(TimeNs time) {
    const double ns = static_cast<double>(time);
    if (std::abs(ns) < 1e3) {
        return fmt::format("{} ns", time);
    }
    if (std::abs(ns) < 1e6) {
        return fmt::format("{:.1f} us", ns / 1e3);
    }
    return std::abs(ns) < 1e9 ? fmt::format("{:.3f} ms", ns / 1e6) : fmt::format("{:.6f} s", ns / 1e9);
}

} // namespace echosim
