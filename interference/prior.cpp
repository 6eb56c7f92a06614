// SPDX-License-Identifier: Apache-2.0
#include "interference/prior.h"

#include "interference/band.h"
#include "simulator/catalogue/gpu.h"

#include <algorithm>
#include <cmath>

namespace echosim {
namespace {

constexpr double kKiB = 1024;
constexpr double kFewRegisters = 32;   // a thread, where nothing is known
constexpr double kCtaThreads = 544;    // that share an SM where they fit
constexpr double kMildLoss = 0.15;     // per share of the HBM bandwidth, below saturation
constexpr double kSaturated = 0.92;    // of the HBM bandwidth: the most that kernels reach
constexpr double kCommSaturated = 0.9; // above it communication slows
constexpr double kCommLoss = 0.5;      // per share of the bandwidth above that
constexpr double kMostComm = 2;        // factor of communication
constexpr double kMost = 6;            // factor of a kernel
constexpr double kNormWgrad = 2;       // excess of gradients of norm weights
constexpr double kClockLoss = 0.02;    // at the power cap
constexpr double kFullPower = 0.1;     // HBM share of communication that draws all of its power
constexpr double kTensorBound = 0.5;   // of the tensor cores' peak
constexpr double kFewRatio = 0.55;     // occupancy ratio of kernels with few blocks
constexpr double kUnknownWaves = 9.5;  // of a grid that is not known, for the wait
constexpr double kLeastSms = 1;

double fourth(double x) {
    return x * x * x * x;
}

// Blocks of the kernel on an SM that has its share of them.
double resident(const KernelFootprint& kernel, double sms) {
    return kernel.blocks > 0 ? std::min(kernel.blocks_per_sm, std::ceil(kernel.blocks / sms))
                             : kernel.blocks_per_sm;
}

// Whether a CTA finds room on an SM that holds blocks of the kernel.
bool fits_beside(const KernelFootprint& kernel, const CommFootprint& comm, const GpuLimits& limits) {
    if (kernel.threads_per_block <= 0) // only the measured occupancy is known, if that
        return kernel.blocks <= 0 && waves_of(kernel, limits.sms) > 0;
    const double blocks = resident(kernel, limits.sms);
    const double threads = blocks * kernel.threads_per_block;
    const double registers = kernel.registers_per_thread > 0 ? kernel.registers_per_thread : kFewRegisters;
    return threads + comm.threads_per_cta <= limits.threads_per_sm &&
           threads * registers + static_cast<double>(comm.threads_per_cta) * comm.registers_per_thread <=
               limits.registers_per_sm &&
           blocks * kernel.shared_bytes + comm.shared_bytes <= limits.shared_bytes_per_sm;
}

void add(const KernelFootprint& kernel, const Running& beside, const GpuLimits& limits, CommLoad& load) {
    const CommFootprint& comm = *beside.comm;
    load.ctas += comm.ctas;
    load.ctas_fitting += comm.ctas > 0 && fits_beside(kernel, comm, limits) ? comm.ctas : 0;
    load.high_priority = load.high_priority || comm.high_priority;
    if (beside.waiting)
        return;
    load.hbm_share += comm.hbm_share;
    load.nvlink_share += comm.nvlink_share;
    load.nic_share += comm.nic_share;
}

// z: how far uneven blocks blur the last wave.
double blur_of(const KernelFootprint& kernel) {
    if (kernel.yields_sms)
        return 1;
    switch (kernel.kernel_class) {
    case KernelClass::gemm:
        return 0.2;
    case KernelClass::elementwise:
    case KernelClass::copy:
    case KernelClass::memset:
    case KernelClass::optimizer:
        return 0.8;
    default:
        return 0.3;
    }
}

double sm_factor(const KernelFootprint& kernel, const CommLoad& load, const GpuLimits& limits) {
    const double fitting = std::min(load.ctas_fitting, load.ctas);
    const double taken = load.ctas - fitting + fitting * kCtaThreads / limits.threads_per_sm;
    const double grows = limits.sms / std::max(kLeastSms, limits.sms - taken); // M / M'
    const double x = waves_of(kernel, limits.sms);
    if (x <= 0)
        return grows;
    const double z = blur_of(kernel);
    const auto lifetimes = [z](double waves) {
        return (1 - z) * std::ceil(waves) + z * std::max(1.0, waves);
    };
    if (!load.kernel_first)
        return lifetimes(x * grows) / lifetimes(x);
    if (x <= 1)
        return 1;
    const double rest = (x - 1) * grows;
    return (1 + (1 - z) * std::ceil(rest) + z * rest) / lifetimes(x);
}

double memory_factor(double u, double h) {
    return std::max(1 + kMildLoss * h, (u + h) / std::max(kSaturated, u));
}

// b: share of the time that the SMs limit.
double compute_limited(const KernelFootprint& kernel) {
    const double u = kernel.hbm_share, compute = kernel.compute_share;
    return std::clamp(compute > 0 ? compute / (compute + u) : 1 - u, 0.1, 0.9);
}

bool tensor_bound(const KernelFootprint& kernel) {
    return kernel.tensor_cores && (kernel.compute_share > 0 ? kernel.compute_share >= kTensorBound
                                                            : kernel.hbm_share < kTensorBound);
}

} // namespace

GpuLimits limits_of(const Gpu& gpu) {
    GpuLimits limits{.sms = std::max(1.0, static_cast<double>(gpu.sms))};
    switch (gpu.arch) {
    case Arch::volta:
        limits.shared_bytes_per_sm = 96 * kKiB;
        break;
    case Arch::ampere: // GA100
        limits.shared_bytes_per_sm = 164 * kKiB;
        break;
    case Arch::ada:
        limits.threads_per_sm = 1536;
        limits.shared_bytes_per_sm = 100 * kKiB;
        break;
    case Arch::hopper:
    case Arch::blackwell:
        limits.shared_bytes_per_sm = 228 * kKiB;
        break;
    case Arch::cdna2:
    case Arch::cdna3:
        limits.registers_per_sm = 131072;
        limits.shared_bytes_per_sm = 64 * kKiB;
        break;
    case Arch::cdna4:
        limits.registers_per_sm = 131072;
        limits.shared_bytes_per_sm = 160 * kKiB;
        break;
    }
    return limits;
}

CommLoad load_of(const KernelFootprint& kernel, std::span<const CommFootprint> communication,
                 bool kernel_first, const GpuLimits& limits) {
    CommLoad load{.kernel_first = kernel_first};
    for (const CommFootprint& comm : communication)
        add(kernel, {.kind = OpKind::collective, .comm = &comm}, limits, load);
    return load;
}

double waves_of(const KernelFootprint& kernel, double sms) {
    if (kernel.blocks <= 0)
        return kernel.occupancy_ratio <= kFewRatio ? kernel.occupancy_ratio : 0;
    const double units = kernel.persistent && kernel.tiles > 0 ? kernel.tiles : kernel.blocks;
    return units / (std::max(1.0, kernel.blocks_per_sm) * sms);
}

PriorSlowdown::PriorSlowdown(const GpuLimits& limits) : limits_(limits) {}

double PriorSlowdown::factor(const KernelFootprint& kernel, const CommLoad& load) const {
    if (!load.any())
        return 1;
    const double b = compute_limited(kernel);
    const double sm = fourth(b), memory = fourth(1 - b);
    const double mixed = (sm * fourth(sm_factor(kernel, load, limits_)) +
                          memory * fourth(memory_factor(kernel.hbm_share, load.hbm_share))) /
                         (sm + memory);
    double s = std::sqrt(std::sqrt(mixed));
    const double x = waves_of(kernel, limits_.sms);
    if (kernel.kernel_class == KernelClass::norm_wgrad && x > 0 && x < 1)
        s *= 1 + kNormWgrad * std::min(1.0, load.ctas) * std::min(1.0, 2 - 2 * x);
    if (tensor_bound(kernel))
        s *= 1 + kClockLoss * std::min(1.0, load.hbm_share / kFullPower);
    return std::clamp(s, 1.0, kMost);
}

SlowdownEstimate PriorSlowdown::estimate(const KernelFootprint& kernel, const CommLoad& load,
                                         std::string_view) const {
    if (!load.any())
        return {};
    return with_band(factor(kernel, load), band_class_of(kernel, limits_.sms));
}

CommLoad PriorSlowdown::load_beside(std::span<const Running> on_one_gpu, std::size_t i) const {
    CommLoad load{.kernel_first = true};
    for (std::size_t j = 0; j < on_one_gpu.size(); ++j) {
        if (on_one_gpu[j].comm == nullptr)
            continue;
        add(*on_one_gpu[i].kernel, on_one_gpu[j], limits_, load);
        load.kernel_first = load.kernel_first && (i < j || on_one_gpu[j].comm->ctas <= 0);
    }
    return load;
}

void PriorSlowdown::rates(std::span<const Running> on_one_gpu, std::span<double> rate) const {
    double demand = 0; // u + h of all
    for (const Running& op : on_one_gpu) {
        demand += op.kernel != nullptr ? op.kernel->hbm_share : 0;
        demand += op.comm != nullptr && !op.waiting ? op.comm->hbm_share : 0;
    }
    for (std::size_t i = 0; i < on_one_gpu.size(); ++i) {
        const Running& op = on_one_gpu[i];
        rate[i] = 1;
        if (op.kernel != nullptr)
            rate[i] = 1 / factor(*op.kernel, load_beside(on_one_gpu, i));
        else if (op.comm != nullptr && !op.waiting)
            rate[i] =
                1 / std::min(kMostComm, 1 + kCommLoss * std::max(0.0, demand - std::max(kCommSaturated,
                                                                                        op.comm->hbm_share)));
    }
}

Seconds PriorSlowdown::wait_for(const KernelFootprint& kernel, Seconds remaining, const CommFootprint& comm,
                                double held) const {
    if (fits_beside(kernel, comm, limits_))
        return 0;
    KernelFootprint launched = kernel;
    launched.persistent = false; // its blocks count, not its tiles
    const double known = waves_of(launched, limits_.sms);
    const double x = known > 0 ? known : kUnknownWaves;
    const double full = std::floor(x), waves = std::ceil(x);
    const bool room = limits_.sms * (1 - (x - full)) - held >= comm.ctas;
    if (comm.high_priority && full >= 1)
        return x > 1 ? std::min(remaining, kernel.time / (2 * waves)) : remaining;
    if (!room || full == waves)
        return remaining;
    return std::clamp(remaining - kernel.time * (1 - full / waves), 0.0, remaining);
}

Seconds PriorSlowdown::start_delay(const Running& starting, std::span<const Running> on_one_gpu,
                                   std::span<const Seconds> remaining) const {
    if (starting.comm == nullptr || starting.comm->ctas <= 0)
        return 0;
    double held = 0;
    for (const Running& op : on_one_gpu)
        held += op.comm != nullptr ? op.comm->ctas : 0;
    Seconds wait = 0;
    for (std::size_t i = 0; i < on_one_gpu.size(); ++i)
        if (on_one_gpu[i].kernel != nullptr)
            wait = std::max(wait, wait_for(*on_one_gpu[i].kernel, remaining[i], *starting.comm, held));
    return wait;
}

} // namespace echosim
