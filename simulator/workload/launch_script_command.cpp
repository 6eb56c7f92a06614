// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/launch_script_command.h"

#include "simulator/core/error.h"
#include "simulator/workload/megatron_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace echosim {
namespace {

using shell::Field;

std::string text_of(const Field& field) {
    return shell::without_line_marks(field.text);
}

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
}

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_torch_launcher(const std::string& word) {
    const std::string name = base_name(word);
    return name == "torchrun" || word.rfind("torch.distributed.", 0) == 0 || name == "torch_run";
}

bool is_launcher(const std::string& word) {
    static constexpr std::array<std::string_view, 8> names = {
        "srun", "mpirun", "mpiexec", "deepspeed", "accelerate", "torchrun", "python", "python3"};
    return is_torch_launcher(word) || std::find(names.begin(), names.end(), base_name(word)) != names.end();
}

bool is_megatron_option(const std::string& word) {
    return word.rfind("--", 0) == 0 && find_option(word.substr(0, word.find('='))) != nullptr;
}

// Where the Python program stands: a .py file, a module after -m that is no launcher, or in front of the
// first flag of Megatron-LM.
std::size_t program_index(const std::vector<Field>& words) {
    bool launched = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string word = text_of(words[i]);
        launched = launched || is_launcher(word);
        if (ends_with(word, ".py"))
            return i;
        if (word == "-m" && i + 1 < words.size() && !is_launcher(text_of(words[i + 1])) && launched)
            return i + 1;
        if (launched && i > 0 && is_megatron_option(word))
            return i - 1;
    }
    return words.size();
}

std::optional<int> whole_number(const std::string& text) {
    if (text.empty() || text.size() > 9 ||
        !std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
        return std::nullopt;
    }
    return std::atoi(text.c_str());
}

// "gpu:8", "gpu:h100:8" of --gres.
std::optional<int> gpus_of_gres(const std::string& text) {
    const std::size_t gpu = text.find("gpu:");
    if (gpu == std::string::npos)
        return std::nullopt;
    const std::string rest = text.substr(gpu, text.find(',', gpu) - gpu);
    return whole_number(rest.substr(rest.rfind(':') + 1));
}

// Options of a launcher: "--nnodes 4", "--nnodes=4", "-N 4", "-N4"; names with dashes as underscores.
std::map<std::string, std::string> launcher_options(const std::vector<std::string>& words) {
    std::map<std::string, std::string> options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word.size() < 2 || word[0] != '-')
            continue;
        std::string name = word.substr(word[1] == '-' ? 2 : 1);
        std::string value = i + 1 < words.size() ? words[i + 1] : std::string();
        if (const std::size_t equals = name.find('='); equals != std::string::npos) {
            value = name.substr(equals + 1);
            name.erase(equals);
        } else if (word[1] != '-' && name.size() > 1 && whole_number(name.substr(1)) &&
                   std::string_view("NnG").find(name[0]) != std::string_view::npos) {
            value = name.substr(1);
            name.erase(1);
        }
        std::replace(name.begin(), name.end(), '-', '_');
        options[name] = value;
    }
    return options;
}

std::vector<std::string> split_at_blanks(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text) {
        if (c != ' ' && c != '\t' && c != '\r')
            word += c;
        else if (!word.empty())
            words.push_back(std::exchange(word, {}));
    }
    if (!word.empty())
        words.push_back(word);
    return words;
}

// The options of one command in front of the program, looked up with words for messages.
class LauncherReader {
  public:
    LauncherReader(const TrainingCommand& command, const shell::Runner& runner, WorldSize& world)
        : command_(command), runner_(runner), world_(world) {
        std::vector<std::string> words;
        for (const Field& field : command.launcher)
            words.push_back(text_of(field));
        for (const std::string& word : words) {
            torch = torch || is_torch_launcher(word);
            const std::string name = base_name(word);
            deepspeed = deepspeed || name == "deepspeed";
            slurm = slurm || name == "srun";
            mpi = mpi || name == "mpirun" || name == "mpiexec";
            accelerate = accelerate || name == "accelerate";
        }
        options_ = launcher_options(words);
    }

