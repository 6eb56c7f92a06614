// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "simulator/engine/engine_state.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim::engine {

void Engine::change_memory(std::uint32_t rank, const Op& op) {
    RankState& r = ranks_[rank];
    r.activations += r.graph->graph->memory_changes[op.memory].bytes;
    RankSummary& summary = timeline_.summaries[rank];
    summary.peak_activations = std::max(summary.peak_activations, r.activations);
    if (rank < in_.record.size() && in_.record[rank])
        timeline_.memory[rank].push_back({r.host[op.thread], r.activations});
}

void Engine::add_host_row(std::uint32_t rank, TimeNs start, TimeNs waited_until, TimeNs end,
                          std::uint32_t binding) {
    if (rank >= in_.record.size() || !in_.record[rank])
        return;
    const RankState& r = ranks_[rank];
    const std::uint32_t row = add_row(rank, r);
    RankTimeline& t = timeline_.ranks[rank];
    t.start[row] = start;
    t.duration[row] = end - start;
    t.waited[row] = waited_until - start;
    t.alone[row] = end - waited_until;
    t.binding[row] = binding;
}

void Engine::summarise() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        const RankState& r = ranks_[rank];
        TimeNs end = std::ranges::max(r.host);
        for (const std::uint64_t last : r.tail)
            if (last != 0) {
                const Flight& f = r.ring[(last - 1) & (r.queue - 1)];
                if (f.state != Flight::State::done)
                    report_deadlock();
                end = std::max(end, f.time);
            }
        if (r.instance < r.graph->graph->program.size())
            report_deadlock();
        timeline_.summaries[rank].end = end;
        timeline_.end = std::max(timeline_.end, end);
        timeline_.ops += timeline_.summaries[rank].ops;
    }
}

std::string Engine::describe(std::uint32_t rank, const Flight& f) const {
    const RankGraph& graph = *ranks_[rank].graph->graph;
    const Instance& at = graph.program[f.instance];
    return fmt::format("rank {} (stage {}): \"{}\" of \"{}\", micro-batch {}, chunk {}",
                       in_.placement.ranks[rank].rank, graph.stage, graph.names[op_of(rank, f).name],
                       graph.blocks[at.block.value].name, at.microbatch, at.chunk);
}

void Engine::report_deadlock() const {
    std::string text = "the step cannot finish; these ops wait for ranks that never come:";
    int listed = 0;
    for (std::uint32_t rank = 0; rank < ranks_.size() && listed < 20; ++rank)
        for (const Flight& f : ranks_[rank].ring)
            if (f.state == Flight::State::waits_for_peers && ++listed <= 20)
                text += "\n  " + describe(rank, f);
    throw DeadlockError(text);
}

} // namespace echosim::engine
