// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/match.h"
#include "traces/trace.h"

#include <cstdint>
#include <string>
#include <vector>

// One clock for the ranks of a job. Kineto and Nsight stamp events with the clock of each node; files of one
// job are off by microseconds (PTP) to minutes. A blocking collective ends on all of its members within
// microseconds: the ends of matched collectives tell the offsets.
//
// Model: end_r(i) = T_i + o_r + e, T_i the true end of collective i, o_r the offset of the clock of rank r
// (o of the first rank 0), e a few microseconds. For two clocks that share collectives the offset is the
// median over i of end_r(i) - end_s(i), the residual the median absolute deviation from it, and `worst` the
// 95th percentile of the absolute deviation. Pairs with the smallest residual are joined first, until a tree
// connects all clocks; the offset of a rank is the sum along its path, its residual the largest on it.
// Only collectives that no member can leave early count: all-reduce, all-gather, reduce-scatter, all-to-all
// and NCCL's SendRecv kernels; broadcast, reduce, gather and scatter let their root or leaves go.
//
// Trusted are offsets of which, for every joined pair,
//   - at least 5 matched collectives tell (the median then stands even if two of them are wrong),
//   - the residual is at most 50 us, or 2 % of the median duration where that is more (a long collective
//     between nodes ends within one chunk, not within a microsecond),
//   - the residual is at most a quarter of the median time between two collectives (else the offset may be
//     wrong by one collective),
//   - four of five deviations are within three times the larger of residual and 50 us,
//   - on the common clock no member begins after another has ended, in nine of ten collectives.
// Offsets that differ by less than their noise (four residuals and 10 us) are those of one clock, that of a
// node: its ranks get one offset, their median, and those of the first rank's clock stay as they are.
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
    bool applied = false; // the times were moved: an offset exceeded its residual
};

// `clocks`: number of the clock of each class (ranks of one recording share one); empty: one each.
Alignment measure_alignment(const Trace& trace, const std::vector<std::uint32_t>& clocks = {});

bool needs_alignment(const Alignment& alignment); // some offset is not 0

// Subtracts the offsets from the starts of events and the samples of counters. The earliest event keeps its
// place: Trace::t0_ns moves instead.
void apply_alignment(Trace& trace, Alignment& alignment);

} // namespace echosim
