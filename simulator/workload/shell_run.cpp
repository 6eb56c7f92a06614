// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/shell_run.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

// Control flow. A condition that is not known runs every branch from the same state; what the branches leave
// different is not known afterwards, and a branch that leaves the script (usage messages) counts for nothing.
namespace echosim::shell {
namespace {

constexpr std::int64_t kMaxSteps = 2'000'000;
constexpr int kMaxRounds = 10'000;
constexpr int kMaxCalls = 64;

bool same(const Variable& a, const Variable& b) {
    return a.is_map == b.is_map && a.items == b.items && a.entries == b.entries;
}

} // namespace

Runner::Runner(std::string path, Arguments arguments) : path_(std::move(path)), arguments_(arguments) {
    files_.push_back(path_);
}

void Runner::set(const std::string& name, const std::string& value) {
    state_.variables[name].items[0] = {value, 0};
}

std::string Runner::place(int line) const {
    const auto file = static_cast<std::size_t>(line / kLinesPerFile);
    return fmt::format("{}:{}", file < files_.size() ? files_[file] : path_, line % kLinesPerFile);
}

void Runner::fail(int line, const std::string& message, const std::string& hint) const {
    throw InputError(place(line), message, hint);
}

void Runner::count_step(int line) {
    if (++steps_ > kMaxSteps)
        fail(line, fmt::format("the script takes more than {} steps", kMaxSteps),
             "is there a loop without end?");
}

void Runner::run_text(std::string_view text, int file_and_line) {
    const auto file = static_cast<std::size_t>(file_and_line / kLinesPerFile);
    const NodePtr script = parse({text, files_[std::min(file, files_.size() - 1)], file_and_line});
    run(*script);
}

void Runner::run_subshell(std::string_view text, int line) {
    const State before = state_;
    const Flow flow = flow_;
    if (++depth_ > kMaxCalls)
        fail(line, "commands call each other without end");
    run_text(text, line);
    --depth_;
    state_ = before;
    flow_ = flow;
}

Status Runner::run(const Node& node) {
    if (flow_ != Flow::none)
        return Status::success;
    count_step(node.line);
    return run_node(node);
}

Status Runner::run_node(const Node& node) {
    switch (node.kind) {
    case Node::Kind::simple:
        return run_simple(node);
    case Node::Kind::sequence:
        return run_list(node);
    case Node::Kind::and_or:
        return run_and_or(node);
    case Node::Kind::pipeline:
        return run_pipeline(node);
    case Node::Kind::group:
        return run_list(node);
    case Node::Kind::subshell:
        return run_subshell_node(node);
    case Node::Kind::if_:
        return run_if(node, 0);
    case Node::Kind::for_:
        return run_for(node);
    case Node::Kind::for_arithmetic:
        return run_for_arithmetic(node);
    case Node::Kind::while_:
        return run_while(node);
    case Node::Kind::case_:
        return run_case(node);
    case Node::Kind::test:
        return run_test(node);
    case Node::Kind::function:
        state_.functions[node.name] = node.children[0];
        return Status::success;
    case Node::Kind::arithmetic: {
        const ArithmeticResult result = evaluate(node.expressions[0]);
        if (!result.unknown.empty())
            return Status::unknown;
        return result.value != 0 ? Status::success : Status::failure;
    }
    }
    return Status::unknown;
}

Status Runner::run_list(const Node& node) {
    Status status = Status::success;
    for (const NodePtr& child : node.children) {
        status = run(*child);
        if (flow_ != Flow::none)
            break;
    }
    return status;
}

Status Runner::run_and_or(const Node& node) {
    Status status = run(*node.children[0]);
    for (std::size_t i = 0; i < node.operators.size() && flow_ == Flow::none; ++i) {
        const Node& next = *node.children[i + 1];
        if (status == Status::unknown) {
            run_branches({[&] { run(next); }, [] {}}, next.line);
        } else if ((status == Status::success) == (node.operators[i] == "&&")) {
            status = run(next);
        }
    }
    return status;
}

Status Runner::run_pipeline(const Node& node) {
    Status status = Status::success;
    if (node.children.size() > 1)
        capture_known_ = false; // output of the last command depends on the others
    for (const NodePtr& child : node.children) {
        if (node.children.size() == 1) {
            status = run(*child);
        } else {
            const State before = state_; // each part runs in a subshell
            status = run(*child);
            state_ = before;
        }
    }
    if (node.children.size() > 1)
        status = Status::unknown;
    if (!node.negated || status == Status::unknown)
        return status;
    return status == Status::success ? Status::failure : Status::success;
}

Status Runner::run_subshell_node(const Node& node) {
    const State before = state_;
    const Status status = run_list(node);
    state_ = before;
    if (flow_ == Flow::exit_)
        flow_ = Flow::none;
    return status;
}

// children: condition, body, condition, body, ..., [else]
Status Runner::run_if(const Node& node, std::size_t first) {
    if (first >= node.children.size())
        return Status::success;
    if (first + 1 == node.children.size())
        return run(*node.children[first]);
    const Status condition = run(*node.children[first]);
    if (flow_ != Flow::none)
        return condition;
    if (condition == Status::success)
        return run(*node.children[first + 1]);
    if (condition == Status::failure)
        return run_if(node, first + 2);
    return run_branches({[&] { run(*node.children[first + 1]); }, [&] { run_if(node, first + 2); }},
                        node.children[first]->line);
}

Status Runner::run_branches(const std::vector<std::function<void()>>& branches, int line) {
    if (++depth_ > kMaxCalls)
        fail(line, "conditions are nested too deep");
    const State before = state_;
    std::optional<State> merged;
    Flow left = Flow::none;
    for (const auto& branch : branches) {
        state_ = before;
        branch();
        if (flow_ != Flow::none) {
            left = std::exchange(flow_, Flow::none);
        } else if (!merged) {
            merged = std::move(state_);
        } else {
            merge(*merged, state_, line);
        }
    }
    if (merged)
        state_ = std::move(*merged);
    else
        flow_ = left;
    --depth_;
    return Status::unknown;
}

void Runner::merge(State& into, const State& other, int line) {
    const auto fields_of = [](const State& state, const std::string& name) {
        std::vector<Field> fields;
        const auto found = state.variables.find(name);
        if (found != state.variables.end()) {
            for (const auto& [key, field] : found->second.items)
                fields.push_back(field);
        }
        return fields;
    };
    const auto forget = [&](const std::string& name) {
        Variable variable;
        variable.items[0] = {mark_of_branches(name, line, {fields_of(into, name), fields_of(other, name)}),
                             line};
        into.variables[name] = std::move(variable);
    };
    std::vector<std::string> differ;
    for (const auto& [name, variable] : into.variables) {
        const auto found = other.variables.find(name);
        if (found == other.variables.end() || !same(variable, found->second))
            differ.push_back(name);
    }
    for (const auto& [name, variable] : other.variables) {
        if (into.variables.find(name) == into.variables.end())
            differ.push_back(name);
    }
    for (const std::string& name : differ)
        forget(name);
    for (const auto& [name, body] : other.functions)
        into.functions.emplace(name, body);
    for (const auto& [name, text] : other.written_files)
        into.written_files.emplace(name, text);
    if (into.folder != other.folder)
        into.folder.clear();
}

// After a round of a loop: true when there is another one.
bool Runner::loop_goes_on(int rounds, int line) {
    if (flow_ == Flow::break_ || flow_ == Flow::continue_) {
        if (flow_levels_ > 1) {
            --flow_levels_;
            return false;
        }
        const bool goes_on = flow_ == Flow::continue_;
        flow_ = Flow::none;
        return goes_on;
    }
    if (rounds >= kMaxRounds) {
        warnings.push_back(fmt::format("{}: a loop was left after {} rounds", place(line), rounds));
        return false;
    }
    return flow_ == Flow::none;
}

Status Runner::run_for(const Node& node) {
    const std::vector<Field> items = node.negated ? state_.positional : fields(node.words);
    int rounds = 0;
    for (const Field& item : items) {
        Variable variable;
        variable.items[0] = item;
        state_.variables[node.name] = std::move(variable);
        run(*node.children[0]);
        if (!loop_goes_on(++rounds, node.line))
            break;
    }
    return Status::success;
}

Status Runner::run_for_arithmetic(const Node& node) {
    evaluate(node.expressions[0]);
    for (int rounds = 1;; ++rounds) {
        const bool always =
            without_line_marks(text(node.expressions[1])).find_first_not_of(" \t\n") == std::string::npos;
        const ArithmeticResult condition = evaluate(node.expressions[1]);
        if (!always && (condition.value == 0 || !condition.unknown.empty()))
            return Status::success;
        run(*node.children[0]);
        if (!loop_goes_on(rounds, node.line))
            return Status::success;
        evaluate(node.expressions[2]);
    }
}

// A loop whose condition is not known runs its body once, or not at all; a loop without end that starts a
// command is left after its first round.
Status Runner::run_while(const Node& node) {
    const Status go = node.negated ? Status::failure : Status::success;
    for (int rounds = 1;; ++rounds) {
        const Status condition = run(*node.children[0]);
        if (flow_ != Flow::none)
            return condition;
        if (condition == Status::unknown)
            return run_branches({[&] { run(*node.children[1]); }, [] {}}, node.line);
        if (condition != go)
            return Status::success;
        const std::size_t before = commands.size();
        run(*node.children[1]);
        if (!loop_goes_on(rounds, node.line))
            return Status::success;
        if (commands.size() > before && rounds > 100)
            return Status::success;
    }
}

Status Runner::run_case(const Node& node) {
    const std::string word = without_unset(plain(node.expressions[0]));
    if (!has_unknown(word))
        return run_case_from(node, word, 0);
    std::vector<std::function<void()>> branches;
    for (const CaseItem& item : node.cases)
        branches.emplace_back([&] { run(*item.body); });
    branches.emplace_back([] {});
    return run_branches(branches, node.line);
}

Status Runner::run_case_from(const Node& node, const std::string& word, std::size_t first) {
    for (std::size_t i = first; i < node.cases.size(); ++i) {
        for (const Word& pattern : node.cases[i].patterns) {
            if (matches_pattern(without_unset(plain(pattern)), word))
                return run(*node.cases[i].body);
        }
    }
    return Status::success;
}

} // namespace echosim::shell
