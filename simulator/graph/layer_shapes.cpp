// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/layer_shapes.h"

#include <algorithm>

namespace echosim {
namespace {

constexpr double kElement = 2; // bytes of fp16 and bf16

void size_attention(LayerShapes& s, const Job& job) {
    const ModelShape& m = job.model;
    const double b = job.batch.micro, seq = static_cast<double>(m.seq_len) / job.parallel.cp;
    const double kv_heads = std::max(1.0, m.query_groups / s.t);
    s.flash = job.kernels.attention == AttentionImpl::flash;
    s.attention = {.batch = b,
                   .seq_q = seq,
                   .seq_kv = seq,
                   .heads = s.heads,
                   .kv_heads = kv_heads,
                   .head_dim = static_cast<double>(m.head_dim),
                   .dtype = job.precision.compute};
    // q and k are read, rotated and written
    if (m.rotary)
        s.rope_bytes = 2 * kElement * s.tokens * (s.heads + kv_heads) * m.head_dim;
    if (m.qk_layernorm)
        s.qk_norm_bytes = 2 * kElement * s.tokens * (s.heads + kv_heads) * m.head_dim;
    const double scores = b * s.heads * seq * seq;
    // fused scale-mask-softmax reads and writes the scores once; unfused: scale, mask, fp32 softmax, cast
    s.softmax_bytes = scores * kElement * (job.kernels.masked_softmax_fusion ? 2 : 9);
    if (m.attention_dropout > 0)
        s.attention_dropout_bytes = scores * (2 * kElement + 1);
    s.context_copy_bytes = 2 * kElement * s.tokens * s.attention_width;
    s.qkv_copy_bytes = 2 * kElement * s.tokens * s.qkv_out;
}

void size_elementwise(LayerShapes& s, const Job& job) {
    const ModelShape& m = job.model;
    const double x = s.local_tokens * s.h; // elements of a residual-stream tensor on this rank
    const bool dropout = m.hidden_dropout > 0;
    const double mask = dropout ? 1 : 0;
    s.norm_bytes = 2 * kElement * x;
    s.norm_backward_bytes = 3 * kElement * x;
    s.norm_weight_grad_bytes = 2 * kElement * x;
    s.grad_add_bytes = 3 * kElement * x;
    s.residual_add_bytes = (3 * kElement + mask) * x;
    if (!job.kernels.bias_dropout_fusion)
        s.unfused_bias_dropout_bytes = (4 * kElement + mask) * x;
    if (dropout)
        s.dropout_backward_bytes = (2 * kElement + 1) * x;
    if (m.bias_linear)
        s.bias_grad_bytes = kElement * x;
    const double y = s.tokens * s.fc2_in; // elements of the activation's output
    const double in = m.gated() ? 2 : 1;
    s.activation_bytes = (in + 1) * kElement * y * (job.kernels.bias_activation_fusion ? 1 : 2.5);
    s.activation_backward_bytes =
        (2 * in + 1) * kElement * y * (job.kernels.bias_activation_fusion ? 1 : 2.5);
    // reads the bf16 gradient and the main gradient, writes the main gradient
    s.grad_accumulate_bytes_per_weight = job.precision.grads_in_fp32 ? 10 : 6;
    if (m.bias_linear && is_legacy_software(job))
        s.column_bias_bytes_per_output = kElement * s.tokens;
}

} // namespace

bool is_legacy_software(const Job& job) {
    return job.kernels.software.starts_with("megatron-");
}

LayerShapes layer_shapes(const Job& job) {
    const ModelShape& m = job.model;
    LayerShapes s;
    s.t = job.parallel.tp;
    s.tokens = static_cast<double>(m.seq_len) * job.batch.micro / job.parallel.cp;
    s.local_tokens = job.parallel.sequence_parallel ? s.tokens / s.t : s.tokens;
    s.h = m.hidden;
    s.heads = m.heads / s.t;
    s.qkv_out = (m.heads + 2.0 * std::max<double>(m.query_groups, s.t)) * m.head_dim / s.t;
    s.attention_width = s.heads * m.head_dim;
    s.fc2_in = m.ffn_hidden / s.t;
    s.fc1_out = s.fc2_in * (m.gated() ? 2 : 1);
    s.hidden_bytes = kElement * s.tokens * s.h;
    // the fused kernels came with Megatron of 2022; DeepSpeed keeps gradients in its own buffers
    const std::string& software = job.kernels.software;
    const bool available = !is_legacy_software(job) || software == "megatron-2022";
    s.fused_wgrad = job.kernels.gradient_accumulation_fusion && available;
    size_attention(s, job);
    size_elementwise(s, job);
    return s;
}

} // namespace echosim
