// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

// The vocabulary that every part of echosim shares. The words are those of Megatron-LM, NCCL and Nsight.
namespace echosim {

enum class DType : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp4, int8, int32, int64 };

// What an op is, for the engine. `compute` is a kernel, `memory` a copy or memset, `host` work of the CPU
// thread, `sync` a marker on a stream (event wait) without duration of its own.
enum class OpKind : std::uint8_t { compute, collective, p2p, memory, host, sync };

enum class KernelClass : std::uint8_t {
    gemm,
    attention,
    norm,
    elementwise,
    softmax,
    embedding,
    loss,
    reduction,
    optimizer,
    copy,
    memset,
    other,
    norm_wgrad // weight and bias gradients of a norm: sums over rows with few blocks
};

enum class CollectiveKind : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    reduce,
    gather,
    scatter,
    send_recv
};
enum class Algorithm : std::uint8_t {
    ring,
    tree,
    collnet_direct,
    collnet_chain,
    nvls,
    nvls_tree,
    pat,
    direct
};
enum class Protocol : std::uint8_t { ll, ll128, simple };

// Process groups as Megatron names them.
enum class GroupKind : std::uint8_t {
    tp,
    pp,
    dp,
    dp_cp,
    cp,
    ep,
    etp,
    edp,
    tp_cp,
    tp_ep,
    mp,
    embd,
    pos_embd,
    world
};

// Part of the step an op belongs to; the rows of the time split are made from it.
enum class Phase : std::uint8_t {
    forward,
    backward,
    recompute,
    gradient_sync,
    optimizer,
    param_gather,
    data,
    pipeline,
    other
};

// Where a number comes from: measured (a table of this GPU), fitted (a model fitted to measurements of this
// GPU), catalogue (data sheet with the efficiency of a related GPU), assumed.
enum class Provenance : std::uint8_t { measured, fitted, catalogue, assumed };

// Bytes of one element (fp4: 0.5).
double size_of(DType type);

std::string_view to_string(DType value);
std::string_view to_string(OpKind value);
std::string_view to_string(KernelClass value);
std::string_view to_string(CollectiveKind value);
std::string_view to_string(Algorithm value);
std::string_view to_string(Protocol value);
std::string_view to_string(GroupKind value);
std::string_view to_string(Phase value);
std::string_view to_string(Provenance value);
std::optional<DType> dtype_from(std::string_view text);
std::optional<CollectiveKind> collective_from(std::string_view text);

} // namespace echosim
