// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/align/spread.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echosim {

// One communication kernel in the sequence of its rank.
struct Call {
    std::uint64_t event = kNoEvent;
    std::uint64_t sequence = 0;  // as recorded; 0: not known
    std::uint64_t signature = 0; // of what all members must agree on: kind (or name), data type, size
    Interval time;
};

// How two sequences of calls meet: first[k] is second[k + shift].
struct Shift {
    bool found = false;
    std::int64_t shift = 0;
    std::size_t overlap = 0;
    TimeNs deviation = 0; // of the differences of the ends
    TimeNs noise = 0;     // up to which the deviation is that of one collective
    std::string why;      // not found: the reason
    bool fits() const { return found && deviation <= noise; }
};

Shift find_shift(std::span<const Call> first, std::span<const Call> second);

} // namespace echosim
