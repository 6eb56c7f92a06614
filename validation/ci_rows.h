// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "validation/step_rows.h"

namespace echosim {

class RowFields;

// A run of Megatron-LM's own continuous integration (functional tests on one or two nodes): `args` is an
// object of Megatron flags, all values texts, "true" for a switch, "[a b]" for a list. Measured:
// iter_time_s_median. The cluster is the catalogue's machine of this GPU, with as many GPUs a node as the row
// states.
StepRow read_ci_row(RowFields& fields);

} // namespace echosim
