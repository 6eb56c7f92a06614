// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "validation/pipeline_timeline.h"

#include <cstddef>
#include <vector>

// What the files do not hold, and the replay of a pipeline needs: the clocks of the ranks, and the time
// between the ops. Times in nanoseconds.
//
// Clocks. Rank r reads c_r more than rank 0. A stage starts at the earliest a transfer after the stage before
// it ends, so that over the micro-batches m of an iteration, with the smallest lags of both directions
//   f = min_m fwd_start[r+1][m] - fwd_end[r][m] = T + (c_{r+1} - c_r)
//   b = min_m bwd_start[r][m] - bwd_end[r+1][m] = T - (c_{r+1} - c_r)
// where T, the time of a transfer, is the same in both directions. (The first forward and the last backward
// have waiting receivers, so both minima are reached.) Hence c_{r+1} - c_r = (f - b) / 2, T = (f + b) / 2: as
// clocks are compared over a network. One offset a rank and iteration.
//
// Constants, one of each for all ranks and iterations, medians over the iterations that they are fitted on:
//   transfer                T of all neighbours: from the end of an op to the start of its dependent on the
//                           next stage, where that one waits. It holds whatever is between: launch, copy,
//                           Megatron's device synchronisation. A stage that sends is held up as long
//   forward_backward_gap    from a forward to a backward with no transfer between (last stage: the loss)
//   backward_forward_gap    from a backward to a forward with no transfer between (first stage)
namespace echosim {

// What each rank's clock reads more than that of rank 0. Throws InputError when a transfer between two stages
// would have taken negative time, whatever their clocks.
std::vector<TimeNs> clock_offsets(const PipelineTimeline& timeline, std::size_t iteration);

struct PipelineConstants {
    TimeNs transfer = 0;
    TimeNs forward_backward_gap = 0;
    TimeNs backward_forward_gap = 0;
};

PipelineConstants fit_constants(const PipelineTimeline& timeline, const std::vector<std::size_t>& iterations);

// The smallest value that `share` of the values do not exceed; 0 of no values.
TimeNs quantile(std::vector<TimeNs> values, double share);

} // namespace echosim
