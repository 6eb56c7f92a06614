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
// With RankGraph::one_queue (CUDA_DEVICE_MAX_CONNECTIONS=1) an op leaves the queue of its GPU at
//   l = max(launch end + latency, dependencies on other streams + event wait, l of the op launched before it)
// and r is not before l.
//
// Where no rate can change (identity SlowdownModel, no contention) the end is start + time alone and follows
// at once from known ends: no event queue, finish times propagate in dependency order. Otherwise every op has
// remaining work and a rate, SlowdownModel's times its fair share of the links (core/fair_share.h), set anew
// at each start and finish on its GPU. An op that has its GPU to itself runs at rate 1: that is its time
// alone. The model is asked for its rates once for each ordered set of ops that meet on a GPU of a cost
// class.
//
// With a SlowdownModel an op that becomes ready at r while others run on its GPU begins its own work at
// r + start_delay; the delay counts as duration, not as time alone and not as waiting. Communication is on
// its GPU from r + start_delay, holds its SMs there while it waits for its peers (Running::waiting), and
// moves from the time on at which the last member is there. Example: rank 0 comes at 0, rank 1 at 5 and is
// delayed by 3, the collective takes 10 alone: it begins at 8, ends at 18; rank 0 has waited 5 of its 18.
//
// A host may run ahead of its GPU by RankGraph::launch_queue ops, then it waits. That bounds the state of a
// rank: a dependency on an op further back than that is done by the time of any launch.
//
// Host threads have a clock each, but ops are taken strictly in program order: a thread that waits holds up
// the others in the engine, not in simulated time (with a SlowdownModel: also in simulated time, as far
// as the wait reaches beyond their launches). Two ops of one stream overlap where OpCost::gap_ns is negative
// (programmatic dependent launch); with a SlowdownModel they follow each other.
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
