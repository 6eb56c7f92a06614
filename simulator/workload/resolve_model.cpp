// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/resolve.h"

#include "simulator/catalogue/model.h"

#include <fmt/format.h>
#include <limits>

namespace echosim {
namespace {

// --num-layers and its kind: Megatron-LM has no default for them.
int required(Resolution& r, std::string_view key, std::string_view flag, std::int64_t high) {
    if (!r.flags.has(flag)) {
        r.flags.fail(flag, "missing: Megatron-LM has no default for it", fmt::format("add {} N", flag));
        return 0;
    }
    const int value = r.integer(flag, 1, high, 0);
    if (value > 0)
        r.note(key, value, r.flags.where(flag, ""));
    return value;
}

void resolve_layers(Resolution& r) {
    ModelShape& m = r.job.model;
    const std::string flag = r.flags.has("--num-layers") || !r.flags.has("--encoder-num-layers")
                                 ? "--num-layers"
                                 : "--encoder-num-layers";
    const auto pattern = r.flags.text("--hybrid-layer-pattern");
    const auto old_pattern = r.flags.text("--hybrid-override-pattern");
    if (!pattern && !old_pattern) {
        m.layers = required(r, "model.layers", flag, kMaxLayers);
        return;
    }
    // P11: the pattern counts the layers; what stands after the first / are multi-token-prediction blocks.
    const std::string& text = pattern ? *pattern : *old_pattern;
    for (const char c : text.substr(0, text.find('/')))
        m.layers += c == '|' ? 0 : 1;
    const std::string name = pattern ? "--hybrid-layer-pattern" : "--hybrid-override-pattern";
    r.note("model.layers", m.layers, r.flags.where(name, ""));
    const auto given = r.flags.integer("--num-layers", 1, kMaxLayers);
    if (given && *given != m.layers) {
        r.warn(fmt::format("{} gives {} layers; --num-layers {} is ignored", name, m.layers, *given));
    }
}

void resolve_activation(Resolution& r) {
    ModelShape& m = r.job.model;
    std::string flag;
    const auto choose = [&](const char* name, Activation activation) {
        if (!r.flags.has(name))
            return;
        if (!flag.empty())
            r.flags.fail(name, fmt::format("excludes {}", flag));
        flag = name;
        m.activation = activation;
    };
    choose("--swiglu", Activation::swiglu);
    choose("--quick-geglu", Activation::geglu);
    choose("--squared-relu", Activation::squared_relu);
    if (const auto glu = r.flags.text("--glu-activation")) {
        flag = "--glu-activation";
        m.activation = *glu == "swiglu" ? Activation::swiglu : Activation::geglu;
    }
    r.note("model.activation", std::string(to_string(m.activation)), r.flags.where(flag, "Megatron default"));
}

// R1: 4 h, or with a gated SiLU MLP two thirds of it, down to a multiple of 64.
void resolve_ffn(Resolution& r) {
    ModelShape& m = r.job.model;
    const std::string_view flag = "--ffn-hidden-size";
    if (r.flags.has(flag)) {
        m.ffn_hidden = r.integer(flag, 1, 8 * kMaxHidden, 0);
        r.note("model.ffn_hidden", m.ffn_hidden, r.flags.where(flag, ""));
        return;
    }
    const bool swiglu = m.activation == Activation::swiglu;
    m.ffn_hidden =
        swiglu ? static_cast<int>(static_cast<std::int64_t>(m.hidden) * 8 / 3 / 64 * 64) : 4 * m.hidden;
    r.note("model.ffn_hidden", m.ffn_hidden,
           swiglu ? "derived: floor(8/3 hidden / 64) x 64" : "derived: 4 x hidden");
}

// R2, R3.
void resolve_heads(Resolution& r) {
    ModelShape& m = r.job.model;
    m.heads = required(r, "model.heads", "--num-attention-heads", 65'536);
    if (r.flags.has("--kv-channels")) {
        m.head_dim = r.integer("--kv-channels", 1, 65'536, 0);
        r.note("model.head_dim", m.head_dim, r.flags.where("--kv-channels", ""));
    } else if (m.heads > 0 && m.hidden > 0) {
        m.head_dim = m.hidden / m.heads;
        r.note("model.head_dim", m.head_dim, "derived: hidden / heads");
        if (m.hidden % m.heads != 0) {
            r.flags.fail("--hidden-size",
                         fmt::format("{} is not divisible by --num-attention-heads {}", m.hidden, m.heads),
                         fmt::format("nearest: {} or {}; or give --kv-channels", m.head_dim * m.heads,
                                     (m.head_dim + 1) * m.heads));
        }
    }
    m.query_groups = m.heads;
    std::string origin = "derived: = heads (no --group-query-attention)";
    if (r.flags.has("--group-query-attention")) {
        m.query_groups = r.integer("--num-query-groups", 1, 65'536, 1);
        origin = r.flags.where("--num-query-groups", "Megatron default");
        if (m.heads > 0 && m.heads % m.query_groups != 0) {
            r.flags.fail("--num-query-groups",
                         fmt::format("{} does not divide --num-attention-heads {}", m.query_groups, m.heads));
        }
    } else if (r.flags.text("--attention-head-type") == std::optional<std::string>("multiquery")) {
        m.query_groups = 1;
        origin = r.flags.where("--attention-head-type", "");
    } else if (r.flags.has("--num-query-groups")) {
        r.warn("--num-query-groups has no effect without --group-query-attention: Megatron-LM ignores it");
    }
    r.note("model.query_groups", m.query_groups, origin);
    if (r.flags.has("--multi-latent-attention") && r.flags.has("--group-query-attention")) {
        r.flags.fail("--multi-latent-attention", "excludes --group-query-attention"); // R5
    }
}

void resolve_sequence(Resolution& r) {
    ModelShape& m = r.job.model;
    const std::string_view flag = r.flags.has("--seq-length") || !r.flags.has("--encoder-seq-length")
                                      ? "--seq-length"
                                      : "--encoder-seq-length";
    m.seq_len = required(r, "model.seq_len", flag, kMaxSequence);
    m.max_positions = required(r, "model.max_positions", "--max-position-embeddings", kMaxSequence);
    if (m.seq_len > 0 && m.max_positions > 0 && m.max_positions < m.seq_len) { // R16
        r.flags.fail("--max-position-embeddings",
                     fmt::format("{} is less than --seq-length {}", m.max_positions, m.seq_len),
                     fmt::format("add --max-position-embeddings {}", m.seq_len));
    }
}

void resolve_positions(Resolution& r) {
    ModelShape& m = r.job.model;
    std::string kind = r.flags.text("--position-embedding-type").value_or("learned_absolute");
    std::string_view flag = "--position-embedding-type";
    if (r.flags.has("--use-rotary-position-embeddings")) {
        kind = "rope";
        flag = "--use-rotary-position-embeddings";
    }
    if (r.flags.has("--no-position-embedding")) {
        kind = kind == "learned_absolute" ? "none" : kind;
        flag = "--no-position-embedding";
    }
    m.learned_positions = kind == "learned_absolute";
    m.rotary = kind == "rope" || kind == "yarn" || kind == "mrope";
    r.note("model.position_embedding", kind, r.flags.where(flag, "Megatron default"));
    if (kind == "relative")
        r.refuse("--position-embedding-type relative: the bias table of T5 is not built");
}

struct Vocabulary {
    std::int64_t size = 0;
    std::string origin;
};

// Vocabulary of the tokenizer, where the flags do not state it: its files are not read.
Vocabulary vocabulary_of_tokenizer(Resolution& r) {
    const std::string type = r.flags.text("--tokenizer-type").value_or("");
    if (type == "GPT2BPETokenizer")
        return {50257, "GPT-2 byte-pair vocabulary (--tokenizer-type GPT2BPETokenizer)"};
    const std::string model = r.flags.text("--tokenizer-model").value_or("");
    if (const CatalogueModel* found = find_model(model)) {
        for (const auto& [flag, value] : found->flags) {
            if (flag == "--vocab-size")
                return {parse_python_int(value).value_or(0), "tokenizer of " + found->id};
        }
    }
    if (type == "Llama2Tokenizer")
        return {32000, "Llama 2 vocabulary (--tokenizer-type Llama2Tokenizer)"};
    return {};
}

// R13: padded to a multiple of make-vocab-size-divisible-by x TP.
void pad_vocabulary(Resolution& r, std::int64_t vocab) {
    ModelShape& m = r.job.model;
    const std::int64_t unit = r.integer("--make-vocab-size-divisible-by", 1, 1'000'000, 128);
    const std::int64_t tp = r.job.parallel.tp;
    if (r.flags.has("--no-pad-vocab-size")) {
        m.padded_vocab = m.vocab;
        r.note("model.padded_vocab", m.padded_vocab, r.flags.where("--no-pad-vocab-size", ""));
        return;
    }
    const std::int64_t multiple = unit * tp;
    const std::int64_t padded = (vocab + multiple - 1) / multiple * multiple;
    if (padded > std::numeric_limits<int>::max())
        return;
    m.padded_vocab = static_cast<int>(padded);
    r.note("model.padded_vocab", m.padded_vocab,
           fmt::format("derived: up to a multiple of {} x {}", unit, tp));
}

void resolve_vocabulary(Resolution& r) {
    ModelShape& m = r.job.model;
    const auto given = r.flags.integer("--vocab-size", 1, kMaxVocab);
    Vocabulary vocabulary{given.value_or(0), r.flags.where("--vocab-size", "")};
    if (r.flags.has("--padded-vocab-size")) {
        m.padded_vocab = r.integer("--padded-vocab-size", 1, kMaxVocab, 0);
        m.vocab = given ? static_cast<int>(*given) : m.padded_vocab;
        r.note("model.vocab", m.vocab, r.flags.where(given ? "--vocab-size" : "--padded-vocab-size", ""));
        r.note("model.padded_vocab", m.padded_vocab, r.flags.where("--padded-vocab-size", ""));
        if (m.padded_vocab > 0 && m.vocab > m.padded_vocab) {
            r.flags.fail("--padded-vocab-size",
                         fmt::format("{} is less than --vocab-size {}", m.padded_vocab, m.vocab));
        }
        return;
    }
    if (!r.flags.has("--vocab-size")) {
        vocabulary = vocabulary_of_tokenizer(r);
        if (vocabulary.size == 0) {
            r.flags.fail("--vocab-size", "missing, and tokenizer files are not read",
                         "add --vocab-size N (before padding)");
            return;
        }
        r.warn(fmt::format("vocabulary of {} assumed from the tokenizer: its files are not read",
                           vocabulary.size));
    }
    vocabulary.size += r.integer("--vocab-extra-ids", 0, kMaxVocab, 0);
    m.vocab = static_cast<int>(vocabulary.size);
    r.note("model.vocab", m.vocab, vocabulary.origin);
    pad_vocabulary(r, vocabulary.size);
}

} // namespace

void resolve_model(Resolution& r) {
    ModelShape& m = r.job.model;
    resolve_layers(r);
    m.hidden = required(r, "model.hidden", "--hidden-size", kMaxHidden);
    resolve_activation(r);
    resolve_ffn(r);
    resolve_heads(r);
    resolve_sequence(r);
    resolve_vocabulary(r);
    resolve_positions(r);
    if (r.flags.text("--normalization") == std::optional<std::string>("RMSNorm"))
        m.normalization = Normalization::rms_norm;
    r.note("model.normalization", std::string(to_string(m.normalization)),
           r.flags.where("--normalization", "Megatron default"));
    m.bias_linear = !r.flags.has("--disable-bias-linear");
    r.note_flag("model.bias_linear", m.bias_linear,
                r.flags.where("--disable-bias-linear", "Megatron default"));
    m.qkv_bias = r.flags.has("--add-qkv-bias");
    r.note_flag("model.qkv_bias", m.qkv_bias, r.flags.where("--add-qkv-bias", "Megatron default"));
    m.qk_layernorm = r.flags.has("--qk-layernorm");
    r.note_flag("model.qk_layernorm", m.qk_layernorm, r.flags.where("--qk-layernorm", "Megatron default"));
    m.tied_embeddings = !r.flags.has("--untie-embeddings-and-output-weights");
    r.note_flag("model.tied_embeddings", m.tied_embeddings,
                r.flags.where("--untie-embeddings-and-output-weights", "Megatron default"));
    m.attention_dropout = r.flags.real("--attention-dropout", 0, 1).value_or(0.1);
    r.note("model.attention_dropout", fmt::format("{}", m.attention_dropout),
           r.flags.where("--attention-dropout", "Megatron default"));
    m.hidden_dropout = r.flags.real("--hidden-dropout", 0, 1).value_or(0.1);
    r.note("model.hidden_dropout", fmt::format("{}", m.hidden_dropout),
           r.flags.where("--hidden-dropout", "Megatron default"));
}

} // namespace echosim
