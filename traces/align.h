// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/trace.h"

#include <cstdint>
#include <string>
#include <vector>

// One clock for the ranks of a job. Kineto and Nsight stamp events with the clock of each node; files of one
// job are off by microseconds (PTP) to minutes. A blocking collective ends on all of its members within
// microseconds: the ends of matched collectives tell the offsets.
//
// Matching: the k-th collective on a communicator of one rank meets the k-th of the others; where the file
// names no communicator, the k-th NCCL kernel of the same kind, data type and element count on the rank's
// j-th NCCL stream. Recordings may begin and end within the sequence, so the shift of k that agrees best is
// searched for.
//
// Model: end_r(i) = T_i + o_r + e, T_i the true end of collective i, o_r the offset of rank r (o of the first
// rank 0). o_r is the median over i of end_r(i) - end_0(i) along the tree of ranks that share collectives;
// the residual of rank r is the median absolute deviation from it.
namespace echosim {

struct RankAlignment {
    int rank = -1;
    TimeNs offset = 0;             // to be subtracted from its times
    TimeNs residual = 0;           // median absolute deviation
    TimeNs worst = 0;              // 95th percentile of the deviation
    std::uint64_t collectives = 0; // matched ones that it rests on
};

struct Alignment {
    std::vector<RankAlignment> ranks; // by class of the trace
    bool trusted = false;             // else `reason` says why the ranks may not be put on one clock
    std::string reason;
};

// Flows of kind collective between the members of each matched collective, and CommOp::sequence where it is
// not known.
void match_collectives(Trace& trace);

Alignment measure_alignment(const Trace& trace); // of a trace with matched collectives
void apply_alignment(Trace& trace, const Alignment& alignment);

} // namespace echosim
