// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "simulator/engine/timeline.h"
#include "simulator/graph/annotate.h"

#include <array>
#include <string>
#include <vector>

namespace echosim {

// Where the time of a rank goes. At every instant exactly one category holds; of those that apply the first
// wins: a kernel on the compute stream (compute, recompute, optimizer, data), exposed communication (tp, cp,
// ep, pp while bytes move), bubble (waiting for another pipeline stage), exposed dp communication, waiting
// for a late member of another group (other), CPU work of the data loader (data), and the host otherwise:
// nothing runs because nothing has been launched yet. `interference` is the part of the kernels' time beyond
// their times alone.
enum class TimeCategory : std::uint8_t {
    compute,
    recompute,
    interference,
    tp_comm,
    pp_comm,
    dp_comm,
    cp_comm,
    ep_comm,
    bubble,
    optimizer,
    host,
    data,
    other
};
inline constexpr std::size_t kTimeCategories = 13;
std::string_view to_string(TimeCategory value);

struct CommunicationSum {
    GroupKind group = GroupKind::world;
    CollectiveKind kind = CollectiveKind::all_reduce;
    CommCost cost; // algorithm, protocol, channels of these calls
    std::int64_t count = 0;
    double bytes = 0; // sum
    TimeNs time = 0;  // sum, without waiting
    TimeNs exposed = 0;
};

struct NamedTime {
    std::string name;
    TimeNs time = 0;
};

struct StepBreakdown {
    std::array<TimeNs, kTimeCategories> time{};  // adds up to the end of the timeline
    std::vector<CommunicationSum> communication; // in order of exposed time
    std::vector<NamedTime> contributors;         // kernels and exposed collectives by name, longest first
    std::array<double, 4> provenance{};          // shares by Provenance, sum 1
    TimeNs operator[](TimeCategory c) const { return time[static_cast<std::size_t>(c)]; }
};

// `rank` is a recorded rank; `end` of the step (>= the rank's own end).
StepBreakdown break_down(const RankTimeline& rank, const AnnotatedGraph& graph, TimeNs end);

// The simulated rank that decides the step: the one whose GPU idles least, the first of equals.
std::size_t critical_rank(const Timeline& timeline);

} // namespace echosim
