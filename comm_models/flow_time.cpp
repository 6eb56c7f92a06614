// SPDX-License-Identifier: Apache-2.0
#include "comm_models/flow_time.h"

#include <algorithm>
#include <unordered_map>

namespace echosim {
namespace {

// The slowest transfer of a set, and how many of the set share its busiest link.
struct Slowest {
    Seconds time = 0;
    Seconds latency = 0;
    int flows = 1;
};

// Transfers that run at the same time, and what they put on each link.
class TransferSet {
  public:
    explicit TransferSet(FabricLinks& fabric) : fabric_(&fabric) {}

    void add(const LaneHop& hop, double bytes) {
        path_.clear();
        path_of(hop, *fabric_, path_);
        for (const LinkId link : path_) {
            load_[link].bytes += bytes;
            ++load_[link].flows;
        }
        hops_.push_back(hop);
    }
    Slowest time_of(const LaneHop& hop) const {
        path_.clear();
        path_of(hop, *fabric_, path_);
        Slowest result;
        Seconds busy = 0;
        for (const LinkId link : path_) {
            const Load& load = load_.at(link);
            const Seconds time = load.bytes / fabric_->link(link).capacity;
            result.latency += fabric_->link(link).latency;
            if (time > busy)
                result.flows = load.flows;
            busy = std::max(busy, time);
        }
        result.time = result.latency + busy;
        return result;
    }
    Slowest slowest() const {
        Slowest result;
        for (const LaneHop& hop : hops_)
            if (const Slowest one = time_of(hop); one.time > result.time)
                result = one;
        return result;
    }

