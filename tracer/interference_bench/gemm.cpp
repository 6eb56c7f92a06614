// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/gemm.h"

#include "tracer/interference_bench/captured_launch.h"

#include <fmt/format.h>

namespace echosim {
namespace {

constexpr Bytes kWorkspace = 64_MiB;
constexpr const char* kNames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so", nullptr};

void check_cublas(int status, const char* tried) {
    if (status != 0)
        throw DeviceError(tried, fmt::format("cuBLAS status {}", status),
                          "libcublas and the driver have to be of the same CUDA release");
}

} // namespace

Cublas::Cublas() : library_(kNames) {
    if (!library_.loaded())
        return;
    check_cublas(library_.function<int(cublas::Handle*)>("cublasCreate_v2")(&handle_), "starting cuBLAS");
    workspace_ = DeviceBuffer(kWorkspace);
}

Cublas::~Cublas() {
    if (handle_ != nullptr)
        library_.function<int(cublas::Handle)>("cublasDestroy_v2")(handle_);
}

void Cublas::multiply(const KernelCase& kernel, cudaDataType type, const Operands& operands,
                      cudaStream_t stream) {
    using SetStream = int(cublas::Handle, cudaStream_t);
    using SetWorkspace = int(cublas::Handle, void*, std::size_t);
    using GemmEx = int(cublas::Handle, int, int, int, int, int, const void*, const void*, cudaDataType, int,
                       const void*, cudaDataType, int, const void*, void*, cudaDataType, int, int, int);
    check_cublas(library_.function<SetStream>("cublasSetStream_v2")(handle_, stream), "choosing a stream");
    // setting the stream brings the default workspace back, which cannot be captured
    check_cublas(
        library_.function<SetWorkspace>("cublasSetWorkspace_v2")(handle_, workspace_.as<void>(), kWorkspace),
        "setting the workspace");
    const float one = 1, zero = 0;
    const int m = static_cast<int>(kernel.rows), n = static_cast<int>(kernel.columns);
    const int k = static_cast<int>(kernel.depth);
    check_cublas(library_.function<GemmEx>("cublasGemmEx")(
                     handle_, cublas::kTranspose, cublas::kNoTranspose, m, n, k, &one, operands.a.as<void>(),
                     type, k, operands.b.as<void>(), type, k, &zero, operands.c.as<void>(), type, m,
                     cublas::kComputeFloat, cublas::kDefaultAlgorithm),
                 "a GEMM");
}

Gemm::Gemm(Cublas& cublas, const KernelCase& kernel, cudaDataType half, const Operands& operands)
    : cublas_(cublas), kernel_(kernel), type_(kernel.program == Program::gemm_half ? half : CUDA_R_32F),
      operands_(operands) {}

void Gemm::launch(cudaStream_t stream, unsigned long long*) {
    cublas_.multiply(kernel_, type_, operands_, stream);
}

LaunchFacts Gemm::facts() {
    const Stream stream;
    launch(stream.get(), nullptr); // loads the kernel: loading cannot be captured
    stream.wait();
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "capturing a GEMM");
    launch(stream.get(), nullptr);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream.get(), &graph), "capturing a GEMM");
    LaunchFacts facts = facts_of_graph(graph).value_or(LaunchFacts{});
    (void)cudaGraphDestroy(graph);
    if (facts.name.empty())
        facts.name = "cublas_" + kernel_.name;
    return facts;
}

} // namespace echosim
