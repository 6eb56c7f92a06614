// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/samples_csv.h"

#include <cuda_runtime.h>
#include <memory>
#include <string>
#include <vector>

namespace echosim {

// Something that is timed on the first GPU.
class TimedOp {
  public:
    virtual ~TimedOp() = default;
    // Queues it. `slots`: where a kernel that stamps itself writes its times (device_kernels.h).
    virtual void launch(cudaStream_t stream, unsigned long long* slots) = 0;
    virtual bool stamps_itself() const = 0;
};

// Communication of a size that can be chosen.
class Communication : public TimedOp {
  public:
    virtual void set_bytes(Bytes bytes) = 0; // rounded, and at most what its buffers allow
    // What it holds and moves, when its current size takes `alone`.
    virtual CommFacts facts(Seconds alone, const GpuFacts& gpu) const = 0;
};

// Makes the communications of a plan; NCCL's communicators are made here.
class CommSource {
  public:
    virtual ~CommSource() = default;
    virtual std::unique_ptr<Communication> make(const CommCase& comm) = 0;
};

} // namespace echosim
