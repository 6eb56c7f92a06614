// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/resolve.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

// "896 or 1024": the multiples of `unit` around `value`.
std::string nearest_multiples(std::int64_t value, std::int64_t unit) {
    const std::int64_t below = value / unit * unit;
    if (below == 0)
        return std::to_string(unit);
    return fmt::format("{} or {}", below, below + unit);
}

int degree(Resolution& r, std::string_view key, std::string_view flag, int otherwise,
           std::string_view origin) {
    const int value = r.integer(flag, 1, kMaxGpus, otherwise);
    r.note(key, value, r.flags.where(flag, origin));
    return value;
}

void resolve_world_size(Resolution& r) {
    ParallelLayout& p = r.job.parallel;
    const auto size = r.options.gpus ? r.options.gpus : r.source.world_size;
    const std::string origin = r.options.gpus ? "--gpus" : r.source.world_size_origin;
    p.world_size = 0;
    if (!size) {
        r.flags.problems.push_back({r.source.name,
                                    "how many GPUs? nothing states the number of nodes and of GPUs per node",
                                    "add --gpus N"});
        return;
    }
    if (*size < 1 || *size > kMaxGpus) {
        r.flags.problems.push_back(
            {origin, fmt::format("world size: read {}, allowed 1 to {} GPUs", *size, kMaxGpus), {}});
        return;
    }
    p.world_size = *size;
    r.note("parallel.world_size", p.world_size, origin);
}

// R7: DP = world / (TP x PP x CP).
void resolve_data_parallel(Resolution& r) {
    ParallelLayout& p = r.job.parallel;
    const std::int64_t unit = static_cast<std::int64_t>(p.tp) * p.pp * p.cp;
    p.dp = 1;
    if (p.world_size == 0)
        return;
    if (p.world_size % unit != 0) {
        r.flags.problems.push_back(
            {r.options.gpus ? "--gpus" : r.source.world_size_origin,
             fmt::format("world size {} is not divisible by tensor ({}) x pipeline ({}) x context ({}) = {}",
                         p.world_size, p.tp, p.pp, p.cp, unit),
             fmt::format("nearest: {} GPUs", nearest_multiples(p.world_size, unit))});
        return;
    }
    p.dp = static_cast<int>(p.world_size / unit);
    r.note("parallel.dp", p.dp, "derived: world size / (tp x pp x cp)");
}

// R8: the expert grid folds CP into its data-parallel group.
void resolve_expert_grid(Resolution& r) {
    ParallelLayout& p = r.job.parallel;
    const std::int64_t unit = static_cast<std::int64_t>(p.etp) * p.ep * p.pp;
    p.expert_dp = 1;
    if (p.world_size == 0)
        return;
    if (p.world_size % unit != 0) {
        const bool dense_fails = p.world_size % (static_cast<std::int64_t>(p.tp) * p.pp * p.cp) != 0;
        if (dense_fails && p.ep == 1)
            return; // said already
        r.flags.fail(
            "--expert-model-parallel-size",
            fmt::format(
                "world size {} is not divisible by expert tensor ({}) x expert ({}) x pipeline ({}) = {}",
                p.world_size, p.etp, p.ep, p.pp, unit),
            fmt::format("nearest: {} GPUs", nearest_multiples(p.world_size, unit)));
        return;
    }
    p.expert_dp = static_cast<int>(p.world_size / unit);
    r.note("parallel.expert_dp", p.expert_dp, "derived: world size / (etp x ep x pp)");
    if (p.tp_pp_dp_order && p.pp > 1 && p.expert_dp != p.dp) { // R9
        r.flags.fail(
            "--use-tp-pp-dp-mapping",
            fmt::format("expert data parallel size {} differs from data parallel size {}", p.expert_dp, p.dp),
            "leave the mapping out, or use pipeline size 1");
    }
}

void resolve_optimizer_instances(Resolution& r) { // R10
    DataParallel& d = r.job.data_parallel;
    const ParallelLayout& p = r.job.parallel;
    d.optimizer_instances = r.integer("--num-distributed-optimizer-instances", 1, kMaxGpus, 1);
    r.note("data_parallel.optimizer_instances", d.optimizer_instances,
           r.flags.where("--num-distributed-optimizer-instances", "Megatron default"));
    if ((p.dp * p.cp) % d.optimizer_instances != 0) {
        r.flags.fail("--num-distributed-optimizer-instances",
                     fmt::format("{} does not divide data ({}) x context ({}) = {}", d.optimizer_instances,
                                 p.dp, p.cp, p.dp * p.cp));
    }
}

} // namespace

