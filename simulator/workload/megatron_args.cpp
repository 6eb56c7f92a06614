// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/megatron_args.h"

#include "simulator/core/error.h"
#include "simulator/workload/megatron_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <optional>

namespace echosim {
namespace {

// What argparse takes for an option: "--name", or "-x" that is no number.
bool looks_like_flag(const std::string& word) {
    if (word.size() < 2 || word[0] != '-' || word.find(' ') != std::string::npos)
        return false;
    const char second = word[1];
    return !(std::isdigit(static_cast<unsigned char>(second)) != 0 || second == '.');
}

std::string kind_in_words(const MegatronOption& option) {
    switch (option.kind) {
    case ValueKind::integer:
        return "a whole number";
    case ValueKind::real:
        return "a number";
    case ValueKind::boolean:
        return "true or false";
    case ValueKind::pattern:
        return "a number or a list expression such as ([0]*3+[1]*58)";
    default:
        return "a value";
    }
}

std::string expected_values(const MegatronOption& option) {
    if (option.arity == Arity::three)
        return "three values";
    if (!option.choices.empty())
        return fmt::format("one of {}", fmt::join(option.choices, ", "));
    return kind_in_words(option);
}

// Reads one flag after the other from the words.
class FlagSplitter {
  public:
    explicit FlagSplitter(const std::vector<FlagWord>& words) : words_(words) {}

    std::vector<Flag> split() {
        while (next_ < words_.size()) {
            if (looks_like_flag(words_[next_].text))
                read_flag();
            else
                stray_word();
            if (flags_.size() > kMaxFlags || problems_.size() > kMaxFlags)
                throw InputError(words_[next_ - 1].origin,
                                 fmt::format("too many flags: one job may have {}", kMaxFlags));
        }
        if (!problems_.empty())
            throw InputError(std::move(problems_));
        return std::move(flags_);
    }

  private:
    void stray_word() {
        const FlagWord& word = words_[next_++];
        std::string after;
        if (!flags_.empty())
            after = fmt::format(" (after {})", flags_.back().name);
        problems_.push_back({word.origin, fmt::format("\"{}\" belongs to no flag{}", word.text, after),
                             "a switch takes no value; write a value with spaces in quotes"});
    }

    void read_flag() {
        const FlagWord& word = words_[next_++];
        Flag flag;
        flag.origin = word.origin;
        const std::size_t equals = word.text.find('=');
        flag.name = word.text.substr(0, equals);
        const MegatronOption* option = find_option(flag.name);
        if (equals != std::string::npos) {
            flag.values.push_back(word.text.substr(equals + 1));
            if (option != nullptr && option->arity == Arity::none) {
                problems_.push_back({flag.origin,
                                     fmt::format("{} takes no value, read \"{}\"", flag.name, flag.values[0]),
                                     {}});
            }
            flags_.push_back(std::move(flag));
            return;
        }
        read_values(flag, option);
        flags_.push_back(std::move(flag));
    }

    void read_values(Flag& flag, const MegatronOption* option) {
        const Arity arity = option == nullptr ? Arity::any : option->arity;
        std::size_t limit = words_.size();
        if (arity == Arity::none)
            limit = 0;
        if (arity == Arity::one)
            limit = 1;
        if (arity == Arity::three)
            limit = 3;
        while (flag.values.size() < limit && next_ < words_.size() && !looks_like_flag(words_[next_].text)) {
            flag.values.push_back(words_[next_++].text);
        }
        const bool missing = (arity == Arity::one || arity == Arity::at_least_one) && flag.values.empty();
        if (missing || (arity == Arity::three && flag.values.size() < 3)) {
            const std::string next = next_ < words_.size() ? fmt::format(", found {}", words_[next_].text)
                                                           : std::string(", found the end");
            problems_.push_back(
                {flag.origin, fmt::format("{} needs {}{}", flag.name, expected_values(*option), next), {}});
        }
    }

