// SPDX-License-Identifier: Apache-2.0
#include "comm_models/schedule.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

using Index = std::uint32_t;

Index add(Schedule& schedule, const Transfer& transfer) {
    schedule.transfers.push_back(transfer);
    return static_cast<Index>(schedule.transfers.size() - 1);
}

void end_step(Program& program) {
    const auto end = static_cast<Index>(program.transfers.size());
    if (program.step_ends.empty() ? end > 0 : end > program.step_ends.back())
        program.step_ends.push_back(end);
}

// Row after row of n transfers, one row a step; rank i sends the i-th and receives the one before it.
void add_ring(const std::vector<LaneHop>& hops, int steps, const Pieces& shard, Schedule& schedule) {
    const auto n = static_cast<Index>(hops.size());
    const auto first = static_cast<Index>(schedule.transfers.size());
    for (int block = 0; block < shard.count; ++block)
        for (int step = 0; step < steps; ++step)
            for (const LaneHop& hop : hops)
                add(schedule, {hop, shard.size(block)});
    const auto end = static_cast<Index>(schedule.transfers.size());
    for (Index i = 0; i < n; ++i) {
        Program program{hops[i].from, {}, {}};
        for (Index row = first; row < end; row += n) {
            program.transfers.push_back(row + i);
            program.transfers.push_back(row + (i + n - 1) % n);
            end_step(program);
        }
        schedule.programs.push_back(std::move(program));
    }
}

// Where the transfers of a tree are: chunk k between node i and its parent, upwards and downwards.
struct TreeTransfers {
    std::vector<Index> first; // of each node; the root has none

    Index up(int node, int chunk) const {
        return first[static_cast<std::size_t>(node)] + 2 * static_cast<Index>(chunk);
    }
    Index down(int node, int chunk) const { return up(node, chunk) + 1; }
};

TreeTransfers add_tree_transfers(const RankTree& tree, const Pieces& pieces, Schedule& schedule) {
    TreeTransfers result;
    for (std::size_t node = 0; node < tree.ranks.size(); ++node) {
        result.first.push_back(static_cast<Index>(schedule.transfers.size()));
        if (tree.parent[node] < 0)
            continue;
        const int rank = tree.ranks[node];
        const int above = tree.ranks[static_cast<std::size_t>(tree.parent[node])];
        for (int chunk = 0; chunk < pieces.count; ++chunk) {
            add(schedule, {{rank, -1, above}, pieces.size(chunk)});
            add(schedule, {{above, -1, rank}, pieces.size(chunk)});
        }
    }
    return result;
}

// In step k chunk k comes in through `receive` and chunk k - 1 leaves through `send`.
template <class Receive, class Send>
Program relay(int rank, int chunks, const Receive& receive, const Send& send) {
    Program program{rank, {}, {}};
    for (int step = 0; step <= chunks; ++step) {
        if (step < chunks)
            receive(program, step);
        if (step > 0)
            send(program, step - 1);
        end_step(program);
    }
    return program;
}

void add_tree(const RankTree& tree, const Pieces& pieces, Schedule& schedule) {
    const TreeTransfers at = add_tree_transfers(tree, pieces, schedule);
    for (int node = 0; node < static_cast<int>(tree.ranks.size()); ++node) {
        const auto& children = tree.children[static_cast<std::size_t>(node)];
        const int rank = tree.ranks[static_cast<std::size_t>(node)];
        const auto from_children = [&](Program& program, int chunk) {
            for (const int child : children)
                program.transfers.push_back(at.up(child, chunk));
        };
        const auto to_children = [&](Program& program, int chunk) {
            for (const int child : children)
                program.transfers.push_back(at.down(child, chunk));
        };
        const auto to_parent = [&](Program& program, int chunk) {
            program.transfers.push_back(at.up(node, chunk));
        };
        const auto from_parent = [&](Program& program, int chunk) {
            program.transfers.push_back(at.down(node, chunk));
        };
        if (tree.parent[static_cast<std::size_t>(node)] < 0) {
            schedule.programs.push_back(relay(rank, pieces.count, from_children, to_children));
            continue;
        }
        schedule.programs.push_back(relay(rank, pieces.count, from_children, to_parent));
        schedule.programs.push_back(relay(rank, pieces.count, from_parent, to_children));
    }
}

