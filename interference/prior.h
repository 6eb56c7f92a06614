// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/estimate.h"
#include "interference/slowdown.h"

namespace echosim {

// What of a GPU the equations need.
struct GpuLimits {
    double sms = 108; // M
    double threads_per_sm = 2048;
    double registers_per_sm = 65536;
    double shared_bytes_per_sm = 164 * 1024.0;
};
struct Gpu;
GpuLimits limits_of(const Gpu& gpu);

// The prior: no training data needed. A value; thread-safe.
class PriorSlowdown final : public SlowdownModel, public SlowdownEstimator {
  public:
    explicit PriorSlowdown(const GpuLimits& limits);
    bool identity() const override { return false; }
    void rates(std::span<const Running> on_one_gpu, std::span<double> rate) const override;
    Seconds start_delay(const Running& starting, std::span<const Running> on_one_gpu,
                        std::span<const Seconds> remaining) const override;
    SlowdownEstimate estimate(const KernelFootprint& kernel, const CommLoad& load,
                              std::string_view family) const override;
    const GpuLimits& limits() const { return limits_; }

  private:
    GpuLimits limits_;
};

} // namespace echosim
