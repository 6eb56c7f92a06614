// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/gpu.h"
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

// A training job with every value resolved: what Megatron-LM itself would hold after validate_args(). It is
// made by resolve_job() (megatron_args.h) from flags, whatever file they came from, and never changed
// afterwards.
namespace echosim {

enum class Normalization : std::uint8_t { layer_norm, rms_norm };
enum class Activation : std::uint8_t { gelu, swiglu, geglu, squared_relu };
enum class AttentionImpl : std::uint8_t { flash, unfused }; // unfused: scores in memory, fused softmax kernel
enum class RecomputeGranularity : std::uint8_t { none, selective, full };
enum class RecomputeMethod : std::uint8_t { uniform, block };

// Sizes of the decoder. MoE and MLA fields are read and checked; building their graph is a later step.
struct ModelShape {
    int layers = 0;
    int hidden = 0;
    int ffn_hidden = 0;
    int heads = 0;
    int query_groups = 0; // KV heads; = heads for multi-head attention
    int head_dim = 0;     // --kv-channels
    int seq_len = 0;
    int max_positions = 0;
    int vocab = 0;
    int padded_vocab = 0;
    Normalization normalization = Normalization::layer_norm;
    Activation activation = Activation::gelu;
    bool bias_linear = true;
    bool qkv_bias = false;
    bool qk_layernorm = false;
    bool tied_embeddings = true;
    bool learned_positions = true; // a table of max_positions x hidden
    bool rotary = false;
    double attention_dropout = 0.1;
    double hidden_dropout = 0.1;
    int experts = 0; // 0 = dense
    int expert_ffn_hidden = 0;
    int experts_per_token = 0;
    int shared_expert_ffn_hidden = 0;
    bool gated() const { return activation == Activation::swiglu || activation == Activation::geglu; }
};

struct ParallelLayout {
    int world_size = 1;
    int tp = 1;
    int pp = 1;
    int vpp = 1; // model chunks per rank; 1 = plain 1F1B
    int cp = 1;
    int ep = 1;
    int etp = 1;
    int dp = 1;
    int expert_dp = 1;
    bool sequence_parallel = false;
    bool tp_pp_dp_order = false;                    // --use-tp-pp-dp-mapping
    std::vector<std::vector<int>> layers_per_stage; // [pipeline rank][chunk], decoder layers
    int microbatch_group = 0; // interleaving: micro-batches in a row per chunk (default pp)
};

struct BatchShape {
    int micro = 1;
    int global = 1;
    int num_microbatches = 1; // per rank and step
};

struct Recompute {
    RecomputeGranularity granularity = RecomputeGranularity::none;
    RecomputeMethod method = RecomputeMethod::uniform;
    int num_layers = 1;               // uniform: layers a unit; block: layers a chunk
    std::vector<std::string> modules; // selective; default core_attn
    bool distribute_saved_activations = false;
};

struct DataParallel {
    bool distributed_optimizer = false;
    bool overlap_grad_reduce = false;
    bool overlap_param_gather = false;
    bool align_grad_reduce = true;
    bool average_in_collective = false;
    int optimizer_instances = 1;
    std::int64_t bucket_size = 0; // elements; 0 = Megatron's default
};

struct PrecisionPlan {
    DType compute = DType::bf16; // of parameters, activations and GEMMs
    bool grads_in_fp32 = true;   // main gradients and their reduction
    bool loss_scaling = false;   // fp16: unscale, check for infinities
};

// Kernels and host behaviour that are not in the shape.
struct KernelPlan {
    AttentionImpl attention = AttentionImpl::flash;
    bool masked_softmax_fusion = true;
    bool bias_activation_fusion = true;
    bool bias_dropout_fusion = true;
    bool gradient_accumulation_fusion = true;
    bool rope_fusion = true;
    bool cross_entropy_fusion = false;
    bool overlap_p2p = true;        // only used with vpp > 1
    bool tp_async_allreduce = true; // data-gradient all-reduce under the weight-gradient GEMM
    bool tp_user_buffers = false;   // --tp-comm-overlap: Transformer Engine moves what TP exchanges
    bool cuda_graphs = false;
    std::optional<int> max_connections;          // CUDA_DEVICE_MAX_CONNECTIONS, where the script exports it
    std::vector<GroupKind> high_priority_groups; // --high-priority-stream-groups
    std::string software = "mcore-2025";         // generation: kernels and host costs differ
};

struct FlagVerdict {
    std::string flag;    // "--bf16"
    std::string value;   // as written; empty for switches
    std::string verdict; // "modelled" | "harmless" | "not modelled" | "unknown"
    std::string note;
    std::string origin; // "job.sh:12", "command line", "--set"
};

struct ResolvedValue {
    std::string key; // "parallel.dp"
    std::string value;
    std::string origin; // "job.sh:12 --bf16", "derived: world / (tp pp cp)", "Megatron default"
};

struct Job {
    std::string name; // file name or catalogue id
    ModelShape model;
    ParallelLayout parallel;
    BatchShape batch;
    Recompute recompute;
    DataParallel data_parallel;
    PrecisionPlan precision;
    KernelPlan kernels;
    double clip_grad = 1.0;
    std::map<std::string, std::string> environment; // exported by the launch script (NCCL_*, CUDA_*)
    std::vector<FlagVerdict> flags;
    std::vector<ResolvedValue> values; // every resolved value with its origin, in the order of `show job`
    std::vector<std::string> warnings;
    std::vector<std::string>
        not_modelled; // features whose graph cannot be built: simulate refuses, naming them
};

// Hardware queues that launches go to: what the script exports; else 1 before Blackwell with tensor or
// context parallelism, which Megatron-LM asks for, and CUDA's default of 8 in all other cases.
int max_connections(const Job& job, Arch arch);

// The object `job` of the result JSON: model, parallel, batch, recompute, data_parallel, precision, kernels,
// flags.
nlohmann::ordered_json job_to_json(const Job& job);

std::string_view to_string(Normalization value);
std::string_view to_string(Activation value);
std::string_view to_string(AttentionImpl value);
std::string_view to_string(RecomputeGranularity value);
std::string_view to_string(RecomputeMethod value);

} // namespace echosim