    std::optional<int> number(std::initializer_list<const char*> names) {
        for (const char* name : names) {
            const auto found = options_.find(name);
            if (found == options_.end())
                continue;
            std::string text = found->second;
            if (shell::has_unknown(text)) {
                const shell::Unknown& unknown = runner_.unknown_of(text);
                world_.warnings.push_back(fmt::format(
                    "{}: {} of the launcher depends on {} ({}), which is not known",
                    runner_.place(command_.line), name, unknown.what, runner_.place(unknown.line)));
                return std::nullopt;
            }
            if (const std::size_t colon = text.find(':'); colon != std::string::npos)
                text.erase(0, colon + 1); // elastic: most
            if (const auto value = whole_number(text))
                return value;
        }
        return std::nullopt;
    }

    std::optional<int> gpus_per_node() {
        if (const auto gres = options_.find("gres"); gres != options_.end())
            return gpus_of_gres(gres->second);
        return number({"gpus_per_node"});
    }

    bool has(const char* name) const { return options_.find(name) != options_.end(); }

    bool torch = false;
    bool deepspeed = false;
    bool slurm = false;
    bool mpi = false;
    bool accelerate = false;

  private:
    const TrainingCommand& command_;
    const shell::Runner& runner_;
    WorldSize& world_;
    std::map<std::string, std::string> options_;
};

std::optional<std::int64_t> product(std::optional<int> a, std::optional<int> b) {
    if (!a || !b)
        return std::nullopt;
    return static_cast<std::int64_t>(*a) * *b;
}

std::optional<int> first_of(std::optional<int> a, std::optional<int> b) {
    return a ? a : b;
}

std::optional<std::int64_t> size_of_world(LauncherReader& launcher, const SlurmRequest& slurm,
                                          const shell::Runner& runner) {
    if (launcher.torch) {
        auto nodes = launcher.number({"nnodes"});
        if (!launcher.has("nnodes"))
            nodes = 1;
        const auto per_node = first_of(launcher.number({"nproc_per_node"}),
                                       launcher.has("nproc_per_node") ? slurm.gpus_per_node : std::nullopt);
        return product(first_of(nodes, slurm.nodes), per_node);
    }
    if (launcher.deepspeed) {
        const auto nodes = first_of(launcher.number({"num_nodes"}), slurm.nodes);
        return product(nodes ? nodes : std::optional<int>(1),
                       first_of(launcher.number({"num_gpus"}), slurm.gpus_per_node));
    }
    if (launcher.accelerate)
        return launcher.number({"num_processes"});
    if (launcher.mpi) {
        if (const auto ranks = launcher.number({"np", "n", "c"}))
            return ranks;
    }
    if (launcher.slurm) {
        if (const auto tasks = launcher.number({"ntasks", "n"}))
            return tasks;
        const auto nodes = first_of(launcher.number({"nodes", "N"}), slurm.nodes);
        const auto tasks_per_node = first_of(launcher.number({"ntasks_per_node"}), slurm.tasks_per_node);
        if (const auto size = product(nodes, tasks_per_node))
            return size;
        if (slurm.tasks)
            return slurm.tasks;
        return product(nodes, first_of(launcher.gpus_per_node(), slurm.gpus_per_node));
    }
    return whole_number(runner.get("WORLD_SIZE"));
}

} // namespace

