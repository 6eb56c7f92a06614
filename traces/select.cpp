// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "traces/merge.h"
#include "traces/merge_rows.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace echosim {
namespace {

// Number of the rank in the list, from 0.
std::optional<std::uint64_t> position_of(const std::vector<RankRange>& ranges, std::uint32_t rank) {
    std::uint64_t before = 0;
    for (const RankRange& range : ranges) {
        const std::uint32_t distance = rank - range.first;
        if (rank >= range.first && distance % range.stride == 0 && distance / range.stride < range.count) {
            return before + distance / range.stride;
        }
        before += range.count;
    }
    return std::nullopt;
}

std::uint32_t rank_at(const std::vector<RankRange>& ranges, std::uint64_t position) {
    for (const RankRange& range : ranges) {
        if (position < range.count) {
            return range.first + static_cast<std::uint32_t>(position) * range.stride;
        }
        position -= range.count;
    }
    return 0;
}

// For people: the first ranks of the trace.
std::string known_ranks(const Trace& trace) {
    std::string text;
    std::size_t classes = 0;
    for (const TraceClass& row : trace.classes) {
        if (!row.ranks.empty() && classes++ < 8) {
            text += fmt::format("{}{}", text.empty() ? "it has " : ", ", row.ranks.front().first);
        }
    }
    return text.empty() ? "it says of no event which rank it is of" : text + (classes > 8 ? ", ..." : "");
}

// One rank of the result.
struct Chosen {
    std::uint32_t rank = 0;
    std::uint32_t rank_class = 0;
    std::uint64_t position = 0;     // in its class
    std::uint32_t first_stream = 0; // of the result
};

class Selector {
  public:
    explicit Selector(const Trace& trace);
    void choose(std::uint32_t rank);
    Trace run();

  private:
    std::optional<std::uint64_t> opposite(const Chosen& chosen, std::uint32_t other_class) const;
    std::uint64_t moved(const Chosen& chosen, std::uint64_t ref) const;
    NameId name(NameId old);
    std::uint32_t communicator(std::uint32_t row);
    CommOp comm_op(const Chosen& chosen, const CommOp& old);
    std::int32_t peer(const Chosen& chosen, std::int32_t first_peer) const;
    template <class Row>
    std::uint32_t row(const std::vector<Row>& from, std::uint32_t old, RowMap& map, std::vector<Row>& to);
    void add_rows(const Chosen& chosen, const EventColumns& events);
    void add_ext(const Chosen& chosen, EventKind kind, std::uint32_t ext);
    void add_rank(const Chosen& chosen);
    void add_counters(std::uint32_t old_class, std::uint32_t new_class);
    void add_flows();

