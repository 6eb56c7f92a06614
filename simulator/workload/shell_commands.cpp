// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_run.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <utility>

// Simple commands: assignments, functions, and the builtins that change variables.
namespace echosim::shell {
namespace {

constexpr int kMaxCalls = 64;

bool is_declaration(const std::string& word) {
    static constexpr std::array<std::string_view, 5> names = {"export", "readonly", "local", "declare",
                                                              "typeset"};
    return std::find(names.begin(), names.end(), word) != names.end();
}

} // namespace

Status Runner::run_simple(const Node& node) {
    std::vector<Field> words = fields(node.words);
    if (words.empty()) {
        for (const Assignment& assignment : node.assignments)
            assign(assignment);
        return Status::success;
    }
    std::map<std::string, std::string> extra;
    for (const Assignment& assignment : node.assignments)
        extra[assignment.name] = plain(assignment.value);
    // An unset variable in front leaves nothing: `$SUDO torchrun` is torchrun.
    while (words.size() > 1 && !words[0].text.empty() && without_unset(words[0].text).empty())
        words.erase(words.begin());
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
    if (const auto status = run_builtin(node, words))
        return *status;
    return run_external(node, std::move(words), extra);
}

Status Runner::call_function(const NodePtr& body, std::vector<Field> arguments, int line) {
    if (++depth_ > kMaxCalls)
        fail(line, "functions call each other without end");
    std::swap(state_.positional, arguments);
    const bool known = std::exchange(state_.positional_known, true);
    locals_.emplace_back();
    const Status status = run(*body);
    for (auto local = locals_.back().rbegin(); local != locals_.back().rend(); ++local) {
        if (local->second)
            state_.variables[local->first] = std::move(*local->second);
        else
            state_.variables.erase(local->first);
    }
    locals_.pop_back();
    std::swap(state_.positional, arguments);
    state_.positional_known = known;
    --depth_;
    if (flow_ == Flow::return_)
        flow_ = Flow::none;
    return status;
}

void Runner::assign(const Assignment& assignment) {
    Variable& variable = state_.variables[assignment.name];
    if (assignment.is_array)
        return assign_array(variable, assignment);
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
    if (assignment.append)
        made = variable;
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
        for (Field& field : fields(element.value))
            made.items[next++] = std::move(field);
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
    for (const Assignment& assignment : node.declared)
        names.push_back(assignment.name);
    if (command != "export" && command != "readonly" && !locals_.empty()) {
        for (const std::string& name : names) {
            const Variable* old = find(name);
            locals_.back().emplace_back(name, old == nullptr ? std::nullopt : std::optional<Variable>(*old));
            if (old != nullptr && command == "local")
                state_.variables.erase(name);
        }
    }
    for (const std::string& name : names) {
        const bool known = find(name) != nullptr;
        if (!known && !map && !exports)
            continue;
        if (known || map) {
            Variable& variable = state_.variables[name];
            variable.exported = variable.exported || exports;
            variable.is_map = variable.is_map || map;
        }
    }
    for (const Assignment& assignment : node.declared) {
        assign(assignment);
        if (exports)
            state_.variables[assignment.name].exported = true;
    }
}

std::optional<Status> Runner::run_builtin(const Node& node, std::vector<Field>& words) {
    const std::string name = without_line_marks(words[0].text);
    if (name == "[" || name == "test")
        return run_test_words(words);
    if (name == "true" || name == ":")
        return Status::success;
    if (name == "false")
        return Status::failure;
    if (name == "source" || name == ".")
        return run_source(words);
    if (const auto status = run_output(node, words))
        return status;
    return run_state(node, words);
}

// Builtins that change where the script goes on.
std::optional<Status> Runner::run_flow(const std::string& name, const std::vector<Field>& words) {
    static const std::map<std::string, Flow> flows = {{"exit", Flow::exit_},
                                                      {"return", Flow::return_},
                                                      {"break", Flow::break_},
                                                      {"continue", Flow::continue_}};
    const auto flow = flows.find(name);
    if (flow == flows.end())
        return std::nullopt;
    const std::string argument = words.size() > 1 ? without_line_marks(words[1].text) : std::string();
    flow_ = flow->second;
    flow_levels_ = std::max(1, std::atoi(argument.c_str()));
    const bool leaves = flow_ == Flow::exit_ || flow_ == Flow::return_;
    return leaves && !argument.empty() && argument != "0" ? Status::failure : Status::success;
}

// shift and set --
void Runner::change_positional(const std::string& name, const std::vector<Field>& words) {
    auto& positional = state_.positional;
    if (name == "shift") {
        const int count = words.size() > 1 ? std::atoi(without_line_marks(words[1].text).c_str()) : 1;
        const auto dropped =
            std::min(static_cast<std::ptrdiff_t>(std::max(count, 0)), std::ssize(positional));
        positional.erase(positional.begin(), positional.begin() + dropped);
        return;
    }
    const auto dashes =
        std::find_if(words.begin(), words.end(), [](const Field& f) { return f.text == "--"; });
    if (dashes == words.end())
        return;
    positional.assign(dashes + 1, words.end());
    state_.positional_known = true;
}

void Runner::run_eval(const std::vector<Field>& words) {
    std::string text;
    for (std::size_t i = 1; i < words.size(); ++i)
        text += words[i].text + ' ';
    if (++depth_ > kMaxCalls)
        fail(words[0].line, "commands call each other without end");
    run_text(text, words[0].line);
    --depth_;
}

void Runner::run_let(const std::vector<Field>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        WordPart part;
        part.text = words[i].text;
        evaluate(Word{{part}, words[i].line});
    }
}

