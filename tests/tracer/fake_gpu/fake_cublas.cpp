// SPDX-License-Identifier: Apache-2.0
// Loaded as libcublas.so.13: every GEMM is a kernel of 132 blocks that takes 150 us.
#include "tests/tracer/fake_gpu/fake_gpu.h"
#include "tracer/interference_bench/gemm.h"

extern "C" {
int cublasCreate_v2(void** handle) {
    static cudaStream_t stream = nullptr;
    *handle = &stream;
    return 0;
}
int cublasDestroy_v2(void*) {
    return 0;
}
int cublasSetStream_v2(void* handle, cudaStream_t stream) {
    *static_cast<cudaStream_t*>(handle) = stream;
    return 0;
}
int cublasSetWorkspace_v2(void*, void*, std::size_t) {
    return 0;
}
int cublasGemmEx(void* handle, int transpose_a, int transpose_b, int m, int n, int k, const void*,
                 const void*, cudaDataType, int lda, const void*, cudaDataType, int ldb, const void*, void*,
                 cudaDataType, int ldc, int, int) {
    if (transpose_a != echosim::cublas::kTranspose || transpose_b != echosim::cublas::kNoTranspose ||
        lda != k || ldb != k || ldc != m || n <= 0)
        return 7; // invalid value
    const echosim::fake::LibraryKernel kernel{"_Z9fake_gemmPKf", 132, 384, 150'000, 0};
    fake_gpu_launch(&kernel, *static_cast<cudaStream_t*>(handle));
    return 0;
}
}
