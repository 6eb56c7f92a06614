// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/kernels/kernel_time.h"
#include "simulator/workload/job.h"

namespace echosim {

// Sizes of a decoder layer's kernels on one rank, one micro-batch. Widths are per rank (divided by t); bytes
// count HBM reads and writes.
struct LayerShapes {
    double t = 1;            // tensor-parallel size
    double tokens = 0;       // T
    double local_tokens = 0; // T'
    double h = 0;
    double heads = 0;           // a / t
    double qkv_out = 0;         // (a + 2 g) d / t
    double attention_width = 0; // a d / t
    double fc1_out = 0;         // f / t, twice that when gated
    double fc2_in = 0;          // f / t
    double hidden_bytes = 0;    // 2 T h: size of every TP collective
    bool flash = true;
    bool fused_wgrad = true; // the weight-gradient GEMM adds into the main gradient
    AttentionShape attention;
    double norm_bytes = 0, norm_backward_bytes = 0, norm_weight_grad_bytes = 0, grad_add_bytes = 0;
    double residual_add_bytes = 0, unfused_bias_dropout_bytes = 0, dropout_backward_bytes = 0,
           bias_grad_bytes = 0;
    double rope_bytes = 0, qk_norm_bytes = 0;
    double softmax_bytes = 0, attention_dropout_bytes = 0, context_copy_bytes = 0, qkv_copy_bytes = 0;
    double activation_bytes = 0, activation_backward_bytes = 0;
    double grad_accumulate_bytes_per_weight = 0; // separate add kernel when the GEMM does not accumulate
    double column_bias_bytes_per_output = 0;     // bias gradient of a column-parallel GEMM, bytes a column
};

LayerShapes layer_shapes(const Job& job);

// Frameworks before Megatron-Core: bias gradients are kernels of their own, fewer fusions.
bool is_legacy_software(const Job& job);

} // namespace echosim
