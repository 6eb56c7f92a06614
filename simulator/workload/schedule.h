// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/workload/job.h"

#include <vector>

// The order of work of one pipeline rank, exactly as Megatron's schedules.py issues it: 1F1B, interleaved
// 1F1B, and no pipeline. A step is a forward or a backward of one (micro-batch, model chunk), or the
// transfers between.
namespace echosim {

enum class Transfer : std::uint8_t { send_forward, recv_forward, send_backward, recv_backward };

// forward = activations to the next virtual stage, backward = their gradients to the previous one.
// `microbatch` and `chunk` name the work of *this* rank that makes or takes the tensor; `peer` is the
// pipeline rank at the other end.
struct TransferCall {
    Transfer what = Transfer::send_forward;
    int microbatch = 0;
    int chunk = 0;
    int peer = 0;
};

struct ScheduleStep {
    enum class Kind : std::uint8_t { forward, backward, exchange };
    Kind kind = Kind::forward;
    int microbatch = 0;
    int chunk = 0;
    std::vector<TransferCall> transfers; // of an exchange
    bool batched = false;   // exchange: one NCCL group on one stream; else each on its direction's stream
    bool host_sync = false; // exchange: device synchronisation after it (batch_p2p_sync)
};

struct PipelineSchedule {
    std::vector<ScheduleStep> steps;
    int warmup = 0;        // forwards before the first backward pairs (Megatron's num_warmup_microbatches)
    int max_in_flight = 0; // largest number of (micro-batch, chunk) forwards whose backward has not run
};

PipelineSchedule make_schedule(const ParallelLayout& layout, bool overlap_p2p, int num_microbatches,
                               int pipeline_rank);

// Ideal bubble of the literature, (p - 1) / (M v): idle time over the bubble-free time.
double ideal_bubble(const ParallelLayout& layout, int num_microbatches);

} // namespace echosim
