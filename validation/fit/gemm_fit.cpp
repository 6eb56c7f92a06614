// SPDX-License-Identifier: Apache-2.0
#include "validation/fit/fit_stages.h"
#include "validation/fit/least_squares.h"

#include <algorithm>
#include <cmath>

namespace echosim {
namespace {

constexpr double kLossScale = 0.05;
constexpr double kSmallShapeWeight = 0.2; // rows below the training range keep the model sane there

double smallest_edge(const GemmShape& s) {
    return std::min({s.m, s.n, s.k});
}

std::vector<GemmRow> of_type(const std::vector<GemmRow>& rows, const std::string& type) {
    std::vector<GemmRow> result;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(result),
                 [&](const GemmRow& row) { return row.type == type; });
    return result;
}

void fit_bf16(const ReferenceGpu& gpu, const std::vector<GemmRow>& rows, GemmParameters& p) {
    std::vector<GemmRow> used;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(used), [](const GemmRow& row) {
        return !held_out(row.shape) && row.shape.m >= 64 && row.shape.n >= 256 && row.shape.k >= 256;
    });
    const std::vector<FitVariable> variables{
        {&p.ceiling, 0.4, 1.2},          {&p.k_prologue, 0, 2500},         {&p.wave_quantisation, 0, 1},
        {&p.fixed_us, 0.5, 25},          {&p.memory_efficiency, 0.4, 1.2}, {&p.overlap_power, 1.2, 20},
        {&p.tile_efficiency[1], 0.3, 1}, {&p.tile_efficiency[2], 0.3, 1},  {&p.tile_efficiency[3], 0.2, 1},
        {&p.split_cost, 0, 80},          {&p.long_slowdown, 0, 0.8},       {&p.long_us, 10, 20000}};
    fit_least_squares(
        variables,
        [&](std::vector<double>& residuals) {
            residuals.resize(used.size());
            for (std::size_t i = 0; i < used.size(); ++i) {
                const double weight = smallest_edge(used[i].shape) >= 512 ? 1 : kSmallShapeWeight;
                residuals[i] = weight * std::log(gemm_time(p, gpu.bf16, used[i].shape, 1) / used[i].time);
            }
        },
        kLossScale);
}

// The fp8 table times the cast of the input as well: a fixed time and `passes` transfers of m k elements of 3
// bytes.
double fit_fp8(const ReferenceGpu& gpu, const std::vector<GemmRow>& rows, const GemmParameters& p,
               std::vector<FitError>& errors) {
    double efficiency = 0.8;
    double cast_us = 8;
    double passes = 1.5;
    std::vector<GemmRow> used;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(used),
                 [](const GemmRow& row) { return smallest_edge(row.shape) >= 1024; });
    const auto residuals = [&](std::vector<double>& result) {
        result.resize(used.size());
        const KernelMachine machine{gpu.fp8_peak * efficiency, gpu.bf16.bandwidth, gpu.bf16.sms};
        for (std::size_t i = 0; i < used.size(); ++i) {
            const GemmShape& s = used[i].shape;
            const double cast = cast_us * 1e-6 + passes * 3 * s.m * s.k / gpu.bf16.bandwidth;
            result[i] = std::log((gemm_time(p, machine, s, 1) + cast) / used[i].time);
        }
    };
    fit_least_squares({{&efficiency, 0.3, 1.3}, {&cast_us, 0, 60}, {&passes, 0, 10}}, residuals, kLossScale);
    std::vector<double> log_errors;
    residuals(log_errors);
    errors.push_back(summarise("gemm fp8 with its cast, edges >= 1024", log_errors));
    return efficiency;
}

// How much longer a pass takes than the forward pass, after the model's own difference (fp32 traffic).
double pass_factor(const ReferenceGpu& gpu, const std::vector<GemmRow>& rows, const GemmParameters& p,
                   GemmPass pass) {
    std::vector<double> forward;
    std::vector<double> other;
    for (const GemmRow& row : rows) {
        const double ratio = row.time / gemm_time(p, gpu.bf16, row.shape, 1);
        if (smallest_edge(row.shape) < 1024 || row.shape.batch > 1) {
            continue;
        }
        if (row.shape.pass == GemmPass::forward) {
            forward.push_back(ratio);
        } else if (row.shape.pass == pass && (pass == GemmPass::dgrad || row.shape.accumulate_fp32)) {
            other.push_back(ratio);
        }
    }
    return median(other) / median(forward);
}

} // namespace

void fit_gemm(const ReferenceGpu& gpu, const std::string& tables, KernelPreset& preset,
              std::vector<FitError>& errors) {
    const std::vector<GemmRow> table = read_gemm_table(tables, gpu.name);
    const std::vector<GemmRow> rows = of_type(table, "bfloat16");
    fit_bf16(gpu, rows, preset.gemm);
    for (const double edge : {1024.0, 512.0}) {
        for (const bool held : {false, true}) {
            std::vector<double> log_errors;
            for (const GemmRow& row : rows) {
                if (smallest_edge(row.shape) >= edge && held_out(row.shape) == held) {
                    log_errors.push_back(std::log(gemm_time(preset.gemm, gpu.bf16, row.shape, 1) / row.time));
                }
            }
            errors.push_back(summarise(std::string("gemm bf16, edges >= ") + (edge > 1000 ? "1024" : "512") +
                                           (held ? ", held out" : ", fitted"),
                                       log_errors));
        }
    }
    if (gpu.fp8_peak > 0) {
        preset.dtype_efficiency[DType::fp8] = fit_fp8(gpu, of_type(table, "fp8"), preset.gemm, errors);
    }
    const std::vector<GemmRow> training = read_training_gemms(tables, gpu.name);
    if (!training.empty()) {
        preset.pass_factor = {1, pass_factor(gpu, training, preset.gemm, GemmPass::dgrad),
                              pass_factor(gpu, training, preset.gemm, GemmPass::wgrad)};
    }
}

} // namespace echosim
