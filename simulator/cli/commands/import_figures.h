// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace echosim {

// What `import` says about one rank class.
struct RankFigures {
    std::string name;
    std::uint64_t ranks = 0; // that it stands for; 0: not known
    std::uint64_t kernels = 0;
    bool has_durations = false; // some work of the GPU has a duration
    TimeNs busy = 0;            // some work of the GPU is running; without times: the sum of its durations
    TimeNs communication = 0;   // a communication kernel is running; likewise
};

struct TraceFigures {
    std::vector<RankFigures> classes;
    std::uint64_t ranks = 0;
    std::uint64_t kernels = 0;       // of the trace, communication kernels among them
    std::uint64_t communication = 0; // kernels
    TimeNs first = 0;                // start of the earliest work of the GPU, call or operator
    TimeNs span = 0;                 // to the end of the latest; 0 without times
};
TraceFigures figures_of(const Trace& trace);

// Kernels, communication kernels among them.
std::uint64_t count_kernels(const Trace& trace);

// What a word of ImportReport::warnings means; empty: the word says it all.
std::string_view warning_text(std::string_view word);

// Whether `t0_ns` can be a wall clock: recorders that know none count from a start of their own.
bool is_wall_clock(TimeNs t0_ns);

// "2023-09-07 22:30:01.423 UTC" of nanoseconds since 1970.
std::string wall_clock_text(TimeNs time);

} // namespace echosim
