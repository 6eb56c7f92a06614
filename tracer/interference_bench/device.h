// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tracer/interference_bench/device_kernels.h"
#include "tracer/interference_bench/gpu_facts.h"

#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

// The CUDA runtime as values that clean up after themselves, and its errors as exceptions.
namespace echosim {

// what(): what was tried, the library's words, a hint.
class DeviceError : public std::runtime_error {
  public:
    DeviceError(const std::string& tried, const std::string& said, const std::string& hint = {});
};

void check(cudaError_t error, const char* tried); // throws DeviceError

int visible_gpus(); // throws DeviceError where there is no driver or no GPU
GpuFacts facts_of(int gpu);

class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    explicit DeviceBuffer(Bytes bytes); // on the current GPU
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer();
    template <class T> T* as() const { return static_cast<T*>(data_); }
    Bytes bytes() const { return bytes_; }

  private:
    void* data_ = nullptr;
    Bytes bytes_ = 0;
};

class Stream {
  public:
    explicit Stream(bool high_priority = false); // of the current GPU, waits for no other stream
    Stream(Stream&& other) noexcept;
    Stream& operator=(Stream&&) = delete;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream();
    cudaStream_t get() const { return stream_; }
    void wait() const;

  private:
    cudaStream_t stream_ = nullptr;
};

struct LaunchShape {
    dim3 grid = 1, block = 1;
    Bytes shared_bytes = 0; // dynamic
};

// Launches one of our kernels with its struct of arguments.
template <class Arguments>
void launch(DeviceKernel kernel, const LaunchShape& shape, Arguments arguments, cudaStream_t stream) {
    void* pointers[] = {&arguments};
    check(cudaLaunchKernel(device_function(kernel), shape.grid, shape.block, pointers,
                           static_cast<std::size_t>(shape.shared_bytes), stream),
          "launching a kernel");
}

void fill(const DeviceBuffer& buffer, Filling filling);

// Smallest step of the GPU's clock that stamps are read from, ns: 32 on recent GPUs, 1000 on others.
TimeNs clock_step();

} // namespace echosim
