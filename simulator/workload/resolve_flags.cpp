// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/resolve_flags.h"

#include "simulator/workload/megatron_options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>

namespace echosim {
namespace {

constexpr int kMaxSearches = 100; // each compares the name with all options

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Removes underscores between digits; nullopt when one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
    std::string clean;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_') {
            clean += text[i];
        } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
            return std::nullopt;
        }
    }
    return clean;
}

bool is_list_expression(const std::string& text) {
    std::string open;
    for (const char c : text) {
        if (c == '(' || c == '[')
            open += c;
        if (c == ')' || c == ']') {
            if (open.empty() || (open.back() == '(') != (c == ')'))
                return false;
            open.pop_back();
        }
        if (!is_digit(c) && std::string_view("[]()*+, ").find(c) == std::string_view::npos)
            return false;
    }
    return open.empty() && !text.empty();
}

bool has_kind(const std::string& value, ValueKind kind) {
    switch (kind) {
    case ValueKind::integer:
        return parse_python_int(value).has_value();
    case ValueKind::real:
        return parse_python_float(value).has_value();
    case ValueKind::pattern:
        return is_list_expression(value);
    default:
        return true;
    }
}

std::string kind_name(ValueKind kind) {
    switch (kind) {
    case ValueKind::integer:
        return "a whole number";
    case ValueKind::real:
        return "a number";
    case ValueKind::pattern:
        return "a number or a list expression such as ([0]*3+[1]*58)";
    default:
        return "a text";
    }
}

bool same_value(const std::string& a, const std::string& b) {
    if (a == b)
        return true;
    const auto x = parse_python_float(a);
    const auto y = parse_python_float(b);
    return x && y && *x == *y;
}

std::string joined(const std::vector<std::string>& values) {
    return fmt::format("{}", fmt::join(values, " "));
}

// --set over the command line over a file over the catalogue.
int strength(const std::string& origin) {
    if (origin.rfind("--set", 0) == 0)
        return 3;
    if (origin.rfind("command line", 0) == 0)
        return 2;
    return origin.rfind("catalogue", 0) == 0 ? 0 : 1;
}

std::string verdict_name(OptionVerdict verdict) {
    switch (verdict) {
    case OptionVerdict::modelled:
        return "modelled";
    case OptionVerdict::harmless:
        return "harmless";
    default:
        return "not modelled";
    }
}

// Megatron's default written out, or a value that turns the feature off: nothing is lost.
bool has_no_effect(const Flag& flag, const MegatronOption& option) {
    if (option.arity == Arity::none)
        return false;
    const std::string value = joined(flag.values);
    if (!option.default_value.empty() && same_value(value, option.default_value))
        return true;
    if (option.kind == ValueKind::integer && (value == "0" || value.empty()))
        return true;
    return flag.name == "--pipeline-model-parallel-comm-backend" && value == "nccl";
}

// The name under which the value of an option is kept: of a fork's option the one that it becomes.
std::string kept_name(const MegatronOption& option) {
    const std::size_t value = option.becomes.find("=$");
    if (value == std::string::npos)
        return option.names[0];
    const std::size_t begin = option.becomes.rfind(' ', value) + 1; // npos + 1 is 0
    return find_option(option.becomes.substr(begin, value - begin))->names[0];
}

} // namespace

std::optional<std::int64_t> parse_python_int(std::string_view text) {
    const auto clean = without_underscores(text);
    if (!clean || clean->empty())
        return std::nullopt;
    const std::size_t first = (*clean)[0] == '-' || (*clean)[0] == '+' ? 1 : 0;
    if (first == clean->size() ||
        !std::all_of(clean->begin() + static_cast<std::ptrdiff_t>(first), clean->end(), is_digit)) {
        return std::nullopt;
    }
    errno = 0;
    const long long value = std::strtoll(clean->c_str(), nullptr, 10);
    return static_cast<std::int64_t>(value); // saturates: ranges are checked where the value is used
}

std::optional<double> parse_python_float(std::string_view text) {
    const auto clean = without_underscores(text);
    if (!clean || clean->empty())
        return std::nullopt;
    if (clean->find_first_of("xXpP ") != std::string::npos)
        return std::nullopt;
    char* end = nullptr;
    const double value = std::strtod(clean->c_str(), &end);
    if (end != clean->c_str() + clean->size())
        return std::nullopt;
    return value;
}

FlagTable::FlagTable(const JobSource& source, bool strict) {
    if (source.flags.size() > kMaxFlags)
        throw InputError(source.name, fmt::format("too many flags: one job may have {}", kMaxFlags));
    for (const Flag& flag : source.flags)
        add(flag, strict);
    raise_open();
    judge();
}

