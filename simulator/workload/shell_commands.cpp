// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_run.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

// Simple commands: assignments, functions, and the builtins that change variables.
namespace echosim::shell {
namespace {

constexpr int kMaxCalls = 64;

bool is_declaration(const std::string& word) {
    static constexpr std::array<std::string_view, 5> names = {"export", "readonly", "local", "declare", "typeset"};
    return std::find(names.begin(), names.end(), word) != names.end();
}

} // namespace

Status Runner::run_simple(const Node& node) {
    std::vector<Field> words = fields(node.words);
    if (words.empty()) {
        for (const Assignment& assignment : node.assignments) assign(assignment);
        return Status::success;
    }
    std::map<std::string, std::string> extra;
    for (const Assignment& assignment : node.assignments) extra[assignment.name] = plain(assignment.value);
    // An unset variable in front leaves nothing: `$SUDO torchrun` is torchrun.
    while (words.size() > 1 && !words[0].text.empty() && without_unset(words[0].text).empty()) words.erase(words.begin());
    const std::string name = without_line_marks(words[0].text);
    const auto function = state_.functions.find(name);
    if (function != state_.functions.end()) {
        const NodePtr body = function->second;
        return call_function(body, {words.begin() + 1, words.end()}, node.line);
    }
    if (is_declaration(name)) {
        declare(node, words);
        return Status::success;
    }
    if (const auto status = run_builtin(node, words)) return *status;
    return run_external(node, std::move(words), extra);
}

Status Runner::call_function(const NodePtr& body, std::vector<Field> arguments, int line) {
    if (++depth_ > kMaxCalls) fail(line, "functions call each other without end");
    std::swap(state_.positional, arguments);
    const bool known = std::exchange(state_.positional_known, true);
    locals_.emplace_back();
    const Status status = run(*body);
    for (auto local = locals_.back().rbegin(); local != locals_.back().rend(); ++local) {
        if (local->second) state_.variables[local->first] = std::move(*local->second);
        else state_.variables.erase(local->first);
    }
    locals_.pop_back();
    std::swap(state_.positional, arguments);
    state_.positional_known = known;
    --depth_;
    if (flow_ == Flow::return_) flow_ = Flow::none;
    return status;
}

void Runner::assign(const Assignment& assignment) {
    Variable& variable = state_.variables[assignment.name];
    if (assignment.is_array) return assign_array(variable, assignment);
    Field value{text(assignment.value), assignment.line};
    set_item(state_.variables[assignment.name], assignment, value);
}

void Runner::set_item(Variable& variable, const Assignment& assignment, const Field& value) {
    const std::string index = assignment.index == nullptr ? std::string() : plain(*assignment.index);
    if (variable.is_map) {
        Field& entry = variable.entries[index];
        entry = {assignment.append ? entry.text + value.text : value.text, value.line};
        return;
    }
    std::int64_t key = 0;
    if (!index.empty()) {
        key = std::strtoll(index_key(variable, index).c_str(), nullptr, 10);
        variable.is_array = true;
    }
    Field& item = variable.items[key];
    const int line = assignment.append && item.line > 0 ? item.line : value.line;
    item = {assignment.append ? item.text + line_mark(value.line) + value.text : value.text, line};
}

void Runner::assign_array(Variable& variable, const Assignment& assignment) {
    Variable made;
    made.exported = variable.exported;
    made.is_map = variable.is_map;
    made.is_array = true;
    if (assignment.append) made = variable;
    made.is_array = true;
    std::int64_t next = made.items.empty() ? 0 : made.items.rbegin()->first + 1;
    for (const Assignment& element : assignment.elements) {
        if (element.index != nullptr) {
            const std::string key = plain(*element.index);
            const Field value{text(element.value), element.line};
            if (made.is_map) {
                made.entries[key] = value;
            } else {
                next = std::strtoll(index_key(made, key).c_str(), nullptr, 10);
                made.items[next++] = value;
            }
            continue;
        }
        for (Field& field : fields(element.value)) made.items[next++] = std::move(field);
    }
    state_.variables[assignment.name] = std::move(made);
}

// export, readonly, local, declare, typeset
void Runner::declare(const Node& node, const std::vector<Field>& words) {
    const std::string command = without_line_marks(words[0].text);
    bool exports = command == "export";
    bool map = false;
    std::vector<std::string> names;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string word = without_line_marks(words[i].text);
        if (!word.empty() && word[0] == '-') {
            exports = exports || word.find('x') != std::string::npos;
            map = map || word.find('A') != std::string::npos;
        } else if (word.find('=') == std::string::npos && !has_unknown(word)) {
            names.push_back(word);
        }
    }
    for (const Assignment& assignment : node.declared) names.push_back(assignment.name);
    if (command != "export" && command != "readonly" && !locals_.empty()) {
        for (const std::string& name : names) {
            const Variable* old = find(name);
            locals_.back().emplace_back(name, old == nullptr ? std::nullopt : std::optional<Variable>(*old));
            if (old != nullptr && command == "local") state_.variables.erase(name);
        }
    }
    for (const std::string& name : names) {
        const bool known = find(name) != nullptr;
        if (!known && !map && !exports) continue;
        if (known || map) {
            Variable& variable = state_.variables[name];
            variable.exported = variable.exported || exports;
            variable.is_map = variable.is_map || map;
        }
    }
    for (const Assignment& assignment : node.declared) {
        assign(assignment);
        if (exports) state_.variables[assignment.name].exported = true;
    }
}

