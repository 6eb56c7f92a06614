// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The options of Megatron-LM's command line (megatron_options.tsv) and the old and fork names that scripts
// carry (megatron_fork_options.tsv), with what echosim does about each.
namespace echosim {

enum class ValueKind : std::uint8_t { toggle_on, toggle_off, integer, real, text, boolean, pattern };
enum class Arity : std::uint8_t { none, one, three, at_least_one, any };

// What echosim does with an option. `layout` is not modelled and the graph would be wrong without it;
// `removed` is an option that Megatron-LM itself refuses now.
enum class OptionVerdict : std::uint8_t { modelled, harmless, not_modelled, layout, removed };

struct MegatronOption {
    std::vector<std::string> names; // the first one is the canonical spelling
    ValueKind kind = ValueKind::text;
    Arity arity = Arity::one;
    std::string default_value;        // empty = None
    std::vector<std::string> choices; // empty = anything of the kind
    OptionVerdict verdict = OptionVerdict::harmless;
    std::string note;
    std::string becomes; // fork and old names: Megatron flags that mean the same, "$" is the value
};

const std::vector<MegatronOption>& megatron_options();
const std::vector<MegatronOption>& fork_options();

// By any of its names; old and fork names win where both tables have one. nullptr when unknown.
const MegatronOption* find_option(std::string_view name);

// The known name within edit distance 2 of an unknown one, if there is one.
std::optional<std::string> nearest_option(std::string_view name);

} // namespace echosim
