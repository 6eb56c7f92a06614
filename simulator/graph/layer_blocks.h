// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/graph/execution_graph.h"
#include "simulator/workload/job.h"

// Blocks of one micro-batch on one rank: decoder layer, embedding, head. Symbols as in docs/models.md: T
// tokens of a micro-batch (s b), t tensor-parallel size, T' = T/t where activations are sharded (sequence
// parallel) else T, h hidden, f FFN width, a query heads, g KV heads, d head dimension, V padded vocabulary;
// 2 bytes an element.
//
// Forward of a layer (source: Megatron-LM d98e8a64 transformer_layer.py, and the fused kernels of its era):
//   norm (T', 4 T' h bytes) [AG] QKV GEMM (T, (a+2g)d/t, h) rope attention proj GEMM (T, h, ad/t) [RS|AR]
//   bias+dropout+add  norm [AG] FC1 GEMM (T, f/t or 2f/t, h) activation FC2 GEMM (T, h, f/t) [RS|AR]
//   bias+dropout+add
// Backward is the exact reverse, each GEMM as data gradient and weight gradient. Under sequence parallelism
// the backward of RS is AG, of AG is RS; the input of a column-parallel GEMM is gathered again under its data
// gradient, and its gradient is reduce-scattered under the weight gradient. Without it the all-reduce of the
// data gradient runs under the weight gradient (--no-async-tensor-model-parallel-allreduce, and Megatron
// before 2022: in the open).
namespace echosim {

// Phase::forward, or Phase::recompute for the copy that runs again before a backward.
BlockId layer_forward(RankGraph& graph, const Job& job, Phase phase);
// Only the attention core, for selective recomputation.
BlockId attention_recompute(RankGraph& graph, const Job& job);
BlockId layer_backward(RankGraph& graph, const Job& job);

BlockId embedding_forward(RankGraph& graph, const Job& job);
BlockId embedding_backward(RankGraph& graph, const Job& job);
// Final norm, logits, vocabulary-parallel cross entropy.
BlockId head_forward(RankGraph& graph, const Job& job);
BlockId head_backward(RankGraph& graph, const Job& job);

// Batch of one micro-batch: host-to-device copies and the broadcast over the tensor-parallel group.
BlockId load_batch(RankGraph& graph, const Job& job);

} // namespace echosim
