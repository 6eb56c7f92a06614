// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/fabric.h"
#include "comm_models/traffic.h"

#include <span>
#include <vector>

// Collectives that run at the same time (spec A.10). Operation i has an intrinsic duration D_i (alone), of
// which the latency part is not shared, and puts d_il bytes on link l over its life. While it runs its rate
// x_i <= 1 (1 = as fast as alone) solves weighted max-min:
//
//   maximise the smallest x_i / weight_i, then the next, ..., subject to  sum_i x_i d_il / D_i <= C_l
//   gamma(k_l)
//
// with k_l operations on the link, gamma(1) = 1 and gamma(k >= 2) below 1. Rates are solved again at each
// start and finish, for the operations that the change can reach (simulator/core/fair_share.h).
namespace echosim {

struct ConcurrentOp {
    Seconds start = 0;
    Seconds alone = 0;
    Seconds latency = 0; // <= alone
    double weight = 1;
    std::vector<LinkBytes> traffic;
};

struct ConcurrentResult {
    Seconds finish = 0;
    LinkId bottleneck = 0; // link that held it back longest
    bool shared = false;   // whether it was ever slower than alone
};

std::vector<ConcurrentResult> run_concurrently(std::span<const ConcurrentOp> ops, const FabricLinks& fabric);

} // namespace echosim
