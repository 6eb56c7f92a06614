// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/device.h"
#include "tracer/interference_bench/loaded_library.h"
#include "tracer/interference_bench/own_kernels.h"

namespace echosim {

// What of cuBLAS is used, declared here: the headers need not be there. Values of cublas_v2.h.
namespace cublas {
using Handle = void*;
constexpr int kNoTranspose = 0;
constexpr int kTranspose = 1;
constexpr int kComputeFloat = 68; // CUBLAS_COMPUTE_32F: fp32 sums, TF32 not allowed for fp32 operands
constexpr int kDefaultAlgorithm = -1;
} // namespace cublas

// cuBLAS with one handle; not there: no GEMMs are measured.
class Cublas {
  public:
    Cublas();
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;
    ~Cublas();
    bool available() const { return handle_ != nullptr; }
    // C (m x n) = transpose(A) B on column-major operands, as the forward pass of a linear layer.
    void multiply(const KernelCase& kernel, cudaDataType type, const Operands& operands, cudaStream_t stream);

  private:
    LoadedLibrary library_;
    cublas::Handle handle_ = nullptr;
    DeviceBuffer workspace_;
};

class Gemm final : public TimedOp {
  public:
    // `half`: the type of gemm_half. The cuBLAS and the operands outlive this.
    Gemm(Cublas& cublas, const KernelCase& kernel, cudaDataType half, const Operands& operands);
    void launch(cudaStream_t stream, unsigned long long* slots) override;
    bool stamps_itself() const override { return false; }
    // Found by capturing a launch; without grid where the driver does not tell.
    LaunchFacts facts();

  private:
    Cublas& cublas_;
    KernelCase kernel_;
    cudaDataType type_;
    const Operands& operands_;
};

} // namespace echosim
