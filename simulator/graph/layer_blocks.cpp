// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/layer_blocks.h"

#include "simulator/graph/block_builder.h"
#include "simulator/graph/layer_shapes.h"

#include <array>

namespace echosim {
namespace {

// Adds the pieces of a decoder layer to one block.
class LayerBlock {
  public:
    LayerBlock(RankGraph& graph, const Job& job, std::string name, Phase phase)
        : job_(job), s_(layer_shapes(job)), b_(graph, std::move(name), phase) {}

    void forward();
    void backward();
    void attention_core_forward();
    BlockId finish() { return b_.finish(); }

  private:
    bool sharded() const { return job_.parallel.sequence_parallel; }
    GemmShape gemm(double m, double n, double k, GemmPass pass) const {
        return {.m = m,
                .n = n,
                .k = k,
                .dtype = job_.precision.compute,
                .pass = pass,
                .accumulate_fp32 = pass == GemmPass::wgrad && s_.fused_wgrad && job_.precision.grads_in_fp32};
    }
    CollectiveWork tp_work(CollectiveKind kind) const {
        return {tail_of_slot(Slot::tp), kind, static_cast<Bytes>(s_.hidden_bytes), job_.precision.compute};
    }
    static std::uint32_t tail_of_slot(Slot slot) { return static_cast<std::uint32_t>(slot); }

    // A collective in the open: compute waits for it.
    void tp_blocking(std::string_view name, CollectiveKind kind) {
        if (s_.t == 1)
            return;
        const auto op = b_.collective(name, tp_work(kind), Stream::tp);
        b_.wait("wait tp", {Dep::op(op)});
    }
    void gather_input() {
        if (sharded())
            tp_blocking("all-gather (tp)", CollectiveKind::all_gather);
    }
    void reduce_output() {
        if (sharded())
            tp_blocking("reduce-scatter (tp)", CollectiveKind::reduce_scatter);
        else
            tp_blocking("all-reduce (tp)", CollectiveKind::all_reduce);
    }
    void residual_add(std::string_view name);
    void residual_add_backward(std::string_view name);
    void norm_backward(std::string_view name);
    void attention_core_backward();
    void row_parallel_backward(std::string_view name, double n, double k);
    void column_parallel_backward(std::string_view name, double n, double k);
    void weight_gradient(std::string_view name, double n, double k);
    std::string named(std::string_view name, std::string_view what) {
        return std::string(name) + " " + std::string(what);
    }

