// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/device.h"

#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

std::string hint_of(cudaError_t error) {
    switch (error) {
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorSystemDriverMismatch:
        return "this needs an NVIDIA GPU and its driver (nvidia-smi shows both); --dry-run works without";
    case cudaErrorMemoryAllocation:
        return "free the GPU of other processes, or choose fewer --kernels";
    case cudaErrorNoKernelImageForDevice:
        return "build on this machine: cmake -DCMAKE_CUDA_ARCHITECTURES=native";
    default:
        return "another process on the GPU, or a fault of it: nvidia-smi and dmesg say more";
    }
}

int attribute(cudaDeviceAttr which, int gpu) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, gpu), "asking for an attribute of the GPU");
    return value;
}

} // namespace

DeviceError::DeviceError(const std::string& tried, const std::string& said, const std::string& hint)
    : std::runtime_error(tried + " failed: " + said + (hint.empty() ? "" : "\n  hint: " + hint)) {}

void check(cudaError_t error, const char* tried) {
    if (error != cudaSuccess)
        throw DeviceError(tried, fmt::format("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error)),
                          hint_of(error));
}

int visible_gpus() {
    int count = 0;
    check(cudaGetDeviceCount(&count), "looking for GPUs");
    return count;
}

GpuFacts facts_of(int gpu) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu), "asking for the properties of the GPU");
    GpuFacts facts;
    facts.name = properties.name;
    facts.sms = properties.multiProcessorCount;
    facts.compute_major = properties.major;
    facts.compute_minor = properties.minor;
    facts.threads_per_sm = properties.maxThreadsPerMultiProcessor;
    facts.clock = 1e3 * attribute(cudaDevAttrClockRate, gpu);
    facts.hbm_bandwidth = memory_bandwidth(1e3 * attribute(cudaDevAttrMemoryClockRate, gpu),
                                           attribute(cudaDevAttrGlobalMemoryBusWidth, gpu));
    facts.l2_bytes = static_cast<Bytes>(attribute(cudaDevAttrL2CacheSize, gpu));
    facts.memory_bytes = properties.totalGlobalMem;
    return facts;
}

DeviceBuffer::DeviceBuffer(Bytes bytes) : bytes_(bytes) {
    check(cudaMalloc(&data_, bytes), "allocating memory of the GPU");
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

DeviceBuffer::~DeviceBuffer() {
    if (data_ != nullptr)
        (void)cudaFree(data_);
}

Stream::Stream(bool high_priority) {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for stream priorities");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, high_priority ? greatest : least),
          "creating a stream");
}

Stream::Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}

Stream::~Stream() {
    if (stream_ != nullptr)
        (void)cudaStreamDestroy(stream_);
}

void Stream::wait() const {
    check(cudaStreamSynchronize(stream_), "running kernels");
}

void fill(const DeviceBuffer& buffer, Filling filling) {
    const auto count = static_cast<std::int64_t>(buffer.bytes() / (filling == Filling::fp32 ? 4 : 2));
    launch(DeviceKernel::fill, {1024, 256}, FillArguments{buffer.as<void>(), count, filling}, nullptr);
    check(cudaDeviceSynchronize(), "filling buffers");
}

TimeNs clock_step() {
    const DeviceBuffer step(sizeof(unsigned long long));
    launch(DeviceKernel::clock_step, {}, ClockArguments{step.as<unsigned long long>(), 200}, nullptr);
    unsigned long long value = 0;
    check(cudaMemcpy(&value, step.as<void>(), sizeof value, cudaMemcpyDeviceToHost), "reading the clock");
    return static_cast<TimeNs>(value);
}

} // namespace echosim
