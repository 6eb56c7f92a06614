// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/prior.h"
#include "interference/residual.h"
#include "interference/samples.h"

#include <memory>
#include <string>
#include <vector>

// Prior times residual. With features x (features.h) and r(x) the residual model's mean, the factor is
// S = S_prior exp(r(x)); where the residual knows nothing the prior stands:
//   - the sd of r(x) is above 0.4, or
//   - the kernel's family is known by name and is not among the data's, or
//   - it is not known by name (a simulated graph) and its class is not among the data's.
namespace echosim {

enum class Fitter : std::uint8_t { ridge, gaussian_process, boosted_trees };

struct FitOptions {
    Fitter fitter = Fitter::gaussian_process;
    // Falls back to the prior for families that are not in the data. Off only to ask how well the residual
    // carries over to families that it has not seen.
    bool known_families_only = true;
};

class LearnedSlowdown final : public SlowdownModel, public SlowdownEstimator {
  public:
    bool identity() const override { return false; }
    void rates(std::span<const Running> on_one_gpu, std::span<double> rate) const override;
    Seconds start_delay(const Running& starting, std::span<const Running> on_one_gpu,
                        std::span<const Seconds> remaining) const override;
    SlowdownEstimate estimate(const KernelFootprint& kernel, const CommLoad& load,
                              std::string_view family) const override;

    // Model file, schema echosim.interference/1: features and their hash, GPU, NCCL version, what it was
    // fitted to, the residual model. `where` starts error messages.
    std::string to_json_text() const;
    static std::unique_ptr<LearnedSlowdown> from_json_text(const std::string& text, const std::string& where,
                                                           const GpuLimits& limits);

  private:
    friend std::unique_ptr<LearnedSlowdown> fit_slowdown(const std::vector<InterferenceSample>&,
                                                         const FitOptions&);
    LearnedSlowdown() = default;
    PriorSlowdown prior_{GpuLimits{}};
    std::unique_ptr<ResidualModel> residual_;
};

// Fits to samples with overlap > 0 (others are ignored). Deterministic. Throws InputError when there are
// fewer than 20 samples or the fitter is not to be had (boosted trees without libxgboost).
std::unique_ptr<LearnedSlowdown> fit_slowdown(const std::vector<InterferenceSample>& samples,
                                              const FitOptions& options);

} // namespace echosim
