// SPDX-License-Identifier: Apache-2.0
#include "interference/occupancy.h"

#include <algorithm>
#include <cmath>

namespace echosim {

double blocks_that_fit(const KernelFootprint& kernel, const GpuLimits& limits) {
    constexpr double warp = 32, register_unit = 256, slots = 32, driver_bytes = 1024;
    if (kernel.threads_per_block <= 0) {
        return 1;
    }
    const double warps = std::ceil(kernel.threads_per_block / warp);
    double blocks = std::min(slots, std::floor(limits.threads_per_sm / (warps * warp)));
    if (kernel.registers_per_thread > 0) {
        const double of_warp = std::ceil(kernel.registers_per_thread * warp / register_unit) * register_unit;
        blocks = std::min(blocks, std::floor(limits.registers_per_sm / (warps * of_warp)));
    }
    if (kernel.shared_bytes > 0) {
        blocks =
            std::min(blocks, std::floor(limits.shared_bytes_per_sm / (kernel.shared_bytes + driver_bytes)));
    }
    return std::max(1.0, blocks);
}

} // namespace echosim
