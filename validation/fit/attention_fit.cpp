// SPDX-License-Identifier: Apache-2.0
#include "validation/fit/fit_stages.h"
#include "validation/fit/least_squares.h"

#include <algorithm>
#include <cmath>

namespace echosim {
namespace {

constexpr double kLossScale = 0.08;

void fit_forward(const ReferenceGpu& gpu, const std::vector<AttentionRow>& rows, KernelPreset& preset) {
    AttentionParameters& p = preset.attention_forward;
    KernelPreset::AttentionTable& extra = preset.attention_table;
    std::vector<AttentionRow> used;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(used), [](const AttentionRow& row) {
        return !held_out(row.shape) && row.shape.seq_q >= 512 && row.shape.head_dim <= 256;
    });
    const auto residuals = [&](std::vector<double>& result) {
        result.resize(used.size());
        for (std::size_t i = 0; i < used.size(); ++i) {
            const AttentionShape& s = used[i].shape;
            const double weight = (s.head_dim == 128 ? 1 : 0.6) * (s.seq_q >= 1024 ? 1 : 0.5);
            result[i] = weight * std::log((attention_time(p, gpu.bf16, s) + table_extra(extra, gpu.bf16, s)) /
                                          used[i].time);
        }
    };
    fit_least_squares({{&p.ceiling, 0.1, 1.2},
                       {&p.kv_prologue, 0, 3000},
                       {&p.wave_quantisation, 0, 1},
                       {&p.longest, 0, 1.2},
                       {&p.head_dim_factor[0], 0.2, 1.5},
                       {&p.head_dim_factor[2], 0.2, 1.5},
                       {&p.head_dim_factor[3], 0.2, 1.5},
                       {&extra.fixed_us, 0, 40},
                       {&extra.passes, 0, 6}},
                      residuals, kLossScale);
}

// Speed of the training library relative to the kernel of the table, from training measurements that include
// an unknown fixed time of the host.
double library_factor(const ReferenceGpu& gpu, const std::vector<AttentionRow>& rows,
                      const AttentionParameters& p) {
    double factor = 1;
    double host_us = 20;
    fit_least_squares(
        {{&factor, 0.5, 2}, {&host_us, 0, 200}},
        [&](std::vector<double>& result) {
            result.clear();
            for (const AttentionRow& row : rows) {
                const double kernel = attention_time(p, gpu.bf16, row.shape) / factor;
                if (!row.shape.backward) {
                    result.push_back(std::log((kernel + host_us * 1e-6) / row.time));
                }
            }
        },
        kLossScale);
    return factor;
}

void fit_backward(const ReferenceGpu& gpu, const std::vector<AttentionRow>& rows, AttentionParameters& p) {
    double host_us = 20;
    fit_least_squares(
        {{&p.ceiling, 0.1, 1.2}, {&p.longest, 0, 1.2}, {&host_us, 0, 200}},
        [&](std::vector<double>& result) {
            result.clear();
            for (const AttentionRow& row : rows) {
                const double kernel = attention_time(p, gpu.bf16, row.shape);
                if (row.shape.backward) {
                    result.push_back(std::log((kernel + host_us * 1e-6) / row.time));
                }
            }
        },
        kLossScale);
}

} // namespace

void fit_attention(const ReferenceGpu& gpu, const std::string& tables, KernelPreset& preset,
                   std::vector<FitError>& errors) {
    const std::vector<AttentionRow> rows = read_attention_table(tables, gpu.name);
    fit_forward(gpu, rows, preset);
    for (const bool held : {false, true}) {
        std::vector<double> log_errors;
        for (const AttentionRow& row : rows) {
            if (row.shape.seq_q >= 512 && row.shape.head_dim <= 256 && held_out(row.shape) == held) {
                log_errors.push_back(std::log((attention_time(preset.attention_forward, gpu.bf16, row.shape) +
                                               table_extra(preset.attention_table, gpu.bf16, row.shape)) /
                                              row.time));
            }
        }
        errors.push_back(
            summarise(std::string("attention forward, length >= 512") + (held ? ", held out" : ", fitted"),
                      log_errors));
    }
    const std::vector<AttentionRow> training = read_training_attention(tables, gpu.name);
    if (training.empty()) {
        return;
    }
    preset.attention_table.library_factor = library_factor(gpu, training, preset.attention_forward);
    preset.attention_forward.ceiling *= preset.attention_table.library_factor;
    preset.attention_backward = preset.attention_forward;
    preset.attention_backward.fixed_us = 6;
    fit_backward(gpu, training, preset.attention_backward);
    for (const bool backward : {false, true}) {
        std::vector<double> log_errors;
        for (const AttentionRow& row : training) {
            const auto& p = backward ? preset.attention_backward : preset.attention_forward;
            if (row.shape.backward == backward && row.shape.heads >= 16) {
                log_errors.push_back(std::log(attention_time(p, gpu.bf16, row.shape) / row.time));
            }
        }
        errors.push_back(summarise(std::string("attention in training (SimuMax), heads >= 16, ") +
                                       (backward ? "backward" : "forward"),
                                   log_errors));
    }
}

} // namespace echosim
