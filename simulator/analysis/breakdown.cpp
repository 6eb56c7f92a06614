// SPDX-License-Identifier: Apache-2.0
#include "simulator/analysis/breakdown.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace echosim {
namespace {

constexpr std::array<std::string_view, kTimeCategories> kNames = {
    "compute", "recompute", "interference", "tp_comm", "pp_comm", "dp_comm", "cp_comm",
    "ep_comm", "bubble",    "optimizer",    "host",    "data",    "other"};

// Rows compete for an instant by this order.
enum class Level : std::uint8_t { kernel, tp, cp, ep, pp, bubble, dp, late, host_data, host };
constexpr std::size_t kLevels = 10;

struct Span {
    TimeNs begin = 0, end = 0;
    std::uint32_t row = 0;
    Level level = Level::host;
    TimeCategory category = TimeCategory::host;
};

TimeCategory kernel_category(Phase phase) {
    switch (phase) {
    case Phase::recompute:
        return TimeCategory::recompute;
    case Phase::optimizer:
    case Phase::gradient_sync:
    case Phase::param_gather:
        return TimeCategory::optimizer;
    case Phase::data:
        return TimeCategory::data;
    default:
        return TimeCategory::compute;
    }
}

std::pair<Level, TimeCategory> group_category(GroupKind group) {
    switch (group) {
    case GroupKind::tp:
        return {Level::tp, TimeCategory::tp_comm};
    case GroupKind::cp:
        return {Level::cp, TimeCategory::cp_comm};
    case GroupKind::ep:
    case GroupKind::etp:
    case GroupKind::edp:
    case GroupKind::tp_ep:
        return {Level::ep, TimeCategory::ep_comm};
    case GroupKind::pp:
        return {Level::pp, TimeCategory::pp_comm};
    default:
        return {Level::dp, TimeCategory::dp_comm};
    }
}

bool spans_stages(GroupKind group) {
    return group == GroupKind::pp || group == GroupKind::mp || group == GroupKind::embd ||
           group == GroupKind::world;
}

class Sweep {
  public:
    Sweep(const RankTimeline& rank, const AnnotatedGraph& graph, TimeNs end)
        : rank_(rank), graph_(graph), end_(end) {}

    StepBreakdown run() {
        collect();
        walk();
        finish();
        return std::move(out_);
    }

  private:
    const Op& op(std::uint32_t row) const {
        const RankGraph& g = *graph_.graph;
        return g.blocks[g.program[rank_.instance[row]].block.value].ops[rank_.op[row]];
    }
    const OpCost& cost(std::uint32_t row) const {
        const RankGraph& g = *graph_.graph;
        return graph_.costs[g.program[rank_.instance[row]].block.value][rank_.op[row]];
    }
    void collect();
    void collect_communication(std::uint32_t row, const Op& o, TimeNs begin, TimeNs start, TimeNs end);
    void walk();
    void credit(const Span& span, TimeNs time);
    void finish();

