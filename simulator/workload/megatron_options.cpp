// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/megatron_options.h"

#include "embedded/megatron_option_tables.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <unordered_map>

namespace echosim {

namespace {

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = text.find(separator, begin);
        parts.emplace_back(text.substr(begin, end - begin));
        if (end == std::string_view::npos)
            return parts;
        begin = end + 1;
    }
}

// Column "type": switch, switch_off, int, float, str, bool or pattern, with + * 3 for lists.
void set_type(MegatronOption& option, std::string type) {
    option.arity = Arity::one;
    if (type.back() == '+')
        option.arity = Arity::at_least_one;
    if (type.back() == '*')
        option.arity = Arity::any;
    if (type.back() == '3')
        option.arity = Arity::three;
    if (option.arity != Arity::one)
        type.pop_back();
    if (type == "switch" || type == "switch_off") {
        option.kind = type == "switch" ? ValueKind::toggle_on : ValueKind::toggle_off;
        option.arity = Arity::none;
        return;
    }
    static const std::unordered_map<std::string, ValueKind> kinds = {{"int", ValueKind::integer},
                                                                     {"float", ValueKind::real},
                                                                     {"str", ValueKind::text},
                                                                     {"bool", ValueKind::boolean},
                                                                     {"pattern", ValueKind::pattern}};
    const auto found = kinds.find(type);
    ECHOSIM_CHECK(found != kinds.end(), "option table: unknown type " + type);
    option.kind = found->second;
}

OptionVerdict verdict_from(const std::string& text) {
    static const std::unordered_map<std::string, OptionVerdict> verdicts = {
        {"modelled", OptionVerdict::modelled},
        {"harmless", OptionVerdict::harmless},
        {"not-modelled", OptionVerdict::not_modelled},
        {"layout", OptionVerdict::layout},
        {"removed", OptionVerdict::removed}};
    const auto found = verdicts.find(text);
    ECHOSIM_CHECK(found != verdicts.end(), "option table: unknown verdict " + text);
    return found->second;
}

std::string text_or_empty(const std::string& cell) {
    return cell == "-" ? std::string() : cell;
}

MegatronOption option_of(const std::vector<std::string>& cells, bool fork) {
    ECHOSIM_CHECK(cells.size() == (fork ? 5U : 6U), "option table: wrong number of columns at " + cells[0]);
    MegatronOption option;
    option.names = split(cells[0], ',');
    set_type(option, cells[1]);
    if (fork) {
        option.becomes = text_or_empty(cells[2]);
    } else {
        option.default_value = text_or_empty(cells[2]);
        if (cells[3] != "-")
            option.choices = split(cells[3], '|');
    }
    option.verdict = verdict_from(cells[fork ? 3 : 4]);
    option.note = text_or_empty(cells[fork ? 4 : 5]);
    return option;
}

std::vector<MegatronOption> read_table(std::string_view text, bool fork) {
    std::vector<MegatronOption> options;
    for (const std::string& line : split(text, '\n')) {
        if (!line.empty() && line[0] != '#')
            options.push_back(option_of(split(line, '\t'), fork));
    }
    return options;
}

using NameIndex = std::unordered_map<std::string_view, const MegatronOption*>;

const NameIndex& name_index() {
    static const NameIndex index = [] {
        NameIndex all;
        for (const auto* table : {&fork_options(), &megatron_options()}) {
            for (const MegatronOption& option : *table) {
                for (const std::string& name : option.names)
                    all.emplace(name, &option);
            }
        }
        return all;
    }();
    return index;
}

} // namespace

const std::vector<MegatronOption>& megatron_options() {
    static const std::vector<MegatronOption> options = read_table(embedded::kMegatronOptions, false);
    return options;
}

const std::vector<MegatronOption>& fork_options() {
    static const std::vector<MegatronOption> options = read_table(embedded::kMegatronForkOptions, true);
    return options;
}

const MegatronOption* find_option(std::string_view name) {
    const auto found = name_index().find(name);
    return found == name_index().end() ? nullptr : found->second;
}

std::optional<std::string> nearest_option(std::string_view name) {
    constexpr std::size_t kMaxDistance = 2;
    std::size_t best = kMaxDistance + 1;
    std::optional<std::string> nearest;
    for (const auto* table : {&megatron_options(), &fork_options()}) {
        for (const MegatronOption& option : *table) {
            for (const std::string& known : option.names) {
                const std::size_t difference =
                    std::max(known.size(), name.size()) - std::min(known.size(), name.size());
                if (difference >= best)
                    continue;
                const std::size_t distance = edit_distance(known, name);
                if (distance >= best)
                    continue;
                best = distance;
                nearest = known;
            }
        }
    }
    return nearest;
}

} // namespace echosim
