// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/flops.h"

#include "simulator/workload/tensor_sizes.h"

#include <algorithm>

// T = tokens of the step, a product of K x N weights costs 2 K N a token forward and twice that backward.
// Model FLOPs = 6 T N + A, with N per layer (a + 2g) d h + a d h + (u + 1) h f (MoE: k experts, the shared
// expert and the router), the output layer V h, and A = 6 L T s a d (causal) or 12 L T s a d: forward 2
// products of 2 s a d a token, halved by the causal mask, backward twice. Hardware FLOPs add the forward that
// is repeated: full recomputation of the layers concerned 2 T N_layer + A/3; selective core_attn the forward
// of attention, A/3; mlp its two products.
namespace echosim {
namespace {

double tokens_of(const Job& job) {
    return static_cast<double>(job.batch.global) * job.model.seq_len;
}

double attention_weights(const ModelShape& model) {
    return (2.0 * model.heads + 2.0 * model.query_groups) * model.head_dim * model.hidden;
}

double mlp_weights(const ModelShape& model) {
    const double products = model.gated() ? 3 : 2;
    if (model.experts == 0) {
        return products * model.hidden * model.ffn_hidden;
    }
    const double width = static_cast<double>(model.experts_per_token) * model.expert_ffn_hidden +
                         model.shared_expert_ffn_hidden;
    return products * model.hidden * width + static_cast<double>(model.hidden) * model.experts;
}

// Forward of the scores and of their product with V, all tokens of one layer.
double attention_forward(const Job& job, bool causal) {
    return (causal ? 2.0 : 4.0) * tokens_of(job) * job.model.seq_len * job.model.heads * job.model.head_dim;
}

double layer_forward(const Job& job, bool causal) {
    return 2 * tokens_of(job) * (attention_weights(job.model) + mlp_weights(job.model)) +
           attention_forward(job, causal);
}

int recomputed_layers(const Job& job) {
    int layers = 0;
    for (const auto& stage : job.parallel.layers_per_stage) {
        for (const int in_chunk : stage) {
            layers += in_chunk - layers_without_recompute(job, in_chunk);
        }
    }
    return layers;
}

bool recomputes(const Recompute& recompute, std::string_view module) {
    return recompute.modules.empty() ? module == "core_attn"
                                     : std::find(recompute.modules.begin(), recompute.modules.end(),
                                                 module) != recompute.modules.end();
}

double repeated_per_layer(const Job& job, bool causal) {
    if (job.recompute.granularity == RecomputeGranularity::full) {
        return layer_forward(job, causal);
    }
    const double attention = recomputes(job.recompute, "core_attn") ? attention_forward(job, causal) : 0;
    const double mlp = recomputes(job.recompute, "mlp") ? 2 * tokens_of(job) * mlp_weights(job.model) : 0;
    return attention + mlp;
}

} // namespace

Flops model_flops(const Job& job, bool causal) {
    const double output = 2 * tokens_of(job) * job.model.padded_vocab * job.model.hidden;
    return 3 * (job.model.layers * layer_forward(job, causal) + output);
}

Flops hardware_flops(const Job& job, bool causal) {
    const Flops model = model_flops(job, causal);
    if (job.recompute.granularity == RecomputeGranularity::none) {
        return model;
    }
    return model + recomputed_layers(job) * repeated_per_layer(job, causal);
}

} // namespace echosim
