// SPDX-License-Identifier: Apache-2.0
#include "interference/slowdown.h"

#include "simulator/core/error.h"

#include <algorithm>

namespace echosim {

void NoSlowdown::rates(std::span<const Running>, std::span<double> rate) const {
    std::ranges::fill(rate, 1.0);
}

ConstantSlowdown::ConstantSlowdown(double factor) : factor_(factor) {
    ECHOSIM_CHECK(factor >= 1.0, "a slowdown factor is at least 1");
}

void ConstantSlowdown::rates(std::span<const Running> on_one_gpu, std::span<double> rate) const {
    const bool communication = std::ranges::any_of(on_one_gpu, [](const Running& r) {
        return !r.waiting && (r.kind == OpKind::collective || r.kind == OpKind::p2p);
    });
    for (std::size_t i = 0; i < on_one_gpu.size(); ++i)
        rate[i] = communication && on_one_gpu[i].kind == OpKind::compute ? 1.0 / factor_ : 1.0;
}

} // namespace echosim