    const Trace& from_;
    std::vector<std::vector<std::uint32_t>> streams_of_class_;
    RowMap place_; // stream -> number among those of its class
    std::vector<Chosen> chosen_;
    std::vector<std::vector<std::uint32_t>> chosen_of_class_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> chosen_at_; // class, position
    std::uint32_t stream_count_ = 0;
    RowMaps maps_; // of comm ops: those of the rank at hand
    RowMap communicators_;
    std::vector<std::uint32_t> rank_comm_ops_;   // rows in that map
    std::map<std::int32_t, std::int32_t> peers_; // likewise
    Trace to_;
};

Selector::Selector(const Trace& trace)
    : from_(trace), streams_of_class_(trace.classes.size()), chosen_of_class_(trace.classes.size()) {
    for (std::uint32_t i = 0; i < trace.streams.size(); ++i) {
        std::vector<std::uint32_t>& streams = streams_of_class_[trace.streams[i].rank_class];
        place_.push_back(static_cast<std::uint32_t>(streams.size()));
        streams.push_back(i);
    }
    maps_.strings.assign(trace.strings.size(), kNoRow);
    maps_.comm_ops.assign(trace.comm_ops.size(), kNoRow);
    maps_.labels.assign(trace.labels.size(), kNoRow);
    maps_.launches.assign(trace.launches.size(), kNoRow);
    maps_.copies.assign(trace.copies.size(), kNoRow);
    maps_.syncs.assign(trace.syncs.size(), kNoRow);
    communicators_.assign(trace.communicators.size(), kNoRow);
    to_.meta = trace.meta;
    to_.t0_ns = trace.t0_ns;
    to_.timed = trace.timed;
}

void Selector::choose(std::uint32_t rank) {
    bool found = false;
    for (std::uint32_t i = 0; i < from_.classes.size(); ++i) {
        const auto position = position_of(from_.classes[i].ranks, rank);
        if (position) {
            const auto index = static_cast<std::uint32_t>(chosen_.size());
            chosen_.push_back({rank, i, *position, stream_count_});
            chosen_of_class_[i].push_back(index);
            chosen_at_[{i, *position}] = index;
            stream_count_ += static_cast<std::uint32_t>(streams_of_class_[i].size());
            found = true;
        }
    }
    if (!found) {
        throw InputError("ranks", fmt::format("the trace has no rank {}", rank), known_ranks(from_));
    }
}

// Which rank of another class has to do with this one, by position; nothing: not known.
std::optional<std::uint64_t> Selector::opposite(const Chosen& chosen, std::uint32_t other_class) const {
    const std::uint64_t own = from_.classes[chosen.rank_class].rank_count();
    const bool known = chosen.position == 0 || own == from_.classes[other_class].rank_count();
    return known ? std::optional(chosen.position) : std::nullopt;
}

std::uint64_t Selector::moved(const Chosen& chosen, std::uint64_t ref) const {
    const std::uint32_t other_class = from_.streams[stream_of(ref)].rank_class;
    const Chosen* other = &chosen;
    if (other_class != chosen.rank_class) {
        const auto position = opposite(chosen, other_class);
        const auto found = position ? chosen_at_.find({other_class, *position}) : chosen_at_.end();
        if (found == chosen_at_.end()) {
            return kNoEvent;
        }
        other = &chosen_[found->second];
    }
    return event_ref(other->first_stream + place_[stream_of(ref)], index_of(ref));
}

NameId Selector::name(NameId old) {
    if (old == kNoName) {
        return kNoName;
    }
    std::uint32_t& row = maps_.strings[old.value];
    if (row == kNoRow) {
        row = to_.strings.intern(from_.strings[old]).value;
    }
    return NameId{row};
}

template <class Row>
std::uint32_t Selector::row(const std::vector<Row>& from, std::uint32_t old, RowMap& map,
                            std::vector<Row>& to) {
    if (old != kNoRow && map[old] == kNoRow) {
        map[old] = static_cast<std::uint32_t>(to.size());
        to.push_back(from[old]);
    }
    return moved_row(map, old);
}

std::uint32_t Selector::communicator(std::uint32_t old) {
    const std::size_t before = to_.communicators.size();
    const std::uint32_t moved = row(from_.communicators, old, communicators_, to_.communicators);
    if (to_.communicators.size() > before) {
        to_.communicators.back().name = name(to_.communicators.back().name);
        to_.communicators.back().description = name(to_.communicators.back().description);
    }
    return moved;
}

// What the first rank of a class communicates with is not what the others do.
CommOp Selector::comm_op(const Chosen& chosen, const CommOp& old) {
    CommOp op = old;
    op.group = name(op.group);
    if (op.communicator != kNoRow) {
        const std::vector<RankRange>& members = from_.communicators[op.communicator].ranks;
        const bool member = chosen.position == 0 || position_of(members, chosen.rank).has_value();
        op.communicator = member ? communicator(op.communicator) : kNoRow;
    }
    if (op.peer >= 0 && chosen.position > 0) {
        const auto [entry, added] = peers_.try_emplace(op.peer, -1);
        if (added) {
            entry->second = peer(chosen, op.peer);
        }
        op.peer = entry->second;
    }
    return op;
}

// Of a rank that is not the first of its class: the rank that is to it what `first_peer` is to the first; -1:
// not known.
std::int32_t Selector::peer(const Chosen& chosen, std::int32_t first_peer) const {
    for (std::uint32_t i = 0; i < from_.classes.size(); ++i) {
        const auto position = position_of(from_.classes[i].ranks, static_cast<std::uint32_t>(first_peer));
        if (position == 0U && opposite(chosen, i)) {
            return static_cast<std::int32_t>(rank_at(from_.classes[i].ranks, chosen.position));
        }
    }
    return -1;
}

void Selector::add_ext(const Chosen& chosen, EventKind kind, std::uint32_t ext) {
    switch (kind) {
    case EventKind::comm:
        if (ext != kNoRow && maps_.comm_ops[ext] == kNoRow) {
            to_.comm_ops.push_back(comm_op(chosen, from_.comm_ops[ext]));
            maps_.comm_ops[ext] = static_cast<std::uint32_t>(to_.comm_ops.size() - 1);
            rank_comm_ops_.push_back(ext);
        }
        break;
    case EventKind::kernel:
        row(from_.launches, ext, maps_.launches, to_.launches);
        break;
    case EventKind::memcpy:
    case EventKind::memset:
        row(from_.copies, ext, maps_.copies, to_.copies);
        break;
    case EventKind::sync:
    case EventKind::api:
        row(from_.syncs, ext, maps_.syncs, to_.syncs);
        break;
    case EventKind::instant:
    case EventKind::other:
        name(NameId{ext});
        break;
    default:
        break;
    }
}

// The rows that events use, in order of their use.
void Selector::add_rows(const Chosen& chosen, const EventColumns& events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
        name(NameId{events.name[i]});
        name(NameId{events.args[i]});
        const std::size_t labels = to_.labels.size();
        row(from_.labels, events.label[i], maps_.labels, to_.labels);
        if (to_.labels.size() > labels) {
            to_.labels.back().module = name(to_.labels.back().module);
        }
        add_ext(chosen, events.kind[i], events.ext[i]);
    }
}

