// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/kineto/table.h"

namespace echosim {

// Joins what the profiler records apart: a call and its device work (device work without one: a note), a wait
// on a stream and the call that asked for it, the size of a copy that only its call knows, and a
// communication kernel and the operator that called it.
void link_calls(KinetoTable& table);

// Arrows from calls to device work (ac2g) that lack an end: counted as unmatched_flow, except those that
// Kineto draws at calls that launched nothing.
void check_arrows(KinetoTable& table);

} // namespace echosim
