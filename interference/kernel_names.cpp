// SPDX-License-Identifier: Apache-2.0
#include "interference/kernel_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cxxabi.h>
#include <initializer_list>
#include <memory>
#include <span>

namespace echosim {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::size_t kMaxName = 16'384; // the rest of longer names says nothing new
constexpr int kMaxWrappers = 4;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

bool is_wrapper(std::string_view own) {
    return own == "Kernel" || own == "Kernel2" || own == "device_kernel" || own.starts_with("enable_sm") ||
           own == "kentry" || own == "kernel";
}

// Of a name that the demangler does not know (cut off, of another compiler): the last of the nested
// identifiers
// ("5aiter6kernels12flash_kernel"), of what it wraps where it is a wrapper.
std::string last_identifier(std::string_view mangled) {
    std::string last;
    std::size_t i = mangled.find_first_of("0123456789");
    while (i < mangled.size()) {
        std::size_t length = 0;
        while (i < mangled.size() && is_digit(mangled[i]) && length < kMaxName) {
            length = length * 10 + static_cast<std::size_t>(mangled[i++] - '0');
        }
        if (length == 0 || i + length > mangled.size()) {
            break;
        }
        last = mangled.substr(i, length);
        i += length;
        if (i < mangled.size() && !is_digit(mangled[i])) { // the template's arguments follow
            if (!is_wrapper(last)) {
                break;
            }
            i = mangled.find_first_of("0123456789", i);
        }
    }
    return last.empty() ? std::string(mangled) : last;
}

std::string demangled(std::string_view name) {
    name = name.substr(0, kMaxName);
    if (!name.starts_with("_Z")) {
        return std::string(name);
    }
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? std::string(text.get()) : last_identifier(name);
}

bool ends_with_operator(std::string_view text) {
    return text.ends_with("operator") || text.ends_with("operator<") || text.ends_with("operator>") ||
           text.ends_with("operator-");
}

// Where the bracket at `open` closes; the end of the text when it does not.
std::size_t closing(std::string_view text, std::size_t open) {
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
        const char c = text[i];
        const bool angle = c == '<' || c == '>';
        if (angle && (ends_with_operator(text.substr(0, i)) || (c == '>' && i > 0 && text[i - 1] == '-'))) {
            continue;
        }
        if (c == '<' || c == '(' || c == '[' || c == '{') {
            ++depth;
        } else if ((c == '>' || c == ')' || c == ']' || c == '}') && --depth == 0) {
            return i;
        }
    }
    return text.size();
}

struct NameParts {
    std::string scope;     // "at::native"
    std::string own;       // "reduce_kernel"
    std::string arguments; // of its template, without the angle brackets
};

// Splits "void at::native::reduce_kernel<512, 1>(...)".
NameParts parts_of(std::string_view text) {
    NameParts parts;
    std::string path;
    while (text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i).starts_with(kAnonymous)) {
            i += kAnonymous.size() - 1;
        } else if (text[i] == '(' && path.ends_with("decltype")) {
            i = closing(text, i);
        } else if (text[i] == '(') {
            break;
        } else if (text[i] == '[' || text[i] == '{') {
            i = closing(text, i);
        } else if (text[i] == '<' && !ends_with_operator(path)) {
            const std::size_t end = closing(text, i);
            parts.arguments = text.substr(i + 1, end - i - 1);
            i = end;
        } else if (text[i] == ' ') { // what stood before was the return type
            path.clear();
        } else {
            path += text[i];
        }
    }
    const std::size_t colons = path.rfind("::");
    parts.own = colons == std::string::npos ? path : path.substr(colons + 2);
    parts.scope = colons == std::string::npos ? std::string() : path.substr(0, colons);
    while (parts.scope.ends_with(':')) {
        parts.scope.pop_back();
    }
    return parts;
}

// The first argument of a template's list.
std::string_view first_argument(std::string_view arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == ',') {
            return arguments.substr(0, i);
        }
        if (arguments[i] == '<' || arguments[i] == '(' || arguments[i] == '{' || arguments[i] == '[') {
            i = closing(arguments, i);
        }
    }
    return arguments;
}

// The kernel's own name, of what it wraps where it is a wrapper.
std::string own_name(const std::string& full) {
    NameParts parts = parts_of(full);
    for (int i = 0; i < kMaxWrappers && is_wrapper(parts.own); ++i) {
        const std::string_view inner = first_argument(parts.arguments);
        const NameParts wrapped = parts_of(inner);
        const bool named = wrapped.own.size() > 6 && wrapped.own.find('_') != std::string::npos;
        if (!named && wrapped.arguments.empty()) { // kernel<int, float>: its namespace says more
            const std::size_t colons = parts.scope.rfind("::");
            const std::string scope =
                colons == std::string::npos ? parts.scope : parts.scope.substr(colons + 2);
            return scope.empty() ? parts.own : scope + "::" + parts.own;
        }
        parts = wrapped;
    }
    return parts.own;
}

