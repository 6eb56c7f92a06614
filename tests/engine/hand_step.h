// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/slowdown.h"
#include "simulator/engine/engine.h"
#include "simulator/graph/block_builder.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

// Steps written by hand: one graph a rank, and every op takes as many nanoseconds as its work has bytes (a
// GEMM: rows), so that a test can state its times where it builds the graph.
namespace echosim::test {

struct HandCosts {
    std::uint32_t launch = 0; // CPU time of every launch; host ops and waits without dependencies have none
    TimeNs gap = 0;
    TimeNs event_wait = 0;
    TimeNs latency = 0;
};

inline TimeNs time_by_hand(const Work& work) {
    if (const auto* gemm = std::get_if<GemmShape>(&work))
        return static_cast<TimeNs>(gemm->m);
    if (const auto* memory = std::get_if<MemoryShape>(&work))
        return static_cast<TimeNs>(memory->bytes);
    if (const auto* collective = std::get_if<CollectiveWork>(&work))
        return static_cast<TimeNs>(collective->bytes);
    if (const auto* host = std::get_if<HostWork>(&work))
        return to_ns(host->time);
    return 0;
}

// The costs of every op, with its time alone from `alone(op)`; host costs as given. `graph` must stay.
template <class Alone>
AnnotatedGraph annotate_by_hand(const RankGraph& graph, const HandCosts& costs, Alone alone) {
    AnnotatedGraph out;
    out.graph = &graph;
    out.kernel_gap_ns = costs.gap;
    out.event_wait_ns = costs.event_wait;
    out.launch_latency_ns = costs.latency;
    out.communication.resize(graph.works.size());
    out.transfer_ns.resize(graph.works.size());
    for (const Block& block : graph.blocks) {
        std::vector<OpCost>& row = out.costs.emplace_back();
        for (const Op& op : block.ops) {
            OpCost cost;
            cost.alone_ns = op.work == kNone ? 0 : alone(op);
            cost.host_ns = op.launch == Launch::none ? 0 : costs.launch;
            row.push_back(cost);
            if (op.work == kNone)
                continue;
            if (const auto* transfer = std::get_if<TransferWork>(&graph.works[op.work]))
                out.transfer_ns[op.work].assign(transfer->parts.size(), cost.alone_ns);
        }
    }
    return out;
}

inline std::vector<StreamInfo> hand_streams() {
    std::vector<StreamInfo> streams = {{"compute", GroupKind::world, false}};
    for (const char* name : {"tp", "dp", "pp", "pp send forward", "pp recv forward", "pp send backward",
                             "pp recv backward", "embd", "world"})
        streams.push_back({name, GroupKind::world, true});
    streams[tail_of(Stream::tp)].group = GroupKind::tp;
    streams[tail_of(Stream::dp)].group = GroupKind::dp_cp;
    for (std::uint32_t i = tail_of(Stream::pp); i <= tail_of(Stream::pp_recv_backward); ++i)
        streams[i].group = GroupKind::pp;
    return streams;
}

// Not the identity, as far as the engine can tell.
class RateOne final : public SlowdownModel {
  public:
    bool identity() const override { return false; }
    void rates(std::span<const Running>, std::span<double> rate) const override {
        std::fill(rate.begin(), rate.end(), 1.0);
    }
};

// Ranks whose TP groups are single ranks; all other communicators span all ranks.
class HandStep {
  public:
    explicit HandStep(std::size_t ranks, HandCosts costs = {}) : costs_(costs) {
        for (std::size_t i = 0; i < ranks; ++i) {
            auto graph = std::make_unique<RankGraph>();
            graph->stage = static_cast<int>(i);
            graph->streams = hand_streams();
            graph->communicators = {GroupKind::tp, GroupKind::dp_cp, GroupKind::embd, GroupKind::mp,
                                    GroupKind::world};
            graphs_.push_back(std::move(graph));
        }
    }
    RankGraph& graph(std::size_t rank) { return *graphs_[rank]; }
    BlockBuilder block(std::size_t rank) { return {graph(rank), "block", Phase::forward}; }
    void use(std::size_t rank, BlockId block, int microbatch = -1) {
        graph(rank).program.push_back({block, static_cast<std::int16_t>(microbatch), 0, -1});
    }
    // Part of a transfer of `time` ns between this rank and `peer`.
    TransferPart part(std::size_t rank, int peer, bool send, Bytes time) {
        std::vector<Channel>& channels = graph(rank).channels;
        const auto known = std::ranges::find_if(
            channels, [&](const Channel& c) { return c.peer_stage == peer && c.send == send; });
        const auto index = static_cast<std::uint32_t>(known - channels.begin());
        if (known == channels.end())
            channels.push_back({peer, true, send});
        return {index, send, time};
    }

    const Placement& placement() const { return placement_; }
    const std::vector<AnnotatedGraph>& annotated() const { return annotated_; }
    Timeline run(const SlowdownModel& slowdown = NoSlowdown{}) {
        annotate();
        wire();
        return simulate({.placement = placement_,
                         .graphs = annotated_,
                         .slowdown = slowdown,
                         .record = std::vector<bool>(placement_.ranks.size(), true)});
    }

  private:
    void annotate() {
        annotated_.clear();
        for (const auto& graph : graphs_) {
            annotated_.push_back(annotate_by_hand(
                *graph, costs_, [&](const Op& op) { return time_by_hand(graph->works[op.work]); }));
            for (std::size_t row = 0; row < graph->works.size(); ++row)
                if (const auto* transfer = std::get_if<TransferWork>(&graph->works[row]))
                    for (std::size_t i = 0; i < transfer->parts.size(); ++i)
                        annotated_.back().transfer_ns[row][i] = static_cast<TimeNs>(transfer->parts[i].bytes);
        }
    }
    void wire() {
        const auto count = static_cast<std::uint32_t>(graphs_.size());
        placement_ = {};
        placement_.communicators.assign(5, {GroupKind::world, count, {}});
        std::map<std::tuple<std::uint32_t, std::uint32_t>, std::uint32_t> channels;
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto alone = static_cast<std::uint32_t>(placement_.communicators.size());
            placement_.communicators.push_back({GroupKind::tp, 1, {}});
            SimulatedRank rank;
            rank.rank = rank.stage = static_cast<int>(i);
            rank.costs = i;
            rank.communicators = {alone, 1, 2, 3, 4};
            for (const Channel& channel : graphs_[i]->channels) {
                const auto peer = static_cast<std::uint32_t>(channel.peer_stage);
                const std::uint32_t source = channel.send ? i : peer, target = channel.send ? peer : i;
                const auto [it, added] = channels.try_emplace(
                    {source, target}, static_cast<std::uint32_t>(placement_.channels.size()));
                if (added)
                    placement_.channels.push_back({source, target, true});
                rank.channels.push_back(it->second);
            }
            placement_.ranks.push_back(std::move(rank));
        }
    }

    HandCosts costs_;
    std::vector<std::unique_ptr<RankGraph>> graphs_;
    std::vector<AnnotatedGraph> annotated_;
    Placement placement_;
};

} // namespace echosim::test
