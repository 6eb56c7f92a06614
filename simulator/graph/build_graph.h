// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/graph/execution_graph.h"
#include "simulator/workload/job.h"

namespace echosim {

// The execution graph of one pipeline stage, made from the job alone (no GPU, no cluster). All ranks of a
// stage run the same graph; what differs between them is where their communicators lie (rank_class.h).
//
// Program of a step: zero gradients, parameter gathers (distributed optimizer with overlap), the pipeline
// schedule with transfers, gradient buckets started in the last backward of their chunk, optimizer.
RankGraph build_graph(const Job& job, int pipeline_rank);

} // namespace echosim