void add_all_to_all(const ScheduledCollective& collective, const GroupOrder& group, const Cluster& cluster,
                    Schedule& schedule) {
    const int n = static_cast<int>(group.ranks.size());
    for (int round = 1; round < n; ++round)
        for (int i = 0; i < n; ++i) {
            const int to = group.ranks[static_cast<std::size_t>(round_peer(group, i, round, 1))];
            add(schedule, {pair_hop(group, group.ranks[static_cast<std::size_t>(i)], to, cluster),
                           collective.bytes / n});
        }
    const int together = collective.in_flight > 0 ? collective.in_flight : n;
    for (int i = 0; i < n; ++i) {
        Program program{group.ranks[static_cast<std::size_t>(i)], {}, {}};
        for (int round = 1; round < n; ++round) {
            const int row = (round - 1) * n;
            program.transfers.push_back(static_cast<Index>(row + i));
            program.transfers.push_back(static_cast<Index>(row + round_peer(group, i, round, -1)));
            if (round % together == 0 || round == n - 1)
                end_step(program);
        }
        schedule.programs.push_back(std::move(program));
    }
}

void add_message(const ScheduledCollective& collective, Schedule& schedule) {
    Program sender{collective.ranks[0], {}, {}};
    Program receiver{collective.ranks[1], {}, {}};
    const Pieces pieces = pieces_of(collective.bytes, collective.chunk);
    for (int piece = 0; piece < pieces.count; ++piece) {
        const Index transfer = add(schedule, {{sender.rank, -1, receiver.rank}, pieces.size(piece)});
        for (Program* program : {&sender, &receiver}) {
            program->transfers.push_back(transfer);
            end_step(*program);
        }
    }
    schedule.programs.push_back(std::move(sender));
    schedule.programs.push_back(std::move(receiver));
}

} // namespace

Pieces pieces_of(double bytes, double chunk) {
    if (chunk <= 0 || chunk >= bytes)
        return {bytes, bytes, 1};
    return {bytes, chunk, static_cast<int>(std::ceil(bytes / chunk - 1e-9))};
}

int ring_steps(CollectiveKind kind, int ranks) {
    return kind == CollectiveKind::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

Schedule schedule_of(const ScheduledCollective& collective, const Cluster& cluster) {
    const GroupOrder group = group_order(collective.ranks, cluster);
    const double lane_bytes = collective.bytes / static_cast<double>(group.lanes);
    const int n = static_cast<int>(group.ranks.size());
    Schedule schedule;
    switch (flow_kind(collective)) {
    case FlowKind::ring:
        for (std::size_t lane = 0; lane < group.lanes; ++lane)
            add_ring(ring_hops(group, lane), ring_steps(collective.kind, n),
                     pieces_of(lane_bytes / n, collective.chunk), schedule);
        break;
    case FlowKind::tree: {
        const std::vector<RankTree> trees = rank_trees(group);
        for (const RankTree& tree : trees)
            add_tree(tree, pieces_of(collective.bytes / static_cast<double>(trees.size()), collective.chunk),
                     schedule);
        break;
    }
    case FlowKind::all_to_all:
        add_all_to_all(collective, group, cluster, schedule);
        break;
    case FlowKind::message:
        add_message(collective, schedule);
        break;
    }
    return schedule;
}

FlowKind flow_kind(const ScheduledCollective& collective) {
    const bool ring_kind = collective.kind == CollectiveKind::all_reduce ||
                           collective.kind == CollectiveKind::all_gather ||
                           collective.kind == CollectiveKind::reduce_scatter;
    if (collective.algorithm == Algorithm::ring && ring_kind)
        return FlowKind::ring;
    if (collective.algorithm == Algorithm::tree && collective.kind == CollectiveKind::all_reduce)
        return FlowKind::tree;
    if (collective.algorithm == Algorithm::direct && collective.kind == CollectiveKind::all_to_all)
        return FlowKind::all_to_all;
    if (collective.algorithm == Algorithm::direct && collective.kind == CollectiveKind::send_recv)
        return FlowKind::message;
    throw InputError(
        "",
        fmt::format("no schedule for {} by {}", to_string(collective.kind), to_string(collective.algorithm)),
        "schedules: all_reduce, all_gather, reduce_scatter by ring; all_reduce by tree; all_to_all, "
        "send_recv by direct");
}

} // namespace echosim
