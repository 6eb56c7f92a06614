// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/graph/execution_graph.h"
#include "simulator/workload/job.h"
#include "simulator/workload/tensor_sizes.h"

// Blocks that run once a step: data parallelism and the optimizer (Megatron-LM distributed_data_parallel.py,
// finalize_model_grads.py, optimizer/). P = parameters on the rank, D = data-parallel ranks that share them.
//
//   gradient bucket of n elements: scale by 1/D (8 n bytes for fp32; not with average_in_collective), then
//     reduce-scatter (distributed optimizer) or all-reduce of n x 4 or 2 bytes on the dp stream
//   optimizer, on P' = P/D (distributed) or P parameters: norm 4 P', all-reduce of 4 bytes, host reads it,
//   clip 8 P',
//     Adam reads parameter, two moments, gradient (16 P') and writes three (12 P'), copy to the model's
//     precision 6 P'
//   parameters come back by an all-gather of 2 P bytes, bucket by bucket under the next forward, or in the
//   open
namespace echosim {

// Starts the reduction of one bucket.
BlockId reduce_gradients(RankGraph& graph, const Job& job, const GradientBucket& bucket);
// Starts the all-gather of one bucket's parameters; records `port`.
BlockId gather_parameters(RankGraph& graph, const Job& job, const GradientBucket& bucket, std::uint32_t port);
BlockId wait_for(RankGraph& graph, const std::string& name, std::uint32_t port);

// memset of the gradient buffers.
BlockId zero_gradients(RankGraph& graph, const Job& job, std::int64_t parameters);
// All that is left after the last backward, up to the end of the step; `embedding_group`: this stage reduces
// the tied word embedding with the other end of the pipeline.
BlockId finish_step(RankGraph& graph, const Job& job, int pipeline_rank);

} // namespace echosim
