// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/launch_script.h"

#include "simulator/core/error.h"
#include "simulator/workload/launch_script_command.h"
#include "simulator/workload/megatron_options.h"
#include "simulator/workload/shell_run.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <sstream>
#include <utility>

namespace echosim {
namespace {

constexpr std::size_t kMaxScript = 4'194'304;
constexpr int kMaxConditions = 8; // that set one variable
constexpr std::size_t kMaxBranches = 64;

void check_text(std::string_view text, const std::string& path) {
    if (text.size() > kMaxScript)
        throw InputError(path, fmt::format("{} bytes are more than a launch script has", text.size()));
    const auto control = std::find_if(text.begin(), text.end(), [](unsigned char c) {
        return c < 32 && c != '\n' && c != '\t' && c != '\r' && c != '\f';
    });
    if (control == text.end())
        return;
    const auto line = 1 + std::count(text.begin(), control, '\n');
    throw InputError(fmt::format("{}:{}", path, line), "is binary or holds control characters",
                     "give a launch script or a list of Megatron flags");
}

void set_slurm_variables(shell::Runner& runner, const SlurmRequest& slurm) {
    const auto set = [&](std::initializer_list<const char*> names, const std::optional<int>& value) {
        if (!value)
            return;
        for (const char* name : names)
            runner.set(name, std::to_string(*value));
    };
    set({"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}, slurm.nodes);
    set({"SLURM_NTASKS", "SLURM_NPROCS"}, slurm.tasks);
    set({"SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}, slurm.tasks_per_node);
    set({"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}, slurm.gpus_per_node);
    if (!slurm.tasks && slurm.nodes && slurm.tasks_per_node)
        runner.set("SLURM_NTASKS", std::to_string(*slurm.nodes * *slurm.tasks_per_node));
}

// The command with most flags of Megatron-LM; the first of equals.
TrainingCommand choose_command(const shell::Runner& runner, const std::string& path,
                               std::vector<std::string>& warnings) {
    std::optional<TrainingCommand> best;
    int training = 0;
    for (const shell::ExternalCommand& command : runner.commands) {
        auto found = training_command(command);
        if (!found || !found->has_shape)
            continue;
        ++training;
        if (!best || found->known_flags > best->known_flags)
            best = std::move(found);
    }
    if (!best) {
        throw InputError(path,
                         "no command that starts Megatron-LM training (torchrun, srun, mpirun, python ... "
                         "with --num-layers and so on)",
                         "give the script that holds the flags, or a plain list of them");
    }
    if (training > 1) {
        warnings.push_back(fmt::format("{} commands start training; the one at {} is read", training,
                                       runner.place(best->line)));
    }
    return *best;
}

shell::Runner run_script(std::string_view text, const std::string& path, const SlurmRequest& slurm,
                         shell::Runner::Arguments arguments) {
    shell::Runner runner(path, arguments);
    set_slurm_variables(runner, slurm);
    runner.on_command = run_inner_shell;
    runner.run_text(text, 1);
    return runner;
}

bool trains(const shell::Runner& runner) {
    return std::any_of(runner.commands.begin(), runner.commands.end(), [](const auto& command) {
        const auto found = training_command(command);
        return found && found->has_shape;
    });
}

// Values a flag may still take, for telling a missing value from nothing at all.
std::size_t values_of(const std::string& word) {
    if (word.find('=') != std::string::npos)
        return 0;
    const MegatronOption* option = find_option(word);
    if (option == nullptr)
        return std::numeric_limits<std::size_t>::max();
    switch (option->arity) {
    case Arity::none:
        return 0;
    case Arity::one:
        return 1;
    case Arity::three:
        return 3;
    default:
        return std::numeric_limits<std::size_t>::max();
    }
}

class ArgumentReader {
  public:
    ArgumentReader(const shell::Runner& runner, const TrainingCommand& command)
        : runner_(runner), command_(command) {}

    std::vector<Flag> flags(std::vector<std::string>& warnings) {
        std::vector<FlagWord> words = flag_words(warnings);
        if (!problems_.empty())
            throw InputError(std::move(problems_));
        append(std::move(words));
        return std::move(flags_);
    }

  private:
    void append(std::vector<FlagWord> words) {
        for (Flag& flag : parse_flags(words)) {
            settle(flag);
            flags_.push_back(std::move(flag));
        }
    }

    using Branch = std::vector<FlagWord>;

    // Adds the words of the fields to each branch; a variable that a condition sets makes more branches.
    // False when they are too many.
    bool add_words(const std::vector<shell::Field>& fields, const std::string& origin, int depth,
                   std::vector<Branch>& branches) const {
        for (const shell::Field& field : fields) {
            std::istringstream in(shell::without_line_marks(field.text));
            for (std::string word; in >> word;) {
                const bool mark =
                    word[0] == shell::kUnknownMark && word.find(shell::kMarkEnd) + 1 == word.size();
                const auto& alternatives = runner_.unknown_of(word).alternatives;
                if (!mark || alternatives.empty()) {
                    for (Branch& branch : branches)
                        branch.push_back({word, origin});
                    continue;
                }
                std::vector<Branch> all;
                for (const auto& alternative : alternatives) {
                    std::vector<Branch> more = branches;
                    if (depth >= kMaxConditions || !add_words(alternative, origin, depth + 1, more) ||
                        all.size() + more.size() > kMaxBranches)
                        return false;
                    all.insert(all.end(), more.begin(), more.end());
                }
                branches = std::move(all);
            }
        }
        return true;
    }

    // The flags of a variable that a condition sets: those that all branches agree on are known, the others
    // only where a later flag overrides them. False when the branches hold more than flags that are known.
    bool append_branches(const std::string& text, const std::string& origin) {
        std::vector<Branch> texts(1);
        if (!add_words({{text, 0}}, origin, 0, texts) || texts.size() < 2)
            return false;
        std::vector<std::vector<Flag>> branches;
        for (const Branch& words : texts) {
            if (!words.empty() && words[0].text.rfind("--", 0) != 0)
                return false;
            branches.push_back(parse_flags(words));
        }
        const auto has = [](const std::vector<Flag>& flags, const Flag& flag) {
            return std::any_of(flags.begin(), flags.end(), [&](const Flag& other) {
                return other.name == flag.name && other.values == flag.values;
            });
        };
        for (const std::vector<Flag>& branch : branches) {
            for (Flag flag : branch) {
                const bool agreed = std::all_of(branches.begin(), branches.end(),
                                                [&](const auto& other) { return has(other, flag); });
                if (agreed && &branch != &branches.front())
                    continue;
                settle(flag);
                const MegatronOption* option = find_option(flag.name);
                const bool matters = option != nullptr && option->verdict != OptionVerdict::harmless;
                if (!agreed && matters && flag.unknown.empty())
                    flag.unknown = reason(flag.name, text);
                flags_.push_back(std::move(flag));
            }
        }
        return true;
    }

    std::vector<FlagWord> flag_words(std::vector<std::string>& warnings) {
        std::vector<FlagWord> words;
        std::size_t left = 0;
        for (const shell::Field& argument : command_.arguments) {
            const std::string text = shell::without_line_marks(argument.text);
            const std::string origin = runner_.place(argument.line);
            const bool only_unset = shell::has_unknown(text) && runner_.without_unset(text).empty();
            if (left == 0 && only_unset) {
                warnings.push_back(fmt::format("{}: {} is not set in the script: taken as empty", origin,
                                               runner_.unknown_of(text).what));
                continue;
            }
            if (left == 0 && text.rfind("--", 0) != 0 && shell::has_unknown(text)) {
                append(std::exchange(words, {}));
                if (append_branches(text, origin))
                    continue;
                problems_.push_back(
                    {origin, reason("an argument", text), "set it in the script, or write the value"});
                continue;
            }
            if (text.rfind("--", 0) == 0)
                left = values_of(text);
            else if (left > 0)
                --left;
            words.push_back({text, origin});
        }
        return words;
    }

    std::string reason(const std::string& subject, const std::string& text) const {
        const shell::Unknown& cause = runner_.unknown_of(text);
        return fmt::format("{} depends on {} ({}), which is not known without running the script", subject,
                           cause.what, runner_.place(cause.line));
    }

    // Unknown values matter only where the flag does: a path may stay open. Whether the flag counts at all is
    // seen when all flags are together.
    void settle(Flag& flag) const {
        const MegatronOption* option = find_option(flag.name);
        const bool matters = option != nullptr && option->verdict != OptionVerdict::harmless;
        for (std::string& value : flag.values) {
            if (!shell::has_unknown(value))
                continue;
            if (matters && flag.name != "--tokenizer-type" && flag.unknown.empty())
                flag.unknown = reason(flag.name, value);
            value = spelled(value);
        }
        if (!flag.unknown.empty())
            return;
        const bool open = std::any_of(flag.values.begin(), flag.values.end(),
                                      [](const std::string& v) { return v.find('$') != std::string::npos; });
        if (open && option != nullptr && (option->kind != ValueKind::text || !option->choices.empty())) {
            flag.values = {option->default_value.empty() ? "0"
                                                         : option->default_value}; // harmless, whatever it is
        }
    }

    // Marks as the user wrote them: "$DATA_PATH/train".
    std::string spelled(const std::string& value) const {
        std::string out;
        for (std::size_t i = 0; i < value.size(); ++i) {
            if (value[i] != shell::kUnknownMark) {
                out += value[i];
                continue;
            }
            out += runner_.unknown_of(std::string_view(value).substr(i)).what;
            i = std::min(value.find(shell::kMarkEnd, i), value.size());
        }
        return out;
    }

    const shell::Runner& runner_;
    const TrainingCommand& command_;
    std::vector<Flag> flags_;
    std::vector<Problem> problems_;
};

// NCCL's choices follow from its variables; names of interfaces and log files change no time.
bool changes_times(std::string_view name) {
    const auto has = [&](const char* part) { return name.find(part) != std::string_view::npos; };
    return name.starts_with("NCCL_") && !has("IFNAME") && !has("DEBUG") && !has("FILE");
}

void take_environment(const TrainingCommand& command, const shell::Runner& runner, JobSource& source) {
    for (const auto& [name, value] : command.environment) {
        if (!shell::has_unknown(value)) {
            source.environment[name] = value;
        } else if (changes_times(name)) {
            const shell::Unknown& cause = runner.unknown_of(value);
            source.warnings.push_back(fmt::format("{}: value not known ({}, {}), ignored", name, cause.what,
                                                  runner.place(cause.line)));
        }
    }
}

} // namespace

JobSource read_launch_script(std::string_view text, const std::string& path) {
    check_text(text, path);
    const SlurmRequest slurm = read_sbatch_lines(text);
    using Arguments = shell::Runner::Arguments;
    shell::Runner runner = run_script(text, path, slurm, Arguments::none);
    if (!trains(runner)) // a script that leaves with a usage message when it is given nothing
        runner = run_script(text, path, slurm, Arguments::unknown);

    JobSource source;
    source.name = std::filesystem::path(path).filename().string();
    source.warnings = runner.warnings;
    const TrainingCommand command = choose_command(runner, path, source.warnings);
    source.flags = ArgumentReader(runner, command).flags(source.warnings);
    WorldSize world = world_size_of(command, slurm, runner);
    source.world_size = world.size;
    source.world_size_origin = std::move(world.origin);
    source.warnings.insert(source.warnings.end(), world.warnings.begin(), world.warnings.end());
    take_environment(command, runner, source);
    return source;
}

} // namespace echosim
