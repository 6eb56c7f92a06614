// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/block_builder.h"
#include "simulator/graph/layer_blocks.h"
#include "simulator/graph/layer_shapes.h"

// Embedding, head and batch: what only the first and the last pipeline stage run.
//
// Cross entropy over a vocabulary split t ways (Megatron-LM cross_entropy.py), bytes of HBM traffic per logit
// of the local T x V/t block: cast to fp32 6, row maximum 4, subtract 8, exponentials 8, row sum 4, divide 8
// = 38; the fused kernels need 24. Backward: scale by the loss gradient 8, cast to bf16 6 = 14. Three
// all-reduces over TP: maximum, predicted logit, sum of exponentials (4 T bytes each; the fused form joins
// the last two).
namespace echosim {
namespace {

constexpr double kElement = 2;
constexpr double kLossBytes = 38, kFusedLossBytes = 24, kLossBackwardBytes = 14;

CollectiveWork tp_work(CollectiveKind kind, double bytes, DType dtype) {
    return {static_cast<std::uint32_t>(Slot::tp), kind, static_cast<Bytes>(bytes), dtype};
}

void tp_blocking(BlockBuilder& b, const Job& job, std::string_view name, const CollectiveWork& work) {
    if (job.parallel.tp == 1)
        return;
    const auto op = b.collective(name, work, Stream::tp);
    b.wait("wait tp", {Dep::op(op)});
}

// Sum over TP of the partial embeddings (or of the gradient of the head's input).
void tp_reduce_hidden(BlockBuilder& b, const Job& job, const LayerShapes& s) {
    const bool sharded = job.parallel.sequence_parallel;
    tp_blocking(b, job, sharded ? "reduce-scatter (tp)" : "all-reduce (tp)",
                tp_work(sharded ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, s.hidden_bytes,
                        job.precision.compute));
}

void tp_gather_hidden(BlockBuilder& b, const Job& job, const LayerShapes& s) {
    if (!job.parallel.sequence_parallel)
        return;
    tp_blocking(b, job, "all-gather (tp)",
                tp_work(CollectiveKind::all_gather, s.hidden_bytes, job.precision.compute));
}

double local_vocab(const Job& job) {
    return static_cast<double>(job.model.padded_vocab) / job.parallel.tp;
}

} // namespace

BlockId embedding_forward(RankGraph& graph, const Job& job) {
    const LayerShapes s = layer_shapes(job);
    BlockBuilder b(graph, "embedding forward", Phase::forward);
    b.memory("embedding", KernelClass::embedding, 2 * kElement * s.tokens * s.h);
    tp_reduce_hidden(b, job, s);
    if (job.model.learned_positions)
        b.memory("position embedding", KernelClass::embedding, 3 * kElement * s.local_tokens * s.h);
    if (job.model.hidden_dropout > 0)
        b.memory("embedding dropout", KernelClass::elementwise, (2 * kElement + 1) * s.local_tokens * s.h);
    return b.finish();
}

// The dense gradient of the local vocabulary is zeroed, scattered into, and added to the main gradient.
BlockId embedding_backward(RankGraph& graph, const Job& job) {
    const LayerShapes s = layer_shapes(job);
    BlockBuilder b(graph, "embedding backward", Phase::backward);
    if (job.model.hidden_dropout > 0)
        b.memory("embedding dropout backward", KernelClass::elementwise,
                 (2 * kElement + 1) * s.local_tokens * s.h);
    tp_gather_hidden(b, job, s);
    const double weights = local_vocab(job) * s.h;
    b.memory("embedding grad zero", KernelClass::memset, kElement * weights);
    b.memory("embedding grad", KernelClass::embedding, 3 * kElement * s.tokens * s.h);
    b.memory("embedding grad add", KernelClass::elementwise,
             (job.precision.grads_in_fp32 ? 10 : 6) * weights);
    return b.finish();
}

BlockId head_forward(RankGraph& graph, const Job& job) {
    const LayerShapes s = layer_shapes(job);
    const double vocab = local_vocab(job);
    BlockBuilder b(graph, "head forward", Phase::forward);
    b.memory("final norm", KernelClass::norm, s.norm_bytes);
    tp_gather_hidden(b, job, s);
    b.gemm("logits", {.m = s.tokens, .n = vocab, .k = s.h, .dtype = job.precision.compute});
    const double statistic = 4 * s.tokens;
    const auto reduce = [&](std::string_view name, double bytes) {
        tp_blocking(b, job, name, tp_work(CollectiveKind::all_reduce, bytes, DType::fp32));
    };
    const bool fused = job.kernels.cross_entropy_fusion;
    const double logits = s.tokens * vocab, total = fused ? kFusedLossBytes : kLossBytes;
    b.memory("loss cast and max", KernelClass::loss, 10 * logits);
    reduce("all-reduce max (tp)", statistic);
    b.memory("loss exponentials", KernelClass::loss, (fused ? total - 10 - 8 : 20) * logits);
    if (!fused)
        reduce("all-reduce predicted (tp)", statistic);
    reduce("all-reduce sum (tp)", fused ? 2 * statistic : statistic);
    b.memory("loss softmax", KernelClass::loss, 8 * logits);
    // averaged for the log every micro-batch
    const bool replicated = job.parallel.dp * job.parallel.cp > 1;
    if (replicated && (is_legacy_software(job) || job.kernels.software == "mcore-2024")) {
        const auto op = b.collective(
            "all-reduce loss (dp)",
            {static_cast<std::uint32_t>(Slot::dp), CollectiveKind::all_reduce, 4, DType::fp32}, Stream::dp);
        b.wait("wait loss", {Dep::op(op)});
    }
    return b.finish();
}

BlockId head_backward(RankGraph& graph, const Job& job) {
    const LayerShapes s = layer_shapes(job);
    const double vocab = local_vocab(job);
    const DType type = job.precision.compute;
    BlockBuilder b(graph, "head backward", Phase::backward);
    b.memory("loss backward", KernelClass::loss, kLossBackwardBytes * s.tokens * vocab);
    const bool sharded = job.parallel.sequence_parallel, split = job.parallel.tp > 1;
    if (split && sharded)
        b.collective("all-gather input (tp)", tp_work(CollectiveKind::all_gather, s.hidden_bytes, type),
                     Stream::tp);
    b.gemm("logits dgrad", {.m = s.tokens, .n = s.h, .k = vocab, .dtype = type, .pass = GemmPass::dgrad});
    if (split)
        b.collective(sharded ? "reduce-scatter dgrad (tp)" : "all-reduce dgrad (tp)",
                     tp_work(sharded ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
                             s.hidden_bytes, type),
                     Stream::tp);
    b.gemm("logits wgrad", {.m = vocab,
                            .n = s.h,
                            .k = s.tokens,
                            .dtype = type,
                            .pass = GemmPass::wgrad,
                            .accumulate_fp32 = s.fused_wgrad && job.precision.grads_in_fp32});
    if (!s.fused_wgrad)
        b.memory("logits grad add", KernelClass::elementwise,
                 s.grad_accumulate_bytes_per_weight * vocab * s.h);
    if (split)
        b.wait("wait dgrad", {Dep::tail(tail_of(Stream::tp))});
    b.memory("final norm backward", KernelClass::norm, s.norm_backward_bytes);
    b.memory("final norm weight grad", KernelClass::norm, s.norm_weight_grad_bytes);
    return b.finish();
}

// Tokens, labels and positions are int64, the loss mask fp32: 28 bytes a token. Megatron before Core first
// broadcasts the sizes and reads them on the host, which waits for everything launched so far.
BlockId load_batch(RankGraph& graph, const Job& job) {
    const double bytes = 28.0 * job.model.seq_len * job.batch.micro;
    BlockBuilder b(graph, "load batch", Phase::data);
    b.host("data loader", 200_us);
    b.memory("batch to device", KernelClass::copy, bytes);
    if (job.parallel.tp > 1) {
        const auto op = b.collective("broadcast batch (tp)",
                                     tp_work(CollectiveKind::broadcast, bytes, DType::int64), Stream::tp);
        b.wait("wait batch", {Dep::op(op)});
        if (is_legacy_software(job))
            b.host("read batch sizes", 20_us, {Dep::op(op)});
    }
    return b.finish();
}

} // namespace echosim
