// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/footprint.h"

#include <span>
#include <string>
#include <string_view>

// Slowdown of one kernel under one set of communications: what calibration, validation and the engine's
// models share. Factors are of the overlapped part: time with communication all along / time alone.
namespace echosim {

// The communication that runs beside a kernel, summed.
struct CommLoad {
    double ctas = 0;      // c
    double hbm_share = 0; // h / BW
    double nvlink_share = 0;
    double nic_share = 0;
    double ctas_fitting = 0;   // of c: CTAs for which the kernel leaves room on its SMs (they share an SM)
    bool kernel_first = false; // the kernel held the SMs before the communication came
    bool high_priority = false;
    bool any() const { return ctas > 0 || hbm_share > 0; }
};

// Sums what runs beside `kernel` on a GPU. `fits` follows from registers, shared memory and threads of both.
CommLoad load_of(const KernelFootprint& kernel, std::span<const CommFootprint> communication,
                 bool kernel_first);

// Where an estimate comes from.
enum class EstimateSource : std::uint8_t { prior, residual };

struct SlowdownEstimate {
    double factor = 1;   // the most likely one, > 0
    double low = 1;      // 5 % of kernels are below
    double high = 1;     // 5 % are above
    double expected = 1; // mean: what the sum over many kernels needs
    EstimateSource source = EstimateSource::prior;
};

// What both the prior and a learned model answer. `family` is the kernel's name without template digits (see
// kernel_names.h); empty = not known, as in a simulated graph.
class SlowdownEstimator {
  public:
    virtual ~SlowdownEstimator() = default;
    virtual SlowdownEstimate estimate(const KernelFootprint& kernel, const CommLoad& load,
                                      std::string_view family) const = 0;
};

// Factor of the whole kernel when only `overlap` (0..1) of its time alone runs beside communication:
// 1 + overlap (factor - 1), Echo's formula.
constexpr double of_whole_kernel(double factor, double overlap) {
    return 1 + overlap * (factor - 1);
}

} // namespace echosim