  private:
    struct Load {
        double bytes = 0;
        int flows = 0;
    };
    FabricLinks* fabric_;
    std::vector<LaneHop> hops_;
    std::unordered_map<LinkId, Load> load_;
    mutable std::vector<LinkId> path_;
};

// `count` times the set, one after the other.
void repeat(const TransferSet& set, double count, FlowTime& total) {
    if (count <= 0)
        return;
    const Slowest one = set.slowest();
    total.time += count * one.time;
    total.latency += count * one.latency;
    total.flows = std::max(total.flows, one.flows);
}

FlowTime ring_time(const ScheduledCollective& collective, const GroupOrder& group, FabricLinks& fabric) {
    const auto n = static_cast<double>(group.ranks.size());
    const Pieces shard = pieces_of(collective.bytes / static_cast<double>(group.lanes) / n, collective.chunk);
    const double steps = ring_steps(collective.kind, static_cast<int>(group.ranks.size()));
    FlowTime result;
    for (const bool last : {false, true}) { // the last block is shorter
        TransferSet set(fabric);
        for (std::size_t lane = 0; lane < group.lanes; ++lane)
            for (const LaneHop& hop : ring_hops(group, lane))
                set.add(hop, shard.size(last ? shard.count - 1 : 0));
        repeat(set, last ? steps : steps * (shard.count - 1), result);
    }
    return result;
}

LaneHop to_parent(const RankTree& tree, std::size_t node) {
    return {tree.ranks[node], -1, tree.ranks[static_cast<std::size_t>(tree.parent[node])]};
}

LaneHop from_parent(const RankTree& tree, std::size_t node) {
    const LaneHop hop = to_parent(tree, node);
    return {hop.to, -1, hop.from};
}

// Of each node: steps to the root, and from the farthest rank below it.
struct Levels {
    std::vector<std::size_t> depth;
    std::vector<std::size_t> height;
};

Levels levels_of(const RankTree& tree) {
    Levels levels{std::vector<std::size_t>(tree.ranks.size()), std::vector<std::size_t>(tree.ranks.size())};
    for (std::size_t rank = 0; rank < tree.ranks.size(); ++rank)
        for (std::size_t node = rank; tree.parent[node] >= 0;) {
            node = static_cast<std::size_t>(tree.parent[node]);
            levels.height[node] = std::max(levels.height[node], ++levels.depth[rank]);
        }
    return levels;
}

// The transfers of all trees: upwards[h] from nodes of height <= h, which send while the first chunk passes
// that height; downwards[d] to nodes of depth > d, which still receive while the last chunk passes that
// depth; and all of them.
struct TreeSets {
    std::vector<TransferSet> upwards;
    std::vector<TransferSet> downwards;
    TransferSet all;
};

TreeSets tree_sets(const std::vector<RankTree>& trees, double chunk, FabricLinks& fabric) {
    TreeSets sets{{}, {}, TransferSet(fabric)};
    std::size_t depth = 0;
    for (const RankTree& tree : trees)
        depth = std::max(depth, static_cast<std::size_t>(tree.depth));
    sets.upwards.assign(depth, TransferSet(fabric));
    sets.downwards.assign(depth, TransferSet(fabric));
    for (const RankTree& tree : trees) {
        const Levels levels = levels_of(tree);
        for (std::size_t node = 0; node < tree.ranks.size(); ++node) {
            if (tree.parent[node] < 0)
                continue;
            for (std::size_t height = levels.height[node]; height < depth; ++height)
                sets.upwards[height].add(to_parent(tree, node), chunk);
            for (std::size_t above = 0; above < levels.depth[node]; ++above)
                sets.downwards[above].add(from_parent(tree, node), chunk);
            sets.all.add(to_parent(tree, node), chunk);
            sets.all.add(from_parent(tree, node), chunk);
        }
    }
    return sets;
}

// A chunk from the farthest rank to the root and back.
FlowTime passage(const RankTree& tree, const TreeSets& sets) {
    const Levels levels = levels_of(tree);
    FlowTime rise;
    FlowTime fall;
    for (std::size_t rank = 0; rank < tree.ranks.size(); ++rank) {
        FlowTime up;
        FlowTime down;
        for (std::size_t node = rank; tree.parent[node] >= 0;
             node = static_cast<std::size_t>(tree.parent[node])) {
            const Slowest there = sets.upwards[levels.height[node]].time_of(to_parent(tree, node));
            const Slowest back = sets.downwards[levels.depth[node] - 1].time_of(from_parent(tree, node));
            up.time += there.time;
            up.latency += there.latency;
            down.time += back.time;
            down.latency += back.latency;
        }
        rise = up.time > rise.time ? up : rise;
        fall = down.time > fall.time ? down : fall;
    }
    return {rise.time + fall.time, rise.latency + fall.latency, 1};
}

FlowTime tree_time(const ScheduledCollective& collective, const GroupOrder& group, FabricLinks& fabric) {
    const std::vector<RankTree> trees = rank_trees(group);
    const Pieces pieces = pieces_of(collective.bytes / static_cast<double>(trees.size()), collective.chunk);
    const TreeSets sets = tree_sets(trees, pieces.chunk, fabric);
    FlowTime result;
    for (const RankTree& tree : trees)
        if (const FlowTime one = passage(tree, sets); one.time > result.time)
            result = one;
    repeat(sets.all, pieces.bytes / pieces.chunk - 1, result); // the last chunk is shorter
    return result;
}

FlowTime all_to_all_time(const ScheduledCollective& collective, const GroupOrder& group,
                         FabricLinks& fabric) {
    const int n = static_cast<int>(group.ranks.size());
    const int together = collective.in_flight > 0 ? collective.in_flight : n;
    FlowTime result;
    for (int first = 1; first < n; first += together) {
        TransferSet set(fabric);
        for (int round = first; round < std::min(n, first + together); ++round)
            for (int i = 0; i < n; ++i) {
                const int to = group.ranks[static_cast<std::size_t>(round_peer(group, i, round, 1))];
                set.add(pair_hop(group, group.ranks[static_cast<std::size_t>(i)], to, fabric.cluster()),
                        collective.bytes / n);
            }
        repeat(set, 1, result);
    }
    return result;
}

FlowTime message_time(const ScheduledCollective& collective, FabricLinks& fabric) {
    const Pieces pieces = pieces_of(collective.bytes, collective.chunk);
    FlowTime result;
    for (const bool last : {false, true}) {
        TransferSet set(fabric);
        set.add({collective.ranks[0], -1, collective.ranks[1]}, pieces.size(last ? pieces.count - 1 : 0));
        repeat(set, last ? 1 : pieces.count - 1, result);
    }
    return result;
}

} // namespace

void path_of(const LaneHop& hop, FabricLinks& fabric, std::vector<LinkId>& links) {
    if (hop.via >= 0)
        fabric.path(hop.from, hop.via, -1, links);
    fabric.path(hop.via >= 0 ? hop.via : hop.from, hop.to, -1, links);
}

FlowTime flow_time(const ScheduledCollective& collective, FabricLinks& fabric) {
    const GroupOrder group = group_order(collective.ranks, fabric.cluster());
    switch (flow_kind(collective)) {
    case FlowKind::ring:
        return ring_time(collective, group, fabric);
    case FlowKind::tree:
        return tree_time(collective, group, fabric);
    case FlowKind::all_to_all:
        return all_to_all_time(collective, group, fabric);
    case FlowKind::message:
        break;
    }
    return message_time(collective, fabric);
}

} // namespace echosim
