// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "validation/pipeline_timeline_fit.h"

#include <cstdint>

// One iteration of a measured pipeline through the product's own parts: the order of work and the transfers
// of simulator/workload/schedule.h, the blocks of simulator/graph/transfer_blocks.h, and the engine. Given
// are the measured durations of forwards and backwards; everything else follows:
//
//   an op starts when the op before it on its stage, the exchange before it, and the transfer of its input
//   are done; a transfer takes PipelineConstants::transfer from the moment both ends are ready
//
// How a send behaves towards its own stage depends on size and transport (NCCL copies a message that fits in
// its buffers and is done with it):
//   rendezvous   done when the other stage has received; what `simulate` assumes: batched groups of sends and
//                receives, each followed by a device synchronisation
//   eager        holds the stage up for one transfer time, whatever the receiver does meanwhile
namespace echosim {

enum class SendMode : std::uint8_t { rendezvous, eager };

// Ops of one stage by micro-batch, times from the start of the first op of the pipeline.
struct PredictedStage {
    std::vector<TimedOp> forward;
    std::vector<TimedOp> backward;
    const TimedOp& op(const ScheduleStep& step) const;
};

std::vector<PredictedStage> replay_iteration(const PipelineTimeline& timeline, std::size_t iteration,
                                             const PipelineConstants& constants, SendMode sends);

} // namespace echosim
