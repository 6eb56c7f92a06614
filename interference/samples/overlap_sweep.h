// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <cstdint>
#include <span>
#include <vector>

// Which kernels of one GPU ran beside which communication: two sorted lists of intervals, one pass.
namespace echosim {

struct WorkInterval {
    TimeNs start = 0;
    TimeNs end = 0;
};

// One kernel and one communication that ran at the same time for `time` ns.
struct WorkOverlap {
    std::uint32_t kernel = 0;
    std::uint32_t comm = 0;
    TimeNs time = 0;
};

struct OverlapSweep {
    std::vector<TimeNs> beside_comm;    // of each kernel: time during which any communication ran
    std::vector<TimeNs> beside_kernels; // of each kernel: at most this much time beside other kernels
    std::vector<WorkOverlap> pairs;     // by kernel, then by start of the communication
};

// Both lists sorted by start. Time in proportion to kernels + communications + pairs, as long as few
// communications run at once. Example: kernels [0,10) and [10,20), communication [5,12): beside_comm 5 and 2.
OverlapSweep sweep_overlaps(std::span<const WorkInterval> kernels, std::span<const WorkInterval> comms);

} // namespace echosim
