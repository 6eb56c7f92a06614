// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <string>
#include <vector>

// How well differences of times agree: what matching and alignment judge by.
namespace echosim {

struct Spread {
    TimeNs median = 0;
    TimeNs deviation = 0; // median absolute deviation from the median
    TimeNs worst = 0;     // 95th percentile of the absolute deviation
};
Spread spread_of(std::vector<TimeNs> values); // of no values: zeros
TimeNs median_of(std::vector<TimeNs> values);

inline constexpr TimeNs kEndNoise = 50'000; // ends of one collective on its members, ns

// The deviation up to which ends of collectives are ends of the same ones: 50 us, or 2 % of their median
// duration where that is more.
TimeNs end_noise(TimeNs median_duration);

// Start and end of an event within +-2^61 ns, so that no difference of differences overflows, whatever the
// file holds.
struct Interval {
    TimeNs start = 0;
    TimeNs end = 0;
    TimeNs duration() const { return end - start; }
};
Interval interval_of(const Trace& trace, std::uint64_t event);

// "12 ns", "3.4 us", "1.50 ms", "11.560 s"; signed.
std::string time_text(TimeNs time);

} // namespace echosim