// read, mapfile: the variables are known when a here-document feeds them.
Status Runner::run_read(const Node& node, const std::vector<Field>& words) {
    const bool reads_lines = words[0].text != "read";
    const std::string_view with_value = reads_lines ? "dnOsuCc" : "dntpNui";
    std::optional<std::string> content;
    for (const auto& redirect : node.redirects) {
        if (redirect->op.rfind("<<", 0) == 0)
            content = text(redirect->target);
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string word = without_line_marks(words[i].text);
        if (word.size() == 2 && word[0] == '-' && with_value.find(word[1]) != std::string_view::npos) {
            ++i;
        } else if (!word.empty() && word[0] != '-') {
            Variable variable;
            variable.is_array = reads_lines;
            variable.items[0] = {content ? *content : unknown_mark("$" + word + " (read)", node.line),
                                 node.line};
            state_.variables[word] = std::move(variable);
        }
    }
    return content || reads_lines ? Status::success : Status::unknown;
}

std::optional<Status> Runner::run_state(const Node& node, const std::vector<Field>& words) {
    static const std::set<std::string> ignored = {
        "mkdir", "umask", "ulimit", "trap",  "wait", "sleep", "rm",    "cp",  "ln",     "mv",
        "touch", "chmod", "shopt",  "alias", "popd", "kill",  "conda", "tee", "module", "pkill"};
    const std::string name = without_line_marks(words[0].text);
    if (const auto status = run_flow(name, words))
        return status;
    if (name == "shift" || name == "set") {
        change_positional(name, words);
    } else if (name == "unset") {
        for (std::size_t i = 1; i < words.size(); ++i)
            state_.variables.erase(without_line_marks(words[i].text));
    } else if (name == "eval") {
        run_eval(words);
    } else if (name == "let") {
        run_let(words);
    } else if (name == "cd" || name == "pushd") {
        state_.folder = words.size() > 1 ? without_line_marks(words[1].text) : std::string();
    } else if (name == "read" || name == "mapfile" || name == "readarray") {
        return run_read(node, words);
    } else if (ignored.count(name) == 0) {
        return std::nullopt;
    }
    return Status::success;
}

std::map<std::string, std::string> Runner::exported() const {
    std::map<std::string, std::string> all;
    for (const auto& [name, variable] : state_.variables) {
        const auto item = variable.items.find(0);
        if (variable.exported && !variable.is_array && item != variable.items.end())
            all[name] = without_line_marks(item->second.text);
    }
    return all;
}

Status Runner::run_external(const Node& node, std::vector<Field> words,
                            const std::map<std::string, std::string>& extra) {
    if (capture_ != nullptr) {
        if (const auto status = run_captured_tool(words))
            return *status;
        capture_known_ = false;
    }
    ExternalCommand command{std::move(words), exported(), node.line};
    for (const auto& [name, value] : extra)
        command.environment[name] = value;
    for (const auto& redirect : node.redirects) { // bash <<EOF
        if (!redirect->is_here_document)
            continue;
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
    if (on_command && on_command(*this, command))
        return Status::unknown;
    commands.push_back(std::move(command));
    return Status::unknown;
}

} // namespace echosim::shell
