// SPDX-License-Identifier: Apache-2.0
#include "interference/estimate.h"

#include "interference/prior.h"

namespace echosim {

CommLoad load_of(const KernelFootprint& kernel, std::span<const CommFootprint> communication,
                 bool kernel_first) {
    return load_of(kernel, communication, kernel_first, GpuLimits{});
}

} // namespace echosim
