// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/kernel_cases.h"

#include <algorithm>
#include <cmath>

namespace echosim {
namespace {

constexpr int kTile = 128;
constexpr std::int64_t kMultiplyAddSteps = 4096;
constexpr int kMultiplyAddThreads = 256;
constexpr double kMultiplyAddSums = 8; // of a thread

double area(const KernelCase& kernel) {
    return static_cast<double>(kernel.rows) * static_cast<double>(kernel.columns);
}

std::vector<KernelCase> gemm_cases(const GpuFacts& gpu) {
    const TileGrid grid = tile_grid(gpu.sms);
    const std::int64_t m = std::int64_t{kTile} * grid.rows, n = std::int64_t{kTile} * grid.columns;
    const auto gemm = KernelClass::gemm;
    return {{"gemm_half_large", Program::gemm_half, gemm, 8192, 8192, 8192},
            {"gemm_half_wave", Program::gemm_half, gemm, m, n, 4096},
            {"gemm_half_small", Program::gemm_half, gemm, 512, 512, 1024},
            {"gemm_float_large", Program::gemm_float, gemm, 4096, 4096, 4096},
            {"gemm_float_wave", Program::gemm_float, gemm, m, n, 1024},
            {"gemm_float_small", Program::gemm_float, gemm, 512, 512, 512}};
}

} // namespace

std::vector<KernelCase> kernel_cases(const GpuFacts& gpu) {
    std::vector<KernelCase> cases = gemm_cases(gpu);
    const std::int64_t few = 32 * static_cast<std::int64_t>(std::lround(.36 * gpu.sms)), each = 32L * gpu.sms;
    const std::vector<KernelCase> own = {
        {"elementwise_large", Program::elementwise, KernelClass::elementwise, 16384, 4096, 1},
        {"elementwise_medium", Program::elementwise, KernelClass::elementwise, 2048, 4096, 1},
        {"elementwise_tiny", Program::elementwise, KernelClass::elementwise, 1, 4096, 1},
        {"copy_large", Program::copy, KernelClass::copy, 16384, 4096, 1},
        {"row_sum", Program::row_sum, KernelClass::reduction, 16384, 4096, 1},
        {"layer_norm", Program::layer_norm, KernelClass::norm, 16384, 4096, 1},
        {"norm_wgrad_few", Program::column_sum, KernelClass::norm_wgrad, 8192, few, 1},
        {"norm_wgrad_wide", Program::column_sum, KernelClass::norm_wgrad, 8192, each, 1},
        {"one_block", Program::one_block, KernelClass::reduction, 1, 32768, 1},
        {"multiply_add_wave", Program::multiply_add, KernelClass::other, 10, 1, kMultiplyAddSteps},
        {"multiply_add_waves", Program::multiply_add, KernelClass::other, 85, 1, kMultiplyAddSteps}};
    cases.insert(cases.end(), own.begin(), own.end());
    return cases;
}

bool is_gemm(const KernelCase& kernel) {
    return kernel.program == Program::gemm_half || kernel.program == Program::gemm_float;
}

Work work_of(const KernelCase& kernel, const GpuFacts& gpu) {
    const double rows = static_cast<double>(kernel.rows), columns = static_cast<double>(kernel.columns);
    const double depth = static_cast<double>(kernel.depth), elements = area(kernel);
    switch (kernel.program) {
    case Program::gemm_half:
    case Program::gemm_float: {
        const double size = kernel.program == Program::gemm_half ? 2 : 4;
        return {size * (rows * depth + depth * columns + elements), 2 * elements * depth};
    }
    case Program::elementwise:
        return {3 * 4 * elements, 2 * elements};
    case Program::copy:
        return {2 * 4 * elements, 0};
    case Program::row_sum:
        return {4 * (elements + rows), elements};
    case Program::layer_norm:
        return {2 * 4 * elements, 8 * elements};
    case Program::column_sum:
        return {2 * 4 * (elements + columns), 3 * elements};
    case Program::one_block:
        return {4 * elements, elements};
    case Program::multiply_add:
        return {0, 2 * kMultiplyAddSums * kMultiplyAddThreads * depth *
                       static_cast<double>(wave_blocks(kernel.rows, gpu))};
    }
    return {};
}

Bytes buffer_bytes(const KernelCase& kernel) {
    if (kernel.program == Program::multiply_add)
        return 4096;
    if (!is_gemm(kernel))
        return static_cast<Bytes>(4 * area(kernel));
    const std::int64_t largest =
        std::max({kernel.rows * kernel.depth, kernel.depth * kernel.columns, kernel.rows * kernel.columns});
    return static_cast<Bytes>(largest) * (kernel.program == Program::gemm_half ? 2 : 4);
}

Shares shares_of(const KernelCase& kernel, const GpuFacts& gpu, Seconds time) {
    const Work work = work_of(kernel, gpu);
    const FlopsPerSecond peak = kernel.program == Program::gemm_half ? half_peak(gpu) : float_peak(gpu);
    return {std::min(1.0, work.bytes / (time * gpu.hbm_bandwidth)),
            std::min(1.0, work.flops / (time * peak))};
}

Seconds expected_time(const KernelCase& kernel, const GpuFacts& gpu) {
    const Shares at_one_second = shares_of(kernel, gpu, 1);
    Seconds time = std::max(at_one_second.hbm / .9, at_one_second.compute / .7);
    if (kernel.program == Program::column_sum) // the SMs with a block, with half of what an SM can draw
        time *= 2 * std::max(1.0, gpu.sms / (static_cast<double>(kernel.columns) / 32));
    if (kernel.program == Program::one_block)
        time *= gpu.sms;
    return time + 3_us;
}

TileGrid tile_grid(int tiles) {
    TileGrid best{1, tiles};
    for (int rows = 1; rows * rows <= tiles; ++rows)
        if (tiles % rows == 0)
            best = {rows, tiles / rows};
    return best;
}

std::int64_t wave_blocks(std::int64_t tenths, const GpuFacts& gpu) {
    const std::int64_t one_wave = std::int64_t{gpu.threads_per_sm / kMultiplyAddThreads} * gpu.sms;
    return (tenths * one_wave + 5) / 10;
}

} // namespace echosim
