// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/fair_share.h"

#include <algorithm>
#include <vector>

namespace echosim {
namespace {

constexpr double kFull = 1.0;

} // namespace

void fair_rates(std::span<const Demand> demands, std::span<double> rate) {
    std::ranges::fill(rate, 1.0);
    std::vector<bool> settled(demands.size(), false);
    std::array<bool, kResources> full{};
    for (std::size_t round = 0; round < kResources; ++round) {
        // the rate at which each resource fills, given the ops that are settled
        double lowest = 1.0;
        std::size_t bottleneck = kResources;
        for (std::size_t r = 0; r < kResources; ++r) {
            if (full[r])
                continue;
            double used = 0, wanted = 0;
            for (std::size_t i = 0; i < demands.size(); ++i)
                (settled[i] ? used : wanted) +=
                    static_cast<double>(demands[i][r]) * (settled[i] ? rate[i] : 1.0);
            if (wanted <= 0)
                continue;
            const double level = std::max(0.0, kFull - used) / wanted;
            if (level < lowest) {
                lowest = level;
                bottleneck = r;
            }
        }
        if (bottleneck == kResources)
            return;
        full[bottleneck] = true;
        for (std::size_t i = 0; i < demands.size(); ++i)
            if (!settled[i] && demands[i][bottleneck] > 0) {
                settled[i] = true;
                rate[i] = lowest;
            }
    }
}

} // namespace echosim
