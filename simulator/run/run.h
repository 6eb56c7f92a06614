// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/run/result.h"
#include "traces/trace.h"

#include <functional>
#include <string>
#include <vector>

// The one entry point: job + cluster + options -> result. Everything else is a step of it.
namespace echosim {

enum class TimelineRanks : std::uint8_t { representative, all, listed };

struct RunOptions {
    std::string interference = "off"; // off | constant:F | prior | path of a model file
    bool contention = false;          // communication that overlaps shares NVLink, NICs, PCIe, memory
    bool fold = true;                 // false: simulate every rank on its own
    std::string calibration;          // file of `echosim calibrate`, or empty
    bool keep_timeline = false;       // fill RunOutput::trace
    TimelineRanks timeline_ranks = TimelineRanks::representative;
    std::vector<int> listed_ranks;
    std::uint64_t most_timeline_events = 0; // refuse a longer timeline before it is made; 0 = no limit
};

struct RunOutput {
    Result result;
    Trace trace; // empty unless keep_timeline
};

// Throws InputError when the job uses a feature whose graph cannot be built, or does not fit the cluster's
// shape (more GPUs per node than there are, ...). A job that does not fit in memory is not an error:
// result.memory.fits.
RunOutput run(const Job& job, const Cluster& cluster, const RunOptions& options);

} // namespace echosim
