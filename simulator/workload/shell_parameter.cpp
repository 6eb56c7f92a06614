// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_run.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>

// ${name}: variables, arrays, positional parameters, and what may stand after the name.
namespace echosim::shell {
namespace {

constexpr std::size_t kLongest = 1'048'576; // longer texts are refused where they are used

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The character class that starts at `begin` ("[a-z]"); npos in `end` when it is not closed.
bool in_class(std::string_view pattern, std::size_t begin, char c, std::size_t& end) {
    std::size_t i = begin + 1;
    const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    if (negated)
        ++i;
    bool found = false;
    for (const std::size_t first = i; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
        if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
            found = found || (pattern[i] <= c && c <= pattern[i + 2]);
            i += 2;
        } else {
            found = found || pattern[i] == c;
        }
    }
    end = i < pattern.size() ? i : std::string_view::npos;
    return found != negated;
}

// Shortest or longest match of a pattern at the start (prefix) or end of a text: its length, or npos.
std::size_t match_length(std::string_view pattern, std::string_view text, bool prefix, bool longest) {
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const std::size_t length = longest ? text.size() - i : i;
        if (matches_pattern(pattern, prefix ? text.substr(0, length) : text.substr(text.size() - length)))
            return length;
    }
    return std::string_view::npos;
}

std::string replaced(const std::string& text, const std::string& pattern, const std::string& with, bool all) {
    std::string out;
    std::size_t i = 0;
    if (pattern.empty())
        return text;
    while (i < text.size()) {
        const std::size_t length = match_length(pattern, std::string_view(text).substr(i), true, true);
        if (length == std::string_view::npos || length == 0) {
            out += text[i++];
            continue;
        }
        out += with;
        i += length;
        if (!all || out.size() > kLongest)
            break;
    }
    return out + text.substr(std::min(i, text.size()));
}

std::string cased(std::string text, const std::string& op) {
    const bool upper = op[0] == '^';
    const std::size_t count = op.size() == 2 ? text.size() : std::min<std::size_t>(1, text.size());
    for (std::size_t i = 0; i < count; ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        text[i] = static_cast<char>(upper ? std::toupper(c) : std::tolower(c));
    }
    return text;
}

} // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (t < text.size()) {
        std::size_t end = p;
        bool fits = false;
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
            continue;
        }
        if (p < pattern.size() && pattern[p] == '[')
            fits = in_class(pattern, p, text[t], end) && end != std::string_view::npos;
        else
            fits = p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]);
        if (fits) {
            p = end + 1;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

std::string Runner::Value::joined() const {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0)
            text += ' ';
        text += items[i].text;
    }
    return text;
}

const Variable* Runner::find(const std::string& name) const {
    const auto found = state_.variables.find(name);
    return found == state_.variables.end() ? nullptr : &found->second;
}

std::string Runner::get(const std::string& name) const {
    return without_line_marks(item_text(name, ""));
}

// The key of a map entry as it is, of an array the number that the expression gives.
std::string Runner::index_key(const Variable& variable, const std::string& index) {
    if (variable.is_map || is_number(index))
        return index;
    const ArithmeticScope scope{
        [&](const std::string& name, const std::string& i) { return item_text(name, i); },
        [](const std::string&, const std::string&, std::int64_t) {}};
    const ArithmeticResult result = evaluate_arithmetic(index, scope);
    if (!result.unknown.empty() || !result.error.empty())
        return "-1";
    const bool from_end = result.value < 0 && !variable.items.empty();
    return std::to_string(from_end ? variable.items.rbegin()->first + 1 + result.value : result.value);
}

std::string Runner::item_text(const std::string& name, const std::string& index) const {
    const Variable* variable = find(name);
    if (variable == nullptr)
        return {};
    if (variable->is_map) {
        const auto entry = variable->entries.find(index);
        return entry == variable->entries.end() ? std::string() : entry->second.text;
    }
    const auto item = variable->items.find(index.empty() ? 0 : std::strtoll(index.c_str(), nullptr, 10));
    return item == variable->items.end() ? std::string() : item->second.text;
}