std::string without_tiles(std::string name) {
    for (const std::string_view tail : {"_tilesize", "_MT"}) {
        const bool tensile = tail == "_MT" && !name.starts_with("Cijk");
        if (const std::size_t at = name.find(tail); at != std::string::npos && !tensile) {
            name.resize(at);
        }
    }
    return name;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(
        words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

struct ClassWords {
    KernelClass kernel_class;
    std::initializer_list<std::string_view> words;
};

// Lower case; the library "fbgemm_gpu" is no matrix product.
std::string words_of(std::string_view name) {
    std::string text = lower(name.substr(0, kMaxName));
    for (std::size_t at = text.find("fbgemm"); at != std::string::npos; at = text.find("fbgemm", at)) {
        text.erase(at, 6);
    }
    return text;
}

// The first row with a word of the name decides.
KernelClass class_by_words(std::string_view n) {
    using enum KernelClass;
    static const std::array<ClassWords, 16> kRows = {{
        {elementwise, {"rotary", "rope_", "_rope", "elementwise", "dropout_kernel"}},
        {norm_wgrad,
         {"gammabeta", "gamma_beta", "bwd_finalize", "norm_backward_reduce", "bn_bw", "normbackward",
          "batch_norm_backward", "batchnormbwd", "bnbwd"}},
        {norm,
         {"layer_norm", "layernorm", "rmsnorm", "rms_norm", "ln_fwd", "ln_bwd", "batch_norm", "batchnorm",
          "bn_fw", "group_norm", "groupnorm", "rowwisemoments", "miopenbn", "welford"}},
        {attention, {"flash", "fmha", "attn", "attention", "sdpa", "_mla_", "mha_"}},
        {loss, {"cross_entropy", "crossentropy", "nll_loss", "nllloss", "classnll", "mseloss"}},
        {softmax, {"softmax"}},
        {embedding,
         {"embedding", "compute_grad_weight", "krn_partial", "partial_segments", "sum_and_scatter",
          "indexselect", "index_select"}},
        {optimizer, {"multi_tensor", "adam", "_lamb", "lamb_", "adagrad", "sgd_"}},
        {reduction,
         {"splitkreduce", "splitk_reduce", "split_k_reduce", "reducesplitk", "reduce_wgrad", "dot_kernel"}},
        {copy,
         {"catarray", "transpose", "nchwtonhwc", "nhwctonchw", "nchw2nhwc", "im2col", "col2im", "memcpy",
          "permute", "copy_kernel", "copykernel"}},
        {memset, {"memset"}},
        {gemm,
         {"gemm", "gemv", "xmma", "nvjet", "cijk_", "scudnn", "winograd", "implicit", "matmul", "wgrad",
          "dgrad", "fprop", "convolve", "conv2d", "conv_", "_conv", "cutlass", "_mm_", "bmm_"}},
        {reduction, {"reduce", "triton_red", "triton_per", "reduction", "argmax", "l2norm"}},
        {elementwise,
         {"triton_poi", "gelu", "silu", "swiglu", "relu", "dropout", "vectorized_", "unrolled_",
          "act_and_mul", "cast", "add_kernel", "bias", "distribution", "fill"}},
        {attention, {"kvcache", "kv_cache"}},
        {other, {}},
    }};
    for (const ClassWords& row : kRows) {
        if (has_any(n, row.words)) {
            return row.kernel_class;
        }
    }
    return other;
}

} // namespace

std::string kernel_family(std::string_view name) {
    const std::string own = without_tiles(own_name(demangled(name)));
    std::string family;
    for (std::size_t i = 0; i < own.size(); ++i) {
        if (is_digit(own[i])) { // with the x of "128x64"
            const bool last = i + 1 == own.size() || !is_digit(own[i + 1]);
            i += last && i + 1 < own.size() && own[i + 1] == 'x' ? 1 : 0;
        } else if (own[i] != '_' || (!family.empty() && family.back() != '_')) {
            family += own[i];
        }
    }
    while (family.ends_with('_')) {
        family.pop_back();
    }
    return std::ranges::any_of(family, is_letter) ? family : std::string("unnamed");
}

KernelClass kernel_class_of(std::string_view name) {
    const std::string full = demangled(name);
    const KernelClass by_own = class_by_words(words_of(own_name(full)));
    return by_own == KernelClass::other ? class_by_words(words_of(full)) : by_own;
}

bool uses_tensor_cores(std::string_view name) {
    const std::string n = words_of(name);
    if (has_any(n, {"tensorop", "tensor16x8", "16816", "1688", "884gemm", "hmma", "imma", "wgmma", "tcgen05",
                    "nvjet", "_mi16x", "_mi32x", "xdl", "gtcx"})) {
        return true;
    }
    const bool half = has_any(n, {"bf16", "f16", "half", "e4m3", "e5m2", "tf32", "fp8"});
    return half && has_any(n, {"xmma", "gemm", "flash", "fmha", "cutlass"});
}

bool is_stream_k(std::string_view name) {
    return has_any(words_of(name), {"streamk", "stream_k"});
}

} // namespace echosim
