// SPDX-License-Identifier: Apache-2.0
#include "validation/pipeline_timeline_graph.h"

#include "interference/slowdown.h"
#include "simulator/core/error.h"
#include "simulator/engine/engine.h"
#include "simulator/graph/block_builder.h"
#include "simulator/graph/transfer_blocks.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

namespace echosim {
namespace {

using Kind = ScheduleStep::Kind;

// The graph of one stage with its costs. Transfers are the blocks of simulate; around them lie one op a
// forward and a backward.
class StageBuilder {
  public:
    StageBuilder(const PipelineTimeline& timeline, const PipelineConstants& constants, int stage)
        : constants_(constants), job_(job_of(timeline)), transfers_(graph_, job_) {
        graph_.stage = stage;
        for (std::uint32_t stream = 0; stream <= tail_of(Stream::world); ++stream)
            graph_.streams.push_back({fmt::format("stream {}", stream), GroupKind::pp, stream != 0});
    }

    void build(const PipelineSchedule& schedule, const StageIteration& times, SendMode sends) {
        Kind before = Kind::exchange;
        bool received = false;
        for (const ScheduleStep& step : schedule.steps) {
            if (step.kind == Kind::exchange)
                received = exchange(step, sends) || received;
            else {
                gap(before, step.kind);
                if (std::exchange(received, false))
                    emit(transfers_.wait_for_input(step.kind == Kind::forward, step.microbatch, 0), step);
                compute(step, times.op(step).duration());
            }
            before = step.kind;
        }
    }

    RankGraph take_graph() { return std::move(graph_); }
    AnnotatedGraph annotated(const RankGraph& graph) const;

  private:
    static Job job_of(const PipelineTimeline& timeline) {
        Job job;
        job.parallel.pp = job.parallel.world_size = timeline.stages;
        job.batch.num_microbatches = timeline.microbatches;
        return job;
    }
    void emit(BlockId block, const ScheduleStep& step) {
        graph_.program.push_back({block, step.microbatch, step.chunk, -1});
    }
    bool exchange(ScheduleStep step, SendMode sends);
    void gap(Kind before, Kind kind);
    void compute(const ScheduleStep& step, TimeNs duration);
    BlockId delay(TimeNs time);

