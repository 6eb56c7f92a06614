// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/commands/collective_rows.h"

#include <nlohmann/json_fwd.hpp>

namespace echosim {

// Schema echosim.collective/1. `explain` adds the candidates and the switches.
nlohmann::ordered_json collective_document(const CollectiveReport& report, bool explain);

// Cluster, group and settings, alike for a list of concurrent collectives.
nlohmann::ordered_json collective_machine_json(const CollectiveRequest& request);

} // namespace echosim
