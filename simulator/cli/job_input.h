// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"
#include "simulator/cli/parse.h"
#include "simulator/workload/megatron_args.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

// From the words of the command line to a resolved job and cluster.
namespace echosim {

// The values of --set, by what they reach.
struct Overrides {
    std::vector<std::pair<std::string, std::string>> cluster; // path and value for set_value()
    std::vector<Flag> flags;                                  // job.*
    std::optional<std::string> interference;
    std::optional<bool> contention;
    std::string software; // job.kernels.software: generation, not a Megatron flag
};

// Throws InputError with every problem: no "=", unknown prefix (with suggestion), unknown key, wrong value.
Overrides read_overrides(const std::vector<std::string>& settings);

// "0,8,16-23" -> the ranks in the order written. Throws InputError that names the option.
std::vector<int> parse_ranks_in_order(const std::string& option, const std::string& text,
                                      const std::string& hint = "write a list such as 0,8,16-23");
// The same for --timeline-ranks: in ascending order, each once.
std::vector<int> parse_rank_list(const std::string& text);

// A whole number in [low, high]; throws InputError that names the option.
int parse_whole_number(const std::string& option, const std::string& text, int low, int high);

// "10%" -> 10; throws InputError that names the option.
double parse_percent(const std::string& option, const std::string& text);

// The job of argument `position`, with Megatron flags after -- and --set job.* on top, and --gpus. Without
// the argument the flags after -- are the whole job.
Job resolve_job_argument(const Invocation& invocation, const Overrides& overrides, std::size_t position);

// What an earlier result says besides the job.
struct EarlierRun {
    Cluster cluster;
    std::string interference;
    bool contention = false;
};
// nullopt when the file is not a result document.
std::optional<EarlierRun> read_earlier_run(const std::string& path);

// --cluster, else the cluster of the earlier run, with --set cluster.* and gpu.* applied. Throws InputError
// with the list of names when there is neither.
Cluster resolve_cluster(const Invocation& invocation, const Overrides& overrides,
                        const std::optional<EarlierRun>& earlier);

} // namespace echosim
