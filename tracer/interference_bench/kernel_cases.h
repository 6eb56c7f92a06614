// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "tracer/interference_bench/gpu_facts.h"

#include <string>
#include <vector>

// The compute kernels that are measured, and what each does: all that can be said before one runs.
namespace echosim {

enum class Program : std::uint8_t {
    gemm_half,  // cuBLAS, bf16 (fp16 below compute capability 8), rows x columns x depth
    gemm_float, // cuBLAS, fp32 on the ordinary pipe
    elementwise,
    copy,
    row_sum,
    layer_norm,
    column_sum, // weight gradient of a norm: a block owns 32 columns and walks over all rows
    one_block,  // a reduction by a single block
    multiply_add
};

struct KernelCase {
    std::string name; // as --kernels takes it
    Program program = Program::elementwise;
    KernelClass kernel_class = KernelClass::other;
    std::int64_t rows = 1; // multiply_add: waves of blocks, in tenths
    std::int64_t columns = 1;
    std::int64_t depth = 1; // multiply_add: steps of a thread, each on 8 sums
};

// Sizes follow the GPU: "large" is well beyond the L2 cache, "wave" gives each SM one tile of 128 x 128.
std::vector<KernelCase> kernel_cases(const GpuFacts& gpu);
bool is_gemm(const KernelCase& kernel);

// Bytes through HBM with cold caches (each operand once) and arithmetic. GEMM of m x n x k: 2 m n k flops,
// (m k + k n + m n) elements. A large GEMM reads its operands more than once: its bytes are a lower bound.
struct Work {
    double bytes = 0;
    double flops = 0;
};
Work work_of(const KernelCase& kernel, const GpuFacts& gpu);
Bytes buffer_bytes(const KernelCase& kernel); // of each of its (at most three) operands, the largest

// Share of the peak that `work` in `time` is: hbm and compute, each at most 1.
struct Shares {
    double hbm = 0;
    double compute = 0;
};
Shares shares_of(const KernelCase& kernel, const GpuFacts& gpu, Seconds time);

// Roofline at .9 of the bandwidth and .7 of the peak, with 3 us for what launches; for the plan only.
Seconds expected_time(const KernelCase& kernel, const GpuFacts& gpu);

// Two factors of `tiles` as close to each other as can be: 132 = 11 x 12.
struct TileGrid {
    int rows = 1, columns = 1;
};
TileGrid tile_grid(int tiles);

// Blocks of a multiply_add of `tenths` / 10 waves: its blocks of 256 threads fill the SMs by their threads
// alone. H100, 10 tenths: 8 x 132 = 1056.
std::int64_t wave_blocks(std::int64_t tenths, const GpuFacts& gpu);

} // namespace echosim
