// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "traces/import_report.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// AICB's operation lists (log_analyzer/log.py: LogItem as CSV), what one rank does, in order:
//
//     [rank0 ~ rank127]                       optional: the ranks that do this
//     comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count
//     CommType.all_reduce,CommGroup.tp_group,8,20971520,forward.MegatronRowLinear,None,None,,None,None,None,1
//
// comm_group_size may be missing. Several ranks lines, each with a header, are pipeline stages. msg_size is
// bytes as nccl-tests counts them (AICB sends msg_size / 2 bf16 values); of a computation the two shapes of
// its matrix product, with commas. _elapsed_time is milliseconds where a run measured it; in a list without
// measured communication it is AIOB's time of a computation, nanoseconds (workload_applyer.py).
namespace echosim {

struct AicbOp {
    std::string_view type;  // "all_reduce", without CommType.
    std::string_view group; // "tp_group", "all", without CommGroup.; empty: None
    std::uint32_t group_size = 0;
    Bytes bytes = 0;
    std::string_view shapes; // of a computation
    std::string_view stage;
    std::int32_t destination = -1;
    std::int32_t source = -1;
    std::string_view additional;
    double elapsed = -1; // as in the file; -1: None
    double repeats = 1;
};

// What one ranks line (or none) is followed by.
struct AicbSection {
    std::int32_t stage = -1; // pipeline stage
    std::vector<int> ranks;
    std::vector<AicbOp> ops;
};

bool is_aicb_ranks_line(std::string_view line);
bool is_aicb_header(std::string_view line);

// The texts of the result lie in `text`. Throws InputError with file and line.
std::vector<AicbSection> read_aicb_list(std::string_view text, const std::string& file);

// A class of ranks for each section.
Imported graph_of_aicb(const std::vector<AicbSection>& sections, const std::string& file);

} // namespace echosim
