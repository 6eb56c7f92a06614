// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"

#include <span>
#include <string>
#include <vector>

namespace echosim {

enum class LaunchOrder : std::uint8_t { comm_first, kernel_first };
std::string to_string(LaunchOrder order);

struct BenchOptions {
    bool help = false;
    bool list = false;
    bool dry_run = false;
    bool quiet = false;
    bool stand_in = false; // even where several GPUs and NCCL are found
    bool high_priority = false;
    std::vector<std::string> kernels; // whole names or their beginnings; empty: all
    std::vector<int> ctas = {1, 2, 4, 8, 16, 24, 32};
    std::vector<LaunchOrder> orders = {LaunchOrder::comm_first, LaunchOrder::kernel_first};
    std::vector<CollectiveKind> collectives = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                               CollectiveKind::reduce_scatter};
    std::vector<double> hbm_per_cta = {.003, .012}; // of the stand-in, share of the HBM bandwidth
    int repeats = 30;
    int gpus = 0;       // 0: all that are visible
    std::string output; // empty or "-": standard output
};

// Arguments without the program's name. Throws InputError that names all that is wrong.
BenchOptions parse_bench_options(std::span<const char* const> arguments);
std::string bench_help(); // examples first

} // namespace echosim
