// SPDX-License-Identifier: Apache-2.0
#include "validation/step_flags.h"

#include "simulator/core/suggest.h"
#include "validation/row_fields.h"

#include <fmt/format.h>

namespace echosim {
namespace {

// Dropout, activation and norms are not in the schema: they follow from the family of the model.
void write_model(RowFields& f, const std::string& software, FlagWriter& w) {
    const std::string model = f.text("model");
    const bool gated = f.yes("gated_mlp"), nemotron = model.starts_with("nemotron");
    w.add("--num-layers", f.count("layers", 0));
    w.add("--hidden-size", f.count("hidden", 0));
    if (f.has("ffn_hidden"))
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
    w.add_if(nemotron, "--squared-relu");
    if (gated || nemotron) {
        w.add("--disable-bias-linear");
        w.add("--position-embedding-type", "rope");
    }
    w.add_if(!f.yes("tie_embeddings", !gated && !nemotron), "--untie-embeddings-and-output-weights");
    if (software.starts_with("mcore") || model.starts_with("bloom")) {
        w.add("--attention-dropout", "0");
        w.add("--hidden-dropout", "0");
    }
}

void write_layout(RowFields& f, FlagWriter& w) {
    w.add("--tensor-model-parallel-size", f.count("tp", 1));
    w.add("--pipeline-model-parallel-size", f.count("pp", 1));
    if (f.count("vpp", 1) > 1)
        w.add("--num-virtual-stages-per-pipeline-rank", f.count("vpp", 1));
    if (f.count("cp", 1) > 1)
        w.add("--context-parallel-size", f.count("cp", 1));
    w.add_if(f.yes("sequence_parallel"), "--sequence-parallel");
    // Megatron's distributed optimizer is ZeRO stage 1
    const bool distributed = f.yes("distributed_optimizer", f.count("zero_stage", 0) == 1);
    w.add_if(distributed, "--use-distributed-optimizer");
    const bool overlap = f.yes("dp_comm_overlap");
    w.add_if(overlap, "--overlap-grad-reduce");
    w.add_if(overlap && distributed, "--overlap-param-gather");
    w.add_if(f.yes("tp_comm_overlap"), "--tp-comm-overlap");
    w.add_if(!f.yes("pp_p2p_overlap", true), "--no-overlap-p2p-communication");
    w.add("--global-batch-size", f.count("global_batch", 0));
    if (f.has("micro_batch"))
        w.add("--micro-batch-size", f.count("micro_batch", 1));
}

void write_recompute(RowFields& f, FlagWriter& w) {
    const std::string recompute = f.text("recompute", "none");
    if (recompute == "full") {
        w.add("--recompute-granularity", "full");
        w.add("--recompute-method", "uniform");
        w.add("--recompute-num-layers", 1);
    } else if (recompute == "selective") {
        w.add("--recompute-granularity", "selective");
        const std::vector<std::string> modules = f.texts("recompute_modules");
        if (!modules.empty() && modules != std::vector<std::string>{"core_attn"})
            w.add("--recompute-modules", modules);
    }
}

void write_kernels(RowFields& f, const std::string& software, FlagWriter& w,
                   std::vector<std::string>& notes) {
    w.add(f.text("precision") == "fp16" ? "--fp16" : "--bf16");
    const std::string attention = f.text("attention_impl");
    if (attention == "flash" || attention == "cudnn" || attention == "auto")
        w.add("--attention-backend", "flash");
    else if (attention == "unfused")
        w.add("--attention-backend", "unfused");
    else if (!attention.empty())
        notes.push_back(
            fmt::format("attention_impl \"{}\" is unknown: that of {} is simulated", attention, software));
    // the DeepSpeed fork of early 2022 had no overlap of the data-gradient all-reduce yet
    w.add_if(f.text("framework").find("Feb 2022") != std::string::npos,
             "--no-async-tensor-model-parallel-allreduce");
    w.add_if(software == "mcore-2025" || software == "mcore-2026", "--cross-entropy-loss-fusion");
}

void note_defaults(RowFields& f, std::vector<std::string>& notes) {
    std::vector<std::string> missing;
    const auto check = [&](bool matters, const char* key) {
        if (matters && !f.has(key))
            missing.emplace_back(key);
    };
    const int tp = f.count("tp", 1), pp = f.count("pp", 1);
    check(true, "tp");
    check(true, "pp");
    check(pp > 1, "vpp");
    check(tp > 1, "sequence_parallel");
    check(true, "recompute");
    check(f.count("num_gpus", 1) > tp * pp && !f.has("zero_stage"), "distributed_optimizer");
    if (!missing.empty())
        notes.push_back(fmt::format("not stated, so Megatron's default: {}", join(missing)));
}

} // namespace

void write_step_flags(RowFields& fields, const std::string& software, FlagWriter& writer,
                      std::vector<std::string>& notes) {
    write_model(fields, software, writer);
    write_layout(fields, writer);
    write_recompute(fields, writer);
    write_kernels(fields, software, writer, notes);
    note_defaults(fields, notes);
}

} // namespace echosim
