// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/graph_from_trace.h"

#include "simulator/core/error.h"
#include "simulator/graph/recorded_program.h"
#include "simulator/graph/recorded_rank.h"

#include <algorithm>
#include <span>

namespace echosim {
namespace {

std::vector<recorded::RecordedRank> collect_ranks(const Trace& trace) {
    std::vector<bool> works(trace.classes.size(), false);
    for (const TraceStream& stream : trace.streams)
        if (std::ranges::any_of(stream.events.kind, is_device_work))
            works[stream.rank_class] = true;
    std::vector<recorded::RecordedRank> ranks;
    for (std::uint32_t row = 0; row < works.size(); ++row)
        if (works[row]) {
            recorded::RecordedRank rank = recorded::collect_rank(trace, row);
            recorded::find_blocking(trace, rank);
            recorded::measure_times(rank);
            recorded::find_edges(trace, rank);
            recorded::measure_gaps(rank);
            recorded::find_awaited(trace, rank);
            ranks.push_back(std::move(rank));
        }
    return ranks;
}

void place(const recorded::RecordedGroups& groups, const Trace& trace, RecordedStep& step) {
    for (const std::uint32_t members : groups.members)
        step.placement.communicators.push_back({GroupKind::world, members, {}});
    step.placement.folded = false;
    for (std::uint32_t i = 0; i < step.classes.size(); ++i) {
        SimulatedRank rank;
        const std::vector<RankRange>& known = trace.classes[step.classes[i]].ranks;
        rank.rank = known.empty() ? static_cast<int>(i) : static_cast<int>(known.front().first);
        rank.stage = static_cast<int>(i);
        rank.costs = i;
        rank.communicators = groups.slots[i];
        step.placement.ranks.push_back(std::move(rank));
        step.placement.cost_classes.push_back({static_cast<int>(i), {}, {}});
    }
}

} // namespace

RecordedStep graph_from_trace(const Trace& trace, Peers peers) {
    if (!trace.timed)
        throw InputError("trace", "it has no times: a graph without durations cannot be replayed", "");
    std::vector<recorded::RecordedRank> ranks = collect_ranks(trace);
    if (ranks.empty())
        throw InputError("trace", "it has no device work (kernels, copies): there is nothing to replay",
                         "record with the activities of the GPU (Kineto: ProfilerActivity.CUDA)");
    const std::span<const Flow> flows = peers == Peers::matched ? trace.flows : std::span<const Flow>{};
    const recorded::RecordedGroups groups = recorded::find_groups(trace, flows, ranks);
    RecordedStep step;
    TimeNs latency = 0;
    for (const recorded::RecordedRank& rank : ranks) {
        step.classes.push_back(rank.rank_class);
        step.begin_ns.push_back(recorded::begin_of(rank));
        step.end_ns.push_back(recorded::end_of(rank));
        latency = std::max(latency, rank.latency);
    }
    step.zero_ns = std::ranges::min(step.begin_ns) - latency;
    place(groups, trace, step);
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
        recorded::Program program = recorded::write_program(trace, ranks[i], groups, i, step.zero_ns);
        step.graphs.push_back(std::move(program.graph));
        step.annotated.push_back(std::move(program.annotated));
        step.event_of.push_back(std::move(program.event_of));
    }
    step.notes = recorded::notes(ranks, groups);
    return step;
}

} // namespace echosim