    const RankTimeline& rank_;
    const AnnotatedGraph& graph_;
    TimeNs end_;
    StepBreakdown out_;
    std::vector<Span> spans_;
    std::map<std::tuple<GroupKind, CollectiveKind, Algorithm, Protocol, int>, std::size_t> sums_;
    std::map<std::uint32_t, TimeNs> names_;
    std::array<TimeNs, 4> provenance_{};
    TimeNs idle_host_ = 0, bubble_ = 0;
};

void Sweep::collect() {
    for (std::uint32_t row = 0; row < rank_.size(); ++row) {
        const Op& o = op(row);
        const TimeNs begin = rank_.start[row], end = begin + rank_.duration[row],
                     start = begin + rank_.waited[row];
        if (o.kind == OpKind::host) {
            const bool data = o.phase == Phase::data;
            spans_.push_back({start, end, row, data ? Level::host_data : Level::host,
                              data ? TimeCategory::data : TimeCategory::host});
        } else if (o.kind == OpKind::collective || o.kind == OpKind::p2p) {
            collect_communication(row, o, begin, start, end);
        } else if (end > begin) {
            spans_.push_back({begin, end, row, Level::kernel, kernel_category(o.phase)});
        }
    }
    std::ranges::stable_sort(spans_, {}, &Span::begin);
}

void Sweep::collect_communication(std::uint32_t row, const Op& o, TimeNs begin, TimeNs start, TimeNs end) {
    const Work& work = graph_.graph->works[o.work];
    const auto* collective = std::get_if<CollectiveWork>(&work);
    const GroupKind group = collective ? graph_.graph->communicators[collective->slot] : GroupKind::pp;
    const auto [level, category] = group_category(group);
    if (end > start)
        spans_.push_back({start, end, row, level, category});
    if (start > begin)
        spans_.push_back({begin, start, row, spans_stages(group) ? Level::bubble : Level::late,
                          spans_stages(group) ? TimeCategory::bubble : TimeCategory::other});
    const CommCost& c = graph_.communication[o.work];
    const auto kind = collective ? collective->kind : CollectiveKind::send_recv;
    const auto [it, added] =
        sums_.try_emplace({group, kind, c.algorithm, c.protocol, c.channels}, out_.communication.size());
    if (added)
        out_.communication.push_back({group, kind, c, 0, 0, 0, 0});
    CommunicationSum& sum = out_.communication[it->second];
    sum.time += end - start;
    if (collective) {
        ++sum.count;
        sum.bytes += static_cast<double>(collective->bytes);
    } else {
        for (const TransferPart& part : std::get<TransferWork>(work).parts) {
            ++sum.count;
            sum.bytes += static_cast<double>(part.bytes);
        }
    }
}

void Sweep::credit(const Span& span, TimeNs time) {
    out_.time[static_cast<std::size_t>(span.category)] += time;
    if (span.category == TimeCategory::bubble) {
        bubble_ += time;
        return;
    }
    const Op& o = op(span.row);
    names_[o.name.value] += time;
    if (o.kind == OpKind::host) {
        idle_host_ += time;
        return;
    }
    provenance_[static_cast<std::size_t>(cost(span.row).provenance)] += time;
    if (o.kind == OpKind::collective || o.kind == OpKind::p2p) {
        const auto* collective = std::get_if<CollectiveWork>(&graph_.graph->works[o.work]);
        const CommCost& c = graph_.communication[o.work];
        const GroupKind group = collective ? graph_.graph->communicators[collective->slot] : GroupKind::pp;
        const auto kind = collective ? collective->kind : CollectiveKind::send_recv;
        out_.communication[sums_.at({group, kind, c.algorithm, c.protocol, c.channels})].exposed += time;
    }
}

// One pass over the starts; per level the running span that ends last stands for the level.
void Sweep::walk() {
    std::array<std::optional<Span>, kLevels> active;
    TimeNs now = 0;
    std::size_t next = 0;
    while (now < end_) {
        while (next < spans_.size() && spans_[next].begin <= now) {
            auto& slot = active[static_cast<std::size_t>(spans_[next].level)];
            if (!slot || slot->end <= now || spans_[next].end > slot->end)
                slot = spans_[next];
            ++next;
        }
        TimeNs until = next < spans_.size() ? std::min(end_, spans_[next].begin) : end_;
        const Span* best = nullptr;
        for (auto& slot : active) {
            if (slot && slot->end <= now)
                slot.reset();
            if (!slot)
                continue;
            if (!best) {
                best = &*slot;
                until = std::min(until, slot->end);
            }
        }
        if (best) {
            credit(*best, until - now);
        } else {
            out_.time[static_cast<std::size_t>(TimeCategory::host)] += until - now;
            idle_host_ += until - now;
        }
        now = until;
    }
}

void Sweep::finish() {
    // a kernel's whole time was credited to its category: what interference added moves out of there
    for (std::uint32_t row = 0; row < rank_.size(); ++row) {
        if (op(row).kind != OpKind::compute && op(row).kind != OpKind::memory)
            continue;
        const TimeNs slowed = rank_.duration[row] - rank_.alone[row];
        out_.time[static_cast<std::size_t>(TimeCategory::interference)] += slowed;
        out_.time[static_cast<std::size_t>(kernel_category(op(row).phase))] -= slowed;
    }
    if (bubble_ > 0)
        out_.contributors.push_back({"pipeline bubble", bubble_});
    for (const auto& [name, time] : names_)
        if (time > 0)
            out_.contributors.push_back({std::string(graph_.graph->names[NameId{name}]), time});
    std::ranges::stable_sort(out_.contributors, std::ranges::greater{}, &NamedTime::time);
    std::ranges::stable_sort(out_.communication, std::ranges::greater{}, &CommunicationSum::exposed);
    // bubbles are as well known as the work that they wait for; launch costs are assumed
    provenance_[static_cast<std::size_t>(Provenance::assumed)] += idle_host_;
    TimeNs known = 0;
    for (const TimeNs t : provenance_)
        known += t;
    for (std::size_t i = 0; i < provenance_.size(); ++i)
        out_.provenance[i] =
            known > 0 ? static_cast<double>(provenance_[i]) / static_cast<double>(known) : 0.0;
}

} // namespace

std::string_view to_string(TimeCategory value) {
    return kNames[static_cast<std::size_t>(value)];
}

StepBreakdown break_down(const RankTimeline& rank, const AnnotatedGraph& graph, TimeNs end) {
    return Sweep(rank, graph, end).run();
}

std::size_t critical_rank(const Timeline& timeline) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < timeline.summaries.size(); ++i)
        if (timeline.summaries[i].compute_busy > timeline.summaries[best].compute_busy)
            best = i;
    return best;
}

} // namespace echosim