// True when the value is not known: what then counts is a later flag, or else it is a problem.
bool FlagTable::add_open(const Flag& flag, const MegatronOption& option) {
    const std::string name = kept_name(option);
    open_.erase(name);
    if (!flag.unknown.empty())
        open_[name] = flag;
    return !flag.unknown.empty();
}

void FlagTable::raise_open() {
    for (const auto& [name, flag] : open_) {
        problems.push_back(
            {flag.origin, flag.unknown,
             fmt::format("set it in the script, or give {} on the command line after --", name)});
    }
    if (!open_.empty())
        throw InputError(std::move(problems));
}

void FlagTable::add(const Flag& flag, bool strict) {
    const MegatronOption* option = find_option(flag.name);
    if (option == nullptr) {
        add_unknown(flag, strict);
        return;
    }
    const std::string& name = option->names[0];
    written_.erase(std::remove_if(written_.begin(), written_.end(),
                                  [&](const Flag& f) { return find_option(f.name) == option; }),
                   written_.end());
    if (add_open(flag, *option))
        return;
    if (unset_by_value(flag, *option)) {
        flags_.erase(name);
        return;
    }
    Flag kept = flag;
    if (option->arity == Arity::none && kept.values == std::vector<std::string>{"true"})
        kept.values.clear();
    if (!check_values(kept, *option))
        return;
    written_.push_back(kept);
    if (option->becomes.empty()) {
        kept.name = name;
        flags_[name] = std::move(kept);
    } else {
        add_replacement(kept, *option);
    }
}

void FlagTable::add_unknown(const Flag& flag, bool strict) {
    const bool search = ++searches_ <= kMaxSearches;
    if (const auto near = search ? nearest_option(flag.name) : std::nullopt) {
        problems.push_back({flag.origin, fmt::format("{} is not an option of Megatron-LM", flag.name),
                            fmt::format("did you mean {}?", *near)});
        return;
    }
    const std::string message = fmt::format("{}: not a Megatron-LM option, ignored", flag.name);
    if (strict) {
        problems.push_back({flag.origin, fmt::format("{} is not a Megatron-LM option", flag.name),
                            "without --strict it is ignored with a warning"});
        return;
    }
    warnings.push_back(flag.origin.empty() ? message : flag.origin + ": " + message);
    verdicts.push_back(
        {flag.name, joined(flag.values), "unknown", "not a Megatron-LM option, ignored", flag.origin});
}

// --set job.KEY=false and =none take a flag away again.
bool FlagTable::unset_by_value(const Flag& flag, const MegatronOption& option) {
    if (option.arity == Arity::none)
        return flag.values == std::vector<std::string>{"false"};
    if (flag.origin != "--set" || flag.values != std::vector<std::string>{"none"})
        return false;
    return std::find(option.choices.begin(), option.choices.end(), "none") == option.choices.end();
}

bool FlagTable::check_values(const Flag& flag, const MegatronOption& option) {
    const auto reject = [&](const std::string& message) {
        problems.push_back({flag.origin, flag.name + ": " + message,
                            option.arity == Arity::one ? std::string() : option.note});
        return false;
    };
    if (option.arity == Arity::none && !flag.values.empty()) {
        return reject(fmt::format("takes no value, read \"{}\"", joined(flag.values)));
    }
    if (option.arity == Arity::one && flag.values.size() != 1) {
        return reject(fmt::format("takes one value, read \"{}\"", joined(flag.values)));
    }
    if (option.arity == Arity::three && flag.values.size() != 3) {
        return reject(fmt::format("takes three values, read {}", flag.values.size()));
    }
    for (const std::string& value : flag.values) {
        if (!has_kind(value, option.kind)) {
            return reject(fmt::format("read \"{}\", must be {}", value, kind_name(option.kind)));
        }
        if (!option.choices.empty() &&
            std::find(option.choices.begin(), option.choices.end(), value) == option.choices.end()) {
            return reject(
                fmt::format("read \"{}\", must be one of {}", value, fmt::join(option.choices, ", ")));
        }
    }
    return true;
}

