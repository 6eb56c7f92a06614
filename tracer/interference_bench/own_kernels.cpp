// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/own_kernels.h"

#include "simulator/core/error.h"

namespace echosim {
namespace {

struct Launchable {
    DeviceKernel function;
    const char* name;
    LaunchShape shape;
};

unsigned blocks_for(std::int64_t elements, std::int64_t each) {
    return static_cast<unsigned>((elements + each - 1) / each);
}

Launchable launchable(const KernelCase& kernel, const GpuFacts& gpu) {
    const std::int64_t elements = kernel.rows * kernel.columns;
    const auto rows = static_cast<unsigned>(kernel.rows);
    switch (kernel.program) {
    case Program::elementwise:
        return {DeviceKernel::elementwise, "echosim_elementwise", {blocks_for(elements, 4L * 128), 128}};
    case Program::copy:
        return {DeviceKernel::copy, "echosim_copy", {blocks_for(elements, 4L * 256), 256}};
    case Program::row_sum:
        return {DeviceKernel::row_sum, "echosim_row_sum", {rows, 256}};
    case Program::layer_norm:
        return {DeviceKernel::layer_norm, "echosim_layer_norm", {rows, 256}};
    case Program::column_sum:
        return {
            DeviceKernel::column_sum, "echosim_norm_wgrad", {blocks_for(kernel.columns, 32), dim3(32, 32)}};
    case Program::one_block:
        return {DeviceKernel::one_block, "echosim_one_block", {1, 512}};
    case Program::multiply_add:
        return {DeviceKernel::multiply_add,
                "echosim_multiply_add",
                {static_cast<unsigned>(wave_blocks(kernel.rows, gpu)), 256}};
    case Program::gemm_half:
    case Program::gemm_float:
        break;
    }
    ECHOSIM_CHECK(false, "a GEMM is no kernel of our own");
    return {};
}

} // namespace

Operands make_operands(Bytes each, Filling filling) {
    Operands operands{DeviceBuffer(each), DeviceBuffer(each), DeviceBuffer(each)};
    for (const DeviceBuffer* buffer : {&operands.a, &operands.b, &operands.c})
        fill(*buffer, filling);
    return operands;
}

OwnKernel::OwnKernel(const KernelCase& kernel, const GpuFacts& gpu, const Operands& operands) {
    const Launchable chosen = launchable(kernel, gpu);
    function_ = chosen.function;
    name_ = chosen.name;
    shape_ = chosen.shape;
    arguments_ = {operands.a.as<float>(),
                  operands.b.as<float>(),
                  operands.c.as<float>(),
                  kernel.rows,
                  kernel.columns,
                  kernel.depth,
                  nullptr};
}

void OwnKernel::launch(cudaStream_t stream, unsigned long long* slots) {
    KernelArguments arguments = arguments_;
    arguments.slots = slots;
    echosim::launch(function_, shape_, arguments, stream);
}

LaunchFacts OwnKernel::facts() const {
    return facts_of_launch(name_, function_, shape_);
}

LaunchFacts facts_of_launch(const char* name, DeviceKernel kernel, const LaunchShape& shape) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, device_function(kernel)),
          "asking for the registers of a kernel");
    LaunchFacts facts;
    facts.name = name;
    const dim3 grid = shape.grid, block = shape.block;
    for (const auto& [to, from] : {std::pair{facts.grid, grid}, std::pair{facts.block, block}}) {
        to[0] = from.x;
        to[1] = from.y;
        to[2] = from.z;
    }
    facts.registers = attributes.numRegs;
    facts.shared_bytes = attributes.sharedSizeBytes + shape.shared_bytes;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&facts.blocks_per_sm, device_function(kernel),
                                                        static_cast<int>(block.x * block.y * block.z),
                                                        static_cast<std::size_t>(shape.shared_bytes)),
          "asking how many blocks fit on an SM");
    return facts;
}

} // namespace echosim
