// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/gemm.h"
#include "tracer/interference_bench/rig.h"

#include <functional>
#include <memory>

namespace echosim {

// The kernels of a plan, ready to run, with their times alone.
class KernelSet {
  public:
    struct Entry {
        KernelCase kernel;
        std::unique_ptr<TimedOp> op;
        LaunchFacts launch;
        Seconds alone = 0;
    };
    // GEMMs are left out, with a note, where cuBLAS is missing.
    KernelSet(const std::vector<KernelCase>& kernels, const GpuFacts& gpu, Rig& rig);
    // Null: left out.
    const Entry* find(const std::string& name) const;
    const std::vector<std::string>& notes() const { return notes_; }

  private:
    void add(const KernelCase& kernel, const GpuFacts& gpu);
    std::unique_ptr<Cublas> cublas_; // only where a GEMM is asked for
    Operands floats_, halves_;
    std::vector<Entry> entries_;
    std::vector<std::string> notes_;
};

struct Measured {
    std::vector<BenchSample> samples;
    std::vector<std::string> notes;
};

// All pairs of the plan, in its order. `progress` gets a line a pair.
Measured measure(const BenchPlan& plan, const BenchOptions& options, const GpuFacts& gpu, CommSource& comms,
                 const std::function<void(const std::string&)>& progress);

} // namespace echosim
