// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/geometry.h"
#include "simulator/core/op_types.h"
#include "simulator/graph/execution_graph.h"
#include "simulator/workload/job.h"

#include <cstdint>
#include <vector>

// Which ranks are simulated, which ranks each of them stands for, and how their communicators are wired.
//
// All ranks of a pipeline stage run the same graph. They are one class when, besides, every communicator of
// one kind has the same geometry throughout the stage: then all of them do the same at the same time, and one
// rank is simulated for all (folding is exact: tests/engine/folding_test.cpp). Where a stage is not uniform,
// or folding is switched off, every rank is simulated on its own.
namespace echosim {

struct SimulatedRank {
    int rank = 0;                             // global rank (the first it stands for)
    int stage = 0;                            // = index of its RankGraph
    std::uint32_t costs = 0;                  // row of Placement::cost_classes
    std::vector<std::uint32_t> communicators; // slot -> row of Placement::communicators
    std::vector<std::uint32_t> channels;      // channel of the graph -> row of Placement::channels
};

struct Communicator {
    GroupKind kind = GroupKind::world;
    std::uint32_t members = 0; // simulated ranks that must arrive
    GroupGeometry geometry;    // of the real group
};

// One direction between two simulated ranks.
struct PlacedChannel {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    bool forward = true;
};

// Ranks with the same graph and the same geometries share their annotated costs.
struct CostClass {
    int stage = 0;
    std::vector<GroupGeometry> communicators; // by slot
    std::vector<GroupGeometry> channels;      // by channel of the graph
    bool operator==(const CostClass&) const = default;
};

struct Placement {
    std::vector<SimulatedRank> ranks;
    std::vector<Communicator> communicators;
    std::vector<PlacedChannel> channels;
    std::vector<CostClass> cost_classes;
    bool folded = true;
};

// `graphs` by pipeline stage.
Placement place(const Job& job, const Cluster& cluster, const std::vector<RankGraph>& graphs, bool fold);

// All ranks that this simulated rank stands for, in rank order.
std::vector<int> represented_ranks(const Job& job, const Placement& placement, std::size_t simulated_rank);

} // namespace echosim