void resolve_parallel(Resolution& r) {
    ParallelLayout& p = r.job.parallel;
    resolve_world_size(r);
    p.tp = degree(r, "parallel.tp", "--tensor-model-parallel-size", 1, "Megatron default");
    p.pp = degree(r, "parallel.pp", "--pipeline-model-parallel-size", 1, "Megatron default");
    p.cp = degree(r, "parallel.cp", "--context-parallel-size", 1, "Megatron default");
    p.ep = degree(r, "parallel.ep", "--expert-model-parallel-size", 1, "Megatron default");
    p.etp = degree(r, "parallel.etp", "--expert-tensor-parallel-size", p.tp, "derived: = tp");
    p.tp_pp_dp_order = r.flags.has("--use-tp-pp-dp-mapping");
    r.note_flag("parallel.tp_pp_dp_order", p.tp_pp_dp_order,
                r.flags.where("--use-tp-pp-dp-mapping", "Megatron default"));
    resolve_data_parallel(r);
    resolve_expert_grid(r);
    resolve_optimizer_instances(r);
}

void resolve_sharding(Resolution& r) {
    ParallelLayout& p = r.job.parallel;
    const ModelShape& m = r.job.model;
    const std::string_view tp_flag = "--tensor-model-parallel-size";
    if (m.heads > 0 && m.heads % p.tp != 0) { // R4
        r.flags.fail(tp_flag, fmt::format("--num-attention-heads {} is not divisible by tensor size {}",
                                          m.heads, p.tp));
    }
    if (m.query_groups > 0 && m.query_groups % p.tp != 0 && p.tp % m.query_groups != 0) {
        r.flags.fail(tp_flag,
                     fmt::format("--num-query-groups {} and tensor size {}: one must divide the other",
                                 m.query_groups, p.tp));
    }
    if (m.ffn_hidden > 0 && m.ffn_hidden % p.tp != 0) {
        r.flags.fail(
            tp_flag,
            fmt::format("--ffn-hidden-size {} is not divisible by tensor size {}", m.ffn_hidden, p.tp),
            fmt::format("nearest: {}", nearest_multiples(m.ffn_hidden, p.tp)));
    }
    if (m.padded_vocab > 0 && m.padded_vocab % p.tp != 0) {
        r.flags.fail(tp_flag, fmt::format("padded vocabulary {} is not divisible by tensor size {}",
                                          m.padded_vocab, p.tp));
    }
    if (p.cp > 1 && m.seq_len > 0 && m.seq_len % (2 * static_cast<std::int64_t>(p.cp)) != 0) { // R14
        r.flags.fail(
            "--context-parallel-size",
            fmt::format("--seq-length {} is not divisible by 2 x context size {} = {}", m.seq_len, p.cp,
                        2 * p.cp),
            fmt::format("nearest: {}", nearest_multiples(m.seq_len, 2 * static_cast<std::int64_t>(p.cp))));
    }
    // R15: Megatron-LM switches sequence parallelism off without tensor parallelism.
    const bool asked = r.flags.has("--sequence-parallel");
    p.sequence_parallel = asked && p.tp > 1;
    r.note_flag("parallel.sequence_parallel", p.sequence_parallel,
                asked && p.tp == 1 ? "off: tensor size is 1"
                                   : r.flags.where("--sequence-parallel", "Megatron default"));
    if (p.sequence_parallel && m.seq_len > 0 && m.seq_len % (static_cast<std::int64_t>(p.tp) * p.cp) != 0) {
        r.flags.fail("--sequence-parallel",
                     fmt::format("--seq-length {} is not divisible by tensor ({}) x context ({})", m.seq_len,
                                 p.tp, p.cp));
    }
    if (r.flags.has("--tp-comm-overlap") && !asked) {
        r.flags.fail("--tp-comm-overlap", "needs --sequence-parallel");
    }
}

namespace {

// M2 to M8.
void check_router(Resolution& r) {
    const ModelShape& m = r.job.model;
    const ParallelLayout& p = r.job.parallel;
    const std::string score = r.flags.text("--moe-router-score-function").value_or("softmax");
    if (m.experts_per_token == 1 && score == "softmax" && !r.flags.has("--moe-router-pre-softmax")) { // M2
        // Its own CI runs this without the flag, so it is no refusal.
        r.warn("--moe-router-topk 1 with softmax scores: Megatron-LM asks for --moe-router-pre-softmax");
    }
    const auto balancing = r.flags.list("--moe-router-load-balancing-type");
    const bool special = std::any_of(balancing.begin(), balancing.end(), [](const std::string& b) {
        return b == "sinkhorn" || b == "quantile_balancing";
    });
    if (r.flags.has("--moe-expert-capacity-factor") && special) { // M3
        r.flags.fail("--moe-expert-capacity-factor", "needs an auxiliary-loss or no load balancing");
    }
    const std::string dispatcher = r.flags.text("--moe-token-dispatcher-type").value_or("allgather");
    if (r.flags.has("--moe-shared-expert-overlap") && dispatcher == "allgather") { // M4
        r.flags.fail("--moe-shared-expert-overlap", "needs --moe-token-dispatcher-type alltoall or flex");
    }
    if (p.tp > 1 && !p.sequence_parallel) { // M5
        r.flags.fail("--num-experts",
                     fmt::format("mixture of experts with tensor size {} needs --sequence-parallel", p.tp));
    }
    const bool deepep =
        dispatcher == "flex" && r.flags.text("--moe-flex-dispatcher-backend").value_or("deepep") == "deepep";
    if (deepep && r.flags.has("--moe-pad-expert-input-to-capacity")) { // M6
        r.flags.fail("--moe-pad-expert-input-to-capacity", "the deepep dispatcher cannot pad to capacity");
    }
    if (r.flags.has("--moe-router-enable-expert-bias") && score == "softmax") { // M8
        r.flags.fail("--moe-router-enable-expert-bias",
                     "needs --moe-router-score-function sigmoid or sqrtsoftplus");
    }
    if (m.bias_linear && p.etp > 1) { // M7
        r.flags.fail("--expert-tensor-parallel-size", fmt::format("{} with biases in the experts", p.etp),
                     "add --disable-bias-linear or use 1");
    }
}

} // namespace

