// SPDX-License-Identifier: Apache-2.0
#include "comm_models/flow_time.h"

#include <algorithm>
#include <unordered_map>

namespace echosim {
namespace {

// Transfers that run at the same time, `count` times one set after the other. `passes`: how often each of
// them happens in all, where that is counted with this set.
struct TransferSet {
    double count = 1;
    double passes = 1;
    std::vector<Transfer> transfers;
};

void add_ring_sets(const ScheduledCollective& collective, const GroupOrder& group,
                   std::vector<TransferSet>& sets) {
    const auto n = static_cast<double>(group.ranks.size());
    const Pieces shard = pieces_of(collective.bytes / static_cast<double>(group.lanes) / n, collective.chunk);
    TransferSet step;
    for (std::size_t lane = 0; lane < group.lanes; ++lane)
        for (const LaneHop& hop : ring_hops(group, lane))
            step.transfers.push_back({hop, shard.chunk});
    TransferSet rest = step;
    for (Transfer& transfer : rest.transfers)
        transfer.bytes = shard.size(shard.count - 1);
    const double steps = ring_steps(collective.kind, static_cast<int>(group.ranks.size()));
    step.count = step.passes = steps * (shard.count - 1);
    rest.count = rest.passes = steps;
    sets.push_back(std::move(step));
    sets.push_back(std::move(rest));
}

void add_tree_sets(const ScheduledCollective& collective, const GroupOrder& group,
                   std::vector<TransferSet>& sets) {
    const std::vector<RankTree> trees = rank_trees(group);
    const Pieces pieces = pieces_of(collective.bytes / static_cast<double>(trees.size()), collective.chunk);
    TransferSet up;
    TransferSet down;
    int depth = 0;
    for (const RankTree& tree : trees) {
        depth = std::max(depth, tree.depth);
        for (std::size_t i = 0; i < tree.ranks.size(); ++i) {
            if (tree.parent[i] < 0)
                continue;
            const int above = tree.ranks[static_cast<std::size_t>(tree.parent[i])];
            up.transfers.push_back({{tree.ranks[i], -1, above}, pieces.chunk});
            down.transfers.push_back({{above, -1, tree.ranks[i]}, pieces.chunk});
        }
    }
    TransferSet both = up;
    both.transfers.insert(both.transfers.end(), down.transfers.begin(), down.transfers.end());
    up.count = down.count = depth;
    up.passes = down.passes = pieces.bytes / pieces.chunk; // the last chunk is shorter
    both.count = up.passes - 1;
    both.passes = 0;
    sets = {std::move(up), std::move(both), std::move(down)};
}

void add_round_sets(const ScheduledCollective& collective, const GroupOrder& group, const Cluster& cluster,
                    std::vector<TransferSet>& sets) {
    const int n = static_cast<int>(group.ranks.size());
    const int together = collective.in_flight > 0 ? collective.in_flight : n;
    for (int first = 1; first < n; first += together) {
        TransferSet set;
        for (int round = first; round < std::min(n, first + together); ++round)
            for (int i = 0; i < n; ++i) {
                const int to = group.ranks[static_cast<std::size_t>(round_peer(group, i, round, 1))];
                set.transfers.push_back(
                    {pair_hop(group, group.ranks[static_cast<std::size_t>(i)], to, cluster),
                     collective.bytes / n});
            }
        sets.push_back(std::move(set));
    }
}

std::vector<TransferSet> sets_of(const ScheduledCollective& collective, const Cluster& cluster) {
    const GroupOrder group = group_order(collective.ranks, cluster);
    std::vector<TransferSet> sets;
    switch (flow_kind(collective)) {
    case FlowKind::ring:
        add_ring_sets(collective, group, sets);
        break;
    case FlowKind::tree:
        add_tree_sets(collective, group, sets);
        break;
    case FlowKind::all_to_all:
        add_round_sets(collective, group, cluster, sets);
        break;
    case FlowKind::message: {
        const Pieces pieces = pieces_of(collective.bytes, collective.chunk);
        TransferSet message;
        message.count = message.passes = pieces.bytes / pieces.chunk;
        message.transfers.push_back({{collective.ranks[0], -1, collective.ranks[1]}, pieces.chunk});
        sets.push_back(std::move(message));
        break;
    }
    }
    return sets;
}

using Load = std::unordered_map<LinkId, double>;

// Latency and time of the transfer of the set that ends last; adds the bytes of all its repetitions to
// `total`.
FlowTime time_of(const TransferSet& set, FabricLinks& fabric, Load& total) {
    std::vector<std::vector<LinkId>> paths(set.transfers.size());
    Load load;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const Transfer& transfer = set.transfers[i];
        path_of(transfer.hop, fabric, paths[i]);
        for (const LinkId link : paths[i])
            load[link] += transfer.bytes;
    }
    FlowTime slowest;
    for (const std::vector<LinkId>& path : paths) {
        Seconds latency = 0;
        Seconds busy = 0;
        for (const LinkId link : path) {
            latency += fabric.link(link).latency;
            busy = std::max(busy, load[link] / fabric.link(link).capacity);
        }
        if (latency + busy > slowest.time)
            slowest = {latency + busy, latency, {}};
    }
    for (const auto& [link, bytes] : load)
        total[link] += set.passes * bytes;
    return slowest;
}

} // namespace

void path_of(const LaneHop& hop, FabricLinks& fabric, std::vector<LinkId>& links) {
    if (hop.via >= 0)
        fabric.path(hop.from, hop.via, -1, links);
    fabric.path(hop.via >= 0 ? hop.via : hop.from, hop.to, -1, links);
}

FlowTime flow_time(const ScheduledCollective& collective, FabricLinks& fabric) {
    FlowTime result;
    Load total;
    for (const TransferSet& set : sets_of(collective, fabric.cluster())) {
        const FlowTime one = time_of(set, fabric, total);
        result.time += set.count * one.time;
        result.latency += set.count * one.latency;
    }
    for (const auto& [link, bytes] : total)
        result.traffic.push_back({link, bytes});
    std::sort(result.traffic.begin(), result.traffic.end(),
              [](const LinkBytes& a, const LinkBytes& b) { return a.link < b.link; });
    return result;
}

} // namespace echosim
