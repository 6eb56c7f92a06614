// SPDX-License-Identifier: Apache-2.0
#include "validation/step_rows.h"

#include "simulator/core/error.h"
#include "simulator/core/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

// Fields of one row; null counts as absent.
class Fields {
  public:
    Fields(const Json& row, std::string where) : row_(row), where_(std::move(where)) {}

    bool has(const char* key) const { return row_.contains(key) && !row_.at(key).is_null(); }
    std::string text(const char* key, std::string fallback = {}) const {
        if (!has(key))
            return fallback;
        if (!row_.at(key).is_string())
            throw wrong(key, "a text");
        return row_.at(key).get<std::string>();
    }
    double number(const char* key, double fallback) const {
        if (!has(key))
            return fallback;
        if (!row_.at(key).is_number())
            throw wrong(key, "a number");
        return row_.at(key).get<double>();
    }
    int count(const char* key, int fallback) const { return static_cast<int>(number(key, fallback)); }
    bool yes(const char* key, bool fallback = false) const {
        if (!has(key))
            return fallback;
        if (!row_.at(key).is_boolean())
            throw wrong(key, "true, false or null");
        return row_.at(key).get<bool>();
    }

  private:
    InputError wrong(const char* key, const char* allowed) const {
        return {where_ + ": " + key, fmt::format("read {}; allowed: {}", row_.at(key).dump(), allowed)};
    }
    const Json& row_;
    std::string where_;
};

class FlagWriter {
  public:
    FlagWriter(std::vector<Flag>& flags, std::string origin) : flags_(flags), origin_(std::move(origin)) {}
    void add(std::string name) { flags_.push_back({std::move(name), {}, origin_}); }
    void add(std::string name, std::string value) {
        flags_.push_back({std::move(name), {std::move(value)}, origin_});
    }
    void add(std::string name, int value) { add(std::move(name), std::to_string(value)); }
    void add_if(bool condition, std::string name) {
        if (condition)
            add(std::move(name));
    }

  private:
    std::vector<Flag>& flags_;
    std::string origin_;
};

std::string generation(const std::string& software) {
    if (software == "other" || software.empty())
        return "mcore-2024";
    if (software == "megatron-2023")
        return "mcore-2023";
    return software;
}

bool is_core(const std::string& software) {
    return software.starts_with("mcore");
}

// Dropout, activation and norms are not in the schema: they follow from the family of the model.
void write_model(const Fields& f, const std::string& software, FlagWriter& w) {
    const std::string model = f.text("model");
    const bool gated = f.yes("gated_mlp"), nemotron = model.starts_with("nemotron");
    w.add("--num-layers", f.count("layers", 0));
    w.add("--hidden-size", f.count("hidden", 0));
    w.add("--ffn-hidden-size", f.count("ffn_hidden", 0));
    w.add("--num-attention-heads", f.count("heads", 0));
    if (f.has("head_dim"))
        w.add("--kv-channels", f.count("head_dim", 0));
    if (f.text("attention") == "gqa") {
        w.add("--group-query-attention");
        w.add("--num-query-groups", f.count("query_groups", 1));
    }
    w.add("--seq-length", f.count("seq_len", 0));
    w.add("--max-position-embeddings", f.count("seq_len", 0));
    w.add("--vocab-size", f.count("vocab", 0));
    if (gated) {
        w.add("--swiglu");
        w.add("--normalization", "RMSNorm");
    }
    if (nemotron)
        w.add("--squared-relu");
    if (gated || nemotron) {
        w.add("--disable-bias-linear");
        w.add("--position-embedding-type", "rope");
    }
    w.add_if(!f.yes("tie_embeddings", !gated && !nemotron), "--untie-embeddings-and-output-weights");
    if (is_core(software) || model.starts_with("bloom")) {
        w.add("--attention-dropout", "0");
        w.add("--hidden-dropout", "0");
    }
}

void write_layout(const Fields& f, FlagWriter& w) {
    w.add("--tensor-model-parallel-size", f.count("tp", 1));
    w.add("--pipeline-model-parallel-size", f.count("pp", 1));
    if (f.count("vpp", 1) > 1)
        w.add("--num-virtual-stages-per-pipeline-rank", f.count("vpp", 1));
    if (f.count("cp", 1) > 1)
        w.add("--context-parallel-size", f.count("cp", 1));
    w.add_if(f.yes("sequence_parallel"), "--sequence-parallel");
    w.add_if(f.yes("distributed_optimizer"), "--use-distributed-optimizer");
    const bool overlap = f.yes("dp_comm_overlap");
    w.add_if(overlap, "--overlap-grad-reduce");
    w.add_if(overlap && f.yes("distributed_optimizer"), "--overlap-param-gather");
    w.add_if(f.yes("tp_comm_overlap"), "--tp-comm-overlap");
    w.add_if(!f.yes("pp_p2p_overlap", true), "--no-overlap-p2p-communication");
    w.add("--global-batch-size", f.count("global_batch", 0));
}

void write_kernels(const Fields& f, const std::string& software, FlagWriter& w) {
    const std::string precision = f.text("precision"), recompute = f.text("recompute", "none");
    w.add("--" + (precision == "fp16" ? std::string("fp16") : std::string("bf16")));
    if (recompute == "full") {
        w.add("--recompute-granularity", "full");
        w.add("--recompute-method", "uniform");
        w.add("--recompute-num-layers", 1);
    } else if (recompute == "selective") {
        w.add("--recompute-granularity", "selective");
    }
    const std::string attention = f.text("attention_impl");
    if (attention == "flash" || attention == "cudnn" || attention == "auto")
        w.add("--attention-backend", "flash");
    if (attention == "unfused")
        w.add("--attention-backend", "unfused");
    // the DeepSpeed fork of early 2022 had no overlap of the data-gradient all-reduce yet
    w.add_if(f.text("framework").find("Feb 2022") != std::string::npos, "--no-async-tensor-model-parallel-allreduce");
    w.add_if(software == "mcore-2025" || software == "mcore-2026", "--cross-entropy-loss-fusion");
}