// "--recompute-granularity=full --recompute-num-layers?=1 --num-query-groups=$"
void FlagTable::add_replacement(const Flag& flag, const MegatronOption& option) {
    std::size_t begin = 0;
    const std::string& text = option.becomes;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        std::string word = text.substr(begin, end - begin);
        begin = end + 1;
        const std::size_t equals = word.find('=');
        const bool weak = equals != std::string::npos && word[equals - 1] == '?';
        Flag other{word.substr(0, weak ? equals - 1 : equals), {}, flag.origin};
        if (equals != std::string::npos) {
            std::string value = word.substr(equals + 1);
            other.values.push_back(value == "$" ? joined(flag.values) : value);
        }
        if (weak && has(other.name))
            continue;
        const MegatronOption* target = find_option(other.name);
        ECHOSIM_CHECK(target != nullptr && target->becomes.find(other.name) == std::string::npos,
                      "fork table: bad replacement " + word);
        if (check_values(other, *target))
            flags_[target->names[0]] = std::move(other);
    }
}

// One verdict for each flag as it was written.
void FlagTable::judge() {
    for (const Flag& flag : written_) {
        const MegatronOption& option = *find_option(flag.name);
        const std::string value = joined(flag.values);
        const std::string place = flag.origin.empty() ? std::string() : flag.origin + ": ";
        if (option.verdict == OptionVerdict::removed) {
            problems.push_back({flag.origin, flag.name + " is refused by Megatron-LM", option.note});
            continue;
        }
        const bool lost =
            option.verdict == OptionVerdict::not_modelled || option.verdict == OptionVerdict::layout;
        if (lost && has_no_effect(flag, option)) {
            verdicts.push_back(
                {flag.name, value, "harmless", "the value that Megatron-LM takes anyway", flag.origin});
            continue;
        }
        verdicts.push_back({flag.name, value, verdict_name(option.verdict), option.note, flag.origin});
        const std::string spelled = value.empty() ? flag.name : flag.name + " " + value;
        if (option.verdict == OptionVerdict::not_modelled)
            warnings.push_back(place + spelled + ": " + option.note);
        if (option.verdict == OptionVerdict::layout)
            not_modelled.push_back(spelled + ": " + option.note);
    }
}

const Flag* FlagTable::find(std::string_view name) const {
    const auto found = flags_.find(name);
    return found == flags_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> FlagTable::integer(std::string_view name, std::int64_t low, std::int64_t high) {
    const Flag* flag = find(name);
    if (flag == nullptr)
        return std::nullopt;
    const auto value = parse_python_int(flag->values.at(0));
    if (value && *value >= low && *value <= high)
        return value;
    fail(name, fmt::format("read {}, allowed {} to {}", flag->values[0], low, high));
    return std::nullopt;
}

std::optional<double> FlagTable::real(std::string_view name, double low, double high) {
    const Flag* flag = find(name);
    if (flag == nullptr)
        return std::nullopt;
    const auto value = parse_python_float(flag->values.at(0));
    if (value && *value >= low && *value <= high)
        return value; // a NaN is outside
    fail(name, fmt::format("read {}, allowed {} to {}", flag->values[0], low, high));
    return std::nullopt;
}

std::optional<std::string> FlagTable::text(std::string_view name) const {
    const Flag* flag = find(name);
    if (flag == nullptr || flag->values.empty())
        return std::nullopt;
    return flag->values[0];
}

std::vector<std::string> FlagTable::list(std::string_view name) const {
    const Flag* flag = find(name);
    return flag == nullptr ? std::vector<std::string>() : flag->values;
}

std::string FlagTable::origin(std::string_view name) const {
    const Flag* flag = find(name);
    return flag == nullptr ? std::string() : flag->origin;
}

std::string FlagTable::where(std::string_view name, std::string_view otherwise) const {
    const Flag* flag = find(name);
    if (flag == nullptr)
        return std::string(otherwise);
    return flag->origin.empty() ? std::string(name) : fmt::format("{} {}", flag->origin, name);
}

void FlagTable::keep_strongest(const std::vector<std::string>& exclusive) {
    int strongest = -1;
    for (const std::string& name : exclusive) {
        if (const Flag* flag = find(name))
            strongest = std::max(strongest, strength(flag->origin));
    }
    for (const std::string& name : exclusive) {
        const Flag* flag = find(name);
        if (flag != nullptr && strength(flag->origin) < strongest)
            remove(name);
    }
}

void FlagTable::remove(std::string_view name) {
    const auto found = flags_.find(name);
    if (found != flags_.end())
        flags_.erase(found);
    verdicts.erase(std::remove_if(verdicts.begin(), verdicts.end(),
                                  [&](const FlagVerdict& v) { return v.flag == name; }),
                   verdicts.end());
}

void FlagTable::fail(std::string_view flag, std::string message, std::string hint) {
    problems.push_back({origin(flag), fmt::format("{}: {}", flag, message), std::move(hint)});
}

} // namespace echosim
