// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/footprint.h"

#include <span>

// How much kernels that run together on one GPU slow each other. This is the seam; the models are behind it.
namespace echosim {

// One op that is running on the GPU. Exactly one of the two pointers is set, or none: then nothing is known
// but its kind and it is neither slowed nor slows.
struct Running {
    OpKind kind = OpKind::compute;
    const KernelFootprint* kernel = nullptr; // compute
    const CommFootprint* comm = nullptr;     // collectives, transfers, copies
    bool waiting = false; // communication that waits for its peers: holds its SMs and moves nothing yet
};

class SlowdownModel {
  public:
    virtual ~SlowdownModel() = default;
    // True when every rate is 1 whatever runs together: the engine then skips all bookkeeping.
    virtual bool identity() const = 0;
    // Fills rate[i] in (0, 1] for every op that runs on one GPU, in the order in which they started. A pure
    // function of what the footprints say: the engine remembers the answer for each set of ops.
    virtual void rates(std::span<const Running> on_one_gpu, std::span<double> rate) const = 0;
    // How long an op waits for SMs before its own work can begin, when it starts while others are running:
    // extra time, not a factor. remaining[i]: seconds of work alone that on_one_gpu[i] has still to do.
    virtual Seconds start_delay(const Running& starting, std::span<const Running> on_one_gpu,
                                std::span<const Seconds> remaining) const {
        (void)starting, (void)on_one_gpu, (void)remaining;
        return 0;
    }
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
