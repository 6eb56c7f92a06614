// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"
#include "simulator/graph/rank_class.h"
#include "simulator/workload/job.h"

#include <vector>

// What one run refuses (InputError) before it would take minutes or all memory, with the number that is too
// large.
namespace echosim {

// Before graphs are built: the length of the programs, and a network where the job needs one.
void check_job_size(const Job& job, const Cluster& cluster);
// Before the engine starts: ranks simulated, ops simulated, ops whose timeline is kept.
void check_simulation_size(const Job& job, const Cluster& cluster, const std::vector<RankGraph>& graphs,
                           const Placement& placement);

} // namespace echosim
