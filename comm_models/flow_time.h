// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/fabric.h"
#include "comm_models/schedule.h"

// Time of a collective alone at flow level: the chunk schedules of schedule.h as closed forms, with the
// latency and capacity of the links and nothing of NCCL's protocols. One set of transfers that run at the
// same time takes
//
//   t = max over its transfers ( latency of the path + max over its links ( bytes of the set on the link /
//   capacity ) )
//
// and the sets of a schedule follow each other:
//
//   ring            steps x blocks of one set: every rank sends one chunk on every lane
//   tree, K chunks  one chunk to the root and back, and (K - 1) x t(all ups and downs). While the first chunk
//   rises only
//                   the ranks below it send, while the last one falls only those below it receive
//   all_to_all      ceil((n - 1) / in_flight) sets of rounds
//   send_recv       one set a chunk
//
// Exact for rings, since a rank waits for its slowest transfer in each step and the slowest one of all sets
// the pace; exact for the others where all transfers of a set end together.
namespace echosim {

struct FlowTime {
    Seconds time = 0;
    Seconds latency = 0; // the part of it that more bandwidth would not shorten
    int flows = 1;       // at once on the busiest link: the weight when others share it
};

// Appends the links that a hop crosses, those to its relay first.
void path_of(const LaneHop& hop, FabricLinks& fabric, std::vector<LinkId>& links);

FlowTime flow_time(const ScheduledCollective& collective, FabricLinks& fabric);

} // namespace echosim