// Positional and special parameters.
Runner::Value Runner::special(const std::string& name, int line) {
    if (name == "@" || name == "*")
        return {!state_.positional.empty(), name == "@", state_.positional};
    if (name == "#") {
        const bool known = state_.positional_known || arguments_ == Arguments::none;
        return {
            true, false, {{known ? std::to_string(state_.positional.size()) : unknown_mark("$#", line), 0}}};
    }
    if (name == "0")
        return {true, false, {{path_, 0}}};
    if (is_number(name)) {
        const std::size_t index = name.size() > 6 ? 1'000'000 : static_cast<std::size_t>(std::stoul(name));
        if (index <= state_.positional.size())
            return {true, false, {state_.positional[index - 1]}};
        return {};
    }
    if (name == "?")
        return {true, false, {{"0", 0}}};
    return {true, false, {{unknown_mark("$" + name, line), 0}}};
}

Runner::Value Runner::variable_value(const Parameter& parameter, int line) {
    const Variable* variable = find(parameter.name);
    if (variable == nullptr) {
        if (parameter.name == "BASH_SOURCE")
            return {true, false, {{path_, 0}}};
        if (parameter.name == "PWD" && !state_.folder.empty())
            return {true, false, {{state_.folder, 0}}};
        return {};
    }
    if (!parameter.has_index) {
        const auto first = variable->items.find(0);
        if (first == variable->items.end())
            return {};
        return {true, false, {first->second}};
    }
    const std::string index = plain(*parameter.index);
    if (index == "@" || index == "*") {
        Value all{!variable->items.empty() || !variable->entries.empty(), index == "@", {}};
        for (const auto& [key, field] : variable->items)
            all.items.push_back(field);
        for (const auto& [key, field] : variable->entries)
            all.items.push_back(field);
        return all;
    }
    if (has_unknown(index))
        return {true, false, {{unknown_mark(fmt::format("${{{}[...]}}", parameter.name), line), 0}}};
    if (variable->is_map) {
        const auto entry = variable->entries.find(index);
        return entry == variable->entries.end() ? Value{} : Value{true, false, {entry->second}};
    }
    const auto item = variable->items.find(std::strtoll(index_key(*variable, index).c_str(), nullptr, 10));
    return item == variable->items.end() ? Value{} : Value{true, false, {item->second}};
}

Runner::Value Runner::lookup(const Parameter& parameter, int line) {
    const bool is_variable =
        std::isalpha(static_cast<unsigned char>(parameter.name[0])) != 0 || parameter.name[0] == '_';
    Value value = is_variable ? variable_value(parameter, line) : special(parameter.name, line);
    if (!parameter.indirect)
        return value;
    if (parameter.has_index) { // ${!array[@]}: its keys
        Value keys{true, true, {}};
        if (const Variable* variable = find(parameter.name)) {
            for (const auto& [key, field] : variable->items)
                keys.items.push_back({std::to_string(key), line});
            for (const auto& [key, field] : variable->entries)
                keys.items.push_back({key, line});
        }
        return keys;
    }
    Parameter target;
    target.name = without_line_marks(value.joined());
    if (target.name.empty() || has_unknown(target.name))
        return {true, false, {{unknown_mark("${!" + parameter.name + "}", line), 0}}};
    return lookup(target, line);
}

bool Runner::is_null(const Value& value) const {
    return without_line_marks(without_unset(value.joined())).empty();
}

Runner::Value Runner::expand(const Parameter& parameter, int line) {
    Value value = lookup(parameter, line);
    const std::string& op = parameter.op;
    if (parameter.length) {
        const bool counts = parameter.has_index || parameter.name == "@" || parameter.name == "*";
        const std::string text = without_line_marks(value.joined());
        if (has_unknown(text))
            return {true, false, {{unknown_mark("${#" + parameter.name + "}", line), 0}}};
        return {true, false, {{std::to_string(counts ? value.items.size() : text.size()), line}}};
    }
    if (op == "-" || op == ":-" || op == "=" || op == ":=" || op == "+" || op == ":+" || op == "?" ||
        op == ":?") {
        return with_default(parameter, std::move(value), line);
    }
    if (!value.set && !parameter.indirect && !value.list && parameter.name != "*" && parameter.name != "@") {
        const bool positional = is_number(parameter.name);
        const bool empty = (positional && state_.positional_known) ||
                           (parameter.has_index && find(parameter.name) != nullptr);
        if (empty)
            return {true, false, {{"", line}}};
        const Parameter& p = parameter;
        if (p.has_index && find(p.name) == nullptr && (plain(*p.index) == "@" || plain(*p.index) == "*"))
            return {false, true, {}};
        const bool unset = !positional || arguments_ == Arguments::none;
        return {false, false, {{unknown_mark("$" + parameter.name, line, unset), line}}};
    }
    if (op.empty() || op == "@")
        return value;
    if (op == ":" && (value.list || parameter.name == "*"))
        return slice(parameter, value);
    for (Field& item : value.items)
        item.text = transformed(parameter, item.text, line);
    return value;
}

