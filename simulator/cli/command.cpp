// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"

#include <algorithm>

namespace echosim {
namespace {

constexpr std::string_view kSimulateDescription =
    "Predicts one training step of the job on the cluster: time, throughput, time split, memory, "
    "communication.\n"
    "\n"
    "JOB is a Megatron-LM launch script (parsed, never executed), a file with a plain list of Megatron "
    "flags, a model "
    "name (see `echosim show models`) or an earlier result document, which reproduces it. Megatron flags "
    "after -- "
    "override those of the job.\n"
    "\n"
    "The exit code is 3 when the job does not fit in memory; the result is complete all the same, with the "
    "nearest "
    "change that fits.";

constexpr std::string_view kSetHelp =
    "Override one resolved value: cluster.PATH (cluster.node.nics.bandwidth=200Gbps), gpu.KEY "
    "(gpu.hbm_bandwidth=1.5x), job.KEY (job.batch.micro=2), interference=off|constant:F, contention=off|on. "
    "`echosim show` "
    "lists the "
    "keys. May be given several times.";

std::vector<Command> make_commands() {
    return {
        {.name = "simulate",
         .arguments = "JOB --cluster NAME|FILE [OPTIONS] [-- MEGATRON FLAGS]",
         .summary = "predict one training step of a job on a cluster",
         .description = kSimulateDescription,
         .examples =
             {{"echosim simulate pretrain.sh --cluster dgx-h100", "the script's own world size"},
              {"echosim simulate pretrain.sh --cluster dgx-h100 -- --tensor-model-parallel-size 4",
               "the same with another layout"},
              {"echosim simulate pretrain.sh --cluster dgx-h100 --set cluster.node.nics.bandwidth=200Gbps",
               "on a slower network"},
              {"echosim simulate pretrain.sh --cluster dgx-h100 --timeline step.json.gz",
               "timeline for ui.perfetto.dev"}},
         .completes = Completes::job,
         .takes_rest = true,
         .run = run_simulate},
        {.name = "show",
         .arguments = "job JOB | cluster NAME|FILE | gpu NAME | models | clusters | gpus",
         .summary = "print resolved values with their origin, or what the catalogue holds",
         .description =
             "`show job` resolves a job as Megatron-LM would and prints every value with its origin and "
             "every flag with its verdict: modelled, harmless, or not modelled.\n"
             "\n"
             "`show cluster` and `show gpu` print all figures under the keys that --set takes, with their "
             "source. `show models`, `show clusters` and `show gpus` list names and aliases.",
         .examples = {{"echosim show job pretrain.sh", "every value with its origin"},
                      {"echosim show cluster dgx-h100", "the keys of --set cluster.*"},
                      {"echosim show models", "model names and aliases"}},
         .words = {"job", "cluster", "gpu", "models", "clusters", "gpus"},
         .completes = Completes::job,
         .most_arguments = 2,
         .takes_rest = true,
         .run = run_show},
        {.name = "validate",
         .arguments = "steps --data FILE [--max-error P%]",
         .summary = "compare predictions with published measurements",
         .description =
             "Simulates every row of the measurements, prints measured and predicted step times with the "
             "error, and a summary. A row that cannot be simulated is listed with the reason.\n"
             "\n"
             "With --max-error the exit code is 4 when the mean absolute error is larger.",
         .examples = {{"echosim validate steps --data runs.json", "errors by GPU and layout"},
                      {"echosim validate steps --data runs.json --json", "every row, as one JSON document"},
                      {"echosim validate steps --data runs.json --max-error 10%", "as a gate in CI"}},
         .words = {"steps"},
         .run = run_validate},
        {.name = "completion",
         .arguments = "bash|zsh|fish",
         .summary = "print a completion script for a shell",
         .description = "Prints the script on stdout.",
         .examples = {{"source <(echosim completion bash)", "for this shell"},
                      {"echosim completion fish > ~/.config/fish/completions/echosim.fish", "for good"}},
         .words = {"bash", "zsh", "fish"},
         .run = run_completion},
        {.name = "help",
         .arguments = "[COMMAND]",
         .summary = "print the help of a command",
         .description = "The same as `echosim COMMAND --help`.",
         .examples = {{"echosim help simulate", ""}},
         .hidden = true,
         .run = run_help},
    };
}

std::vector<CommandOption> make_options() {
    return {
        {.name = "--cluster",
         .value = "NAME|FILE",
         .help = "Cluster of the catalogue (see `echosim show clusters`) or a cluster file.",
         .completes = Completes::cluster,
         .commands = {"simulate"}},
        {.name = "--gpus",
         .value = "N",
         .help = "Number of GPUs of the job; default: the world size of the launch script.",
         .commands = {"simulate", "show"}},
        {.name = "--set",
         .value = "KEY=VALUE",
         .help = kSetHelp,
         .repeatable = true,
         .commands = {"simulate", "show", "validate"}},
        {.name = "--timeline",
         .value = "FILE",
         .help = "Write the timeline of the step: .etr, or .json and .json.gz for Perfetto.",
         .completes = Completes::file,
         .commands = {"simulate"}},
        {.name = "--timeline-ranks",
         .value = "RANKS",
         .help = "Ranks in the timeline: representative (default; one rank of each class of identical "
                 "ranks), all, "
                 "or a list such as 0,8,16-23.",
         .commands = {"simulate"}},
        {.name = "--data",
         .value = "FILE",
         .help = "Measured steps, a JSON file.",
         .completes = Completes::file,
         .commands = {"validate"}},
        {.name = "--max-error",
         .value = "P%",
         .help = "Exit with 4 when the mean absolute error is larger than this.",
         .commands = {"validate"}},
        {.name = "--calibration",
         .value = "FILE",
         .help = "Parameters from `echosim calibrate` instead of the built-in ones.",
         .completes = Completes::file,
         .commands = {"simulate"}},
        {.name = "--strict",
         .help = "Treat flags that Megatron-LM does not know as errors, not warnings.",
         .commands = {"simulate", "show"}},
        {.name = "--force",
         .help = "Write a JSON timeline of any size; without it more than 20 M events are refused.",
         .commands = {"simulate"}},
        {.name = "--json",
         .help = "Print one JSON document on stdout instead of text.",
         .commands = {"simulate", "show", "validate"}},
        {.name = "--output",
         .letter = 'o',
         .value = "FILE",
         .help = "Also write the JSON document to FILE, completely or not at all, without wall-clock values. "
                 "- is stdout, instead of the text.",
         .completes = Completes::file,
         .commands = {"simulate", "show", "validate"}},
        {.name = "--quiet",
         .letter = 'q',
         .help = "Print only errors on stderr.",
         .commands = {"simulate", "show", "validate"}},
        {.name = "--verbose",
         .letter = 'v',
         .help = "Print on stderr what is done; in the summary, all rows of every table.",
         .commands = {"simulate", "show", "validate"}},
        {.name = "--markdown",
         .help = "Print the reference of all commands.",
         .commands = {"help"},
         .hidden = true},
        {.name = "--color",
         .value = "WHEN",
         .help =
             "Colour on stdout: auto (default), always or never. NO_COLOR and CLICOLOR_FORCE are honoured.",
         .choices = {"auto", "always", "never"}},
        {.name = "--help", .letter = 'h', .help = "Print this help; -h is short."},
    };
}

} // namespace

bool CommandOption::belongs_to(std::string_view command) const {
    return commands.empty() || std::find(commands.begin(), commands.end(), command) != commands.end();
}

const std::vector<Command>& commands() {
    static const std::vector<Command> table = make_commands();
    return table;
}

const std::vector<CommandOption>& options() {
    static const std::vector<CommandOption> table = make_options();
    return table;
}

const std::vector<std::string_view>& commands_to_come() {
    static const std::vector<std::string_view> names = {
        "search", "plan",      "explain", "compare", "collective", "trace", "import",
        "export", "calibrate", "report",  "view",    "merge",      "doctor"};
    return names;
}

const Command* find_command(std::string_view name) {
    for (const Command& command : commands())
        if (command.name == name)
            return &command;
    return nullptr;
}

std::vector<const CommandOption*> options_of(const Command& command) {
    std::vector<const CommandOption*> found;
    for (const CommandOption& option : options())
        if (option.belongs_to(command.name))
            found.push_back(&option);
    return found;
}

const CommandOption* find_option(const Command& command, std::string_view name) {
    for (const CommandOption* option : options_of(command))
        if (option->name == name)
            return option;
    return nullptr;
}

const CommandOption* find_option(const Command& command, char letter) {
    for (const CommandOption* option : options_of(command))
        if (option->letter == letter)
            return option;
    return nullptr;
}

} // namespace echosim
