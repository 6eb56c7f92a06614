// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/collective_model.h"
#include "comm_models/fabric.h"

#include <span>
#include <vector>

namespace echosim {

struct LinkBytes {
    LinkId link = 0;
    double bytes = 0;
};

// What one collective puts on every link over its life, by its algorithm: rings send the bus volume over each
// hop in rank order; trees up and down the double binary tree; NVLS once into and out of the switch;
// all-to-all every pair, with PXN over the NIC of the destination's rail. One entry a link, ascending. The
// sum over NVLink and NIC links equals the theory (tests/comm_models/traffic_test.cpp).
std::vector<LinkBytes> traffic_of(const Collective& collective, Algorithm algorithm,
                                  std::span<const int> ranks, FabricLinks& fabric);

} // namespace echosim