void Selector::add_counters(std::uint32_t old_class, std::uint32_t new_class) {
    for (const TraceCounter& counter : from_.counters) {
        if (counter.rank_class == old_class) {
            to_.counters.push_back(counter);
            to_.counters.back().rank_class = new_class;
            to_.counters.back().name = name(counter.name);
            to_.counters.back().unit = name(counter.unit);
        }
    }
}

void Selector::add_rank(const Chosen& chosen) {
    const TraceClass& old = from_.classes[chosen.rank_class];
    const auto index = static_cast<std::uint32_t>(to_.classes.size());
    const NameId class_name =
        old.rank_count() == 1 ? name(old.name) : to_.strings.intern(fmt::format("rank {}", chosen.rank));
    to_.classes.push_back({class_name, old.stage, {{chosen.rank, 1, 1}}});
    for (const std::uint32_t op : rank_comm_ops_) {
        maps_.comm_ops[op] = kNoRow;
    }
    rank_comm_ops_.clear();
    peers_.clear();
    const MoveEvent move = [&](std::uint64_t ref) { return moved(chosen, ref); };
    for (const std::uint32_t row : streams_of_class_[chosen.rank_class]) {
        const TraceStream& stream = from_.streams[row];
        add_rows(chosen, stream.events);
        to_.streams.push_back(
            {index, stream.id, name(stream.name), stream.kind, stream.device, stream.number, stream.events});
        renumber(to_.streams.back().events, maps_, move, 0);
    }
    add_counters(chosen.rank_class, index);
}

void Selector::add_flows() {
    for (const Flow& flow : from_.flows) {
        for (const std::uint32_t index : chosen_of_class_[from_.streams[stream_of(flow.from)].rank_class]) {
            const std::uint64_t to = moved(chosen_[index], flow.to);
            if (to != kNoEvent) {
                to_.flows.push_back({moved(chosen_[index], flow.from), to, flow.kind});
            }
        }
    }
}

Trace Selector::run() {
    for (const Chosen& chosen : chosen_) {
        add_rank(chosen);
    }
    add_flows();
    return std::move(to_);
}

} // namespace

Trace select_ranks(const Trace& trace, const std::vector<int>& ranks) {
    Selector selector(trace);
    std::set<int> seen;
    for (const int rank : ranks) {
        if (seen.insert(rank).second) {
            selector.choose(static_cast<std::uint32_t>(rank));
        }
    }
    return selector.run();
}

} // namespace echosim
