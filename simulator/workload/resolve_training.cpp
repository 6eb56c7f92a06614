// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/resolve.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace echosim {
namespace {

constexpr std::string_view kGranularity = "--recompute-granularity";
constexpr std::string_view kMethod = "--recompute-method";
constexpr std::string_view kUnitLayers = "--recompute-num-layers";

int most_layers_on_a_rank(const ParallelLayout& p) {
    int most = 0;
    for (const auto& chunks : p.layers_per_stage)
        most = std::max(most, std::accumulate(chunks.begin(), chunks.end(), 0));
    return most;
}

void resolve_full_recompute(Resolution& r) {
    Recompute& c = r.job.recompute;
    if (!r.flags.has(kMethod)) {
        r.flags.fail(kGranularity, fmt::format("full needs {} uniform or block", kMethod));
        return;
    }
    c.method = *r.flags.text(kMethod) == "block" ? RecomputeMethod::block : RecomputeMethod::uniform;
    if (!r.flags.has(kUnitLayers) && !is_old_software(r.job.kernels.software)) {
        r.flags.fail(kGranularity, fmt::format("full needs {} N", kUnitLayers),
                     fmt::format("add {} 1", kUnitLayers));
        return;
    }
    const int most = most_layers_on_a_rank(r.job.parallel);
    c.num_layers = r.integer(kUnitLayers, 1, most > 0 ? most : kMaxLayers, 1);
    r.note("recompute.method", std::string(to_string(c.method)), r.flags.where(kMethod, ""));
    r.note("recompute.num_layers", c.num_layers, r.flags.where(kUnitLayers, "default of this generation"));
}

void resolve_selective_recompute(Resolution& r) {
    Recompute& c = r.job.recompute;
    for (const std::string_view flag : {kMethod, kUnitLayers}) {
        if (r.flags.has(flag))
            r.flags.fail(flag, "is for full recompute; selective takes none",
                         fmt::format("leave {} out", flag));
    }
    c.modules = r.flags.list("--recompute-modules");
    if (c.modules.empty())
        c.modules = {"core_attn"};
    static const std::vector<std::string> known = {
        "core_attn",      "moe_act",      "layernorm",   "mla_up_proj", "mlp", "moe",
        "shared_experts", "gdn_norm_out", "gdp_in_proj", "gdp_qkv",     "mhc"};
    for (const std::string& module : c.modules) {
        if (std::find(known.begin(), known.end(), module) == known.end()) {
            r.flags.fail("--recompute-modules",
                         fmt::format("read \"{}\", must be among {}", module, fmt::join(known, ", ")));
        }
    }
    r.note("recompute.modules", fmt::format("{}", fmt::join(c.modules, " ")),
           r.flags.where("--recompute-modules", "Megatron default"));
}

// The command line may turn full recompute of a file into selective: the file's method and depth go with it.
void drop_overridden_method(Resolution& r) {
    if (r.flags.text(kGranularity) != std::optional<std::string>("selective"))
        return;
    for (const std::string_view flag : {kMethod, kUnitLayers}) {
        r.flags.keep_strongest({std::string(kGranularity), std::string(flag)});
    }
}

void resolve_gradients(Resolution& r) {
    PrecisionPlan& p = r.job.precision;
    const bool fp16 = r.flags.has("--fp16");
    const bool bf16 = r.flags.has("--bf16");
    if (fp16 && bf16)
        r.flags.fail("--fp16", "excludes --bf16");
    p.compute = fp16 ? DType::fp16 : bf16 ? DType::bf16 : DType::fp32;
    p.loss_scaling = fp16;
    r.note("precision.compute", std::string(to_string(p.compute)),
           r.flags.where(fp16 ? "--fp16" : "--bf16", "Megatron default"));
    // R17: bf16 accumulates and reduces gradients in fp32 unless told otherwise.
    const bool low_bf16 = r.flags.has("--grad-reduce-in-bf16") ||
                          r.flags.text("--main-grads-dtype") == std::optional<std::string>("bf16");
    const bool asked = r.flags.has("--accumulate-allreduce-grads-in-fp32");
    if (asked && r.flags.has("--grad-reduce-in-bf16"))
        r.flags.fail("--accumulate-allreduce-grads-in-fp32", "excludes --grad-reduce-in-bf16");
    p.grads_in_fp32 = p.compute == DType::fp32 || asked || (p.compute == DType::bf16 && !low_bf16);
    std::string origin = p.compute == DType::bf16 ? "derived: bf16 accumulates in fp32"
                                                  : "derived: gradients in the compute type";
    for (const std::string_view flag :
         {"--accumulate-allreduce-grads-in-fp32", "--grad-reduce-in-bf16", "--main-grads-dtype"}) {
        if (r.flags.has(flag))
            origin = r.flags.where(flag, "");
    }
    r.note_flag("precision.grads_in_fp32", p.grads_in_fp32, origin);
    r.note_flag("precision.loss_scaling", p.loss_scaling, fp16 ? r.flags.where("--fp16", "") : "derived");
}

// R19, R20, R26, R27.
void resolve_data_parallel_plan(Resolution& r) {
    DataParallel& d = r.job.data_parallel;
    const std::string optimizer = r.flags.text("--optimizer").value_or("adam");
    const bool fsdp = r.flags.has("--use-megatron-fsdp") || r.flags.has("--use-torch-fsdp2");
    d.distributed_optimizer = r.flags.has("--use-distributed-optimizer");
    if (const auto zero = r.flags.integer("--zero-stage", 0, 3); zero && *zero > 0)
        d.distributed_optimizer = true;
    d.overlap_grad_reduce = r.flags.has("--overlap-grad-reduce");
    d.overlap_param_gather = r.flags.has("--overlap-param-gather");
    d.align_grad_reduce = !r.flags.has("--no-align-grad-reduce");
    d.average_in_collective = r.flags.has("--ddp-average-in-collective");
    d.bucket_size =
        r.flags.integer("--ddp-bucket-size", 1, std::numeric_limits<std::int64_t>::max()).value_or(0);
    if (d.overlap_param_gather && !d.overlap_grad_reduce)
        r.flags.fail("--overlap-param-gather", "needs --overlap-grad-reduce");
    if (d.overlap_param_gather && !d.distributed_optimizer && !fsdp && optimizer != "dist_muon") {
        r.flags.fail("--overlap-param-gather", "needs --use-distributed-optimizer");
    }
    if (r.flags.has("--overlap-param-gather-with-optimizer-step") && r.job.parallel.vpp == 1) {
        r.flags.fail("--overlap-param-gather-with-optimizer-step",
                     "needs an interleaved pipeline (virtual stages)");
    }
    if (r.flags.has("--ddp-bucket-size") && r.flags.has("--ddp-num-buckets"))
        r.flags.fail("--ddp-num-buckets", "excludes --ddp-bucket-size");
    r.note_flag("data_parallel.distributed_optimizer", d.distributed_optimizer,
                r.flags.where("--use-distributed-optimizer", "Megatron default"));
    r.note_flag("data_parallel.overlap_grad_reduce", d.overlap_grad_reduce,
                r.flags.where("--overlap-grad-reduce", "Megatron default"));
    r.note_flag("data_parallel.overlap_param_gather", d.overlap_param_gather,
                r.flags.where("--overlap-param-gather", "Megatron default"));
    r.note_flag("data_parallel.align_grad_reduce", d.align_grad_reduce,
                r.flags.where("--no-align-grad-reduce", "Megatron default"));
    r.note_flag("data_parallel.average_in_collective", d.average_in_collective,
                r.flags.where("--ddp-average-in-collective", "Megatron default"));
    r.note(
        "data_parallel.bucket_size", d.bucket_size > 0 ? std::to_string(d.bucket_size) : std::string("auto"),
        r.flags.where("--ddp-bucket-size", "Megatron default: max(40e6, 1e6 dp) elements when overlapping"));
    r.job.clip_grad = r.flags.real("--clip-grad", 0, std::numeric_limits<double>::max()).value_or(1.0);
    r.note("clip_grad", fmt::format("{}", r.job.clip_grad), r.flags.where("--clip-grad", "Megatron default"));
}

void resolve_attention(Resolution& r) {
    KernelPlan& k = r.job.kernels;
    const std::string backend = r.flags.text("--attention-backend").value_or("auto");
    const bool local = r.flags.text("--transformer-impl") == std::optional<std::string>("local");
    std::string origin = "derived: the default since 2023";
    k.attention = AttentionImpl::flash;
    if (r.flags.has("--use-flash-attn")) {
        origin = r.flags.where("--use-flash-attn", "");
    } else if (backend == "unfused" || backend == "local") {
        k.attention = AttentionImpl::unfused;
        origin = r.flags.where("--attention-backend", "");
    } else if (is_old_software(k.software) && !r.flags.has("--attention-backend")) {
        k.attention = AttentionImpl::unfused;
        origin = fmt::format("derived: {} without --use-flash-attn", k.software);
    } else if (local && backend == "auto") {
        k.attention = AttentionImpl::unfused;
        origin = r.flags.where("--transformer-impl", "");
    } else if (r.flags.has("--attention-backend")) {
        origin = r.flags.where("--attention-backend", "");
    }
    r.note("kernels.attention", std::string(to_string(k.attention)), origin);
}

// A switch that is on unless its "--no-" flag is given.
bool on_unless(Resolution& r, std::string_view key, std::string_view flag) {
    const bool on = !r.flags.has(flag);
    r.note_flag(key, on, r.flags.where(flag, "Megatron default"));
    return on;
}

void resolve_kernels(Resolution& r) {
    KernelPlan& k = r.job.kernels;
    resolve_attention(r);
    k.masked_softmax_fusion = on_unless(r, "kernels.masked_softmax_fusion", "--no-masked-softmax-fusion");
    const std::string_view activation_flag =
        r.job.model.gated() ? "--no-bias-swiglu-fusion" : "--no-bias-gelu-fusion";
    k.bias_activation_fusion = on_unless(r, "kernels.bias_activation_fusion", activation_flag);
    k.bias_dropout_fusion = on_unless(r, "kernels.bias_dropout_fusion", "--no-bias-dropout-fusion");
    k.gradient_accumulation_fusion =
        on_unless(r, "kernels.gradient_accumulation_fusion", "--no-gradient-accumulation-fusion");
    k.rope_fusion = on_unless(r, "kernels.rope_fusion", "--no-rope-fusion");
    // Megatron before 2022 reduces the data gradient in the open.
    if (k.software == "megatron-2020" || k.software == "megatron-2021") {
        k.tp_async_allreduce = false;
        r.note_flag("kernels.tp_async_allreduce", false,
                    fmt::format("derived: {} has no overlap", k.software));
    } else {
        k.tp_async_allreduce =
            on_unless(r, "kernels.tp_async_allreduce", "--no-async-tensor-model-parallel-allreduce");
    }
    k.cross_entropy_fusion = r.flags.has("--cross-entropy-loss-fusion");
    r.note_flag("kernels.cross_entropy_fusion", k.cross_entropy_fusion,
                r.flags.where("--cross-entropy-loss-fusion", "Megatron default"));
    // P7: sends and receives overlap only in the interleaved schedule.
    const bool interleaved = r.job.parallel.vpp > 1;
    k.overlap_p2p = interleaved && !r.flags.has("--no-overlap-p2p-communication");
    r.note_flag("kernels.overlap_p2p", k.overlap_p2p,
                interleaved ? r.flags.where("--no-overlap-p2p-communication", "Megatron default")
                            : "off: no virtual stages");
    const std::string graphs = r.flags.text("--cuda-graph-impl").value_or("none");
    k.cuda_graphs =
        graphs != "none" || r.flags.has("--enable-cuda-graph") || r.flags.has("--external-cuda-graph");
    r.note_flag("kernels.cuda_graphs", k.cuda_graphs, r.flags.where("--cuda-graph-impl", "Megatron default"));
    if (graphs == "full_iteration" && !r.flags.has("--no-check-for-nan-in-loss-and-grad")) { // R24
        r.flags.fail("--cuda-graph-impl", "full_iteration needs --no-check-for-nan-in-loss-and-grad");
    }
}

// R21, R23, R25.
void check_low_precision_and_offload(Resolution& r) {
    const bool fp8 = r.flags.has("--fp8-format");
    const bool fp4 = r.flags.has("--fp4-format");
    const bool sharded = r.job.data_parallel.distributed_optimizer || r.flags.has("--use-megatron-fsdp") ||
                         r.flags.has("--use-torch-fsdp2");
    if (fp8 && fp4)
        r.flags.fail("--fp8-format", "excludes --fp4-format");
    for (const std::string_view flag : {"--fp8-param-gather", "--fp4-param-gather"}) {
        if (r.flags.has(flag) && !sharded)
            r.flags.fail(flag, "needs --use-distributed-optimizer or FSDP");
    }
    const std::string recipe = r.flags.text("--fp8-recipe").value_or("delayed");
    if (fp8 && recipe == "delayed" && r.flags.has("--first-last-layers-bf16")) {
        r.flags.fail("--first-last-layers-bf16", "is not possible with the delayed FP8 recipe");
    }
    if (r.flags.has("--fp8-output-proj") && recipe != "mxfp8")
        r.flags.fail("--fp8-output-proj", "needs --fp8-recipe mxfp8");
    if (r.flags.has("--optimizer-cpu-offload") && !r.flags.has("--use-precision-aware-optimizer")) {
        r.flags.fail("--optimizer-cpu-offload", "needs --use-precision-aware-optimizer");
    }
    if (!r.flags.has("--use-torch-fsdp2"))
        return;
    const ParallelLayout& p = r.job.parallel;
    if (p.pp > 1 || p.ep > 1)
        r.flags.fail("--use-torch-fsdp2", "excludes pipeline and expert parallelism");
    for (const std::string_view flag : {"--use-distributed-optimizer", "--fp16", "--use-megatron-fsdp"}) {
        if (r.flags.has(flag))
            r.flags.fail("--use-torch-fsdp2", fmt::format("excludes {}", flag));
    }
    if (!r.flags.has("--untie-embeddings-and-output-weights"))
        r.flags.fail("--use-torch-fsdp2", "needs --untie-embeddings-and-output-weights");
    if (!r.flags.has("--no-gradient-accumulation-fusion"))
        r.flags.fail("--use-torch-fsdp2", "needs --no-gradient-accumulation-fusion");
}

// R22. What the script leaves to the shell is not known: the default depends on the GPU (max_connections()).
void resolve_connections(Resolution& r) {
    constexpr std::string_view name = "CUDA_DEVICE_MAX_CONNECTIONS";
    const ParallelLayout& p = r.job.parallel;
    const bool asked_for = p.tp > 1 || p.cp > 1;
    const auto stated = r.source.environment.find(std::string(name));
    if (stated == r.source.environment.end()) {
        r.note("kernels.max_connections", std::string(asked_for ? "1, 8 on Blackwell" : "8"),
               asked_for ? "derived: tensor or context parallelism" : "CUDA default");
        return;
    }
    const auto value = parse_python_int(stated->second);
    if (!value || *value < 1 || *value > 32) {
        r.warn(fmt::format("{} is {}: CUDA takes 1 to 32", name, stated->second));
        return;
    }
    r.job.kernels.max_connections = static_cast<int>(*value);
    r.note("kernels.max_connections", *value, fmt::format("{}: exports {}", r.source.name, name));
    const bool fsdp = r.flags.has("--use-megatron-fsdp") || r.flags.has("--use-torch-fsdp2");
    if (asked_for && *value != 1 && !fsdp && !r.flags.has("--overlap-moe-expert-parallel-comm"))
        r.warn(
            fmt::format("{} is {}: before Blackwell, Megatron-LM wants 1 with tensor or context parallelism",
                        name, *value));
}

// Names of parallel_state.py. Gradients are reduced over dp_cp, whatever the context size.
std::optional<GroupKind> group_from(std::string_view name) {
    constexpr std::array all{GroupKind::tp,      GroupKind::pp,    GroupKind::dp,  GroupKind::dp_cp,
                             GroupKind::cp,      GroupKind::ep,    GroupKind::etp, GroupKind::edp,
                             GroupKind::tp_cp,   GroupKind::tp_ep, GroupKind::mp,  GroupKind::embd,
                             GroupKind::pos_embd};
    const std::string_view ours = name == "ep_dp"         ? "edp"
                                  : name == "ep_tp"       ? "tp_ep"
                                  : name == "intra_dp_cp" ? "dp_cp"
                                  : name == "expt_tp"     ? "etp"
                                                          : name;
    const auto found = std::ranges::find(all, ours, [](GroupKind group) { return to_string(group); });
    return found == all.end() ? std::nullopt : std::optional(*found);
}

void resolve_user_buffers(Resolution& r) {
    constexpr std::string_view flag = "--tp-comm-overlap";
    if (!r.flags.has(flag))
        return;
    r.job.kernels.tp_user_buffers = true;
    r.note("kernels.tp_user_buffers", "true", r.flags.where(flag, ""));
}

void resolve_stream_priorities(Resolution& r) {
    constexpr std::string_view flag = "--high-priority-stream-groups";
    const std::vector<std::string> names = r.flags.list(flag);
    if (names.empty())
        return;
    for (const std::string& name : names) {
        if (const auto group = group_from(name))
            r.job.kernels.high_priority_groups.push_back(*group);
        else
            r.warn(fmt::format("{} {}: no stream of this group is simulated", flag, name));
    }
    r.note("kernels.high_priority_groups", fmt::format("{}", fmt::join(names, " ")), r.flags.where(flag, ""));
}

} // namespace

