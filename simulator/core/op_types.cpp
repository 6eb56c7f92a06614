// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/op_types.h"

#include <array>
#include <cstddef>

namespace echosim {
namespace {

using namespace std::string_view_literals;

constexpr std::array kDTypes = {"fp32"sv, "tf32"sv, "fp16"sv,  "bf16"sv, "fp8"sv,
                                "fp4"sv,  "int8"sv, "int32"sv, "int64"sv};
constexpr std::array kOpKinds = {"compute"sv, "collective"sv, "p2p"sv, "memory"sv, "host"sv, "sync"sv};
constexpr std::array kKernelClasses = {
    "gemm"sv,      "attention"sv, "norm"sv, "elementwise"sv, "softmax"sv, "embedding"sv, "loss"sv,
    "reduction"sv, "optimizer"sv, "copy"sv, "memset"sv,      "other"sv,   "norm_wgrad"sv};
constexpr std::array kCollectives = {"all_reduce"sv, "all_gather"sv, "reduce_scatter"sv,
                                     "all_to_all"sv, "broadcast"sv,  "reduce"sv,
                                     "gather"sv,     "scatter"sv,    "send_recv"sv};
constexpr std::array kAlgorithms = {"ring"sv,      "tree"sv, "collnet_direct"sv, "collnet_chain"sv, "nvls"sv,
                                    "nvls_tree"sv, "pat"sv,  "direct"sv};
constexpr std::array kProtocols = {"LL"sv, "LL128"sv, "Simple"sv};
constexpr std::array kGroups = {"tp"sv,  "pp"sv,    "dp"sv,    "dp_cp"sv, "cp"sv,   "ep"sv,       "etp"sv,
                                "edp"sv, "tp_cp"sv, "tp_ep"sv, "mp"sv,    "embd"sv, "pos_embd"sv, "world"sv};
constexpr std::array kPhases = {"forward"sv,       "backward"sv,  "recompute"sv,
                                "gradient_sync"sv, "optimizer"sv, "param_gather"sv,
                                "data"sv,          "pipeline"sv,  "other"sv};
constexpr std::array kProvenances = {"measured"sv, "fitted"sv, "catalogue"sv, "assumed"sv};

template <class E, std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, E value) {
    const auto index = static_cast<std::size_t>(value);
    return index < N ? names[index] : "?"sv;
}

template <class E, std::size_t N>
std::optional<E> value_of(const std::array<std::string_view, N>& names, std::string_view text) {
    for (std::size_t i = 0; i < N; ++i)
        if (names[i] == text)
            return static_cast<E>(i);
    return std::nullopt;
}

} // namespace

double size_of(DType type) {
    switch (type) {
    case DType::fp32:
    case DType::tf32:
    case DType::int32:
        return 4;
    case DType::fp16:
    case DType::bf16:
        return 2;
    case DType::fp8:
    case DType::int8:
        return 1;
    case DType::fp4:
        return 0.5;
    case DType::int64:
        return 8;
    }
    return 0;
}

std::string_view to_string(DType value) {
    return name_of(kDTypes, value);
}
std::string_view to_string(OpKind value) {
    return name_of(kOpKinds, value);
}
std::string_view to_string(KernelClass value) {
    return name_of(kKernelClasses, value);
}
std::string_view to_string(CollectiveKind value) {
    return name_of(kCollectives, value);
}
std::string_view to_string(Algorithm value) {
    return name_of(kAlgorithms, value);
}
std::string_view to_string(Protocol value) {
    return name_of(kProtocols, value);
}
std::string_view to_string(GroupKind value) {
    return name_of(kGroups, value);
}
std::string_view to_string(Phase value) {
    return name_of(kPhases, value);
}
std::string_view to_string(Provenance value) {
    return name_of(kProvenances, value);
}
std::optional<DType> dtype_from(std::string_view text) {
    return value_of<DType>(kDTypes, text);
}
std::optional<CollectiveKind> collective_from(std::string_view text) {
    return value_of<CollectiveKind>(kCollectives, text);
}

} // namespace echosim
