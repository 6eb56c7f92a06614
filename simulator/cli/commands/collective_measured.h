// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/commands/collective_input.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace echosim {

struct MeasuredTimes {
    std::optional<double> out_of_place_us, in_place_us;
};
using Measurements = std::map<Bytes, MeasuredTimes>; // by size

// The table of an nccl-tests log, or of a file of the schema of nccl_tests.json, that fits the request: the
// same kind of collective and number of ranks, and for the latter the same GPU and number of nodes. The first
// of several, with a warning that lists the others. The median where it measured a size more than once.
// Throws InputError when no table fits; says what there is.
Measurements read_measurements(const std::string& file, CollectiveRequest& request);

// Sets the version of the cluster to that of the measured table, where neither it nor --nccl states one.
void take_measured_version(const std::string& file, CollectiveRequest& request);

} // namespace echosim
