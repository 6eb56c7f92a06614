// SPDX-License-Identifier: Apache-2.0
#include "tests/tracer/fake_gpu/timeline.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <cuda.h>
#include <map>
#include <sys/mman.h>
#include <utility>

namespace echosim::fake {
namespace {

struct State {
    Settings settings;
    Counts counts;
    std::vector<FakeStream*> streams;
    std::map<void*, std::size_t> sizes; // of buffers
    TimeNs now = 1'000'000;
    int gpu = 0;
};

State& state() {
    static State the_state;
    return the_state;
}

FakeStream* fake(cudaStream_t stream) {
    return reinterpret_cast<FakeStream*>(stream);
}

void run_queued() {
    State& s = state();
    s.now = run_timeline(s.streams, s.now, s.settings) + 10'000;
    for (FakeStream* stream : s.streams) {
        // a gate that the host never opened gives up
        for (const Task& task : stream->tasks)
            if (task.kind == Task::Kind::gate)
                *task.gate.expired = 1;
        stream->tasks.clear();
        stream->ready = s.now;
    }
}

template <class T> T argument(void** arguments) {
    T value;
    std::memcpy(&value, arguments[0], sizeof value);
    return value;
}

Task task_of(DeviceKernel kernel, dim3 grid, void** arguments) {
    Task task;
    if (kernel == DeviceKernel::gate) {
        task.kind = Task::Kind::gate;
        task.gate = argument<GateArguments>(arguments);
    } else if (kernel == DeviceKernel::stamp) {
        task.kind = Task::Kind::stamp;
        task.to = argument<StampArguments>(arguments).to;
    } else if (kernel == DeviceKernel::stand_in) {
        const auto stand_in = argument<StandInArguments>(arguments);
        task.kind = Task::Kind::comm;
        task.work = static_cast<double>(stand_in.chunks_per_cta) * static_cast<double>(stand_in.period_ns);
        task.ctas = static_cast<int>(grid.x);
        task.slots = stand_in.slots;
    } else {
        task.work = static_cast<double>(state().settings.kernel_time);
        task.slots = argument<KernelArguments>(arguments).slots;
    }
    return task;
}

struct Graph {
    std::vector<LibraryKernel> kernels;
};

CUresult node_parameters(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
    const auto* kernel = reinterpret_cast<const LibraryKernel*>(node);
    *parameters = {};
    parameters->func = reinterpret_cast<CUfunction>(node);
    parameters->gridDimX = kernel->blocks;
    parameters->blockDimX = kernel->threads;
    parameters->gridDimY = parameters->gridDimZ = parameters->blockDimY = parameters->blockDimZ = 1;
    parameters->sharedMemBytes = 1000;
    return CUDA_SUCCESS;
}
CUresult function_of(CUfunction*, CUkernel) {
    return CUDA_ERROR_INVALID_HANDLE;
}
CUresult attribute(int* value, CUfunction_attribute which, CUfunction) {
    *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 90 : 24;
    return CUDA_SUCCESS;
}
CUresult occupancy(int* blocks, CUfunction, int, std::size_t) {
    *blocks = 1;
    return CUDA_SUCCESS;
}
CUresult name(const char** text, CUfunction function) {
    *text = reinterpret_cast<const LibraryKernel*>(function)->mangled_name;
    return CUDA_SUCCESS;
}

} // namespace

void reset(const Settings& settings) {
    state().settings = settings;
    state().counts = {};
}

Counts& counts() {
    return state().counts;
}

} // namespace echosim::fake

namespace echosim {

const void* device_function(DeviceKernel kernel) {
    static const std::array<char, 32> kPlaces{};
    return &kPlaces[static_cast<std::size_t>(kernel)];
}

} // namespace echosim

using namespace echosim::fake;