FabricKind fabric_of(const Fields& f) {
    const std::string notes = f.text("notes") + f.text("gpu_source") + f.text("source");
    if (notes.find("OmniPath") != std::string::npos)
        return FabricKind::omnipath;
    if (notes.find("RoCE") != std::string::npos || f.text("source_key") == "internevo")
        return FabricKind::roce;
    return FabricKind::infiniband;
}

// NCCL of the framework's time, as its containers shipped it.
std::string nccl_of(const std::string& software) {
    if (software == "megatron-2020")
        return "2.7";
    if (software == "megatron-2021")
        return "2.8";
    if (software == "megatron-2022" || software == "megatron-deepspeed")
        return "2.10";
    if (software == "mcore-2023")
        return "2.18";
    if (software == "mcore-2024")
        return "2.21";
    return "2.26";
}

Cluster cluster_of(const Fields& f, const std::string& software) {
    Cluster c;
    c.name = f.text("gpu") + " of the row";
    c.gpu = find_gpu(f.text("gpu"));
    const double memory_gb = f.number("gpu_mem_gb", 0);
    if (memory_gb > 0)
        c.gpu.memory = static_cast<Bytes>(memory_gb * 1e9);
    c.node.gpus = f.count("gpus_per_node", 8);
    const double nvlink = f.number("nvlink_gbytes_per_s", 0) * 1e9 / 2;
    c.node.nvlink = {nvlink, c.gpu.nvlink_links, nvlink > 0};
    c.node.pcie = {c.gpu.arch == Arch::hopper || c.gpu.arch == Arch::blackwell ? 5
                   : c.gpu.arch == Arch::volta                                 ? 3
                                                                               : 4,
                   16};
    const double nic_gbits = f.number("nic_gbits_per_gpu", c.gpu.arch == Arch::volta ? 50 : 200);
    c.node.nics = {c.node.gpus, nic_gbits * 0.125e9, 1e-6, 1};
    if (f.text("gpu").starts_with("gb") && c.node.gpus == 4)
        c.nvlink_domain_nodes = 18;
    c.fabric.kind = fabric_of(f);
    c.nccl = nccl_of(software);
    return c;
}

std::string reason_to_skip(const Fields& f) {
    const std::string precision = f.text("precision", "null");
    if (f.has("moe_experts") && f.count("moe_experts", 0) > 0)
        return "mixture of experts is not modelled yet";
    if (precision != "bf16" && precision != "fp16")
        return "precision " + precision + " is not modelled yet";
    if (f.count("cp", 1) > 1)
        return "context parallelism is not modelled yet";
    if (f.text("zero_scope") == "node")
        return "a distributed optimizer inside a node is not modelled yet";
    if (f.has("fsdp") || f.count("zero_stage", 0) > 1 || f.text("category").starts_with("fsdp"))
        return "FSDP is not modelled yet";
    if (f.text("attention") == "mla")
        return "multi-latent attention is not modelled yet";
    if (f.yes("cuda_graph"))
        return "CUDA graphs are not modelled yet";
    if (f.text("category") == "sft")
        return "fine-tuning on packed sequences is not modelled yet";
    if (!f.has("iter_time_s"))
        return "the row has no step time";
    return {};
}

StepRow read_row(const Json& json, const std::string& where) {
    const Fields f(json, where);
    StepRow row;
    row.id = f.text("id", where);
    row.source = f.text("source_key");
    row.gpu = f.text("gpu");
    row.model = f.text("model");
    row.software = generation(f.text("software"));
    row.recompute = f.text("recompute", "not stated");
    row.precision = f.text("precision", "not stated");
    row.confidence = f.text("confidence");
    row.gpus = f.count("num_gpus", 0);
    row.tp = f.count("tp", 1);
    row.pp = f.count("pp", 1);
    row.measured_s = f.number("iter_time_s", 0);
    row.skipped = reason_to_skip(f);
    if (!row.skipped.empty())
        return row;
    row.cluster = cluster_of(f, row.software);
    row.options = {row.gpus, false, row.software};
    row.job.name = row.id;
    FlagWriter w(row.job.flags, row.id);
    write_model(f, row.software, w);
    write_layout(f, w);
    write_kernels(f, row.software, w);
    if (f.has("micro_batch"))
        w.add("--micro-batch-size", f.count("micro_batch", 1));
    return row;
}

} // namespace

std::vector<StepRow> read_step_rows(const std::string& path) {
    const Json json = read_json_file(path);
    if (!json.is_array())
        throw InputError(path,
                         "read a JSON " + std::string(json.type_name()) + "; allowed: an array of step rows");
    std::vector<StepRow> rows;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const std::string where = fmt::format("{}: row {}", path, i);
        if (!json[i].is_object())
            throw InputError(where, "is no object");
        if (!json[i].contains("iter_time_s") || !json[i].contains("num_gpus"))
            throw InputError(
                where, "has no field \"iter_time_s\" or \"num_gpus\"; is this a table of training steps?");
        rows.push_back(read_row(json[i], where));
    }
    return rows;
}

} // namespace echosim
