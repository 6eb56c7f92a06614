// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"
#include "simulator/workload/job.h"

namespace echosim {

// Model FLOPs of one step, whole job: 6 N T + attention, with T the tokens of the step, N the parameters that
// enter a matrix product (input embedding excluded, output layer with padded vocabulary included; MoE: active
// experts) and attention 6 L T s a d (causal) or 12 L T s a d (full); s sequence, a heads, d head dimension.
// Recomputation is not counted; the backward of flash attention counts as twice its forward.
Flops model_flops(const Job& job, bool causal);
// The same with what recomputation repeats.
Flops hardware_flops(const Job& job, bool causal);

} // namespace echosim