    const std::vector<FlagWord>& words_;
    std::size_t next_ = 0;
    std::vector<Flag> flags_;
    std::vector<Problem> problems_;
};

// A key of `show job` and the flag that sets it. `inverse`: the flag is the negation of the key.
struct KeyFlag {
    const char* key;
    const char* flag;
    bool inverse = false;
};

constexpr std::array kKeyFlags = {
    KeyFlag{"model.layers", "--num-layers"},
    KeyFlag{"model.hidden", "--hidden-size"},
    KeyFlag{"model.ffn_hidden", "--ffn-hidden-size"},
    KeyFlag{"model.heads", "--num-attention-heads"},
    KeyFlag{"model.query_groups", "--num-query-groups"},
    KeyFlag{"model.head_dim", "--kv-channels"},
    KeyFlag{"model.seq_len", "--seq-length"},
    KeyFlag{"model.max_positions", "--max-position-embeddings"},
    KeyFlag{"model.vocab", "--vocab-size"},
    KeyFlag{"model.padded_vocab", "--padded-vocab-size"},
    KeyFlag{"model.normalization", "--normalization"},
    KeyFlag{"model.bias_linear", "--disable-bias-linear", true},
    KeyFlag{"model.qkv_bias", "--add-qkv-bias"},
    KeyFlag{"model.qk_layernorm", "--qk-layernorm"},
    KeyFlag{"model.tied_embeddings", "--untie-embeddings-and-output-weights", true},
    KeyFlag{"model.attention_dropout", "--attention-dropout"},
    KeyFlag{"model.hidden_dropout", "--hidden-dropout"},
    KeyFlag{"model.experts", "--num-experts"},
    KeyFlag{"model.expert_ffn_hidden", "--moe-ffn-hidden-size"},
    KeyFlag{"model.experts_per_token", "--moe-router-topk"},
    KeyFlag{"model.shared_expert_ffn_hidden", "--moe-shared-expert-intermediate-size"},
    KeyFlag{"parallel.tp", "--tensor-model-parallel-size"},
    KeyFlag{"parallel.pp", "--pipeline-model-parallel-size"},
    KeyFlag{"parallel.vpp", "--num-virtual-stages-per-pipeline-rank"},
    KeyFlag{"parallel.cp", "--context-parallel-size"},
    KeyFlag{"parallel.ep", "--expert-model-parallel-size"},
    KeyFlag{"parallel.etp", "--expert-tensor-parallel-size"},
    KeyFlag{"parallel.sequence_parallel", "--sequence-parallel"},
    KeyFlag{"parallel.tp_pp_dp_order", "--use-tp-pp-dp-mapping"},
    KeyFlag{"parallel.microbatch_group", "--microbatch-group-size-per-virtual-pipeline-stage"},
    KeyFlag{"batch.micro", "--micro-batch-size"},
    KeyFlag{"batch.global", "--global-batch-size"},
    KeyFlag{"batch.seq_len", "--seq-length"},
    KeyFlag{"recompute.granularity", "--recompute-granularity"},
    KeyFlag{"recompute.method", "--recompute-method"},
    KeyFlag{"recompute.num_layers", "--recompute-num-layers"},
    KeyFlag{"recompute.modules", "--recompute-modules"},
    KeyFlag{"recompute.distribute_saved_activations", "--distribute-saved-activations"},
    KeyFlag{"data_parallel.distributed_optimizer", "--use-distributed-optimizer"},
    KeyFlag{"data_parallel.overlap_grad_reduce", "--overlap-grad-reduce"},
    KeyFlag{"data_parallel.overlap_param_gather", "--overlap-param-gather"},
    KeyFlag{"data_parallel.align_grad_reduce", "--no-align-grad-reduce", true},
    KeyFlag{"data_parallel.average_in_collective", "--ddp-average-in-collective"},
    KeyFlag{"data_parallel.optimizer_instances", "--num-distributed-optimizer-instances"},
    KeyFlag{"data_parallel.bucket_size", "--ddp-bucket-size"},
    KeyFlag{"precision.grads_in_fp32", "--grad-reduce-in-bf16", true},
    KeyFlag{"kernels.attention", "--attention-backend"},
    KeyFlag{"kernels.masked_softmax_fusion", "--no-masked-softmax-fusion", true},
    KeyFlag{"kernels.bias_dropout_fusion", "--no-bias-dropout-fusion", true},
    KeyFlag{"kernels.gradient_accumulation_fusion", "--no-gradient-accumulation-fusion", true},
    KeyFlag{"kernels.rope_fusion", "--no-rope-fusion", true},
    KeyFlag{"kernels.cross_entropy_fusion", "--cross-entropy-loss-fusion"},
    KeyFlag{"kernels.overlap_p2p", "--no-overlap-p2p-communication", true},
    KeyFlag{"kernels.tp_async_allreduce", "--no-async-tensor-model-parallel-allreduce", true},
    KeyFlag{"kernels.cuda_graphs", "--cuda-graph-impl"},
    KeyFlag{"clip_grad", "--clip-grad"},
};

std::optional<bool> boolean_from(const std::string& text) {
    if (text == "true" || text == "1" || text == "on")
        return true;
    if (text == "false" || text == "0" || text == "off")
        return false;
    return std::nullopt;
}

std::vector<std::string> split_at_commas(const std::string& text) {
    std::vector<std::string> parts;
    std::string part;
    for (const char c : text) {
        if (c == ',' || c == ' ') {
            if (!part.empty())
                parts.push_back(std::move(part));
            part.clear();
        } else {
            part += c;
        }
    }
    if (!part.empty())
        parts.push_back(std::move(part));
    return parts;
}

Flag switch_for_key(const KeyFlag& entry, const std::string& key, const std::string& value) {
    const auto on = boolean_from(value);
    if (!on)
        throw InputError("--set job." + key, fmt::format("read \"{}\"", value), "true or false");
    return Flag{entry.flag, {*on != entry.inverse ? "true" : "false"}, "--set"};
}

} // namespace

std::vector<Flag> parse_flags(const std::vector<FlagWord>& words) {
    return FlagSplitter(words).split();
}

std::vector<Flag> parse_flags(const std::vector<std::string>& words, const std::string& origin) {
    std::vector<FlagWord> placed;
    placed.reserve(words.size());
    for (const std::string& word : words)
        placed.push_back({word, origin});
    return parse_flags(placed);
}

Flag flag_for_key(const std::string& key, const std::string& value) {
    if (key == "precision.compute" && (value == "bf16" || value == "fp16"))
        return Flag{"--" + value, {"true"}, "--set"};
    if (key == "parallel.world_size" || key == "parallel.dp") {
        throw InputError("--set job." + key, "is not set directly", "set the number of GPUs with --gpus N");
    }
    if (key == "kernels.cuda_graphs" && boolean_from(value)) {
        return Flag{"--cuda-graph-impl", {*boolean_from(value) ? "local" : "none"}, "--set"};
    }
    const auto* entry =
        std::find_if(kKeyFlags.begin(), kKeyFlags.end(), [&](const KeyFlag& k) { return key == k.key; });
    if (entry == kKeyFlags.end()) {
        std::vector<std::string> keys;
        for (const KeyFlag& k : kKeyFlags)
            keys.emplace_back(k.key);
        throw InputError("--set job." + key, "no such key",
                         fmt::format("one of {}, precision.compute", fmt::join(keys, ", ")));
    }
    const MegatronOption* option = find_option(entry->flag);
    ECHOSIM_CHECK(option != nullptr, entry->flag);
    if (option->arity == Arity::none)
        return switch_for_key(*entry, key, value);
    if (option->arity == Arity::one)
        return Flag{entry->flag, {value}, "--set"};
    return Flag{entry->flag, split_at_commas(value), "--set"};
}

} // namespace echosim
