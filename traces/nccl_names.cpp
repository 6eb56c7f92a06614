// SPDX-License-Identifier: Apache-2.0
#include "traces/nccl_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace echosim {
namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
    return out;
}

template <class Value, std::size_t n>
std::optional<Value> find_word(const std::array<std::pair<std::string_view, Value>, n>& words,
                               std::string_view word) {
    const auto found =
        std::find_if(words.begin(), words.end(), [&](const auto& row) { return row.first == word; });
    return found == words.end() ? std::nullopt : std::optional<Value>(found->second);
}

using Kind = CollectiveKind;

// In lower case without underscores.
constexpr std::array<std::pair<std::string_view, Kind>, 9> kCollectives{{
    {"allreduce", Kind::all_reduce},
    {"allgather", Kind::all_gather},
    {"reducescatter", Kind::reduce_scatter},
    {"alltoall", Kind::all_to_all},
    {"broadcast", Kind::broadcast},
    {"reduce", Kind::reduce},
    {"gather", Kind::gather},
    {"scatter", Kind::scatter},
    {"sendrecv", Kind::send_recv},
}};

constexpr std::array<std::pair<std::string_view, Algorithm>, 8> kAlgorithms{{
    {"ring", Algorithm::ring},
    {"tree", Algorithm::tree},
    {"collnet", Algorithm::collnet_chain},
    {"collnetdirect", Algorithm::collnet_direct},
    {"collnetchain", Algorithm::collnet_chain},
    {"nvls", Algorithm::nvls},
    {"nvlstree", Algorithm::nvls_tree},
    {"pat", Algorithm::pat},
}};

constexpr std::array<std::pair<std::string_view, Protocol>, 3> kProtocols{{
    {"ll", Protocol::ll},
    {"ll128", Protocol::ll128},
    {"simple", Protocol::simple},
}};

constexpr std::array<std::pair<std::string_view, ElementType>, 50> kElements{{
    {"float", {DType::fp32, 4, true}},
    {"float32", {DType::fp32, 4, true}},
    {"f32", {DType::fp32, 4, true}},
    {"fp32", {DType::fp32, 4, true}},
    {"half", {DType::fp16, 2, true}},
    {"float16", {DType::fp16, 2, true}},
    {"f16", {DType::fp16, 2, true}},
    {"fp16", {DType::fp16, 2, true}},
    {"bfloat16", {DType::bf16, 2, true}},
    {"bf16", {DType::bf16, 2, true}},
    {"double", {kNoDType, 8, false}},
    {"float64", {kNoDType, 8, false}},
    {"f64", {kNoDType, 8, false}},
    {"complexfloat", {kNoDType, 8, false}},
    {"complexdouble", {kNoDType, 16, false}},
    {"long", {DType::int64, 8, true}},
    {"long int", {DType::int64, 8, true}},
    {"int64", {DType::int64, 8, true}},
    {"int64_t", {DType::int64, 8, true}},
    {"i64", {DType::int64, 8, true}},
    {"uint64", {DType::int64, 8, false}},
    {"uint64_t", {DType::int64, 8, false}},
    {"u64", {DType::int64, 8, false}},
    {"int", {DType::int32, 4, true}},
    {"int32", {DType::int32, 4, true}},
    {"int32_t", {DType::int32, 4, true}},
    {"i32", {DType::int32, 4, true}},
    {"uint32", {DType::int32, 4, false}},
    {"uint32_t", {DType::int32, 4, false}},
    {"u32", {DType::int32, 4, false}},
    {"short", {kNoDType, 2, false}},
    {"short int", {kNoDType, 2, false}},
    {"char", {DType::int8, 1, true}},
    {"signed char", {DType::int8, 1, true}},
    {"int8", {DType::int8, 1, true}},
    {"int8_t", {DType::int8, 1, true}},
    {"i8", {DType::int8, 1, true}},
    {"byte", {DType::int8, 1, false}},
    {"unsigned char", {DType::int8, 1, false}},
    {"uint8", {DType::int8, 1, false}},
    {"uint8_t", {DType::int8, 1, false}},
    {"u8", {DType::int8, 1, false}},
    {"bool", {DType::int8, 1, false}},
    {"float8_e4m3fn", {DType::fp8, 1, false}},
    {"float8_e5m2", {DType::fp8, 1, false}},
    {"float8_e4m3fnuz", {DType::fp8, 1, false}},
    {"float8_e5m2fnuz", {DType::fp8, 1, false}},
    {"f8e4m3", {DType::fp8, 1, false}},
    {"f8e5m2", {DType::fp8, 1, false}},
    {"fp8", {DType::fp8, 1, true}},
}};

// Words of a kernel's name up to its parameters, in lower case: "nccldevkernel", "allreduce", "sum" ...
std::vector<std::string> words_of(std::string_view name) {
    name = name.substr(0, name.find_first_of("(<"));
    std::vector<std::string> words;
    while (!name.empty()) {
        const std::size_t end = std::min(name.find('_'), name.size());
        words.push_back(lower(name.substr(0, end)));
        name.remove_prefix(std::min(end + 1, name.size()));
    }
    return words;
}

