// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/captured_launch.h"

#include "tracer/interference_bench/device.h"

#include <cstdlib>
#include <cuda.h>
#include <cxxabi.h>
#include <memory>
#include <vector>

namespace echosim {
namespace {

// A function of the driver, of CUDA 12.0's form or later; null where the driver has none. The driver library
// is not linked, so that the program starts on machines without one.
template <class Function> Function* driver_function(const char* name, [[maybe_unused]] unsigned version) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess || result != cudaDriverEntryPointSuccess)
        return nullptr;
    return reinterpret_cast<Function*>(found);
}

struct Driver {
    CUresult (*node_parameters)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*) =
        driver_function<CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*)>("cuGraphKernelNodeGetParams",
                                                                            12000);
    CUresult (*function_of)(CUfunction*, CUkernel) =
        driver_function<CUresult(CUfunction*, CUkernel)>("cuKernelGetFunction", 12000);
    CUresult (*attribute)(int*, CUfunction_attribute, CUfunction) =
        driver_function<CUresult(int*, CUfunction_attribute, CUfunction)>("cuFuncGetAttribute", 12000);
    CUresult (*occupancy)(int*, CUfunction, int, std::size_t) =
        driver_function<CUresult(int*, CUfunction, int, std::size_t)>(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor", 12000);
    CUresult (*name)(const char**,
                     CUfunction) = driver_function<CUresult(const char**, CUfunction)>("cuFuncGetName",
                                                                                       12030);
    bool complete() const {
        return node_parameters != nullptr && function_of != nullptr && attribute != nullptr &&
               occupancy != nullptr;
    }
};

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? text.get() : name;
}

std::vector<cudaGraphNode_t> kernel_nodes(cudaGraph_t graph) {
    std::size_t count = 0;
    check(cudaGraphGetNodes(graph, nullptr, &count), "reading a captured graph");
    std::vector<cudaGraphNode_t> nodes(count), kernels;
    check(cudaGraphGetNodes(graph, nodes.data(), &count), "reading a captured graph");
    for (const cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type{};
        check(cudaGraphNodeGetType(node, &type), "reading a captured graph");
        if (type == cudaGraphNodeTypeKernel)
            kernels.push_back(node);
    }
    return kernels;
}

std::optional<LaunchFacts> facts_of_node(const Driver& driver, cudaGraphNode_t node) {
    CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
    if (driver.node_parameters(node, &parameters) != CUDA_SUCCESS)
        return std::nullopt;
    CUfunction function = parameters.func;
    if (function == nullptr && driver.function_of(&function, parameters.kern) != CUDA_SUCCESS)
        return std::nullopt;
    LaunchFacts facts{"",
                      {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ},
                      {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ},
                      0,
                      parameters.sharedMemBytes,
                      1};
    int static_shared = 0;
    if (driver.attribute(&facts.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function) != CUDA_SUCCESS ||
        driver.attribute(&static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) != CUDA_SUCCESS ||
        driver.occupancy(&facts.blocks_per_sm, function,
                         static_cast<int>(facts.block[0] * facts.block[1] * facts.block[2]),
                         parameters.sharedMemBytes) != CUDA_SUCCESS)
        return std::nullopt;
    facts.shared_bytes += static_cast<Bytes>(static_shared);
    const char* name = nullptr;
    if (driver.name != nullptr && driver.name(&name, function) == CUDA_SUCCESS && name != nullptr)
        facts.name = demangled(name);
    return facts;
}

double threads_of(const LaunchFacts& facts) {
    double threads = 1;
    for (int i = 0; i < 3; ++i)
        threads *= static_cast<double>(facts.grid[i]) * facts.block[i];
    return threads;
}

} // namespace

std::optional<LaunchFacts> facts_of_graph(cudaGraph_t graph) {
    const Driver driver;
    if (!driver.complete())
        return std::nullopt;
    std::optional<LaunchFacts> largest;
    for (const cudaGraphNode_t node : kernel_nodes(graph)) {
        const auto facts = facts_of_node(driver, node);
        if (facts && (!largest || threads_of(*facts) > threads_of(*largest)))
            largest = facts;
    }
    return largest;
}

} // namespace echosim
