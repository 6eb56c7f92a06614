// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernels/launch_shape.h"

#include "simulator/kernels/kernel_models.h"

#include <algorithm>
#include <cmath>

namespace echosim {
namespace {

constexpr double kRowsOfBlock = 128; // of attention: query rows forward, key rows backward
constexpr double kKiB = 1024;

// What a library compiled into a kernel.
struct Build {
    int threads = 128;
    int registers = 128; // a thread
    double shared = 0;   // bytes a block
    double blocks_per_sm = 1;
};

bool has_persistent_kernels(Arch arch) {
    return arch == Arch::hopper || arch == Arch::blackwell;
}

bool on_tensor_cores(DType type) {
    return type != DType::fp32 && type != DType::int32 && type != DType::int64;
}

double share(double amount, Seconds time, double rate) {
    return time > 0 && rate > 0 ? std::min(1.0, amount / time / rate) : 0;
}

KernelFootprint shares_of(const KernelTime& alone, const Gpu& gpu, FlopsPerSecond peak) {
    KernelFootprint f;
    f.time = alone.time;
    f.hbm_share = share(alone.bytes, alone.time, gpu.memory_bandwidth);
    f.compute_share = share(alone.flops, alone.time, peak);
    return f;
}

void set(KernelFootprint& f, const Build& build) {
    f.threads_per_block = build.threads;
    f.registers_per_thread = build.registers;
    f.shared_bytes = build.shared;
    f.blocks_per_sm = build.blocks_per_sm;
}

// `tiles` by as many blocks, or by one block an SM that loops over them.
void spread(KernelFootprint& f, double tiles, bool persistent, double sms) {
    f.persistent = persistent;
    f.tiles = tiles;
    f.blocks = persistent ? std::min(tiles, sms * f.blocks_per_sm) : tiles;
}

struct Tiling {
    GemmTile tile{};
    double count = 0; // split sums included
};

Tiling tiling_of(const GemmShape& shape, double sms) {
    Tiling best;
    for (const GemmTile& tile : kGemmTiles) {
        if ((tile.rows > tile.columns) != (shape.m >= shape.n) && tile.rows != tile.columns)
            continue; // the long edge lies along the longer side
        best = {tile, std::ceil(shape.m / tile.rows) * std::ceil(shape.n / tile.columns) * shape.batch};
        if (best.count >= sms)
            return best;
    }
    for (int split = 2; split <= 8 && best.count < sms / 2; split *= 2)
        best.count *= 2;
    return best;
}

// Stages of 64 columns of k that fit in the shared memory of an SM with a tile of 256 x 128.
double stages_of(Arch arch) {
    switch (arch) {
    case Arch::ampere:
        return 3;
    case Arch::ada:
        return 2;
    default:
        return 1;
    }
}

Build gemm_build(const GemmTile& tile, Arch arch) {
    if (has_persistent_kernels(arch))
        return {384, 168, 200 * kKiB, 1};
    const double outputs = tile.rows * tile.columns;
    const double shared = stages_of(arch) * 64 * 2 * (tile.rows + tile.columns);
    if (outputs > 128 * 128)
        return {256, 230, shared, 1};
    return {128, 230, shared, outputs < 128 * 128 ? 2.0 : 1.0};
}

Build attention_build(const AttentionShape& shape, Arch arch) {
    if (has_persistent_kernels(arch))
        return {384, 168, 200 * kKiB, 1};
    if (shape.backward)
        return {256, 255, 144 * kKiB * shape.head_dim / 128, 1};
    return {128, 255, 64 * kKiB * shape.head_dim / 128, 2};
}

struct MemoryBuild {
    double bytes = 0; // traffic of a block
    Build build;
};

MemoryBuild memory_build(KernelClass kernel_class) {
    switch (kernel_class) {
    case KernelClass::elementwise:
    case KernelClass::copy:
    case KernelClass::memset:
        return {2 * kKiB, {128, 32, 0, 16}};
    case KernelClass::norm:
        return {16 * kKiB, {128, 128, 4 * kKiB, 4}};
    case KernelClass::norm_wgrad:
        return {1024 * kKiB, {512, 32, 8 * kKiB, 4}};
    case KernelClass::softmax:
        return {32 * kKiB, {128, 96, 0, 5}};
    case KernelClass::loss:
    case KernelClass::reduction:
        return {64 * kKiB, {512, 32, 4 * kKiB, 4}};
    case KernelClass::optimizer:
        return {65536.0 * 28, {512, 64, 0, 2}};
    case KernelClass::embedding:
    case KernelClass::gemm:
    case KernelClass::attention:
    case KernelClass::other:
        break;
    }
    return {16 * kKiB, {256, 32, 0, 8}};
}

} // namespace

KernelFootprint footprint_of(const GemmShape& shape, const KernelTime& alone, const Gpu& gpu) {
    const double sms = std::max(gpu.sms, 1);
    const Tiling tiling = tiling_of(shape, sms);
    KernelFootprint f = shares_of(alone, gpu, peak_flops(gpu, shape.dtype));
    f.kernel_class = KernelClass::gemm;
    f.tensor_cores = on_tensor_cores(shape.dtype);
    set(f, gemm_build(tiling.tile, gpu.arch));
    spread(f, tiling.count, has_persistent_kernels(gpu.arch), sms);
    return f;
}

KernelFootprint footprint_of(const AttentionShape& shape, const KernelTime& alone, const Gpu& gpu) {
    KernelFootprint f = shares_of(alone, gpu, peak_flops(gpu, shape.dtype));
    f.kernel_class = KernelClass::attention;
    f.tensor_cores = on_tensor_cores(shape.dtype);
    set(f, attention_build(shape, gpu.arch));
    const double rows = shape.backward ? shape.seq_kv : shape.seq_q;
    const double tiles = std::ceil(rows / kRowsOfBlock) * shape.heads * shape.batch;
    const bool persistent = has_persistent_kernels(gpu.arch) && !shape.backward;
    spread(f, tiles, persistent, std::max(gpu.sms, 1));
    f.yields_sms = persistent && shape.causal;
    return f;
}

KernelFootprint footprint_of(const MemoryShape& shape, const KernelTime& alone, const Gpu& gpu) {
    const MemoryBuild build = memory_build(shape.kernel_class);
    KernelFootprint f = shares_of(alone, gpu, 0);
    f.kernel_class = shape.kernel_class;
    set(f, build.build);
    spread(f, std::max(1.0, std::ceil(shape.bytes / build.bytes)), shape.kernel_class == KernelClass::norm,
           std::max(gpu.sms, 1));
    return f;
}

} // namespace echosim