extern "C" {

void fake_gpu_launch(const LibraryKernel* kernel, cudaStream_t stream) {
    if (fake(stream)->capturing) {
        fake(stream)->captured.push_back(*kernel);
        return;
    }
    Task task;
    task.kind = kernel->ctas > 0 ? Task::Kind::comm : Task::Kind::kernel;
    task.work = static_cast<double>(kernel->time);
    task.ctas = kernel->ctas;
    fake(stream)->tasks.push_back(task);
}

void fake_gpu_count_comms(int change) {
    counts().comms += change;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3, void** arguments, size_t,
                             cudaStream_t stream) {
    using echosim::DeviceKernel;
    if (function == echosim::device_function(DeviceKernel::fill))
        return cudaSuccess;
    if (function == echosim::device_function(DeviceKernel::clock_step)) {
        *argument<echosim::ClockArguments>(arguments).step =
            static_cast<unsigned long long>(state().settings.clock_step);
        return cudaSuccess;
    }
    for (int kernel = 0; kernel <= static_cast<int>(DeviceKernel::stamp); ++kernel)
        if (function == echosim::device_function(static_cast<DeviceKernel>(kernel)))
            fake(stream)->tasks.push_back(task_of(static_cast<DeviceKernel>(kernel), grid, arguments));
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
    auto* made = new FakeStream;
    made->gpu = state().gpu;
    state().streams.push_back(made);
    ++counts().streams;
    *stream = reinterpret_cast<cudaStream_t>(made);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    std::erase(state().streams, fake(stream));
    delete fake(stream);
    --counts().streams;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
    run_queued();
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    run_queued();
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    fake(stream)->capturing = true;
    ++counts().captures;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    fake(stream)->capturing = false;
    *graph = reinterpret_cast<cudaGraph_t>(new Graph{std::exchange(fake(stream)->captured, {})});
    ++counts().graphs;
    return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    auto& kernels = reinterpret_cast<Graph*>(graph)->kernels;
    *count = kernels.size();
    for (std::size_t i = 0; nodes != nullptr && i < kernels.size(); ++i)
        nodes[i] = reinterpret_cast<cudaGraphNode_t>(&kernels[i]);
    return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType* type) {
    *type = cudaGraphNodeTypeKernel;
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete reinterpret_cast<Graph*>(graph);
    --counts().graphs;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
    // pages that nothing touches cost nothing, also under a sanitizer
    *data =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*data == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    state().sizes[*data] = bytes;
    ++counts().buffers;
    return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
    ::munmap(data, state().sizes.at(data));
    state().sizes.erase(data);
    --counts().buffers;
    return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
    return cudaMalloc(data, bytes);
}
cudaError_t cudaFreeHost(void* data) {
    return cudaFree(data);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
    *device = host;
    return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, size_t bytes) {
    if (bytes < (1U << 20U)) // larger ones only flush
        std::memset(data, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t) {
    return cudaMemset(data, value, bytes);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = state().settings.gpus;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int gpu) {
    state().gpu = gpu;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
    *properties = {};
    std::strcpy(properties->name, "Fake H100");
    properties->multiProcessorCount = 132;
    properties->major = 9;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->totalGlobalMem = std::size_t{80} << 30U;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
    *value = which == cudaDevAttrClockRate              ? 1'830'000
             : which == cudaDevAttrMemoryClockRate      ? 2'619'000
             : which == cudaDevAttrGlobalMemoryBusWidth ? 5120
             : which == cudaDevAttrL2CacheSize          ? 50 << 20
                                                        : 227 * 1024; // shared memory of a block
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    *attributes = {};
    attributes->numRegs = 96;
    attributes->sharedSizeBytes = 16;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t) {
    *blocks = 2048 / threads;
    return cudaSuccess;
}
cudaError_t cudaGetLastError() {
    return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) {
    return "out of fake memory";
}
const char* cudaGetErrorName(cudaError_t) {
    return "cudaErrorFake";
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult* result) {
    const std::pair<const char*, void*> known[] = {
        {"cuGraphKernelNodeGetParams", reinterpret_cast<void*>(node_parameters)},
        {"cuKernelGetFunction", reinterpret_cast<void*>(function_of)},
        {"cuFuncGetAttribute", reinterpret_cast<void*>(attribute)},
        {"cuOccupancyMaxActiveBlocksPerMultiprocessor", reinterpret_cast<void*>(occupancy)},
        {"cuFuncGetName", reinterpret_cast<void*>(name)}};
    *function = nullptr;
    for (const auto& [text, pointer] : known)
        if (state().settings.driver_tells && std::strcmp(text, symbol) == 0)
            *function = pointer;
    *result = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
}
