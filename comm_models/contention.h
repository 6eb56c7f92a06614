// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/fabric.h"
#include "comm_models/traffic.h"

#include <array>
#include <span>
#include <vector>

// Collectives that run at the same time. Operation i takes D_i alone, of which L_i is latency,
// and puts d_il bytes on link l over its life. It waits L_i, which nobody shares, and then has D_i - L_i of
// work that moves its bytes evenly. While it works its rate x_i <= 1 (1 = as fast as alone) solves weighted
// max-min:
//
//   maximise the smallest x_i / weight_i, then the next, ..., subject to
//   sum_i x_i min(d_il / (D_i - L_i), C_l) <= C_l gamma(k_l)
//
// with k_l operations working on the link, gamma(1) = 1 and gamma(k >= 2) of SharedEfficiency. Alone an
// operation is never held back, even where its bytes would take longer than D_i. Rates are solved again at
// each start and finish, for the operations that the change can reach (simulator/core/fair_share.h).
// Example: two all-reduces that fill NVLink for 10 us each, latency 2 us, gamma 1: both end at 2 + 8 / (1 /
// 2) = 18 us.
namespace echosim {

// Share of its capacity that a link carries for several collectives together, by LinkKind. Two kernels on one
// NVLink or NIC take turns in its queues, and each keeps fewer bytes in flight than alone. 0.9 is a guess:
// no clean measurement of two communicators is public (nccl issue 1094 mixes in the time slicing of
// processes). Switches and memory serve many requesters at all times, so that more make no difference.
struct SharedEfficiency {
    std::array<double, kLinkKinds> of{};
};
inline constexpr double kSharedNvlink = 0.9;
inline constexpr double kSharedPcie = 0.9;
inline constexpr double kSharedMemory = 1.0;
inline constexpr double kSharedNic = 0.9;
inline constexpr double kSharedSwitch = 1.0;
inline constexpr double kSharedWan = 1.0;
inline constexpr SharedEfficiency kSharedLinks{
    {kSharedNvlink, kSharedPcie, kSharedMemory, kSharedNic, kSharedSwitch, kSharedSwitch, kSharedWan}};
inline constexpr SharedEfficiency kIdealLinks{{1, 1, 1, 1, 1, 1, 1}};

struct ConcurrentOp {
    Seconds start = 0;
    Seconds alone = 0;
    Seconds latency = 0; // <= alone
    double weight = 1;
    std::vector<LinkBytes> traffic;
};

struct ConcurrentResult {
    Seconds finish = 0;
    LinkId bottleneck = 0; // link that held it back longest; meaningful when shared
    bool shared = false;   // whether it was ever slower than alone
};

std::vector<ConcurrentResult> run_concurrently(std::span<const ConcurrentOp> ops, const FabricLinks& fabric,
                                               const SharedEfficiency& efficiency = kSharedLinks);

} // namespace echosim
