// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/timing.h"

#include "simulator/core/error.h"

#include <algorithm>

namespace echosim {

Interval without_gaps(const Interval& stamps, TimeNs gap) {
    if (stamps.length() <= 2 * gap) {
        const TimeNs middle = stamps.begin + stamps.length() / 2;
        return {middle, middle};
    }
    return {stamps.begin + gap, stamps.end - gap};
}

double overlap_ratio(const Interval& kernel, const Interval& communication) {
    if (kernel.length() <= 0)
        return 0;
    const TimeNs shared =
        std::min(kernel.end, communication.end) - std::max(kernel.begin, communication.begin);
    return std::max(0.0, static_cast<double>(shared) / static_cast<double>(kernel.length()));
}

double median(std::vector<double> values) {
    ECHOSIM_CHECK(!values.empty(), "median of nothing");
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1)
        return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double typical(const std::vector<double>& values, double clock_step) {
    const double center = median(values);
    if (center >= 20 * clock_step)
        return center;
    double sum = 0;
    int count = 0;
    for (const double value : values) {
        if (value > 3 * center && value > 3 * clock_step)
            continue;
        sum += value;
        ++count;
    }
    return sum / count;
}

} // namespace echosim
