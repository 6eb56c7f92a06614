// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/cli/commands/collective_rows.h"

#include <string>

namespace echosim {

// The table of nccl-tests with NCCL's choice behind each row.
std::string collective_table_text(const CollectiveReport& report);
std::string collective_csv(const CollectiveReport& report);

// "sum", "none"; "-1", "0".
std::string_view redop_of(CollectiveKind kind);
int root_of(CollectiveKind kind);

// "2.21", or the newest that the model knows.
std::string nccl_version_text(const Cluster& cluster);
// "NCCL 2.21"; AMD's GPUs run RCCL.
std::string library_text(const Cluster& cluster);
// "NVLink"; "xGMI" between AMD's GPUs.
std::string_view link_name(const Cluster& cluster);
// "64 ranks on 8 nodes, 8 a node, NVLink".
std::string group_text(const CollectiveRequest& request);

} // namespace echosim
