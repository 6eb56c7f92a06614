// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/slowdown.h"
#include "simulator/engine/timeline.h"
#include "simulator/graph/annotate.h"
#include "simulator/graph/rank_class.h"

#include <vector>

// The event engine: replays the annotated graphs of all simulated ranks against each other.
//
// A rank's host walks its program and launches ops; each op is one of
//   ready at r = max(launch end + latency, previous op of its stream + gap, dependencies + event wait);
//   a compute op starts at r; a collective at the largest r of its group's members, and ends for all at once;
//   a transfer at the larger r of its two ends, a group of transfers is done when all are.
// Where no rate can change (identity SlowdownModel, no contention) the end is start + time alone and follows
// at once from known ends: no event queue, finish times propagate in dependency order. Otherwise every op has
// remaining work and a rate, SlowdownModel's times its fair share of the links (core/fair_share.h), set anew
// at each start and finish on its GPU, and a 4-ary heap holds the running ops.
//
// A host may run ahead of its GPU by RankGraph::launch_queue ops, then it waits. That bounds the state of a
// rank: a dependency on an op further back than that is done by the time of any launch.
//
// Host threads have a clock each, but ops are taken strictly in program order: a thread that waits holds up
// the others in the engine, not in simulated time (with rates that can change: also in simulated time, as far
// as the wait reaches beyond their launches). Two ops of one stream overlap where OpCost::gap_ns is negative
// (programmatic dependent launch); with rates that can change they follow each other.
namespace echosim {

struct EngineInput {
    const Placement& placement;
    const std::vector<AnnotatedGraph>& graphs; // by cost class
    const SlowdownModel& slowdown;
    std::vector<bool> record; // by simulated rank: keep its timeline; shorter = false
    bool contention = false;  // communication that runs together shares NVLink, NICs, PCIe and memory
};

// Throws DeadlockError when the ranks wait for each other in a circle.
Timeline simulate(const EngineInput& input);

} // namespace echosim
