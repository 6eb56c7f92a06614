// SPDX-License-Identifier: Apache-2.0
#include "comm_models/transports.h"

#include <algorithm>
#include <cmath>

namespace echosim::nccl {
namespace {

constexpr double kGib = 1073.741824;   // bytes/us of 1 GiB/s
constexpr double kLowLatencyBytes = 9; // flags, copies and a loop that is not unrolled
constexpr int kMaxCtas = 64;
constexpr double kCtaPrice = 0.025;

double softmin(double x, double ceiling, double softness) {
    // log1p((e^c - 1) e^-x) without overflow for large c
    const double c = ceiling / softness, z = x / softness;
    if (c - z > 50)
        return x;
    return ceiling - softness * std::log1p(std::exp(c - z) - std::exp(-z));
}
double softplus(double x) {
    return x >= 100 ? x : std::log1p(std::exp(x));
}

struct Kernel {
    double bytes = 0;
    double multiple = 1;
    int most_ctas = kMaxCtas;
    bool low_latency = false;
    bool multicast = false;
};

struct Kernels {
    Kernel list[4];
    int count = 0;
    void add(const Kernel& kernel) { list[count++] = kernel; }
};

Kernels kernels_for(const Collective& c, const GroupSystem& s) {
    const double n = s.ranks;
    const bool reduce_all = c.kind == CollectiveKind::all_reduce;
    const double part = static_cast<double>(c.bytes) / (reduce_all ? 1 : n);
    const bool blackwell = s.arch >= 3;
    const int multicast_ctas = ((blackwell ? 32 : 16) + s.ranks - 1) / s.ranks;
    const bool can_multicast = s.nvswitch && s.arch >= 2;
    const bool can_reduce_in_switch =
        can_multicast && c.dtype != DType::int8 && (c.dtype != DType::fp8 || blackwell);
    Kernels kernels;
    if (c.calls < 2 && part * (reduce_all ? 1 : n) < 2147483648.0)
        kernels.add({.bytes = n * part * kLowLatencyBytes,
                     .multiple = can_multicast && c.kind != CollectiveKind::reduce_scatter ? 1.1 : 1.0,
                     .low_latency = true});
    if (reduce_all) {
        kernels.add({.bytes = 2 * part * (n - 1) / n});
        if (can_reduce_in_switch)
            kernels.add({part / n + part, n, multicast_ctas, false, true});
        return kernels;
    }
    kernels.add({.bytes = (n - 1) * part});
    const bool gather = c.kind == CollectiveKind::all_gather;
    if (gather ? can_multicast : can_reduce_in_switch)
        kernels.add({(n - 1) * part, 0.55 * n, multicast_ctas, false, true});
    return kernels;
}

struct Rates {
    double base, sm, peak;
};
Rates rates_of(const Kernel& kernel, CollectiveKind kind, std::size_t arch) {
    const bool reduce_all = kind == CollectiveKind::all_reduce;
    const bool in_switch = reduce_all && kernel.multicast;
    if (arch < 3)
        return {kernel.low_latency ? 4.5 : 7.8, reduce_all ? 65.0 : 44.0, in_switch ? 480.0 : 320.0};
    const double base =
        kernel.low_latency ? (kind == CollectiveKind::all_gather ? 8.5 : 11.0) : (reduce_all ? 19.5 : 13.0);
    return {base, 55, in_switch ? 1000.0 : 600.0};
}

double kernel_time(const Kernel& kernel, const Rates& rates, int ctas) {
    const double rate = softmin(ctas * rates.sm * kernel.multiple, rates.peak, rates.sm);
    return rates.base + softplus(kernel.bytes / (rate * kGib) - 1);
}

// The time falls with the number of CTAs, so the fewest within 2.5 % of the best are found by bisection.
SymmetricChoice with_fewest_ctas(const Kernel& kernel, const Rates& rates) {
    const double best = kernel_time(kernel, rates, kernel.most_ctas);
    int low = 1;
    int high = kernel.most_ctas;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (kernel_time(kernel, rates, middle) <= 1.025 * best)
            high = middle;
        else
            low = middle + 1;
    }
    return {
        kernel_time(kernel, rates, low), rates.base, low, kernel.bytes, kernel.multicast, kernel.low_latency};
}

} // namespace

std::optional<SymmetricChoice> symmetric_kernel(const Collective& c, const GroupSystem& s) {
    const bool kind = c.kind == CollectiveKind::all_reduce || c.kind == CollectiveKind::all_gather ||
                      c.kind == CollectiveKind::reduce_scatter;
    if (!kind || s.version < 227 || s.nodes > 1 || !s.nvlink || s.ranks < 2)
        return std::nullopt;
    const Kernels kernels = kernels_for(c, s);
    std::optional<SymmetricChoice> best;
    double least = 0;
    for (int i = 0; i < kernels.count; ++i) {
        const SymmetricChoice choice =
            with_fewest_ctas(kernels.list[i], rates_of(kernels.list[i], c.kind, s.arch));
        const double price = choice.us * (1 + kCtaPrice * choice.ctas);
        if (best && price >= least)
            continue;
        best = choice;
        least = price;
    }
    return best;
}

} // namespace echosim::nccl
