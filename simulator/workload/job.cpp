// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/job.h"

#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

Json model_json(const ModelShape& m) {
    return Json{{"layers", m.layers},
                {"hidden", m.hidden},
                {"ffn_hidden", m.ffn_hidden},
                {"heads", m.heads},
                {"query_groups", m.query_groups},
                {"head_dim", m.head_dim},
                {"seq_len", m.seq_len},
                {"max_positions", m.max_positions},
                {"vocab", m.vocab},
                {"padded_vocab", m.padded_vocab},
                {"normalization", to_string(m.normalization)},
                {"activation", to_string(m.activation)},
                {"bias_linear", m.bias_linear},
                {"qkv_bias", m.qkv_bias},
                {"qk_layernorm", m.qk_layernorm},
                {"tied_embeddings", m.tied_embeddings},
                {"learned_positions", m.learned_positions},
                {"rotary", m.rotary},
                {"attention_dropout", m.attention_dropout},
                {"hidden_dropout", m.hidden_dropout},
                {"experts", m.experts},
                {"expert_ffn_hidden", m.expert_ffn_hidden},
                {"experts_per_token", m.experts_per_token},
                {"shared_expert_ffn_hidden", m.shared_expert_ffn_hidden}};
}

Json parallel_json(const ParallelLayout& p) {
    return Json{{"world_size", p.world_size},
                {"tp", p.tp},
                {"pp", p.pp},
                {"vpp", p.vpp},
                {"dp", p.dp},
                {"cp", p.cp},
                {"ep", p.ep},
                {"etp", p.etp},
                {"expert_dp", p.expert_dp},
                {"sequence_parallel", p.sequence_parallel},
                {"tp_pp_dp_order", p.tp_pp_dp_order},
                {"layers_per_stage", p.layers_per_stage},
                {"microbatch_group", p.microbatch_group}};
}

Json kernels_json(const KernelPlan& k) {
    Json groups = Json::array();
    for (const GroupKind group : k.high_priority_groups)
        groups.push_back(to_string(group));
    return Json{{"attention", to_string(k.attention)},
                {"masked_softmax_fusion", k.masked_softmax_fusion},
                {"bias_activation_fusion", k.bias_activation_fusion},
                {"bias_dropout_fusion", k.bias_dropout_fusion},
                {"gradient_accumulation_fusion", k.gradient_accumulation_fusion},
                {"rope_fusion", k.rope_fusion},
                {"cross_entropy_fusion", k.cross_entropy_fusion},
                {"overlap_p2p", k.overlap_p2p},
                {"tp_async_allreduce", k.tp_async_allreduce},
                {"tp_user_buffers", k.tp_user_buffers},
                {"cuda_graphs", k.cuda_graphs},
                {"max_connections", k.max_connections ? Json(*k.max_connections) : Json(nullptr)},
                {"high_priority_groups", std::move(groups)},
                {"software", k.software}};
}

Json flags_json(const std::vector<FlagVerdict>& flags) {
    Json list = Json::array();
    for (const FlagVerdict& f : flags) {
        list.push_back(Json{{"flag", f.flag},
                            {"value", f.value},
                            {"verdict", f.verdict},
                            {"note", f.note},
                            {"origin", f.origin}});
    }
    return list;
}

} // namespace

Json job_to_json(const Job& job) {
    const Recompute& c = job.recompute;
    const DataParallel& d = job.data_parallel;
    Json json;
    json["name"] = job.name;
    json["model"] = model_json(job.model);
    json["parallel"] = parallel_json(job.parallel);
    json["batch"] = Json{{"micro", job.batch.micro},
                         {"global", job.batch.global},
                         {"num_microbatches", job.batch.num_microbatches},
                         {"seq_len", job.model.seq_len}};
    json["recompute"] = Json{{"granularity", to_string(c.granularity)},
                             {"method", to_string(c.method)},
                             {"num_layers", c.num_layers},
                             {"modules", c.modules},
                             {"distribute_saved_activations", c.distribute_saved_activations}};
    json["data_parallel"] = Json{{"distributed_optimizer", d.distributed_optimizer},
                                 {"overlap_grad_reduce", d.overlap_grad_reduce},
                                 {"overlap_param_gather", d.overlap_param_gather},
                                 {"align_grad_reduce", d.align_grad_reduce},
                                 {"average_in_collective", d.average_in_collective},
                                 {"optimizer_instances", d.optimizer_instances},
                                 {"bucket_size", d.bucket_size}};
    json["precision"] = Json{{"compute", to_string(job.precision.compute)},
                             {"grads_in_fp32", job.precision.grads_in_fp32},
                             {"loss_scaling", job.precision.loss_scaling}};
    json["kernels"] = kernels_json(job.kernels);
    json["clip_grad"] = job.clip_grad;
    json["environment"] = job.environment;
    json["flags"] = flags_json(job.flags);
    return json;
}

int max_connections(const Job& job, Arch arch) {
    constexpr int default_of_cuda = 8;
    if (job.kernels.max_connections)
        return *job.kernels.max_connections;
    const bool asked_for = job.parallel.tp > 1 || job.parallel.cp > 1;
    return asked_for && arch != Arch::blackwell ? 1 : default_of_cuda;
}

std::string_view to_string(Normalization value) {
    return value == Normalization::layer_norm ? "layer_norm" : "rms_norm";
}

std::string_view to_string(Activation value) {
    switch (value) {
    case Activation::gelu:
        return "gelu";
    case Activation::swiglu:
        return "swiglu";
    case Activation::geglu:
        return "geglu";
    case Activation::squared_relu:
        return "squared_relu";
    }
    return "?";
}

std::string_view to_string(AttentionImpl value) {
    return value == AttentionImpl::flash ? "flash" : "unfused";
}

std::string_view to_string(RecomputeGranularity value) {
    switch (value) {
    case RecomputeGranularity::none:
        return "none";
    case RecomputeGranularity::selective:
        return "selective";
    case RecomputeGranularity::full:
        return "full";
    }
    return "?";
}

std::string_view to_string(RecomputeMethod value) {
    return value == RecomputeMethod::uniform ? "uniform" : "block";
}

} // namespace echosim
