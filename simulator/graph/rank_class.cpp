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

// The geometry of one kind of group at a rank; groups of the whole job are computed once.
class Geometries {
  public:
    Geometries(const ParallelLayout& layout, const Cluster& cluster) : layout_(layout), cluster_(cluster) {
        std::vector<int> all(static_cast<std::size_t>(layout.world_size));
        std::iota(all.begin(), all.end(), 0);
        world_ = geometry_of(all, cluster);
    }
    GroupGeometry of(GroupKind kind, int rank) {
        if (kind == GroupKind::world)
            return world_;
        const std::vector<int> ranks = group_of(layout_, kind, rank);
        const auto [it, added] =
            known_.try_emplace({kind, ranks.front(), static_cast<int>(ranks.size()), rank_key(kind, rank)});
        if (added)
            it->second = geometry_of(ranks, cluster_);
        return it->second;
    }
    GroupGeometry between(int a, int b) const {
        const int pair[] = {std::min(a, b), std::max(a, b)};
        return geometry_of(pair, cluster_);
    }

  private:
    // embd groups of inner stages are single ranks that share no first rank; others are known by their first
    // rank
    static int rank_key(GroupKind kind, int rank) { return kind == GroupKind::embd ? rank : 0; }
    const ParallelLayout& layout_;
    const Cluster& cluster_;
    GroupGeometry world_;
    std::map<std::tuple<GroupKind, int, int, int>, GroupGeometry> known_;
};

int peer_rank(const ParallelLayout& layout, int rank, int stage) {
    const RankCoordinates c = coordinates_of(layout, rank);
    return rank_at(layout, c.tp, c.cp, c.dp, stage);
}

CostClass cost_class(const ParallelLayout& layout, Geometries& geometries, const RankGraph& graph, int rank) {
    CostClass c;
    c.stage = graph.stage;
    for (const GroupKind kind : graph.communicators)
        c.communicators.push_back(geometries.of(kind, rank));
    for (const Channel& channel : graph.channels)
        c.channels.push_back(geometries.between(rank, peer_rank(layout, rank, channel.peer_stage)));
    return c;
}

// Every rank of the stage sees the same geometries. A group is looked at once, at its members with coordinate
// 0.
bool uniform(const ParallelLayout& layout, Geometries& geometries, const RankGraph& graph,
             const CostClass& first) {
    for (int dp = 0; dp < layout.dp; ++dp)
        for (int cp = 0; cp < layout.cp; ++cp)
            for (int tp = 0; tp < layout.tp; ++tp) {
                const int rank = rank_at(layout, tp, cp, dp, graph.stage);
                for (std::size_t slot = 0; slot < graph.communicators.size(); ++slot) {
                    const GroupKind kind = graph.communicators[slot];
                    const bool leads =
                        (kind == GroupKind::tp && tp == 0) || (kind == GroupKind::mp && tp == 0) ||
                        (kind == GroupKind::dp_cp && dp == 0 && cp == 0) || kind == GroupKind::embd;
                    if (leads && !(geometries.of(kind, rank) == first.communicators[slot]))
                        return false;
                }
                for (std::size_t i = 0; i < graph.channels.size(); ++i)
                    if (!(geometries.between(rank, peer_rank(layout, rank, graph.channels[i].peer_stage)) ==
                          first.channels[i]))
                        return false;
            }
    return true;
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
        return std::ranges::all_of(graphs_, [&](const RankGraph& graph) {
            const CostClass first =
                cost_class(layout_, geometries_, graph, rank_at(layout_, 0, 0, 0, graph.stage));
            return uniform(layout_, geometries_, graph, first);
        });
    }
    void add(int rank, const RankGraph& graph) {
        SimulatedRank r;
        r.rank = rank;
        r.stage = graph.stage;
        const CostClass costs = cost_class(layout_, geometries_, graph, rank);
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
