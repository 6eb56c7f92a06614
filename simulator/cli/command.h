// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The one table of commands and options. Parsing, --help, suggestions, shell completion and docs/cli.md are
// all made from it, so that they cannot disagree.
namespace echosim {

class Console;
struct Invocation;

// What a shell offers for a value.
enum class Completes : std::uint8_t { nothing, file, cluster, job };

struct CommandOption {
    std::string_view name;       // "--cluster"
    char letter = 0;             // 'o' for -o; 0 = none
    std::string_view value = {}; // placeholder "NAME|FILE"; empty = a switch
    std::string_view help;
    bool repeatable = false;
    std::vector<std::string_view> choices = {}; // fixed values; empty = any
    Completes completes = Completes::nothing;
    std::vector<std::string_view> commands = {}; // commands that take it; empty = every one
    bool hidden = false;

    bool belongs_to(std::string_view command) const;
    bool takes_value() const { return !value.empty(); }
};

struct CommandExample {
    std::string_view line;
    std::string_view comment;
};

struct Command {
    std::string_view name;
    std::string_view arguments;   // "JOB [-- MEGATRON FLAGS]"
    std::string_view summary;     // one line, for the list of commands
    std::string_view description; // paragraphs separated by an empty line
    std::vector<CommandExample> examples;
    std::vector<std::string_view> words = {}; // fixed values of the first argument (show TOPIC)
    Completes completes = Completes::nothing; // other arguments
    std::size_t most_arguments = 1;
    bool takes_rest = false; // words after -- are Megatron flags
    bool hidden = false;
    int (*run)(const Invocation&, Console&) = nullptr; // returns the exit code
};

const std::vector<Command>& commands();
const std::vector<CommandOption>& options();

// nullptr when there is none.
const Command* find_command(std::string_view name);
const CommandOption* find_option(const Command& command, std::string_view name);
const CommandOption* find_option(const Command& command, char letter);
std::vector<const CommandOption*> options_of(const Command& command);

// Commands of the contract whose part of the program is not built yet.
const std::vector<std::string_view>& commands_to_come();

// Handlers, one file each in commands/.
int run_simulate(const Invocation& invocation, Console& console);
int run_show(const Invocation& invocation, Console& console);
int run_validate(const Invocation& invocation, Console& console);
int run_collective(const Invocation& invocation, Console& console);
int run_calibrate(const Invocation& invocation, Console& console);
int run_import(const Invocation& invocation, Console& console);
int run_export(const Invocation& invocation, Console& console);
int run_completion(const Invocation& invocation, Console& console);
int run_help(const Invocation& invocation, Console& console);

} // namespace echosim
