// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/device.h"
#include "tracer/interference_bench/pacing.h"
#include "tracer/interference_bench/timed_op.h"

namespace echosim {

// The stand-in for NCCL on one GPU: c CTAs that copy in HBM at a set rate.
class StandIn final : public Communication {
  public:
    // The buffers outlive this.
    StandIn(const CommCase& comm, const Pacing& pacing, Bytes shared_bytes, const DeviceBuffer& from,
            const DeviceBuffer& to);
    void launch(cudaStream_t stream, unsigned long long* slots) override;
    bool stamps_itself() const override { return true; }
    void set_bytes(Bytes bytes) override;
    CommFacts facts(Seconds alone, const GpuFacts& gpu) const override;

  private:
    CommCase comm_;
    LaunchShape shape_;
    StandInArguments arguments_{};
};

class StandInSource final : public CommSource {
  public:
    StandInSource(const GpuFacts& gpu, TimeNs clock_step);
    std::unique_ptr<Communication> make(const CommCase& comm) override;

  private:
    GpuFacts gpu_;
    TimeNs clock_step_;
    Bytes shared_bytes_; // of a CTA: 82 KiB, or what the GPU has
    DeviceBuffer from_, to_;
};

} // namespace echosim
