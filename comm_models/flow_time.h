// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/fabric.h"
#include "comm_models/schedule.h"
#include "comm_models/traffic.h"

// Time of a collective alone at flow level: the chunk schedules of schedule.h as closed forms, with the
// latency and capacity of the links and nothing of NCCL's protocols. One set of transfers that run at the
// same time takes
//
//   t = max over its transfers ( latency of the path + max over its links ( bytes of the set on the link /
//   capacity ) )
//
// and the sets of a schedule follow each other:
//
//   ring            steps x blocks of one set: every rank sends one chunk on every ring
//   tree, K chunks  depth x t(up) + (K - 1) x t(up and down) + depth x t(down); depth = steps to the root
//   all_to_all      ceil((n - 1) / in_flight) sets of rounds
//   send_recv       one set a chunk
//
// Exact for rings, since a rank waits for its slowest transfer in each step and the slowest one of all sets
// the pace; exact for the others where all transfers of a set end together.
namespace echosim {

struct FlowTime {
    Seconds time = 0;
    Seconds latency = 0;            // the part of it that more bandwidth would not shorten
    std::vector<LinkBytes> traffic; // ascending, one entry a link
};

// Appends the links that a hop crosses, those to its relay first.
void path_of(const LaneHop& hop, FabricLinks& fabric, std::vector<LinkId>& links);

FlowTime flow_time(const ScheduledCollective& collective, FabricLinks& fabric);

} // namespace echosim
