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

// The tables of an nccl-tests log, or of a file of the schema of nccl_tests.json, that fit the request: the
// same kind of collective and number of ranks, and for the latter the same GPU and number of nodes. The
// median where a size was measured more than once. Throws InputError when no table fits; says what there is.
Measurements read_measurements(const std::string& file, CollectiveRequest& request);

} // namespace echosim
