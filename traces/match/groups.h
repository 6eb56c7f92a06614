// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/match/shift.h"

#include <span>
#include <string>
#include <vector>

namespace echosim {

// The calls of one class in order of start.
struct ClassCalls {
    std::uint32_t rank_class = 0;
    std::span<const Call> calls;
};
struct MatchedCall {
    std::uint64_t number = 0;          // within the sequence, from 1 on
    std::vector<std::uint64_t> events; // the members in order of their class
};
struct GroupMatch {
    std::vector<MatchedCall> calls;
    bool may_number = false;          // no call has a recorded number
    std::uint64_t inconsistent = 0;   // equal numbers, unequal calls
    std::vector<std::string> reasons; // why members met nobody
};

// The calls that are one, of classes that share a communicator (`one_group`) or may form groups of their own:
// then those meet whose ends agree. match.h has the rules.
GroupMatch match_group(const Trace& trace, const std::vector<ClassCalls>& members, bool one_group);

} // namespace echosim