// "ncclAllReduceRingLLKernel": collective, algorithm and protocol in one word.
void read_old_name(std::string_view word, NcclKernelName& out) {
    if (!word.starts_with("nccl") || !word.ends_with("kernel")) {
        return;
    }
    word.remove_prefix(4);
    word.remove_suffix(6);
    for (const auto& [collective, kind] : kCollectives) {
        if (!word.starts_with(collective)) {
            continue;
        }
        out.kind = kind;
        const std::string_view rest = word.substr(collective.size());
        for (const auto& [algorithm, value] : kAlgorithms) {
            if (rest.starts_with(algorithm)) {
                out.algorithm = value;
                out.protocol =
                    find_word(kProtocols, rest.substr(algorithm.size())).value_or(Protocol::simple);
            }
        }
        return;
    }
}

bool moves_only(Kind kind) {
    return kind != kNoCollective && kind != Kind::all_reduce && kind != Kind::reduce_scatter &&
           kind != Kind::reduce;
}

std::string_view without_prefix(std::string_view name) {
    return name.starts_with("void ") ? name.substr(5) : name;
}

} // namespace

bool is_nccl_kernel(std::string_view name) {
    name = without_prefix(name);
    return name.starts_with("nccl") || name.starts_with("rccl") || name.starts_with("mscclKernel");
}

NcclKernelName parse_nccl_kernel(std::string_view name) {
    NcclKernelName out;
    const std::vector<std::string> words = words_of(without_prefix(name));
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const std::string pair = i + 1 < words.size() ? word + words[i + 1] : "";
        const std::string typed = i + 1 < words.size() && words[i + 1] == "t" ? word + "_t" : word;
        if (i == 0) {
            read_old_name(word, out);
        } else if (const auto kind = find_word(kCollectives, word); kind && out.kind == kNoCollective) {
            out.kind = *kind;
        } else if (const auto both = find_word(kAlgorithms, pair)) {
            out.algorithm = *both;
        } else if (const auto algorithm = find_word(kAlgorithms, word);
                   algorithm && out.algorithm == kNoAlgorithm) {
            out.algorithm = *algorithm;
        } else if (const auto protocol = find_word(kProtocols, word)) {
            out.protocol = *protocol;
        } else if (const auto type = find_word(kElements, typed); type && out.dtype == kNoDType) {
            out.dtype = type->type;
        }
    }
    if (out.dtype == DType::int8 && moves_only(out.kind)) {
        out.dtype = kNoDType; // the kernel of every type
    }
    return out;
}

std::optional<ElementType> element_type(std::string_view name) {
    for (const std::string_view prefix : {"c10::", "torch.", "nv_", "__nv_", "hip_"}) {
        if (name.starts_with(prefix)) {
            name.remove_prefix(prefix.size());
        }
    }
    return find_word(kElements, lower(name));
}

std::optional<CollectiveName> collective_named(std::string_view name) {
    const std::string_view given = name;
    for (const std::string_view prefix : {"nccl:", "c10d::", "rccl:"}) {
        if (name.starts_with(prefix)) {
            name.remove_prefix(prefix.size());
        }
    }
    std::string word = lower(name);
    word.erase(std::remove_if(word.begin(), word.end(), [](char c) { return c == '_' || c == ' '; }),
               word.end());
    for (const std::string_view suffix : {"base", "intotensor", "tensor", "v", "single"}) {
        const std::string_view rest = word;
        if (rest.ends_with(suffix) && rest != "recv" && rest != "sendrecv") {
            word.resize(word.size() - suffix.size());
        }
    }
    CollectiveName out;
    if (word == "send" || word == "isend") {
        out = {Kind::send_recv, Direction::send, false};
    } else if (word == "recv" || word == "irecv" || word == "recvanysource") {
        out = {Kind::send_recv, Direction::receive, false};
    } else if (const auto kind = find_word(kCollectives, word)) {
        out = {*kind, *kind == Kind::send_recv ? Direction::both : Direction::none, false};
    } else {
        return std::nullopt;
    }
    out.plain = given == torch_collective_name(out.kind, out.direction);
    return out;
}

std::string_view torch_collective_name(CollectiveKind kind, Direction direction) {
    switch (kind) {
    case Kind::all_reduce:
        return "allreduce";
    case Kind::all_gather:
        return "allgather";
    case Kind::reduce_scatter:
        return "reduce_scatter";
    case Kind::all_to_all:
        return "all_to_all";
    case Kind::broadcast:
        return "broadcast";
    case Kind::reduce:
        return "reduce";
    case Kind::gather:
        return "gather";
    case Kind::scatter:
        return "scatter";
    case Kind::send_recv:
        break;
    }
    return direction == Direction::send ? "send" : direction == Direction::receive ? "recv" : "sendrecv";
}

Bytes message_bytes(CollectiveKind kind, std::uint64_t in_elements, std::uint64_t out_elements,
                    std::uint32_t group_size, Bytes element) {
    const std::uint64_t size = std::max<std::uint32_t>(group_size, 1);
    const std::uint64_t most = std::max(in_elements, out_elements);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 50U; // elements: beyond any memory
    if (most > kMost || size > (std::uint64_t{1} << 24U) || element > 16) {
        return 0;
    }
    if (kind == kNoCollective && (in_elements == 0 || out_elements == 0)) {
        return 0; // of one buffer alone: of one rank or of all, who knows
    }
    switch (kind) {
    case Kind::all_gather:
    case Kind::gather:
        return (out_elements > 0 ? out_elements : in_elements * std::min<std::uint64_t>(size, 1024)) *
               element;
    case Kind::reduce_scatter:
    case Kind::scatter:
        return (in_elements > 0 ? in_elements : out_elements * std::min<std::uint64_t>(size, 1024)) * element;
    case Kind::all_to_all:
        return (in_elements > 0 ? in_elements : out_elements) * element;
    default:
        return most * element;
    }
}

} // namespace echosim
