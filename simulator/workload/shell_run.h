// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/workload/shell_arithmetic.h"
#include "simulator/workload/shell_syntax.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace echosim::shell {

// A word of a command after expansion. The text may hold marks (shell_syntax.h).
struct Field {
    std::string text;
    int line = 0;
    bool operator==(const Field& other) const { return text == other.text; }
};

struct Variable {
    bool is_array = false;
    bool is_map = false; // declare -A
    bool exported = false;
    std::map<std::int64_t, Field> items;  // a scalar is item 0
    std::map<std::string, Field> entries; // of a map
};

// What a value that is not known came from.
struct Unknown {
    std::string what; // "$LAYERS", "$(date)", "a condition"
    int line = 0;
    bool unset = false; // a variable that the script never sets: bash would expand it to nothing
    // Of a variable that a condition sets: what it holds after each branch.
    std::vector<std::vector<Field>> alternatives = {};
};

// A command that is no builtin and no function: one that bash would start.
struct ExternalCommand {
    std::vector<Field> words;
    std::map<std::string, std::string> environment; // exported variables and VAR=value in front
    int line = 0;
};

enum class Status : unsigned char { success, failure, unknown };

// Expands a script the way bash would and starts nothing: external commands are collected.
class Runner {
  public:
    // `path` is the script, in messages and as $0; sourced files are looked for beside it. It starts without
    // arguments ($# is 0), or with arguments that are not known.
    enum class Arguments : unsigned char { none, unknown };
    explicit Runner(std::string path, Arguments arguments = Arguments::none);

    void set(const std::string& name, const std::string& value); // a variable of the environment
    void run_text(std::string_view text, int file_and_line);
    // The same in a subshell, as `bash -c text` does.
    void run_subshell(std::string_view text, int line);
    bool run_file_beside(const std::string& name, const std::vector<Field>& arguments, bool subshell);

    std::string get(const std::string& name) const;         // "" when unset
    std::string place(int line) const;                      // "job.sh:12"
    const Unknown& unknown_of(std::string_view text) const; // of the first mark in the text
    std::string without_unset(std::string_view text) const; // marks of unset variables replaced by nothing

    std::vector<ExternalCommand> commands;
    std::vector<std::string> warnings;

    // Called for every external command; true when it has taken care of it (bash -c "...").
    std::function<bool(Runner&, const ExternalCommand&)> on_command;

  private:
    enum class Flow : unsigned char { none, break_, continue_, return_, exit_ };

    struct State {
        std::map<std::string, Variable> variables;
        std::map<std::string, NodePtr> functions;
        std::vector<Field> positional;
        bool positional_known = false;
        std::string folder;                               // after cd; empty = not known
        std::map<std::string, std::string> written_files; // by cat > name <<EOF
    };

    // shell_run.cpp: control flow
    Status run(const Node& node);
    Status run_node(const Node& node);
    Status run_list(const Node& node);
    Status run_and_or(const Node& node);
    Status run_pipeline(const Node& node);
    Status run_if(const Node& node, std::size_t first);
    Status run_for(const Node& node);
    Status run_for_arithmetic(const Node& node);
    Status run_while(const Node& node);
    Status run_case(const Node& node);
    Status run_case_from(const Node& node, const std::string& word, std::size_t first);
    Status run_subshell_node(const Node& node);
    Status run_branches(const std::vector<std::function<void()>>& branches, int line);
    void merge(State& into, const State& other, int line);
    bool loop_goes_on(int rounds, int line);
    [[noreturn]] void fail(int line, const std::string& message, const std::string& hint = {}) const;
    void count_step(int line);

    // shell_commands.cpp: simple commands and builtins
    Status run_simple(const Node& node);
    Status call_function(const NodePtr& body, std::vector<Field> arguments, int line);
    std::optional<Status> run_builtin(const Node& node, std::vector<Field>& words);
    std::optional<Status> run_output(const Node& node, const std::vector<Field>& words);
    std::optional<Status> run_state(const Node& node, const std::vector<Field>& words);
    std::optional<Status> run_flow(const std::string& name, const std::vector<Field>& words);
    void change_positional(const std::string& name, const std::vector<Field>& words);
    void run_eval(const std::vector<Field>& words);
    void run_let(const std::vector<Field>& words);
    Status run_read(const Node& node, const std::vector<Field>& words);
    std::optional<Status> run_captured_tool(const std::vector<Field>& words);
    Status run_external(const Node& node, std::vector<Field> words,
                        const std::map<std::string, std::string>& extra);
    void declare(const Node& node, const std::vector<Field>& words);
    void assign(const Assignment& assignment);
    void set_item(Variable& variable, const Assignment& assignment, const Field& value);
    void assign_array(Variable& variable, const Assignment& assignment);
    Status run_source(std::vector<Field>& words);
    void write_output(const Node& node, const std::string& text);
    std::map<std::string, std::string> exported() const;

    // shell_condition.cpp: [ ], [[ ]]
    Status run_test_words(const std::vector<Field>& words);
    Status run_test(const Node& node);
    friend class TestReader;

    // shell_expand.cpp
    std::vector<Field> fields(const std::vector<Word>& words);
    std::vector<Field> fields(const Word& word);
    std::string text(const Word& word);  // no splitting; with marks
    std::string plain(const Word& word); // the same without line marks
    std::string part_text(const WordPart& part, int line);
    std::string arithmetic(const Word& word);
    ArithmeticResult evaluate(const Word& word);
    std::string command_output(const NodePtr& command, int line);
    void check_length(const std::string& text, int line) const;
    void count_bytes(std::size_t bytes, int line);

    // shell_parameter.cpp
    struct Value {
        bool set = false;
        bool list = false; // $@ or ${a[@]}: one field each
        std::vector<Field> items;
        std::string joined() const;
    };
    Value lookup(const Parameter& parameter, int line);
    Value special(const std::string& name, int line);
    Value variable_value(const Parameter& parameter, int line);
    Value expand(const Parameter& parameter, int line);
    Value with_default(const Parameter& parameter, Value value, int line);
    std::string transformed(const Parameter& parameter, const std::string& value, int line);
    std::string substring(const Parameter& parameter, const std::string& value);
    Value slice(const Parameter& parameter, const Value& value);
    bool is_null(const Value& value) const;
    const Variable* find(const std::string& name) const;
    std::string index_key(const Variable& variable, const std::string& index);
    std::string item_text(const std::string& name, const std::string& index) const;

    std::string unknown_mark(std::string what, int line, bool unset = false);
    std::string mark_of_branches(const std::string& name, int line,
                                 std::vector<std::vector<Field>> alternatives);

    std::string path_;
    Arguments arguments_;
    std::vector<std::string> files_; // files read so far, for line numbers
    State state_;
    std::vector<Unknown> unknowns_;
    Flow flow_ = Flow::none;
    int flow_levels_ = 0;
    std::int64_t steps_ = 0;
    std::size_t bytes_ = 0; // of all expansions so far
    int depth_ = 0;
    std::string* capture_ = nullptr; // output of $( ... )
    bool capture_known_ = true;
    std::vector<std::vector<std::pair<std::string, std::optional<Variable>>>> locals_;
};

// Shell pattern (* ? [a-z]) against the whole text.
bool matches_pattern(std::string_view pattern, std::string_view text);

} // namespace echosim::shell
