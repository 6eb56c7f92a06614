// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/rank_class.h"

#include "simulator/core/error.h"
#include "simulator/workload/rank_layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace echosim {
namespace {

int peer_rank(const ParallelLayout& layout, int rank, int stage) {
    const RankCoordinates c = coordinates_of(layout, rank);
    return rank_at(layout, c.tp, c.cp, c.dp, stage);
}

// A group is looked at once in a stage, at its member with coordinate 0.
bool leads(GroupKind kind, const RankCoordinates& c) {
    switch (kind) {
    case GroupKind::tp:
    case GroupKind::mp:
        return c.tp == 0;
    case GroupKind::cp:
        return c.cp == 0;
    case GroupKind::dp:
        return c.dp == 0;
    case GroupKind::dp_cp:
        return c.dp == 0 && c.cp == 0;
    case GroupKind::tp_cp:
        return c.tp == 0 && c.cp == 0;
    case GroupKind::ep:
        return c.ep == 0;
    case GroupKind::etp:
        return c.etp == 0;
    case GroupKind::edp:
        return c.edp == 0;
    case GroupKind::tp_ep:
        return c.etp == 0 && c.ep == 0;
    case GroupKind::pp:
    case GroupKind::embd:
    case GroupKind::pos_embd:
    case GroupKind::world:
        break;
    }
    return true;
}

// Without the place in the fabric.
GroupGeometry shape_of(GroupGeometry geometry) {
    geometry.switch_levels = 0;
    geometry.ring_share = geometry.all_pairs_share = 1;
    return geometry;
}

// The worst placed of the groups of each shape.
class WorstPlaced {
  public:
    void add(const GroupGeometry& geometry) {
        for (GroupGeometry& known : shapes_)
            if (shape_of(known) == shape_of(geometry)) {
                known.switch_levels = std::max(known.switch_levels, geometry.switch_levels);
                known.ring_share = std::min(known.ring_share, geometry.ring_share);
                known.all_pairs_share = std::min(known.all_pairs_share, geometry.all_pairs_share);
                return;
            }
        shapes_.push_back(geometry);
    }
    const GroupGeometry& like(const GroupGeometry& geometry) const {
        const auto found = std::ranges::find(shapes_, shape_of(geometry), shape_of);
        ECHOSIM_CHECK(found != shapes_.end(), "every group of the stage was added");
        return *found;
    }
    bool uniform() const { return shapes_.size() <= 1; }

  private:
    std::vector<GroupGeometry> shapes_;
};

// The geometry of one kind of group, or of pairs of ranks, at a stage; each group is computed once. Groups of
// one shape differ in the switches between their nodes only, where a leaf ends between them. They count as
// placed like the worst of them: the step waits for that one, and the stage stays one class.
class Geometries {
  public:
    Geometries(const ParallelLayout& layout, const Cluster& cluster) : layout_(layout), cluster_(cluster) {
        nodes_.nodes = nodes_for(cluster, layout.world_size);
        std::vector<int> all(static_cast<std::size_t>(layout.world_size));
        std::iota(all.begin(), all.end(), 0);
        world_ = geometry_of(all, cluster, nodes_);
    }
    GroupGeometry of(GroupKind kind, int rank) {
        if (kind == GroupKind::world)
            return world_;
        return groups(kind, coordinates_of(layout_, rank).pp).like(alone(group_of(layout_, kind, rank)));
    }
    GroupGeometry between(int rank, int stage) {
        return pairs(coordinates_of(layout_, rank).pp, stage).like(pair(rank, stage));
    }
    // Every rank of the stage sees the same geometries.
    bool uniform(const RankGraph& graph) {
        return std::ranges::all_of(graph.communicators,
                                   [&](GroupKind kind) {
                                       return kind == GroupKind::world || groups(kind, graph.stage).uniform();
                                   }) &&
               std::ranges::all_of(graph.channels, [&](const Channel& channel) {
                   return pairs(graph.stage, channel.peer_stage).uniform();
               });
    }

  private:
    GroupGeometry alone(const std::vector<int>& ranks) const { return geometry_of(ranks, cluster_, nodes_); }
    GroupGeometry pair(int rank, int stage) const {
        const auto [low, high] = std::minmax({rank, peer_rank(layout_, rank, stage)});
        return alone({low, high});
    }
    template <class Visit> void each_rank(int stage, Visit visit) const {
        for (int dp = 0; dp < layout_.dp; ++dp)
            for (int cp = 0; cp < layout_.cp; ++cp)
                for (int tp = 0; tp < layout_.tp; ++tp)
                    visit(rank_at(layout_, tp, cp, dp, stage));
    }
    const WorstPlaced& groups(GroupKind kind, int stage) {
        const auto [it, added] = groups_.try_emplace({kind, stage});
        WorstPlaced& worst = it->second; // clang 14 captures no structured binding
        if (added)
            each_rank(stage, [&](int rank) {
                if (leads(kind, coordinates_of(layout_, rank)))
                    worst.add(alone(group_of(layout_, kind, rank)));
            });
        return worst;
    }
    const WorstPlaced& pairs(int stage, int peer) {
        const auto [it, added] = pairs_.try_emplace(std::minmax(stage, peer));
        WorstPlaced& worst = it->second;
        if (added)
            each_rank(stage, [&](int rank) { worst.add(pair(rank, peer)); });
        return worst;
    }

