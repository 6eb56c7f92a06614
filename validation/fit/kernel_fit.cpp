// SPDX-License-Identifier: Apache-2.0
// echosim-fit-kernels TABLES PRESETS: fits the kernel-time presets to the published tables in TABLES, prints
// the errors and writes PRESETS/{a100,h100,b200,v100,gb200}.json.
#include "validation/fit/fit_stages.h"

#include "simulator/catalogue/gpu.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace echosim {

double median(std::vector<double> values) {
    if (values.empty()) {
        return 0;
    }
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

FitError summarise(std::string what, const std::vector<double>& log_errors) {
    FitError error{std::move(what), log_errors.size()};
    if (log_errors.empty()) {
        return error;
    }
    std::vector<double> magnitude(log_errors.size());
    std::transform(log_errors.begin(), log_errors.end(), magnitude.begin(),
                   [](double e) { return std::abs(e); });
    std::sort(magnitude.begin(), magnitude.end());
    const auto rows = static_cast<double>(log_errors.size());
    error.mean_abs = std::accumulate(magnitude.begin(), magnitude.end(), 0.0) / rows;
    error.p90 = magnitude[static_cast<std::size_t>(0.9 * (rows - 1))];
    error.bias = std::accumulate(log_errors.begin(), log_errors.end(), 0.0) / rows;
    return error;
}

namespace {

ReferenceGpu reference(const std::string& name, const std::string& catalogue_name) {
    const Gpu& gpu = find_gpu(catalogue_name);
    return {name, {gpu.bf16_flops, gpu.memory_bandwidth, static_cast<double>(gpu.sms)}, gpu.fp8_flops};
}

// Older software: unfused element-wise chains and library versions of the time.
void set_generations(KernelPreset& preset) {
    preset.generations = {{"megatron-2020", {1.05, 1.0, 1.10}},
                          {"megatron-2021", {1.03, 1.0, 1.08}},
                          {"megatron-2022", {1.02, 1.0, 1.05}},
                          {"megatron-deepspeed", {1.0, 1.0, 1.0}}};
}

// What the isolated tables miss in sustained training (power, cold caches), from measured steps: `echosim
// validate steps` has no bias left by GPU. The B200 figure is that of third-party runs of 8 GPUs without
// tuning.
void set_derates(KernelPreset& preset) {
    preset.derate_matmul = preset.name == "a100" ? 1.06 : preset.name == "h100" ? 1.18 : 1.36;
    preset.derate_memory = preset.name == "b200" ? 1.15 : 1.05;
}

// Training kernels that no table has on Hopper: pass factors and backward attention from the two other GPUs,
// and the forward library gain that brings the table (540 TFLOP/s at 16k) to the 550-650 TFLOP/s published
// for FlashAttention 3 and cuDNN.
void complete_hopper(KernelPreset& h100, const KernelPreset& a100, const KernelPreset& b200) {
    for (std::size_t i = 1; i < 3; ++i) {
        h100.pass_factor[i] = std::sqrt(a100.pass_factor[i] * b200.pass_factor[i]);
    }
    h100.attention_table.library_factor = 1.1;
    h100.attention_forward.ceiling *= h100.attention_table.library_factor;
    h100.attention_backward = h100.attention_forward;
    h100.attention_backward.fixed_us = 6;
    h100.attention_backward.longest =
        std::min(a100.attention_backward.longest, b200.attention_backward.longest);
    h100.attention_backward.ceiling *=
        std::sqrt(a100.attention_backward.ceiling / a100.attention_forward.ceiling *
                  b200.attention_backward.ceiling / b200.attention_forward.ceiling);
}

// V100: no table. The A100's tile model with the wave quantisation of its library and slower starts.
KernelPreset derive_volta(const KernelPreset& a100) {
    KernelPreset v100 = a100;
    v100.name = "v100";
    v100.source = "efficiencies of the a100 preset on the V100 data sheet; attention lowered for "
                  "first-generation tensor "
                  "cores, slower starts of CUDA 10/11 libraries";
    v100.measured_on.clear();
    v100.provenance = Provenance::catalogue;
    v100.gemm.fixed_us += 1;
    v100.attention_forward.ceiling *= 0.8;
    v100.attention_backward.ceiling *= 0.8;
    v100.memory_fixed_us += 0.8;
    v100.derate_matmul = v100.derate_memory = 1.0;
    return v100;
}

// GB200: the chip of B200 in a cooled rack. Its derating is that of vendor-tuned runs; two sources, few rows.
KernelPreset derive_grace_blackwell(const KernelPreset& b200) {
    KernelPreset gb200 = b200;
    gb200.name = "gb200";
    gb200.source =
        "efficiencies of the b200 preset; derating from published Nemotron-4 340B steps on GB200 NVL72";
    gb200.measured_on.clear();
    gb200.provenance = Provenance::catalogue;
    gb200.derate_matmul = 1.15;
    gb200.derate_memory = 1.05;
    return gb200;
}

KernelPreset fit(const ReferenceGpu& gpu, const std::string& tables) {
    KernelPreset preset;
    preset.name = gpu.name;
    preset.provenance = Provenance::fitted;
    preset.measured_on = {gpu.name + "-sxm"};
    if (gpu.name == "a100") {
        preset.measured_on = {"a100-sxm-40gb", "a100-sxm-80gb"};
    }
    preset.gemm.long_us = 300;
    preset.attention_forward.head_dim_factor[0] =
        0.85; // FlashAttention 2 on A100; the A100 table has only 128
    std::vector<FitError> errors;
    fit_gemm(gpu, tables, preset, errors);
    fit_attention(gpu, tables, preset, errors);
    fit_memory(gpu, tables, preset, errors);
    cross_check(gpu, tables, preset, errors);
    set_derates(preset);
    fmt::print("{}\n", gpu.name);
    for (const FitError& e : errors) {
        fmt::print("  {:55} {:6} rows  mean |e| {:5.1f} %  p90 {:5.1f} %  bias {:+6.1f} %\n", e.what, e.rows,
                   100 * e.mean_abs, 100 * e.p90, 100 * e.bias);
    }
    preset.source = fmt::format(
        "fitted by echosim-fit-kernels to aiconfigurator tables (commit 095f58a5), SimuMax "
        "efficiencies (4dcaae51) and vidur operator times (7d475133); held-out mean error: "
        "GEMM with edges >= 1024 {:.1f} %, attention {:.1f} %",
        100 * errors[1].mean_abs, 100 * std::find_if(errors.begin(), errors.end(), [](const FitError& e) {
                                            return e.what.find("attention forward") == 0 &&
                                                   e.what.find("held") != std::string::npos;
                                        })->mean_abs);
    return preset;
}

// Numbers with four significant digits: more would only pretend.
void round_numbers(nlohmann::ordered_json& json) {
    if (json.is_structured()) {
        for (auto& item : json) {
            round_numbers(item);
        }
    } else if (json.is_number()) {
        json = std::stod(fmt::format("{:.4g}", json.get<double>()));
    }
}

void write(const KernelPreset& preset, const std::string& folder) {
    nlohmann::ordered_json json = kernel_preset_to_json(preset);
    round_numbers(json);
    const std::string path = fmt::format("{}/{}.json", folder, preset.name);
    std::ofstream file(path);
    file << json.dump(2) << '\n';
    if (!file.flush()) {
        throw InputError(path, "cannot be written");
    }
}

int fit_all(const std::string& tables, const std::string& folder) {
    KernelPreset a100 = fit(reference("a100", "a100-sxm-80gb"), tables);
    KernelPreset b200 = fit(reference("b200", "b200-sxm"), tables);
    KernelPreset h100 = fit(reference("h100", "h100-sxm"), tables);
    complete_hopper(h100, a100, b200);
    set_generations(a100);
    for (const KernelPreset& preset : {a100, b200, h100, derive_volta(a100), derive_grace_blackwell(b200)}) {
        write(preset, folder);
    }
    return 0;
}

} // namespace
} // namespace echosim

int main(int argc, char** argv) {
    if (argc != 3) {
        fmt::print(stderr, "usage: echosim-fit-kernels TABLES PRESETS\n");
        return 2;
    }
    try {
        return echosim::fit_all(argv[1], argv[2]);
    } catch (const std::exception& error) {
        fmt::print(stderr, "echosim-fit-kernels: {}\n", error.what());
        return 2;
    }
}