std::optional<Status> Runner::run_builtin(const Node& node, std::vector<Field>& words) {
    const std::string name = without_line_marks(words[0].text);
    if (name == "[" || name == "test") return run_test_words(words);
    if (name == "true" || name == ":") return Status::success;
    if (name == "false") return Status::failure;
    if (name == "source" || name == ".") return run_source(words);
    if (const auto status = run_output(node, words)) return status;
    return run_state(node, words);
}

std::optional<Status> Runner::run_state(const Node& node, std::vector<Field>& words) {
    const std::string name = without_line_marks(words[0].text);
    const auto count = [&] {
        return words.size() > 1 ? std::max(1, std::atoi(without_line_marks(words[1].text).c_str())) : 1;
    };
    if (name == "exit" || name == "return" || name == "break" || name == "continue") {
        flow_ = name == "exit" ? Flow::exit_ : name == "return" ? Flow::return_ : name == "break" ? Flow::break_ : Flow::continue_;
        flow_levels_ = count();
        const bool failed = (name == "exit" || name == "return") && words.size() > 1 && without_line_marks(words[1].text) != "0";
        return failed ? Status::failure : Status::success;
    }
    if (name == "shift") {
        const auto n = std::min(static_cast<std::size_t>(count()), state_.positional.size());
        state_.positional.erase(state_.positional.begin(), state_.positional.begin() + static_cast<std::ptrdiff_t>(n));
        return Status::success;
    }
    if (name == "set") {
        for (std::size_t i = 1; i < words.size(); ++i) {
            if (words[i].text != "--") continue;
            state_.positional.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
            state_.positional_known = true;
            break;
        }
        return Status::success;
    }
    if (name == "unset") {
        for (std::size_t i = 1; i < words.size(); ++i) {
            state_.variables.erase(without_line_marks(words[i].text));
        }
        return Status::success;
    }
    if (name == "eval") {
        std::string text;
        for (std::size_t i = 1; i < words.size(); ++i) text += words[i].text + ' ';
        if (++depth_ > kMaxCalls) fail(node.line, "commands call each other without end");
        run_text(text, words[0].line);
        --depth_;
        return Status::success;
    }
    if (name == "let") {
        for (std::size_t i = 1; i < words.size(); ++i) {
            Word word;
            word.line = words[i].line;
            WordPart part;
            part.text = words[i].text;
            word.parts.push_back(std::move(part));
            evaluate(word);
        }
        return Status::success;
    }
    if (name == "cd" || name == "pushd") {
        state_.folder = words.size() > 1 ? without_line_marks(words[1].text) : std::string();
        return Status::success;
    }
    if (name == "read" || name == "mapfile" || name == "readarray") {
        std::string content;
        bool known = false;
        for (const auto& redirect : node.redirects) {
            if (redirect->op.rfind("<<", 0) != 0) continue;
            content = text(redirect->target);
            known = true;
        }
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::string word = without_line_marks(words[i].text);
            if (word == "-d" || word == "-n" || word == "-t" || word == "-p") ++i;
            else if (!word.empty() && word[0] != '-') {
                state_.variables[word] = {};
                state_.variables[word].items[0] = {known ? content : unknown_mark("$" + word + " (read)", node.line), node.line};
            }
        }
        return Status::success;
    }
    static constexpr std::array<std::string_view, 20> ignored = {"mkdir", "umask", "ulimit", "trap", "wait", "sleep", "rm", "cp", "ln", "mv",
                                                                 "touch", "chmod", "shopt", "alias", "module", "popd", "kill", "conda", "tee", "pkill"};
    if (std::find(ignored.begin(), ignored.end(), name) != ignored.end()) return Status::success;
    return std::nullopt;
}

std::map<std::string, std::string> Runner::exported() const {
    std::map<std::string, std::string> all;
    for (const auto& [name, variable] : state_.variables) {
        const auto item = variable.items.find(0);
        if (variable.exported && !variable.is_array && item != variable.items.end()) all[name] = without_line_marks(item->second.text);
    }
    return all;
}

Status Runner::run_external(const Node& node, std::vector<Field> words, const std::map<std::string, std::string>& extra) {
    if (capture_ != nullptr) {
        if (const auto status = run_captured_tool(words)) return *status;
        capture_known_ = false;
    }
    ExternalCommand command{std::move(words), exported(), node.line};
    for (const auto& [name, value] : extra) command.environment[name] = value;
    for (const auto& redirect : node.redirects) {   // bash <<EOF
        if (!redirect->is_here_document) continue;
        const std::string name = without_line_marks(command.words[0].text);
        if (name == "cat") {
            write_output(node, text(redirect->target));
            return Status::success;
        }
        const std::string last = without_line_marks(command.words.back().text);
        if (last == "bash" || last == "sh" || last == "-s") {
            command.words.push_back({"-c", node.line});
            command.words.push_back({text(redirect->target), node.line});
        }
    }
    if (on_command && on_command(*this, command)) return Status::unknown;
    commands.push_back(std::move(command));
    return Status::unknown;
}

} // namespace echosim::shell
