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

double typical_hbm_share(const KernelFootprint& kernel, double sms) {
    const double full = [&] {
        switch (kernel.kernel_class) {
        case KernelClass::gemm:
            return 0.10; // half precision: the same bytes in less time
        case KernelClass::attention:
            return 0.11;
        case KernelClass::norm:
            return 0.65;
        case KernelClass::norm_wgrad:
            return 0.38;
        case KernelClass::reduction:
            return 0.33;
        case KernelClass::copy:
            return 0.75;
        case KernelClass::elementwise:
        case KernelClass::optimizer:
        case KernelClass::memset:
            return 0.84;
        case KernelClass::softmax:
        case KernelClass::loss:
            return 0.65;
        case KernelClass::embedding:
            return 0.30;
        case KernelClass::other:
            break;
        }
        return 0.30;
    }();
    const double waves = kernel.blocks > 0 ? kernel.blocks / (kernel.blocks_per_sm * sms) : 1;
    return full * std::min(1.0, waves);
}

} // namespace echosim
