// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/commands/collective_rows.h"
#include "simulator/report/svg_chart.h"

namespace echosim {

// Bus bandwidth over the size: both calls, the algorithm and protocol of each stretch, what is measured, and
// the rate of the links that no ring can pass.
Chart collective_chart(const CollectiveReport& report, const NcclModel& model);

} // namespace echosim