void resolve_recompute(Resolution& r) {
    Recompute& c = r.job.recompute;
    drop_overridden_method(r);
    std::string_view source = kGranularity;
    const auto text = r.flags.text(kGranularity);
    if (r.flags.has("--recompute-activations"))
        source = "--recompute-activations";
    if (text == std::optional<std::string>("full"))
        c.granularity = RecomputeGranularity::full;
    if (text == std::optional<std::string>("selective") ||
        (!text && r.flags.has("--recompute-activations"))) {
        c.granularity = RecomputeGranularity::selective;
    }
    r.note("recompute.granularity", std::string(to_string(c.granularity)),
           r.flags.where(source, "Megatron default"));
    if (c.granularity == RecomputeGranularity::full)
        resolve_full_recompute(r);
    if (c.granularity == RecomputeGranularity::selective)
        resolve_selective_recompute(r);
    c.distribute_saved_activations = r.flags.has("--distribute-saved-activations");
    if (!c.distribute_saved_activations)
        return;
    r.note_flag("recompute.distribute_saved_activations", true,
                r.flags.where("--distribute-saved-activations", ""));
    const bool allowed = r.job.parallel.tp > 1 && c.granularity == RecomputeGranularity::full &&
                         !r.job.parallel.sequence_parallel;
    if (!allowed) {
        r.flags.fail("--distribute-saved-activations",
                     "needs tensor size above 1, full recompute and no --sequence-parallel");
    }
}

void resolve_training(Resolution& r) {
    resolve_gradients(r);
    resolve_data_parallel_plan(r);
    resolve_kernels(r);
    check_low_precision_and_offload(r);
    resolve_connections(r);
    resolve_user_buffers(r);
    resolve_stream_priorities(r);
}

void resolve_unmodelled(Resolution& r) {
    const ParallelLayout& p = r.job.parallel;
    if (p.tp > 1 && r.job.model.query_groups > 0 && p.tp > r.job.model.query_groups) {
        r.warn(fmt::format("tensor size {} is above the {} KV heads: each is replicated", p.tp,
                           r.job.model.query_groups));
    }
    const auto zero = r.flags.integer("--zero-stage", 0, 3);
    if (zero && *zero >= 2)
        r.refuse(fmt::format("--zero-stage {}: DeepSpeed ZeRO stages 2 and 3 are not built", *zero));
    for (const std::string& module : r.job.recompute.modules) {
        if (module != "core_attn" && module != "layernorm" && module != "mlp") {
            r.refuse(fmt::format("--recompute-modules {}: recomputing this module is not built", module));
        }
    }
}

} // namespace echosim
