// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/recorded_rank.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace echosim::recorded {
namespace {

struct Member {
    std::uint32_t rank = 0;
    std::uint32_t op = 0;
};

class GroupFinder {
  public:
    GroupFinder(const Trace& trace, std::vector<RecordedRank>& ranks) : trace_(trace), ranks_(ranks) {}
    RecordedGroups find(std::span<const Flow> flows) {
        number_ops();
        for (const Flow& flow : flows)
            if (flow.kind == FlowKind::collective || flow.kind == FlowKind::p2p)
                join(flow);
        start();
        std::size_t from = 0;
        std::vector<std::uint32_t> order(parent_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::ranges::stable_sort(order, {}, [&](std::uint32_t id) { return root(id); });
        while (from < order.size()) {
            std::size_t to = from + 1;
            while (to < order.size() && root(order[to]) == root(order[from]))
                ++to;
            if (to - from > 1)
                add_group(std::span(order).subspan(from, to - from));
            from = to;
        }
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
            for (std::uint32_t op = 0; op < ranks_[rank].ops.size(); ++op)
                if (ranks_[rank].ops[op].kind == EventKind::comm && groups_.slot_of[rank][op] == 0)
                    ++ranks_[rank].counts.alone_comm;
        return std::move(groups_);
    }

  private:
    void number_ops();
    std::uint32_t root(std::uint32_t id);
    void join(const Flow& flow);
    void start();
    void add_group(std::span<const std::uint32_t> ids);
    std::uint32_t communicator_of(const std::vector<Member>& members);
    std::uint32_t slot(std::uint32_t rank, std::uint32_t communicator);

    struct Known {
        std::uint32_t communicator = 0;
        std::vector<std::uint32_t> last; // op of each member
    };
    const Trace& trace_;
    std::vector<RecordedRank>& ranks_;
    std::vector<std::vector<std::uint32_t>> id_of_; // stream of the trace -> event -> id
    std::vector<Member> members_;                   // by id
    std::vector<std::uint32_t> parent_;
    std::map<std::vector<std::uint64_t>, std::vector<Known>> known_; // by rank and stream of the members
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> slots_;
    RecordedGroups groups_;
};

void GroupFinder::number_ops() {
    id_of_.resize(trace_.streams.size());
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
        for (std::uint32_t op = 0; op < ranks_[rank].ops.size(); ++op) {
            if (ranks_[rank].ops[op].kind != EventKind::comm)
                continue;
            const std::uint64_t event = ranks_[rank].ops[op].event;
            std::vector<std::uint32_t>& ids = id_of_[stream_of(event)];
            ids.resize(trace_.streams[stream_of(event)].events.size(), kNothing);
            ids[index_of(event)] = static_cast<std::uint32_t>(members_.size());
            members_.push_back({rank, op});
        }
    parent_.resize(members_.size());
    std::iota(parent_.begin(), parent_.end(), 0U);
}

std::uint32_t GroupFinder::root(std::uint32_t id) {
    while (parent_[id] != id)
        id = parent_[id] = parent_[parent_[id]];
    return id;
}

void GroupFinder::join(const Flow& flow) {
    const auto id = [&](std::uint64_t event) {
        const std::vector<std::uint32_t>& ids = id_of_[stream_of(event)];
        return index_of(event) < ids.size() ? ids[index_of(event)] : kNothing;
    };
    const std::uint32_t from = id(flow.from), to = id(flow.to);
    if (from == kNothing || to == kNothing)
        return;
    const std::uint32_t a = root(from), b = root(to);
    parent_[std::max(a, b)] = std::min(a, b);
}

// Slot 0 of every rank: communication whose peers are not known.
void GroupFinder::start() {
    groups_.members = {1};
    groups_.slots.assign(ranks_.size(), {0});
    for (const RecordedRank& rank : ranks_) {
        groups_.slot_of.emplace_back(rank.ops.size(), 0U);
        std::vector<TimeNs>& alone = groups_.alone.emplace_back();
        for (const RecordedOp& op : rank.ops)
            alone.push_back(op.end - op.start);
    }
}

std::uint32_t GroupFinder::slot(std::uint32_t rank, std::uint32_t communicator) {
    std::vector<std::uint32_t>& slots = groups_.slots[rank];
    const auto [it, added] =
        slots_.try_emplace({rank, communicator}, static_cast<std::uint32_t>(slots.size()));
    if (added)
        slots.push_back(communicator);
    return it->second;
}

// Calls of one communicator come in one order on all members: those between the same streams share one as
// long as that holds.
std::uint32_t GroupFinder::communicator_of(const std::vector<Member>& members) {
    std::vector<std::uint64_t> key;
    for (const Member& m : members)
        key.push_back((std::uint64_t{m.rank} << 32U) | ranks_[m.rank].ops[m.op].stream);
    std::vector<Known>& known = known_[key];
    for (Known& k : known) {
        bool in_order = true;
        for (std::size_t i = 0; i < members.size(); ++i)
            in_order &= members[i].op > k.last[i];
        if (!in_order)
            continue;
        for (std::size_t i = 0; i < members.size(); ++i)
            k.last[i] = members[i].op;
        return k.communicator;
    }
    Known& fresh = known.emplace_back();
    fresh.communicator = static_cast<std::uint32_t>(groups_.members.size());
    for (const Member& m : members)
        fresh.last.push_back(m.op);
    groups_.members.push_back(static_cast<std::uint32_t>(members.size()));
    return fresh.communicator;
}

void GroupFinder::add_group(std::span<const std::uint32_t> ids) {
    std::vector<Member> members;
    for (const std::uint32_t id : ids)
        members.push_back(members_[id]);
    std::ranges::sort(members, {}, [](const Member& m) { return std::pair(m.rank, m.op); });
    for (std::size_t i = 1; i < members.size(); ++i)
        if (members[i].rank == members[i - 1].rank) {
            ++groups_.repeated;
            return;
        }
    const std::uint32_t communicator = communicator_of(members);
    TimeNs alone = groups_.alone[members.front().rank][members.front().op];
    for (const Member& m : members)
        alone = std::min(alone, groups_.alone[m.rank][m.op]);
    for (const Member& m : members) {
        groups_.slot_of[m.rank][m.op] = slot(m.rank, communicator);
        groups_.alone[m.rank][m.op] = alone;
    }
    ++groups_.matched;
}

} // namespace

RecordedGroups find_groups(const Trace& trace, std::span<const Flow> flows,
                           std::vector<RecordedRank>& ranks) {
    return GroupFinder(trace, ranks).find(flows);
}

} // namespace echosim::recorded
