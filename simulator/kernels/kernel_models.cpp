// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernels/kernel_models.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace echosim {
namespace {

constexpr double kQueryRows = 128;     // rows of one attention block (FlashAttention 2 and 3, cuDNN)
constexpr double kBackwardFlops = 2.5; // five products instead of two
constexpr double kMicro = 1e-6;

// std::ceil for values from 0 to 2^62, without its call: the tile search does 30 of them.
double round_up(double x) {
    const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
    return whole < x ? whole + 1 : whole;
}

double waves(double blocks, double sms, double quantisation) {
    const double exact = blocks / sms;
    return quantisation * round_up(exact) + (1 - quantisation) * std::max(exact, 1.0);
}

// (a^p + b^p)^(1/p): the larger one, plus something when both are close.
double overlap(double a, double b, double power) {
    const double high = std::max(a, b);
    const double low = std::min(a, b);
    return high > 0 ? high * std::pow(1 + std::pow(low / high, power), 1 / power) : 0;
}

// Time of the best tile and split, without memory traffic.
Seconds best_tile(const GemmParameters& p, const KernelMachine& machine, const GemmShape& shape) {
    const double rate = machine.peak * p.ceiling / machine.sms;
    const double partial_sums = p.split_cost * 4 * shape.m * shape.n * shape.batch / machine.bandwidth;
    double best = 1e30;
    for (const GemmTile& tile : kGemmTiles) {
        const double blocks = round_up(shape.m / tile.rows) * round_up(shape.n / tile.columns) * shape.batch;
        const double work =
            2 * tile.rows * tile.columns / (rate * p.tile_efficiency[static_cast<std::size_t>(tile.kind)]);
        for (const double split : {1.0, 2.0, 4.0, 8.0}) {
            const double time = waves(blocks * split, machine.sms, p.wave_quantisation) * work *
                                (shape.k / split + p.k_prologue);
            best = std::min(best, time + (split > 1 ? split * partial_sums : 0));
        }
    }
    return best;
}

double head_dim_factor(const AttentionParameters& p, double head_dim) {
    const double position = std::clamp(head_dim / 64 - 1, 0.0, 3.0); // 64 -> 0, 256 -> 3
    const auto left = static_cast<std::size_t>(std::min(position, 2.0));
    const double share = position - static_cast<double>(left);
    return p.head_dim_factor[left] * (1 - share) + p.head_dim_factor[left + 1] * share;
}

} // namespace

Flops gemm_flops(const GemmShape& shape) {
    return 2 * shape.m * shape.n * shape.k * shape.batch;
}

double gemm_bytes(const GemmShape& shape) {
    const double in = size_of(shape.dtype);
    const double out =
        shape.accumulate_fp32 ? 8 : std::max(in, 2.0); // fp32 read and written, else 16 bits or wider
    return shape.batch * (in * (shape.m * shape.k + shape.k * shape.n) + out * shape.m * shape.n);
}

Seconds gemm_time(const GemmParameters& p, const KernelMachine& machine, const GemmShape& shape,
                  double pass_factor) {
    const double tile_time = best_tile(p, machine, shape) * pass_factor;
    const double compute = tile_time * (1 + p.long_slowdown * tile_time / (tile_time + p.long_us * kMicro));
    const double memory = gemm_bytes(shape) / (machine.bandwidth * p.memory_efficiency);
    return p.fixed_us * kMicro + overlap(compute, memory, p.overlap_power);
}

Flops attention_flops(const AttentionShape& shape) {
    const double products = 4 * shape.batch * shape.heads * shape.seq_q * shape.seq_kv * shape.head_dim;
    return products * (shape.causal ? 0.5 : 1.0) * (shape.backward ? kBackwardFlops : 1.0);
}

double attention_bytes(const AttentionShape& shape) {
    const double query = shape.batch * shape.seq_q * shape.heads * shape.head_dim;
    const double key = shape.batch * shape.seq_kv * shape.kv_heads * shape.head_dim;
    // forward: q, k, v read, o written; backward: q, k, v, o, dO read, dq, dk, dv written
    return size_of(shape.dtype) * (shape.backward ? 4 * query + 4 * key : 2 * query + 2 * key);
}

Seconds attention_time(const AttentionParameters& p, const KernelMachine& machine,
                       const AttentionShape& shape) {
    const double share = shape.causal ? 0.5 : 1.0;
    const double blocks = round_up(shape.seq_q / kQueryRows) * shape.heads * shape.batch;
    const double rate = machine.peak * p.ceiling * head_dim_factor(p, shape.head_dim) / machine.sms;
    const double row = 4 * kQueryRows * shape.head_dim * (shape.backward ? kBackwardFlops : 1.0) / rate;
    const double grid =
        waves(blocks, machine.sms, p.wave_quantisation) * row * (share * shape.seq_kv + p.kv_prologue);
    const double longest = p.longest * row * (shape.seq_kv + p.kv_prologue);
    const double memory = attention_bytes(shape) / (machine.bandwidth * p.memory_efficiency);
    return p.fixed_us * kMicro + overlap(std::max(grid, longest), memory, 4);
}

Seconds memory_time(double fixed_us, BytesPerSecond achievable, double bytes) {
    return fixed_us * kMicro + bytes / achievable;
}

} // namespace echosim