Runner::Value Runner::with_default(const Parameter& parameter, Value value, int line) {
    const std::string& op = parameter.op;
    const bool missing = !value.set || (op[0] == ':' && is_null(value));
    const auto argument = [&] { return Value{true, false, {{text(*parameter.argument), line}}}; };
    switch (op.back()) {
    case '+':
        return missing ? Value{true, false, {}} : argument();
    case '?':
        if (missing && state_.positional_known)
            fail(line, fmt::format("${} is not set: {}", parameter.name, plain(*parameter.argument)));
        return missing ? Value{false, false, {{unknown_mark("$" + parameter.name, line), line}}} : value;
    case '=':
        if (!missing)
            return value;
        value = argument();
        state_.variables[parameter.name].items[0] = value.items[0];
        return value;
    default:
        return missing ? argument() : value;
    }
}

std::string Runner::transformed(const Parameter& parameter, const std::string& value, int line) {
    const std::string plain_value = without_line_marks(value);
    const std::string& op = parameter.op;
    if (has_unknown(plain_value))
        return unknown_mark(unknown_of(plain_value).what, unknown_of(plain_value).line);
    if (op == ":")
        return substring(parameter, plain_value);
    const std::string pattern = plain(*parameter.argument);
    if (has_unknown(pattern))
        return unknown_mark("${" + parameter.name + op + "...}", line);
    if (op[0] == '/') {
        const std::string with = parameter.second == nullptr ? std::string() : plain(*parameter.second);
        return replaced(plain_value, pattern, with, op == "//");
    }
    if (op[0] == '^' || op[0] == ',')
        return cased(plain_value, op);
    const bool prefix = op[0] == '#';
    const std::size_t length = match_length(pattern, plain_value, prefix, op.size() == 2);
    if (length == std::string_view::npos)
        return plain_value;
    return prefix ? plain_value.substr(length) : plain_value.substr(0, plain_value.size() - length);
}

namespace {

// "start" or "start:length" of ${x:start:length} as a range inside `size`.
std::pair<std::size_t, std::size_t> range_of(std::int64_t start, std::optional<std::int64_t> length,
                                             std::size_t size) {
    const auto end = static_cast<std::int64_t>(size);
    if (start < 0)
        start += end;
    start = std::clamp<std::int64_t>(start, 0, end);
    std::int64_t last = length ? (*length < 0 ? end + *length : start + std::min(*length, end)) : end;
    last = std::clamp(last, start, end);
    return {static_cast<std::size_t>(start), static_cast<std::size_t>(last)};
}

std::pair<std::int64_t, std::optional<std::int64_t>> offsets_of(const std::string& text,
                                                                const ArithmeticScope& scope) {
    const std::size_t colon = text.find(':');
    const std::int64_t start = evaluate_arithmetic(text.substr(0, colon), scope).value;
    if (colon == std::string::npos)
        return {start, std::nullopt};
    return {start, evaluate_arithmetic(text.substr(colon + 1), scope).value};
}

} // namespace

std::string Runner::substring(const Parameter& parameter, const std::string& value) {
    const ArithmeticScope scope{[&](const std::string& name, const std::string& index) {
                                    return without_line_marks(item_text(name, index));
                                },
                                [](const std::string&, const std::string&, std::int64_t) {}};
    const auto [start, length] = offsets_of(plain(*parameter.argument), scope);
    const auto [first, last] = range_of(start, length, value.size());
    return value.substr(first, last - first);
}

Runner::Value Runner::slice(const Parameter& parameter, const Value& value) {
    const ArithmeticScope scope{[&](const std::string& name, const std::string& index) {
                                    return without_line_marks(item_text(name, index));
                                },
                                [](const std::string&, const std::string&, std::int64_t) {}};
    auto [start, length] = offsets_of(plain(*parameter.argument), scope);
    if (parameter.name == "@" || parameter.name == "*")
        start = std::max<std::int64_t>(start - 1, 0);
    const auto [first, last] = range_of(start, length, value.items.size());
    Value part{value.set, value.list, {}};
    for (std::size_t i = first; i < last; ++i)
        part.items.push_back(value.items[i]);
    return part;
}

} // namespace echosim::shell
