// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/gpu.h"
#include "simulator/run/result.h"

namespace echosim {

// The 5-95 % interval of a predicted step time: the prediction times the 5th and 95th percentile of
// measured / predicted over the high-confidence validation rows of the GPU's kernel preset
// (step_residuals.json, written by `echosim validate steps --write-residuals`). Absent with fewer than 10
// rows.
void fill_interval(StepTime& step, const Gpu& gpu);

} // namespace echosim
