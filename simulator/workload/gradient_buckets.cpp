// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/tensor_sizes.h"

#include <algorithm>
#include <numeric>

// Source: Megatron-LM d98e8a64, distributed_data_parallel.py and param_and_grad_buffer.py. Parameters enter
// in the reverse of their registration order; a bucket closes when it holds bucket_size elements or more.
// Default size max(40e6, 1e6 dp) elements, dp the ranks that share the gradient (D c). One bucket when the
// reduction is not overlapped, and on every stage but the first and every chunk but the first. The
// distributed optimizer starts each parameter at a multiple of 64 elements, ends each bucket at a multiple of
// lcm(dp, 128), and gives the word embedding a bucket of its own when it is shared between stages.
namespace echosim {
namespace {

using Count = std::int64_t;

struct Parameter {
    Count elements = 0;
    int layer = 0;
    bool shared_embedding = false;
};

Count round_up(Count value, Count multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

void add_norm(std::vector<Parameter>& list, const ModelShape& model, Count width, int layer) {
    list.push_back({width, layer});
    if (model.normalization == Normalization::layer_norm) {
        list.push_back({width, layer});
    }
}

void add_mlp(std::vector<Parameter>& list, const Job& job, int layer) {
    const ModelShape& model = job.model;
    const Count h = model.hidden;
    const Count f = model.ffn_hidden / job.parallel.tp;
    const Count up = model.gated() ? 2 * f : f;
    add_norm(list, model, h, layer);
    list.push_back({h * up, layer});
    if (model.bias_linear) {
        list.push_back({up, layer});
    }
    list.push_back({h * f, layer});
    if (model.bias_linear) {
        list.push_back({h, layer});
    }
}

// Registration order of a Transformer Engine layer: output projection, norm and QKV, query/key norms, norm
// and MLP.
void add_layer(std::vector<Parameter>& list, const Job& job, int layer) {
    const ModelShape& model = job.model;
    const Count h = model.hidden;
    const Count out = static_cast<Count>(model.heads) * model.head_dim / job.parallel.tp;
    const Count qkv =
        static_cast<Count>(model.heads + 2 * model.query_groups) * model.head_dim / job.parallel.tp;
    list.push_back({out * h, layer});
    if (model.bias_linear) {
        list.push_back({h, layer});
    }
    add_norm(list, model, h, layer);
    list.push_back({qkv * h, layer});
    if (model.bias_linear || model.qkv_bias) {
        list.push_back({qkv, layer});
    }
    if (model.qk_layernorm) {
        add_norm(list, model, model.head_dim, layer);
        add_norm(list, model, model.head_dim, layer);
    }
    add_mlp(list, job, layer);
}

std::vector<Parameter> registered_parameters(const Job& job, int pipeline_rank, int chunk) {
    const ModelShape& model = job.model;
    const ParallelLayout& parallel = job.parallel;
    const int layers =
        parallel.layers_per_stage[static_cast<std::size_t>(pipeline_rank)][static_cast<std::size_t>(chunk)];
    const Count words = static_cast<Count>(model.padded_vocab) / parallel.tp * model.hidden;
    const bool shared = model.tied_embeddings && parallel.pp > 1;
    std::vector<Parameter> list;
    if (pipeline_rank == 0 && chunk == 0) {
        list.push_back({words, -1, shared});
        if (model.learned_positions) {
            list.push_back({static_cast<Count>(model.max_positions) * model.hidden, -1});
        }
    }
    for (int layer = 0; layer < layers; ++layer) {
        add_layer(list, job, layer);
    }
    if (pipeline_rank == parallel.pp - 1 && chunk == parallel.vpp - 1) {
        add_norm(list, model, model.hidden, layers);
        if (!model.tied_embeddings || shared) {
            list.push_back({words, layers, shared});
        }
    }
    return list;
}

// Buckets in the order of backward. `limit` 0 closes none by size.
std::vector<GradientBucket> fill_buckets(const std::vector<Parameter>& parameters, Count limit,
                                         bool distributed, Count dp) {
    const Count bucket_end = distributed ? std::lcm(dp, Count{128}) : 1;
    const Count param_start = distributed ? 64 : 1;
    std::vector<GradientBucket> buckets;
    GradientBucket open;
    const auto close = [&] {
        if (open.elements > 0) {
            open.elements = round_up(open.elements, bucket_end);
            buckets.push_back(open);
        }
        open = {};
    };
    for (auto it = parameters.rbegin(); it != parameters.rend(); ++it) {
        const bool alone = it->shared_embedding && distributed;
        if (alone) {
            close();
        }
        open.elements = round_up(open.elements, param_start) + it->elements;
        open.ready_after_layer = it->layer;
        if (alone || (limit > 0 && open.elements >= limit)) {
            close();
        }
    }
    close();
    return buckets;
}

} // namespace

std::vector<GradientBucket> gradient_buckets(const Job& job, int pipeline_rank, int chunk) {
    const std::vector<Parameter> parameters = registered_parameters(job, pipeline_rank, chunk);
    const Count dp = static_cast<Count>(job.parallel.dp) * job.parallel.cp;
    const bool split = job.data_parallel.overlap_grad_reduce && pipeline_rank == 0 && chunk == 0;
    Count limit = 0;
    if (split) {
        const Count set = job.data_parallel.bucket_size;
        limit = set > 0 ? set : std::max(Count{40'000'000}, 1'000'000 * dp);
    }
    std::vector<GradientBucket> buckets =
        fill_buckets(parameters, limit, job.data_parallel.distributed_optimizer, dp);
    if (!split && buckets.size() > 1) {
        // Reduced together in one group, so they count as one.
        GradientBucket one = buckets.back();
        one.elements = 0;
        for (const GradientBucket& bucket : buckets) {
            one.elements += bucket.elements;
        }
        buckets = {one};
    }
    return buckets;
}

} // namespace echosim
