// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/workload/job.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

// Megatron-LM's own command line: which options there are, what they mean to us, and how Megatron derives and
// checks the rest (defaults, data-parallel size, micro-batches, vocabulary padding, pipeline split). The
// rules are those of Megatron-LM d98e8a64 (arguments.py, transformer_config.py, parallel_state.py).
namespace echosim {

// One flag as it was written.
struct Flag {
    std::string name;                // "--num-layers", one spelling: dashes, no "="
    std::vector<std::string> values; // empty for switches
    std::string origin;              // "job.sh:12", "command line", "catalogue llama3-70b"
    // Why the value is not known without running the script; empty = known. A problem only where no later
    // flag overrides this one.
    std::string unknown = {};
};
constexpr std::size_t kMaxFlags = 10'000; // of one job

// What a launch script, flag list, model name or earlier result says, before any rule is applied.
struct JobSource {
    std::string name;
    std::vector<Flag> flags;       // later ones override earlier ones
    std::optional<int> world_size; // nnodes x nproc-per-node
    std::string world_size_origin;
    std::map<std::string, std::string>
        environment;      // exported variables (CUDA_DEVICE_MAX_CONNECTIONS, NCCL_*)
    std::string software; // generation an earlier result was made for; empty = not stated
    std::vector<std::string> warnings;
};

struct ResolveOptions {
    std::optional<int> gpus; // --gpus: overrides the script's world size
    bool strict = false;     // unknown flags are errors
    std::string software;    // generation; empty = the source's, else mcore-2025
};

// Reads any JOB argument of the command line: launch script, flag list, catalogue model name or result JSON.
// Throws InputError (unreadable, binary, empty, unresolvable, truncated) with file and line.
JobSource read_job_source(const std::string& job);

// A word of a command line and where it was written ("job.sh:12").
struct FlagWord {
    std::string text;
    std::string origin;
};

// Splits "--a 1 --b=2 --c" words into flags. A word that belongs to no flag and a missing value are errors.
std::vector<Flag> parse_flags(const std::vector<FlagWord>& words);
std::vector<Flag> parse_flags(const std::vector<std::string>& words, const std::string& origin);

// Applies Megatron's rules. Collects all problems and throws one InputError. Never changes what Megatron
// would do: where Megatron refuses, so does this, with the nearest valid value as the hint.
Job resolve_job(const JobSource& source, const ResolveOptions& options);

// --set job.KEY=VALUE as the Megatron flag of the same meaning ("job.batch.micro=2" -> --micro-batch-size 2).
// Throws InputError with the list of keys when there is none.
Flag flag_for_key(const std::string& key, const std::string& value);

} // namespace echosim