SlurmRequest read_sbatch_lines(std::string_view text) {
    SlurmRequest request;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        if (line.rfind("#SBATCH", 0) != 0)
            continue;
        const auto options = launcher_options(split_at_blanks(line.substr(7, line.find('#', 7) - 7)));
        const auto number = [&](std::initializer_list<const char*> names, std::optional<int>& value) {
            for (const char* name : names) {
                const auto found = options.find(name);
                if (found == options.end())
                    continue;
                const std::string digits =
                    found->second.substr(found->second.find_last_of(":-") == std::string::npos
                                             ? 0
                                             : found->second.find_last_of(":-") + 1);
                if (const auto parsed = whole_number(digits))
                    value = parsed;
            }
        };
        number({"nodes", "N"}, request.nodes);
        number({"ntasks", "n"}, request.tasks);
        number({"ntasks_per_node", "tasks_per_node"}, request.tasks_per_node);
        number({"gpus_per_node"}, request.gpus_per_node);
        if (const auto gres = options.find("gres"); gres != options.end())
            request.gpus_per_node = gpus_of_gres(gres->second);
    }
    return request;
}

std::optional<TrainingCommand> training_command(const shell::ExternalCommand& command) {
    static constexpr std::array<std::string_view, 7> shape = {"--num-layers",
                                                              "--hidden-size",
                                                              "--micro-batch-size",
                                                              "--seq-length",
                                                              "--tensor-model-parallel-size",
                                                              "--hybrid-layer-pattern",
                                                              "--yaml-cfg"};
    const std::size_t program = program_index(command.words);
    if (program >= command.words.size())
        return std::nullopt;
    TrainingCommand found;
    const auto split = command.words.begin() + static_cast<std::ptrdiff_t>(program);
    found.launcher.assign(command.words.begin(), split);
    found.program = text_of(*split);
    found.arguments.assign(split + 1, command.words.end());
    found.environment = command.environment;
    found.line = command.line;
    for (const Field& argument : found.arguments) {
        const std::string word = text_of(argument);
        const std::string name = word.substr(0, word.find('='));
        if (is_megatron_option(word))
            ++found.known_flags;
        found.has_shape = found.has_shape || std::find(shape.begin(), shape.end(), name) != shape.end();
    }
    return found;
}

bool run_inner_shell(shell::Runner& runner, const shell::ExternalCommand& command) {
    for (std::size_t i = 0; i < command.words.size(); ++i) {
        const std::string word = text_of(command.words[i]);
        if (ends_with(word, ".py") || is_torch_launcher(word))
            return false;
        const std::string name = base_name(word);
        const bool is_shell = name == "bash" || name == "sh" || name == "zsh";
        if (!is_shell && !ends_with(word, ".sh"))
            continue;
        std::size_t next = is_shell ? i + 1 : i;
        bool text = false;
        while (is_shell && next < command.words.size() && text_of(command.words[next]).rfind('-', 0) == 0) {
            text = text || text_of(command.words[next]).find('c') != std::string::npos;
            ++next;
        }
        if (next >= command.words.size())
            return false;
        const std::size_t before = runner.commands.size();
        if (text) {
            runner.run_subshell(command.words[next].text, command.words[next].line);
        } else {
            const std::vector<Field> arguments(command.words.begin() + static_cast<std::ptrdiff_t>(next) + 1,
                                               command.words.end());
            const std::string file = text_of(command.words[next]);
            if (shell::has_unknown(file) || !runner.run_file_beside(file, arguments, true))
                return false;
        }
        for (std::size_t c = before; c < runner.commands.size(); ++c) { // srun -N 4 bash -c "torchrun ..."
            auto& words = runner.commands[c].words;
            words.insert(words.begin(), command.words.begin(),
                         command.words.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return true;
    }
    return false;
}

WorldSize world_size_of(const TrainingCommand& command, const SlurmRequest& slurm,
                        const shell::Runner& runner) {
    WorldSize world;
    LauncherReader launcher(command, runner, world);
    const auto size = size_of_world(launcher, slurm, runner);
    world.origin = runner.place(command.line) + " launcher";
    if (!size)
        return world;
    if (*size < 1 || *size > std::numeric_limits<int>::max()) {
        throw InputError(runner.place(command.line), fmt::format("the launcher starts {} processes", *size),
                         "allowed: 1 or more");
    }
    world.size = static_cast<int>(*size);
    return world;
}

} // namespace echosim