    const Job& job_;
    LayerShapes s_;
    BlockBuilder b_;
};

void LayerBlock::residual_add(std::string_view name) {
    b_.memory(name, KernelClass::elementwise, s_.residual_add_bytes);
    if (s_.unfused_bias_dropout_bytes > 0)
        b_.memory(named(name, "dropout"), KernelClass::elementwise, s_.unfused_bias_dropout_bytes);
}

void LayerBlock::forward() {
    b_.memory("norm 1", KernelClass::norm, s_.norm_bytes);
    gather_input();
    b_.gemm("qkv", gemm(s_.tokens, s_.qkv_out, s_.h, GemmPass::forward));
    if (s_.rope_bytes > 0)
        b_.memory("rope", KernelClass::elementwise, s_.rope_bytes);
    if (s_.qk_norm_bytes > 0)
        b_.memory("qk norm", KernelClass::norm, s_.qk_norm_bytes);
    attention_core_forward();
    b_.gemm("proj", gemm(s_.tokens, s_.h, s_.attention_width, GemmPass::forward));
    reduce_output();
    residual_add("bias dropout add 1");
    b_.memory("norm 2", KernelClass::norm, s_.norm_bytes);
    gather_input();
    b_.gemm("fc1", gemm(s_.tokens, s_.fc1_out, s_.h, GemmPass::forward));
    b_.memory("activation", KernelClass::elementwise, s_.activation_bytes);
    b_.gemm("fc2", gemm(s_.tokens, s_.h, s_.fc2_in, GemmPass::forward));
    reduce_output();
    residual_add("bias dropout add 2");
}

// Flash: one kernel. Unfused: scores, fused scale-mask-softmax, dropout, context, and the copy that brings
// heads back beside each other.
void LayerBlock::attention_core_forward() {
    if (s_.flash) {
        b_.attention("attention", s_.attention);
        return;
    }
    const double rows = job_.model.seq_len, d = job_.model.head_dim, n = s_.heads * job_.batch.micro;
    const DType type = job_.precision.compute;
    b_.gemm("attention scores", {.m = rows, .n = rows, .k = d, .batch = n, .dtype = type});
    b_.memory("softmax", KernelClass::softmax, s_.softmax_bytes);
    if (s_.attention_dropout_bytes > 0)
        b_.memory("attention dropout", KernelClass::elementwise, s_.attention_dropout_bytes);
    b_.gemm("attention context", {.m = rows, .n = d, .k = rows, .batch = n, .dtype = type});
    b_.memory("context layout", KernelClass::elementwise, s_.context_copy_bytes);
}

void LayerBlock::attention_core_backward() {
    if (s_.flash) {
        AttentionShape backward = s_.attention;
        backward.backward = true;
        b_.attention("attention backward", backward);
        return;
    }
    const double rows = job_.model.seq_len, d = job_.model.head_dim, n = s_.heads * job_.batch.micro;
    const DType type = job_.precision.compute;
    const auto scores = [&](std::string_view name, double columns, double inner, GemmPass pass) {
        b_.gemm(name, {.m = rows, .n = columns, .k = inner, .batch = n, .dtype = type, .pass = pass});
    };
    b_.memory("context layout backward", KernelClass::elementwise, s_.context_copy_bytes);
    scores("attention dprobs", rows, d, GemmPass::dgrad);
    scores("attention dvalue", d, rows, GemmPass::wgrad);
    if (s_.attention_dropout_bytes > 0)
        b_.memory("attention dropout backward", KernelClass::elementwise, s_.attention_dropout_bytes);
    b_.memory("softmax backward", KernelClass::softmax, s_.softmax_bytes * 1.5);
    scores("attention dquery", d, rows, GemmPass::dgrad);
    scores("attention dkey", d, rows, GemmPass::wgrad);
    b_.memory("qkv layout backward", KernelClass::elementwise, s_.qkv_copy_bytes);
}

void LayerBlock::residual_add_backward(std::string_view name) {
    if (s_.dropout_backward_bytes > 0)
        b_.memory(name, KernelClass::elementwise, s_.dropout_backward_bytes);
    if (s_.bias_grad_bytes > 0)
        b_.memory(named(name, "bias grad"), KernelClass::reduction, s_.bias_grad_bytes);
}

// dX, gamma (and beta) gradients in one or two kernels, then the gradient of the residual branch is added.
void LayerBlock::norm_backward(std::string_view name) {
    b_.memory(name, KernelClass::norm, s_.norm_backward_bytes);
    b_.memory(named(name, "weight grad"), KernelClass::norm, s_.norm_weight_grad_bytes);
    b_.memory(named(name, "add"), KernelClass::elementwise, s_.grad_add_bytes);
}

void LayerBlock::weight_gradient(std::string_view name, double n, double k) {
    b_.gemm(named(name, "wgrad"), gemm(n, k, s_.tokens, GemmPass::wgrad));
    if (!s_.fused_wgrad)
        b_.memory(named(name, "grad add"), KernelClass::elementwise,
                  s_.grad_accumulate_bytes_per_weight * n * k);
    if (s_.column_bias_bytes_per_output > 0)
        b_.memory(named(name, "bias grad"), KernelClass::reduction, s_.column_bias_bytes_per_output * n);
}

// Y (T x h) = X (T x k) W^T, k sharded over TP. The backward of RS is AG; that of AR is the identity.
void LayerBlock::row_parallel_backward(std::string_view name, double n, double k) {
    gather_input();
    b_.gemm(named(name, "dgrad"), gemm(s_.tokens, k, n, GemmPass::dgrad));
    weight_gradient(name, n, k);
}

// Y (T x n) = X (T x h) W^T, n sharded over TP.
void LayerBlock::column_parallel_backward(std::string_view name, double n, double k) {
    if (s_.t == 1) {
        b_.gemm(named(name, "dgrad"), gemm(s_.tokens, k, n, GemmPass::dgrad));
        weight_gradient(name, n, k);
        return;
    }
    if (sharded()) {
        const auto input =
            b_.collective("all-gather input (tp)", tp_work(CollectiveKind::all_gather), Stream::tp);
        b_.gemm(named(name, "dgrad"), gemm(s_.tokens, k, n, GemmPass::dgrad));
        const auto reduce =
            b_.collective("reduce-scatter dgrad (tp)", tp_work(CollectiveKind::reduce_scatter), Stream::tp);
        b_.wait("wait input", {Dep::op(input)});
        weight_gradient(name, n, k);
        b_.wait("wait dgrad", {Dep::op(reduce)});
        return;
    }
    b_.gemm(named(name, "dgrad"), gemm(s_.tokens, k, n, GemmPass::dgrad));
    const auto reduce =
        b_.collective("all-reduce dgrad (tp)", tp_work(CollectiveKind::all_reduce), Stream::tp);
    if (!job_.kernels.tp_async_allreduce)
        b_.wait("wait dgrad", {Dep::op(reduce)});
    weight_gradient(name, n, k);
    if (job_.kernels.tp_async_allreduce)
        b_.wait("wait dgrad", {Dep::op(reduce)});
}

void LayerBlock::backward() {
    residual_add_backward("dropout backward 2");
    row_parallel_backward("fc2", s_.h, s_.fc2_in);
    b_.memory("activation backward", KernelClass::elementwise, s_.activation_backward_bytes);
    column_parallel_backward("fc1", s_.fc1_out, s_.h);
    norm_backward("norm 2 backward");
    residual_add_backward("dropout backward 1");
    row_parallel_backward("proj", s_.h, s_.attention_width);
    attention_core_backward();
    if (s_.qk_norm_bytes > 0)
        b_.memory("qk norm backward", KernelClass::norm, s_.qk_norm_bytes * 2);
    if (s_.rope_bytes > 0)
        b_.memory("rope backward", KernelClass::elementwise, s_.rope_bytes);
    column_parallel_backward("qkv", s_.qkv_out, s_.h);
    norm_backward("norm 1 backward");
}

} // namespace

BlockId layer_forward(RankGraph& graph, const Job& job, Phase phase) {
    LayerBlock layer(graph, job, phase == Phase::recompute ? "layer recompute" : "layer forward", phase);
    layer.forward();
    return layer.finish();
}

BlockId attention_recompute(RankGraph& graph, const Job& job) {
    LayerBlock layer(graph, job, "attention recompute", Phase::recompute);
    layer.attention_core_forward();
    return layer.finish();
}

BlockId layer_backward(RankGraph& graph, const Job& job) {
    LayerBlock layer(graph, job, "layer backward", Phase::backward);
    layer.backward();
    return layer.finish();
}

} // namespace echosim
