// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/kineto/table.h"

namespace echosim {

// Makes rows of begins and ends: B and E nest within their thread, b and e of the same category and id within
// each other. Counts unmatched_end; an event that does not end is kept with duration 0 and counted as
// unclosed_begin. What remains in `marks` are flows.
void close_slices(KinetoTable& table);

// Flows of kind forward_backward or other between the slices that enclose the ends of arrows, added to the
// builder, whose streams are complete. `stream_of_track`: stream of each track. Counts unmatched_flow.
void bind_flows(KinetoTable& table, const std::vector<std::uint32_t>& stream_of_track, TimeNs t0);

} // namespace echosim
