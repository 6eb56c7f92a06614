// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/device.h"
#include "tracer/interference_bench/timed_op.h"

namespace echosim {

// Three operands that all kernels share, large enough for each of them.
struct Operands {
    DeviceBuffer a, b, c;
};
Operands make_operands(Bytes each, Filling filling);

// One of device_kernels.cu on its operands.
class OwnKernel final : public TimedOp {
  public:
    OwnKernel(const KernelCase& kernel, const GpuFacts& gpu, const Operands& operands);
    void launch(cudaStream_t stream, unsigned long long* slots) override;
    bool stamps_itself() const override { return true; }
    LaunchFacts facts() const;

  private:
    DeviceKernel function_;
    LaunchShape shape_;
    KernelArguments arguments_{};
    const char* name_;
};

// Registers, shared memory and blocks per SM as the runtime knows them.
LaunchFacts facts_of_launch(const char* name, DeviceKernel kernel, const LaunchShape& shape);

} // namespace echosim
