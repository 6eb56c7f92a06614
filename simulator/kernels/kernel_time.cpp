// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernels/kernel_time.h"

#include "simulator/kernels/kernel_models.h"
#include "simulator/kernels/kernel_preset.h"

#include <algorithm>
#include <array>

namespace echosim {
namespace {

constexpr std::array kAllTypes{DType::fp32, DType::tf32, DType::fp16,  DType::bf16, DType::fp8,
                               DType::fp4,  DType::int8, DType::int32, DType::int64};

// The type that a product of `type` runs in on this GPU: without its own rate the next wider one that has it
// (bf16 on Volta: fp16; fp8 on Ampere: bf16).
DType usable_type(const Gpu& gpu, DType type) {
    switch (type) {
    case DType::fp4:
        return gpu.fp4_flops > 0 ? type : usable_type(gpu, DType::fp8);
    case DType::int8:
    case DType::fp8:
        return gpu.fp8_flops > 0 ? DType::fp8 : usable_type(gpu, DType::bf16);
    case DType::bf16:
        return gpu.bf16_flops > 0 ? type : usable_type(gpu, DType::fp16);
    case DType::fp16:
        return gpu.fp16_flops > 0 ? type : DType::fp32;
    case DType::tf32:
        return gpu.tf32_flops > 0 ? type : DType::fp32;
    case DType::fp32:
    case DType::int32:
    case DType::int64:
        break;
    }
    return DType::fp32;
}

// The preset of the nearest architecture, for a GPU that names none.
std::string nearest_preset(Arch arch) {
    switch (arch) {
    case Arch::volta:
        return "v100";
    case Arch::ampere:
    case Arch::ada:
    case Arch::cdna2:
        return "a100";
    case Arch::hopper:
    case Arch::cdna3:
        return "h100";
    case Arch::blackwell:
    case Arch::cdna4:
        return "b200";
    }
    return "h100";
}

Provenance provenance_of(const KernelPreset& preset, const Gpu& gpu) {
    if (gpu.kernel_preset.empty()) {
        return Provenance::assumed;
    }
    const auto& list = preset.measured_on;
    if (std::find(list.begin(), list.end(), gpu.name) != list.end()) {
        return preset.provenance;
    }
    return std::max(preset.provenance, Provenance::catalogue);
}

} // namespace

struct KernelTimes::Preset {
    KernelPreset values;
    KernelPreset::Generation generation;
    std::array<FlopsPerSecond, kAllTypes.size()> peak{}; // by DType, with the efficiency of the type
    std::array<FlopsPerSecond, kAllTypes.size()> nominal{};
    BytesPerSecond bandwidth = 0;
    double sms = 1;
    Provenance provenance = Provenance::assumed;

    KernelMachine machine(DType type) const { return {peak[static_cast<std::size_t>(type)], bandwidth, sms}; }
    KernelMachine nominal_machine(DType type) const {
        return {nominal[static_cast<std::size_t>(type)], bandwidth, sms};
    }
};

KernelTimes KernelTimes::for_gpu(const Gpu& gpu, std::string_view software) {
    auto preset = std::make_shared<Preset>();
    preset->values =
        load_kernel_preset(gpu.kernel_preset.empty() ? nearest_preset(gpu.arch) : gpu.kernel_preset);
    for (const DType type : kAllTypes) {
        const DType usable = usable_type(gpu, type);
        const auto efficiency = preset->values.dtype_efficiency.find(usable);
        const double factor = efficiency == preset->values.dtype_efficiency.end() ? 1.0 : efficiency->second;
        preset->nominal[static_cast<std::size_t>(type)] = peak_flops(gpu, usable);
        preset->peak[static_cast<std::size_t>(type)] = peak_flops(gpu, usable) * factor;
    }
    preset->bandwidth = gpu.memory_bandwidth;
    preset->sms = std::max(gpu.sms, 1);
    preset->provenance = provenance_of(preset->values, gpu);
    if (const auto found = preset->values.generations.find(std::string(software));
        found != preset->values.generations.end()) {
        preset->generation = found->second;
    }
    KernelTimes times;
    times.preset_ = std::move(preset);
    return times;
}

KernelTime KernelTimes::gemm(const GemmShape& shape) const {
    const Preset& p = *preset_;
    KernelTime result{0, gemm_flops(shape), gemm_bytes(shape), p.provenance};
    if (result.flops > 0) {
        const double pass = p.values.pass_factor[static_cast<std::size_t>(shape.pass)];
        result.time = gemm_time(p.values.gemm, p.machine(shape.dtype), shape, pass) * p.values.derate_matmul *
                      p.generation.gemm;
    }
    return result;
}

KernelTime KernelTimes::attention(const AttentionShape& shape) const {
    const Preset& p = *preset_;
    KernelTime result{0, attention_flops(shape), attention_bytes(shape), p.provenance};
    if (result.flops > 0) {
        const auto& parameters = shape.backward ? p.values.attention_backward : p.values.attention_forward;
        result.time = attention_time(parameters, p.nominal_machine(shape.dtype), shape) *
                      p.values.derate_matmul * p.generation.attention;
    }
    return result;
}

KernelTime KernelTimes::memory_bound(const MemoryShape& shape) const {
    const Preset& p = *preset_;
    KernelTime result{0, 0, shape.bytes, p.provenance};
    if (shape.bytes > 0) {
        const double efficiency = p.values.memory_efficiency[static_cast<std::size_t>(shape.kernel_class)];
        result.time = memory_time(p.values.memory_fixed_us, p.bandwidth * efficiency, shape.bytes) *
                      p.values.derate_memory * p.generation.memory;
    }
    return result;
}

} // namespace echosim