    const PipelineConstants& constants_;
    Job job_;
    RankGraph graph_;
    TransferBlocks transfers_;
    std::map<TimeNs, BlockId> delays_;
    std::map<std::uint32_t, TimeNs> block_ns_; // of blocks with one op that takes time
};

// True when it brings the input of the next op.
bool StageBuilder::exchange(ScheduleStep step, SendMode sends) {
    const auto receives = [](const TransferCall& call) {
        return call.what == Transfer::recv_forward || call.what == Transfer::recv_backward;
    };
    const bool received = std::ranges::any_of(step.transfers, receives);
    if (sends == SendMode::eager)
        step.batched = step.host_sync = false;
    emit(transfers_.exchange(step), step);
    if (sends == SendMode::eager && !std::ranges::all_of(step.transfers, receives))
        emit(delay(constants_.transfer), step);
    return received;
}

void StageBuilder::gap(Kind before, Kind kind) {
    if (before == Kind::exchange || before == kind)
        return;
    const TimeNs time =
        before == Kind::forward ? constants_.forward_backward_gap : constants_.backward_forward_gap;
    emit(delay(time), {});
}

// The host waits for the compute stream and then for `time`: nothing is launched until then.
BlockId StageBuilder::delay(TimeNs time) {
    const auto [it, added] = delays_.try_emplace(time);
    if (added) {
        BlockBuilder b(graph_, "delay", Phase::pipeline);
        b.host("delay", to_seconds(time), {Dep::tail(tail_of(Stream::compute))});
        it->second = b.finish();
        block_ns_[it->second.value] = time;
    }
    return it->second;
}

void StageBuilder::compute(const ScheduleStep& step, TimeNs duration) {
    const bool forward = step.kind == Kind::forward;
    BlockBuilder b(graph_, forward ? "forward" : "backward", forward ? Phase::forward : Phase::backward);
    b.memory(forward ? "forward" : "backward", KernelClass::other, 0);
    const BlockId block = b.finish();
    block_ns_[block.value] = duration;
    emit(block, step);
}

// Host ops of the transfers' blocks take no time: what they stand for is in the transfer time.
AnnotatedGraph StageBuilder::annotated(const RankGraph& graph) const {
    AnnotatedGraph out;
    out.graph = &graph;
    out.communication.resize(graph.works.size());
    for (const Work& work : graph.works) {
        const auto* transfer = std::get_if<TransferWork>(&work);
        out.transfer_ns.emplace_back(transfer != nullptr ? transfer->parts.size() : 0, constants_.transfer);
    }
    for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
        const auto timed = block_ns_.find(block);
        std::vector<OpCost>& costs = out.costs.emplace_back();
        for (const Op& op : graph.blocks[block].ops) {
            OpCost cost;
            cost.provenance = Provenance::measured;
            if (timed != block_ns_.end())
                cost.alone_ns = timed->second;
            else if (op.kind == OpKind::p2p)
                cost.alone_ns = constants_.transfer;
            costs.push_back(cost);
        }
    }
    return out;
}

// A rank a stage, a channel a direction between neighbours.
Placement place_stages(const std::vector<RankGraph>& graphs) {
    Placement placement;
    std::map<std::tuple<int, int, bool>, std::uint32_t> known; // source, destination, forward
    for (const RankGraph& graph : graphs) {
        SimulatedRank rank;
        rank.rank = rank.stage = graph.stage;
        rank.costs = static_cast<std::uint32_t>(graph.stage);
        for (const Channel& channel : graph.channels) {
            const int source = channel.send ? graph.stage : channel.peer_stage;
            const int destination = channel.send ? channel.peer_stage : graph.stage;
            const auto [it, added] = known.try_emplace({source, destination, channel.forward},
                                                       static_cast<std::uint32_t>(known.size()));
            if (added)
                placement.channels.push_back({static_cast<std::uint32_t>(source),
                                              static_cast<std::uint32_t>(destination), channel.forward});
            rank.channels.push_back(it->second);
        }
        placement.ranks.push_back(std::move(rank));
    }
    return placement;
}

PredictedStage predicted(const RankGraph& graph, const RankTimeline& rows, int microbatches) {
    PredictedStage stage;
    stage.forward.resize(static_cast<std::size_t>(microbatches));
    stage.backward.resize(static_cast<std::size_t>(microbatches));
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const Instance& at = graph.program[rows.instance[row]];
        const Op& op = graph.blocks[at.block.value].ops[rows.op[row]];
        if (op.phase != Phase::forward && op.phase != Phase::backward)
            continue;
        auto& ops = op.phase == Phase::forward ? stage.forward : stage.backward;
        ops[static_cast<std::size_t>(at.microbatch)] = {rows.start[row],
                                                        rows.start[row] + rows.duration[row]};
    }
    return stage;
}

} // namespace

const TimedOp& PredictedStage::op(const ScheduleStep& step) const {
    return (step.kind == Kind::forward ? forward : backward)[static_cast<std::size_t>(step.microbatch)];
}

std::vector<PredictedStage> replay_iteration(const PipelineTimeline& timeline, std::size_t iteration,
                                             const PipelineConstants& constants, SendMode sends) {
    const auto stages = static_cast<std::size_t>(timeline.stages);
    std::vector<RankGraph> graphs(stages);
    std::vector<AnnotatedGraph> annotated;
    for (std::size_t stage = 0; stage < stages; ++stage) {
        StageBuilder builder(timeline, constants, static_cast<int>(stage));
        builder.build(schedule_of(timeline, static_cast<int>(stage)), timeline.times[iteration][stage],
                      sends);
        graphs[stage] = builder.take_graph();
        annotated.push_back(builder.annotated(graphs[stage]));
    }
    const Placement placement = place_stages(graphs);
    const NoSlowdown off;
    const Timeline run = simulate({placement, annotated, off, std::vector<bool>(stages, true)});
    std::vector<PredictedStage> result;
    for (std::size_t stage = 0; stage < stages; ++stage)
        result.push_back(predicted(graphs[stage], run.ranks[stage], timeline.microbatches));
    return result;
}

} // namespace echosim
