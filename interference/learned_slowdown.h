// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/fit/model_file.h"
#include "interference/fit/residual.h"
#include "interference/prior.h"
#include "interference/samples.h"

#include <memory>
#include <string>
#include <vector>

// Prior times residual. With features x (features.h) and r(x) the residual model's mean, the factor is
// S = S_prior exp(r(x)); where the residual knows nothing the prior stands:
//   - a feature lies more than a quarter of its range in the data outside of that range, or
//   - the sd of r(x) is above 0.4, or less than a quarter of a sample is relevant to x, or
//   - (models for the families of the data) the kernel's family is known by name and is not among the data's,
//     or it is not known by name (a simulated graph) and its class is not among the data's.
//
// Fitted to y = ln(max(0.3, 1 + s)) - ln S_prior, where s = (time overlapped - time alone) / (time alone x
// overlap) is the excess on the overlapped part, with weight min(1, overlap)^2: what a kernel that is
// overlapped for a fifth of its time says about s has five times the noise. The 0.3 is for kernels that ran
// faster, which noise makes. Example: 100 us alone, 130 us with half of it overlapped: s = 0.6, 1 + s = 1.6;
// with S_prior = 1.2, y = ln(1.6 / 1.2) = 0.288, weight 0.25.
//
// Of the features those are used that vary in the data. Where all samples have the same communication, r does
// not depend on it: S follows other communication as the prior does, and rises with CTAs and HBM traffic.
// A factor below 1 is taken as 1.
//
// Where the samples have several, S of a kernel still rises with CTAs and HBM traffic, by construction. Let
// F_k be the factor as above beside configuration k = (c_k, h_k) of the data (the 16 with the most samples),
// "<=" hold for both numbers, and M_k = max of F_j over j <= k. Then
//
//   S(c, h) = S_prior(c, h) exp(a), but at least max of M_k over k <= (c, h)
//                                   and at most min of M_k over k >= (c, h)
//
// with a = mean of ln(F_k / S_prior,k) over all k: all three never fall, and at k itself S = M_k. Beyond the
// ranges and the quarter, the prior stands for the first, but not below its value at that end (above), nor
// above it (below).
// Example: F = 1.5 at 8 CTAs and 1.4 at 16, same HBM traffic, prior 1.08 and 1.17: S(16) = 1.5, and with
// a = (ln 1.39 + ln 1.20) / 2 = 0.254 12 CTAs, prior 1.125, have 1.45, raised to 1.5.
//
// The band comes from the left-out residuals of the data, weighted by how much each sample says about the
// kernel (spread.h); the factor is the point of that spread with the least relative error, and where S is
// raised or lowered as above, the band moves with it.
namespace echosim {

inline constexpr std::size_t kFewestSamples = 20; // with overlap, for a fit

enum class Fitter : std::uint8_t { ridge, gaussian_process, boosted_trees };

struct FitOptions {
    Fitter fitter = Fitter::gaussian_process;
    // Falls back to the prior for families that are not in the data. Off only to ask how well the residual
    // carries over to families that it has not seen.
    bool known_families_only = true;
};

// A value: copies share the fit. Thread-safe.
class LearnedSlowdown final : public SlowdownModel, public SlowdownEstimator {
  public:
    bool identity() const override { return false; }
    void rates(std::span<const Running> on_one_gpu, std::span<double> rate) const override;
    Seconds start_delay(const Running& starting, std::span<const Running> on_one_gpu,
                        std::span<const Seconds> remaining) const override;
    SlowdownEstimate estimate(const KernelFootprint& kernel, const CommLoad& load,
                              std::string_view family) const override;

    // The same fit, asked about another GPU.
    LearnedSlowdown on_gpu(const GpuLimits& limits) const;

    const ModelFacts& facts() const { return file_->facts; }
    const ResidualModel& residual() const { return *file_->residual; }
    // Features that vary in the data, in the order of the residual's columns.
    const std::vector<Feature>& columns() const { return file_->columns; }
    // For the model file: who writes it, the files of the data, the figures of a cross-validation.
    void describe(std::string written_by, std::vector<std::string> files, std::vector<ModelFigures> figures);

    // Model file, schema echosim.interference/1: features and their hash, GPU, NCCL version, what it was
    // fitted to, the residual model. `where` starts error messages.
    std::string to_json_text() const;
    static std::unique_ptr<LearnedSlowdown> from_json_text(const std::string& text, const std::string& where,
                                                           const GpuLimits& limits);

  private:
    friend std::unique_ptr<LearnedSlowdown> fit_slowdown(const std::vector<InterferenceSample>&,
                                                         const FitOptions&);
    LearnedSlowdown() = default;
    bool in_data(const KernelFootprint& kernel, std::string_view family) const;
    // With the residual at the pair; the prior where the residual knows nothing.
    SlowdownEstimate at_pair(const KernelFootprint& kernel, const CommLoad& load) const;
    double rising_factor(const KernelFootprint& kernel, const CommLoad& load) const;
    double prior_shape(const KernelFootprint& kernel, const CommLoad& load, double shift) const;

    PriorSlowdown prior_{GpuLimits{}};
    std::shared_ptr<const ModelFile> file_;
};

// Fits to samples with overlap > 0 (others are ignored). Deterministic. Throws InputError when there are
// fewer than 20 samples or the fitter is not to be had (boosted trees without libxgboost).
std::unique_ptr<LearnedSlowdown> fit_slowdown(const std::vector<InterferenceSample>& samples,
                                              const FitOptions& options);

} // namespace echosim
