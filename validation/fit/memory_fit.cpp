// SPDX-License-Identifier: Apache-2.0
#include "validation/fit/fit_stages.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace echosim {
namespace {

constexpr double kStreamingBytes = 64e6; // well above what the L2 cache holds

// Share of the nominal bandwidth that the residual addition reaches on large tensors: the simplest kernel
// there is.
double streaming_efficiency(const ReferenceGpu& gpu, const LayerTable& layers) {
    std::vector<double> shares;
    for (const LayerMemory& row : layers.memory) {
        if (row.op == "add" && row.bytes >= kStreamingBytes) {
            shares.push_back(row.bytes / row.time / gpu.bf16.bandwidth);
        }
    }
    return shares.empty() ? 0 : std::min(median(shares), 0.92);
}

double& efficiency(KernelPreset& preset, KernelClass kernel_class) {
    return preset.memory_efficiency[static_cast<std::size_t>(kernel_class)];
}

} // namespace

void fit_memory(const ReferenceGpu& gpu, const std::string& tables, KernelPreset& preset,
                std::vector<FitError>& errors) {
    const LayerTable layers = read_layer_tables(tables, gpu.name);
    const double measured = streaming_efficiency(gpu, layers);
    // B200: SimuMax's default of .666 and .85 of a plain copy; the mean of both
    const double streaming = measured > 0 ? measured : 0.75;
    // SimuMax: cross entropy .67 of the nominal rate on A100, .30 on B200; permutation .16 to .50
    const double loss = gpu.name == "b200" ? 0.35 : 0.72;
    efficiency(preset, KernelClass::elementwise) = streaming;
    efficiency(preset, KernelClass::copy) = streaming;
    efficiency(preset, KernelClass::optimizer) = streaming;
    efficiency(preset, KernelClass::memset) = std::min(streaming * 1.05, 0.95);
    efficiency(preset, KernelClass::reduction) = streaming * 0.95;
    efficiency(preset, KernelClass::norm) = streaming * 0.86;
    efficiency(preset, KernelClass::norm_wgrad) = streaming * 0.86;
    efficiency(preset, KernelClass::softmax) = streaming * 0.86;
    efficiency(preset, KernelClass::embedding) = streaming * 0.7;
    efficiency(preset, KernelClass::loss) = streaming * loss;
    efficiency(preset, KernelClass::other) = streaming * 0.8;
    for (const bool large : {false, true}) {
        std::vector<double> log_errors;
        for (const LayerMemory& row : layers.memory) {
            if (row.op == "add" && (row.bytes >= kStreamingBytes) == large) {
                const double achievable = gpu.bf16.bandwidth * streaming;
                log_errors.push_back(
                    std::log(memory_time(preset.memory_fixed_us, achievable, row.bytes) / row.time));
            }
        }
        errors.push_back(
            summarise(std::string("residual addition, ") + (large ? ">= 64 MB" : "< 64 MB"), log_errors));
    }
}

void cross_check(const ReferenceGpu& gpu, const std::string& tables, const KernelPreset& preset,
                 std::vector<FitError>& errors) {
    std::map<std::string, std::vector<double>> groups;
    for (const LayerGemm& row : read_layer_tables(tables, gpu.name).gemms) {
        if (row.shape.m >= 512 && std::min(row.shape.n, row.shape.k) >= 512) {
            groups["vidur " + row.op].push_back(
                std::log(gemm_time(preset.gemm, gpu.bf16, row.shape, 1) / row.time));
        }
    }
    const auto add = [&](const std::vector<GemmRow>& rows, const std::string& source) {
        for (const GemmRow& row : rows) {
            const auto pass = static_cast<std::size_t>(row.shape.pass);
            const double predicted = gemm_time(preset.gemm, gpu.bf16, row.shape, preset.pass_factor[pass]);
            const std::array names{"forward", "dgrad", "wgrad"};
            groups[fmt::format("{} {}", source, names[pass])].push_back(std::log(predicted / row.time));
        }
    };
    add(read_training_gemms(tables, gpu.name), "SimuMax GEMM");
    add(read_grouped_gemms(tables, gpu.name), "SimuMax grouped GEMM");
    for (const auto& [what, log_errors] : groups) {
        errors.push_back(summarise(what, log_errors));
    }
}

} // namespace echosim