    const ParallelLayout& layout_;
    const Cluster& cluster_;
    NodePlacement nodes_; // in order
    GroupGeometry world_;
    std::map<std::pair<GroupKind, int>, WorstPlaced> groups_; // by kind and stage
    std::map<std::pair<int, int>, WorstPlaced> pairs_;        // by stages
};

CostClass cost_class(Geometries& geometries, const RankGraph& graph, int rank) {
    CostClass c;
    c.stage = graph.stage;
    for (const GroupKind kind : graph.communicators)
        c.communicators.push_back(geometries.of(kind, rank));
    for (const Channel& channel : graph.channels)
        c.channels.push_back(geometries.between(rank, channel.peer_stage));
    return c;
}

class Placer {
  public:
    Placer(const Job& job, const Cluster& cluster, const std::vector<RankGraph>& graphs)
        : layout_(job.parallel), graphs_(graphs), geometries_(job.parallel, cluster) {}

    Placement place(bool fold) {
        placement_.folded = fold && all_uniform();
        if (placement_.folded)
            for (const RankGraph& graph : graphs_)
                add(rank_at(layout_, 0, 0, 0, graph.stage), graph);
        else
            for (int rank = 0; rank < layout_.world_size; ++rank)
                add(rank, graphs_[static_cast<std::size_t>(coordinates_of(layout_, rank).pp)]);
        for (std::size_t i = 0; i < placement_.ranks.size(); ++i)
            wire_channels(static_cast<std::uint32_t>(i));
        return std::move(placement_);
    }

  private:
    bool all_uniform() {
        return std::ranges::all_of(graphs_,
                                   [&](const RankGraph& graph) { return geometries_.uniform(graph); });
    }
    void add(int rank, const RankGraph& graph) {
        SimulatedRank r;
        r.rank = rank;
        r.stage = graph.stage;
        const CostClass costs = cost_class(geometries_, graph, rank);
        r.costs = static_cast<std::uint32_t>(std::ranges::find(placement_.cost_classes, costs) -
                                             placement_.cost_classes.begin());
        if (r.costs == placement_.cost_classes.size())
            placement_.cost_classes.push_back(costs);
        for (std::size_t slot = 0; slot < graph.communicators.size(); ++slot)
            r.communicators.push_back(join(slot, graph.communicators[slot], rank, costs.communicators[slot]));
        placement_.ranks.push_back(std::move(r));
    }
    // The communicator of this group, by its first rank; folded groups inside a stage by the stage.
    std::uint32_t join(std::size_t slot, GroupKind kind, int rank, const GroupGeometry& geometry) {
        const bool whole = kind == GroupKind::world;
        const bool inner_embd = kind == GroupKind::embd && geometry.ranks == 1;
        int key = whole ? 0 : inner_embd ? rank : group_of(layout_, kind, rank).front();
        const auto [it, added] = communicators_.try_emplace(
            {slot, key}, static_cast<std::uint32_t>(placement_.communicators.size()));
        if (added)
            placement_.communicators.push_back({kind, 0, geometry});
        ++placement_.communicators[it->second].members;
        return it->second;
    }
    std::uint32_t simulated(int rank) const {
        if (!placement_.folded)
            return static_cast<std::uint32_t>(rank);
        return static_cast<std::uint32_t>(coordinates_of(layout_, rank).pp);
    }
    void wire_channels(std::uint32_t index) {
        const RankGraph& graph = graphs_[static_cast<std::size_t>(placement_.ranks[index].stage)];
        for (const Channel& channel : graph.channels) {
            const std::uint32_t peer =
                simulated(peer_rank(layout_, placement_.ranks[index].rank, channel.peer_stage));
            const std::uint32_t source = channel.send ? index : peer,
                                destination = channel.send ? peer : index;
            const auto [it, added] =
                channels_.try_emplace({source, destination, channel.forward},
                                      static_cast<std::uint32_t>(placement_.channels.size()));
            if (added)
                placement_.channels.push_back({source, destination, channel.forward});
            placement_.ranks[index].channels.push_back(it->second);
        }
    }

    const ParallelLayout& layout_;
    const std::vector<RankGraph>& graphs_;
    Geometries geometries_;
    Placement placement_;
    std::map<std::tuple<std::size_t, int>, std::uint32_t> communicators_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint32_t> channels_;
};

} // namespace

Placement place(const Job& job, const Cluster& cluster, const std::vector<RankGraph>& graphs, bool fold) {
    ECHOSIM_CHECK(graphs.size() == static_cast<std::size_t>(job.parallel.pp), "one graph a pipeline stage");
    return Placer(job, cluster, graphs).place(fold);
}

std::vector<int> represented_ranks(const Job& job, const Placement& placement, std::size_t simulated_rank) {
    const SimulatedRank& r = placement.ranks[simulated_rank];
    if (!placement.folded)
        return {r.rank};
    std::vector<int> ranks;
    for (int dp = 0; dp < job.parallel.dp; ++dp)
        for (int cp = 0; cp < job.parallel.cp; ++cp)
            for (int tp = 0; tp < job.parallel.tp; ++tp)
                ranks.push_back(rank_at(job.parallel, tp, cp, dp, r.stage));
    std::ranges::sort(ranks);
    return ranks;
}

} // namespace echosim