void resolve_experts(Resolution& r) {
    ModelShape& m = r.job.model;
    const ParallelLayout& p = r.job.parallel;
    m.experts = r.integer("--num-experts", 0, 65'536, 0);
    r.note("model.experts", m.experts, r.flags.where("--num-experts", "Megatron default"));
    if (m.experts == 0) {
        if (p.ep > 1)
            r.flags.fail("--expert-model-parallel-size", fmt::format("{} needs --num-experts", p.ep));
        return;
    }
    if (m.experts % p.ep != 0) {
        r.flags.fail("--expert-model-parallel-size",
                     fmt::format("--num-experts {} is not divisible by {}", m.experts, p.ep));
    }
    m.expert_ffn_hidden = r.integer("--moe-ffn-hidden-size", 1, 8 * kMaxHidden, m.ffn_hidden); // M1
    r.note("model.expert_ffn_hidden", m.expert_ffn_hidden,
           r.flags.where("--moe-ffn-hidden-size", "derived: = ffn hidden"));
    m.experts_per_token = r.integer("--moe-router-topk", 1, m.experts, 2);
    r.note("model.experts_per_token", m.experts_per_token,
           r.flags.where("--moe-router-topk", "Megatron default"));
    m.shared_expert_ffn_hidden =
        r.integer("--moe-shared-expert-intermediate-size", 0, 8 * kMaxHidden, 0); // M9
    r.note("model.shared_expert_ffn_hidden", m.shared_expert_ffn_hidden,
           r.flags.where("--moe-shared-expert-intermediate-size", "Megatron default"));
    check_router(r);
}

// R11, R12.
void resolve_batch(Resolution& r) {
    BatchShape& b = r.job.batch;
    const int dp = r.job.parallel.dp;
    if (!r.flags.has("--micro-batch-size")) {
        r.flags.fail("--micro-batch-size", "missing: Megatron-LM has no default for it",
                     "add --micro-batch-size 1");
        return;
    }
    b.micro = r.integer("--micro-batch-size", 1, kMaxBatch, 0);
    if (b.micro == 0 || r.job.parallel.world_size == 0)
        return;
    r.note("batch.micro", b.micro, r.flags.where("--micro-batch-size", ""));
    const std::int64_t unit = static_cast<std::int64_t>(b.micro) * dp;
    if (unit > kMaxBatch) {
        r.flags.fail("--micro-batch-size", fmt::format("micro-batch ({}) x data ({}) = {} is more than {}",
                                                       b.micro, dp, unit, kMaxBatch));
        return;
    }
    if (r.flags.has("--global-batch-size") && r.flags.has("--step-batch-size-schedule")) {
        r.flags.fail("--step-batch-size-schedule", "excludes --global-batch-size");
    }
    b.global = r.integer("--global-batch-size", 1, kMaxBatch,
                         r.flags.has("--global-batch-size") ? 0 : static_cast<int>(unit));
    if (b.global == 0)
        return;
    std::string origin = r.flags.where("--global-batch-size", "derived: micro-batch x dp");
    if (b.global % unit != 0 && r.flags.has("--decrease-batch-size-if-needed") && b.global >= unit) {
        b.global = static_cast<int>(b.global / unit * unit);
        origin += ", decreased to a multiple of micro-batch x dp";
    } else if (b.global % unit != 0) {
        r.flags.fail("--global-batch-size",
                     fmt::format("{} is not divisible by micro-batch ({}) x data parallel ({}) = {}",
                                 b.global, b.micro, dp, unit),
                     fmt::format("nearest: {}", nearest_multiples(b.global, unit)));
        return;
    }
    b.num_microbatches = static_cast<int>(b.global / unit);
    r.note("batch.global", b.global, origin);
    r.note("batch.num_microbatches", b.num_microbatches, "derived: global / (micro-batch x dp)");
}

} // namespace echosim
