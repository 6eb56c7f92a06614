// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/prior.h"
#include "interference/samples.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace echosim {

// ln of what a made sample's factor is beyond the prior's.
using TrueResidual = std::function<double(const KernelFootprint&, const CommLoad&)>;

// Kernels of two families on a GPU of 108 SMs beside 8 to 32 CTAs: "sgemm" of class gemm, 20 to 2,000 us, and
// "vectorized_elementwise" of class elementwise; all overlapped by `overlap` of their time. No noise.
inline std::vector<InterferenceSample> made_samples(std::size_t count, const TrueResidual& residual,
                                                    double overlap = 1) {
    std::vector<InterferenceSample> samples;
    for (std::size_t i = 0; i < count; ++i) {
        // points spread evenly: multiples of the golden ratio and of the square root of 2
        const double a = std::fmod(0.618034 * static_cast<double>(i), 1.0);
        const double b = std::fmod(0.414214 * static_cast<double>(i), 1.0);
        InterferenceSample s;
        const bool gemm = i % 2 == 0;
        s.id = "made.csv:" + std::to_string(i + 2);
        s.family = s.kernel_name = gemm ? "sgemm" : "vectorized_elementwise";
        s.gpu = "a100-sxm-80gb";
        s.nccl_version = "2.21.5";
        s.communication = "all_reduce";
        s.kernel.kernel_class = gemm ? KernelClass::gemm : KernelClass::elementwise;
        s.kernel.time = 20e-6 * std::pow(100.0, a);
        s.kernel.hbm_share = gemm ? 0.1 + 0.3 * b : 0.5 + 0.4 * b;
        s.kernel.compute_share = gemm ? 0.9 - 0.3 * b : 0.2;
        s.kernel.occupancy_ratio = 0.9;
        s.load = {.ctas = 8.0 + 8.0 * static_cast<double>(i % 4), .hbm_share = 0.05};
        s.time_alone = s.kernel.time;
        s.overlap = overlap;
        const double prior = PriorSlowdown(GpuLimits{}).factor(s.kernel, s.load);
        const double factor = prior * std::exp(residual(s.kernel, s.load));
        s.time_overlapped = s.time_alone * of_whole_kernel(factor, overlap);
        samples.push_back(std::move(s));
    }
    return samples;
}

} // namespace echosim
