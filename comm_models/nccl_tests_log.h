// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/op_types.h"
#include "simulator/core/units.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The output of nccl-tests (all_reduce_perf and its relatives) as people paste it: in front of lines what
// mpirun, srun or a log collector puts there, ANSI colours, tables inside Markdown, several tables in one
// file, in-place and out-of-place columns, or one of them, old releases without the root column, truncated
// tables, lines that several processes wrote at once.
namespace echosim {

struct NcclTestsRow {
    Bytes bytes = 0;
    std::string dtype; // "float", "half", ...
    // us; nullopt where the column is missing or "N/A"
    std::optional<double> out_of_place_us, in_place_us;
    std::optional<double> out_of_place_busbw, in_place_busbw; // GB/s
    int line = 0;
};

struct NcclTestsTable {
    std::optional<CollectiveKind> kind; // from the program's name, or from the ratio busbw / algbw
    int ranks = 0;                      // from the list of ranks, or from the ratio; 0 = not known
    int nodes = 0;                      // distinct hosts in the list of ranks; 0 = not known
    std::string gpu;                    // "NVIDIA H100 80GB HBM3" as printed
    std::string nccl;                   // "2.21.5"; empty = not printed
    bool root_column = true;            // false: nccl-tests of before 2022, so NCCL 2.11 at most
    std::vector<NcclTestsRow> rows;
    std::vector<std::string> warnings; // lines that were skipped, and why; counted
    int line = 0;
};

// Throws InputError when the text holds no table at all. `name` is the file, for messages.
std::vector<NcclTestsTable> read_nccl_tests(std::string_view text, const std::string& name);

} // namespace echosim
