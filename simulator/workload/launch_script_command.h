// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/workload/shell_run.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace echosim {

// #SBATCH lines: what Slurm would give the job.
struct SlurmRequest {
    std::optional<int> nodes;
    std::optional<int> tasks;
    std::optional<int> tasks_per_node;
    std::optional<int> gpus_per_node;
};
SlurmRequest read_sbatch_lines(std::string_view text);

// The words of one command: what stands in front of the Python program (launchers with their options) and its
// arguments.
struct TrainingCommand {
    std::vector<shell::Field> launcher;
    std::string program;
    std::vector<shell::Field> arguments;
    std::map<std::string, std::string> environment;
    int line = 0;
    int known_flags = 0; // arguments that are options of Megatron-LM
    bool has_shape =
        false; // one of them says that this trains a model (--num-layers, --micro-batch-size, ...)
};
std::optional<TrainingCommand> training_command(const shell::ExternalCommand& command);

// Runs `bash -c "..."` and `bash file.sh` in place; true when the command was one of these.
bool run_inner_shell(shell::Runner& runner, const shell::ExternalCommand& command);

struct WorldSize {
    std::optional<int> size;
    std::string origin;
    std::vector<std::string> warnings;
};
WorldSize world_size_of(const TrainingCommand& command, const SlurmRequest& slurm,
                        const shell::Runner& runner);

} // namespace echosim
