// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"
#include "simulator/graph/execution_graph.h"

#include <cstdint>
#include <vector>

namespace echosim {

// Predecessors that are no op of the same rank.
inline constexpr std::uint32_t kBoundByHost = 0xFFFFFFFF; // started when its launch reached the device
inline constexpr std::uint32_t kBoundByPeer = 0xFFFFFFFE; // the last member of its group came later

// What happened on one simulated rank, a row an op in launch order (host ops that take time included).
// Columns.
struct RankTimeline {
    std::vector<TimeNs> start;           // occupies its stream from here
    std::vector<TimeNs> duration;        // until it is done
    std::vector<TimeNs> waited;          // part of duration before the last member of the group arrived
    std::vector<TimeNs> alone;           // duration of the work itself with nothing else on the GPU
    std::vector<std::uint32_t> instance; // row of RankGraph::program
    std::vector<std::uint16_t> op;       // op of that instance's block
    std::vector<std::uint32_t>
        binding; // row of the op that it waited for last, or one of the constants above
    std::size_t size() const { return start.size(); }
};

struct MemorySample {
    TimeNs time = 0;
    std::int64_t bytes = 0; // activations held
};

struct RankSummary {
    TimeNs end = 0;            // host thread and all streams are done
    TimeNs compute_busy = 0;   // sum over the compute stream
    TimeNs compute_slowed = 0; // of its kernels beyond their times alone
    std::int64_t ops = 0;
    std::int64_t peak_activations = 0; // bytes
};

struct Timeline {
    TimeNs end = 0;
    std::int64_t ops = 0;
    std::vector<RankSummary> summaries; // by simulated rank
    std::vector<RankTimeline> ranks;    // by simulated rank; empty where not recorded
    std::vector<std::vector<MemorySample>> memory;
};

} // namespace echosim
