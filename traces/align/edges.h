// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/align/spread.h"

#include <cstdint>
#include <string>
#include <vector>

namespace echosim {

// What the matched collectives of two clocks say about their difference.
struct ClockEdge {
    std::uint32_t from = 0; // the smaller number
    std::uint32_t to = 0;
    bool pairs = false;      // of sends and receives, not of collectives
    Spread spread;           // of end_to - end_from
    std::uint64_t count = 0; // collectives
    std::string why;         // it cannot be trusted; empty: it can
};

// From the flows of kind collective and p2p between classes of different clocks.
std::vector<ClockEdge> clock_edges(const Trace& trace, const std::vector<std::uint32_t>& clock_of_class);

} // namespace echosim
