// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"

#include <span>

// How much kernels that run together on one GPU slow each other. This is the seam; the models are behind it.
namespace echosim {

// One op that is running on the GPU.
struct Running {
    OpKind kind = OpKind::compute;
    KernelClass kernel_class = KernelClass::other;
    int ctas = 0;         // SMs held by a collective's channels; 0 for compute
    double hbm_share = 0; // share of the HBM bandwidth it needs alone, 0..1
};

class SlowdownModel {
  public:
    virtual ~SlowdownModel() = default;
    // True when every rate is 1 whatever runs together: the engine then skips all bookkeeping.
    virtual bool identity() const = 0;
    // Fills rate[i] in (0, 1] for every op that runs on one GPU; called once per change of that set.
    virtual void rates(std::span<const Running> on_one_gpu, std::span<double> rate) const = 0;
};

// No interference (`--set interference=off`).
class NoSlowdown final : public SlowdownModel {
  public:
    bool identity() const override { return true; }
    void rates(std::span<const Running> on_one_gpu, std::span<double> rate) const override;
};

// Compute that overlaps communication takes `factor` times as long (`--set interference=constant:1.2`);
// factor >= 1.
class ConstantSlowdown final : public SlowdownModel {
  public:
    explicit ConstantSlowdown(double factor);
    bool identity() const override { return factor_ == 1.0; }
    void rates(std::span<const Running> on_one_gpu, std::span<double> rate) const override;

  private:
    double factor_;
};

} // namespace echosim
