// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/tensor_sizes.h"

#include <algorithm>

// Symbols: T = s b / c tokens of a micro-batch on a rank, h hidden, f FFN hidden, a heads, g KV heads, d head
// dimension, V padded vocabulary, t tensor parallel, e bytes an element of the compute type; n = 2 for
// LayerNorm, 1 for RMSNorm; u = 2 for gated activations, 1 for plain ones; r = t under sequence parallelism,
// 1 without.
//
// Parameters of one layer on a rank:
//   attention  h (a + 2g) d / t + a d h / t,  bias (a + 2g) d / t + h,  query/key norm 2 n d
//   MLP        h u f / t + f h / t,           bias u f / t + h
//   norms      2 n h
//   experts    (E / ep) (u + 1) h f_e / etp + router h E + shared (u + 1) h f_s / t in place of the MLP
// Embedding V h / t, learned positions max_positions h (not split); head: final norm n h, output weight V h /
// t (none when tied on one stage; a copy of the word embedding on the last stage when tied over several).
//
// Bytes a layer's forward leaves for its backward (Korthikanti et al. 2022, Reducing Activation
// Recomputation, counted tensor by tensor; with g = a, u = 1, f = 4h, e = 2 and both dropouts it gives T h
// (34 + 5 a s / h), their eq. 1):
//   norm inputs 2 e T h / r, norm outputs (GEMM inputs) 2 e T h / r, dropout masks 2 T h / r when hidden
//   dropout > 0 q, k, v e T (a + 2g) d / t, attention output e T a d / t, flash: log-sum-exp 4 T a / t
//   unfused scores (a / t) T s (e softmax output [+ 1 mask + e dropout output when attention dropout > 0])
//   FC1 output e T u f / t, activation output e T f / t; MoE: k f_e + f_s in place of f, and 2 e T k h / r
//   token copies
// Selective recomputation: core_attn drops the scores and the log-sum-exp; layernorm the two norm outputs;
// mlp FC1's input and output and the activation output. Full: one unit keeps its input only, e T h / r (/ t
// with distributed saved activations). Embedding: token indices 8 T, dropout mask T h / r. Head: final norm
// input and output 2 e T h / r, softmax in fp32 4 T V / t (Megatron-LM d98e8a64, vocab-parallel cross entropy
// computes it in place and keeps it).
namespace echosim {
namespace {

using Count = std::int64_t;

Count norm_tensors(const ModelShape& model) {
    return model.normalization == Normalization::layer_norm ? 2 : 1;
}
Count up_projections(const ModelShape& model) {
    return model.gated() ? 2 : 1;
}

Count attention_parameters(const ModelShape& model, Count tp) {
    const Count qkv = static_cast<Count>(model.heads + 2 * model.query_groups) * model.head_dim / tp;
    const Count out = static_cast<Count>(model.heads) * model.head_dim / tp;
    const Count qkv_bias = model.bias_linear || model.qkv_bias ? qkv : 0;
    return (qkv + out) * model.hidden + qkv_bias;
}

Count mlp_parameters(const ModelShape& model, const ParallelLayout& parallel) {
    const Count up = up_projections(model);
    if (model.experts > 0) {
        const Count expert = (up + 1) * model.hidden * model.expert_ffn_hidden / parallel.etp;
        const Count shared = (up + 1) * model.hidden * model.shared_expert_ffn_hidden / parallel.tp;
        return model.experts / parallel.ep * expert + static_cast<Count>(model.hidden) * model.experts +
               shared;
    }
    const Count f = model.ffn_hidden / parallel.tp;
    return (up + 1) * model.hidden * f + (model.bias_linear ? up * f : 0);
}

// Norms, and biases of the row-parallel products: every rank of the TP group holds them whole.
Count replicated_layer_parameters(const ModelShape& model) {
    const Count norms =
        norm_tensors(model) * (2 * model.hidden + (model.qk_layernorm ? 2 * model.head_dim : 0));
    const Count row_products = model.experts > 0 ? 1 : 2;
    return norms + (model.bias_linear ? row_products * model.hidden : 0);
}

Count layer_parameters_on(const ModelShape& model, const ParallelLayout& parallel) {
    return attention_parameters(model, parallel.tp) + mlp_parameters(model, parallel) +
           replicated_layer_parameters(model);
}

Count word_embedding(const ModelShape& model, Count tp) {
    return static_cast<Count>(model.padded_vocab) / tp * model.hidden;
}
Count position_table(const ModelShape& model) {
    return model.learned_positions ? static_cast<Count>(model.max_positions) * model.hidden : 0;
}

bool recomputes(const Job& job, std::string_view module) {
    const auto& modules = job.recompute.modules;
    return job.recompute.granularity == RecomputeGranularity::selective &&
           (modules.empty() ? module == "core_attn"
                            : std::find(modules.begin(), modules.end(), module) != modules.end());
}

// Sizes that all activation formulas share; doubles, since 3 e T h / t need not be whole before the sum.
struct TokenSizes {
    double element;      // e
    double tokens;       // T
    double split;        // r
    double hidden_shard; // T h / r, elements
    double tp;
};

TokenSizes token_sizes(const Job& job) {
    TokenSizes sizes{};
    sizes.element = std::max(size_of(job.precision.compute), 2.0);
    sizes.tokens = static_cast<double>(job.model.seq_len) * job.batch.micro / job.parallel.cp;
    sizes.tp = job.parallel.tp;
    sizes.split = job.parallel.sequence_parallel ? sizes.tp : 1.0;
    sizes.hidden_shard = sizes.tokens * job.model.hidden / sizes.split;
    return sizes;
}

double attention_scores(const Job& job, const TokenSizes& at) {
    if (job.kernels.attention == AttentionImpl::flash) {
        return 4 * at.tokens * job.model.heads / at.tp;
    }
    const double elements = at.tokens * job.model.seq_len * job.model.heads / at.tp;
    return elements * (at.element + (job.model.attention_dropout > 0 ? 1 + at.element : 0));
}

double mlp_inner(const Job& job, const TokenSizes& at) {
    const ModelShape& model = job.model;
    const double up = static_cast<double>(up_projections(model));
    if (model.experts == 0) {
        return at.element * at.tokens * model.ffn_hidden / at.tp * (up + 1);
    }
    const double width = static_cast<double>(model.experts_per_token) * model.expert_ffn_hidden +
                         model.shared_expert_ffn_hidden;
    return at.element * at.tokens / at.tp * (up + 1) * width +
           2 * at.element * at.hidden_shard * model.experts_per_token;
}

// A layer's tensors, with what selective recomputation of the job drops when `selective` is set.
double layer_bytes(const Job& job, const TokenSizes& at, bool selective) {
    const auto keeps = [&](std::string_view module) { return !selective || !recomputes(job, module); };
    const ModelShape& model = job.model;
    const double shard = at.element * at.hidden_shard;
    double bytes = 2 * shard;
    bytes += keeps("layernorm") ? shard : 0;
    bytes += keeps("layernorm") && keeps("mlp") ? shard : 0;
    bytes += model.hidden_dropout > 0 ? 2 * at.hidden_shard : 0;
    const double head_rows = 2.0 * model.heads + 2.0 * model.query_groups; // q, k, v and the output
    bytes += at.element * at.tokens * head_rows * model.head_dim / at.tp;
    bytes += keeps("core_attn") ? attention_scores(job, at) : 0;
    bytes += keeps("mlp") ? mlp_inner(job, at) : 0;
    return bytes;
}

} // namespace

std::int64_t layer_parameters(const Job& job) {
    return layer_parameters_on(job.model, job.parallel);
}

ChunkParameters chunk_parameters(const Job& job, int pipeline_rank, int chunk) {
    const ParallelLayout& parallel = job.parallel;
    const ModelShape& model = job.model;
    const Count layers =
        parallel.layers_per_stage[static_cast<std::size_t>(pipeline_rank)][static_cast<std::size_t>(chunk)];
    ChunkParameters result;
    result.layers = layers * layer_parameters(job);
    result.norms = layers * replicated_layer_parameters(model);
    if (pipeline_rank == 0 && chunk == 0) {
        result.embedding = word_embedding(model, parallel.tp) + position_table(model);
    }
    if (pipeline_rank == parallel.pp - 1 && chunk == parallel.vpp - 1) {
        const Count norm = norm_tensors(model) * model.hidden;
        const bool own_weight = !model.tied_embeddings || parallel.pp > 1;
        result.head = norm + (own_weight ? word_embedding(model, parallel.tp) : 0);
        result.norms += norm;
    }
    return result;
}

std::int64_t rank_parameters(const Job& job, int pipeline_rank) {
    Count sum = 0;
    for (int chunk = 0; chunk < job.parallel.vpp; ++chunk) {
        sum += chunk_parameters(job, pipeline_rank, chunk).total();
    }
    return sum;
}

double total_parameters(const Job& job) {
    const ModelShape& model = job.model;
    const double embeddings = static_cast<double>(word_embedding(model, 1)) * (model.tied_embeddings ? 1 : 2);
    return static_cast<double>(layer_parameters_on(model, ParallelLayout{})) * model.layers + embeddings +
           static_cast<double>(position_table(model) + norm_tensors(model) * model.hidden);
}

SavedActivations saved_activations(const Job& job) {
    const TokenSizes at = token_sizes(job);
    const auto whole = [](double bytes) { return static_cast<Bytes>(bytes + 0.5); };
    SavedActivations saved;
    saved.layer_full = whole(layer_bytes(job, at, false));
    saved.layer = whole(layer_bytes(job, at, true));
    if (job.recompute.granularity == RecomputeGranularity::full) {
        const bool distributed =
            job.recompute.distribute_saved_activations && !job.parallel.sequence_parallel;
        const double input = at.element * at.hidden_shard / (distributed ? at.tp : 1);
        const bool uniform = job.recompute.method == RecomputeMethod::uniform;
        saved.unit_input = whole(input);
        saved.layer = whole(uniform ? input / job.recompute.num_layers : input);
    }
    const double mask = job.model.hidden_dropout > 0 ? at.hidden_shard : 0;
    saved.embedding = whole(8 * at.tokens + mask);
    saved.head = whole(2 * at.element * at.hidden_shard + 4 * at.tokens * job.model.padded_vocab / at.tp);
    return saved;
}

int layers_without_recompute(const Job& job, int layers_in_chunk) {
    switch (job.recompute.granularity) {
    case RecomputeGranularity::none:
        return layers_in_chunk;
    case RecomputeGranularity::selective:
        return 0;
    case RecomputeGranularity::full:
        return job.recompute.method == RecomputeMethod::block
                   ? std::max(0, layers_in_chunk - job.recompute.num_layers)
                   : 0;
    }
    return 0;
}

} // namespace echosim
