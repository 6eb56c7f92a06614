// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <string>
#include <vector>

// Recordings of a made-up job, one class a rank: collectives that end on all members at once, but for a few
// microseconds, on clocks that are off by a given time.
namespace echosim {

struct JobRecording {
    int ranks = 4;
    int collectives = 40;
    std::vector<TimeNs> offsets = {}; // of the clock of each rank; empty: 0
    std::vector<int> first = {};      // first collective that the rank recorded; empty: 0
    std::vector<int> last = {};       // one past the last; empty: all
    TimeNs jitter = 2'000;            // ends differ by up to this
    TimeNs step_jitter = 150'000;     // of the time between two collectives
    CollectiveKind kind = CollectiveKind::all_reduce;
    bool communicator = false; // recorded
    bool sequence = false;
    unsigned seed = 1; // of all that is random
    int group = 0;     // ranks of one group, each with collectives of its own; 0: all
};

Trace record_job(const JobRecording& job);

} // namespace echosim
