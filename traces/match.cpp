// SPDX-License-Identifier: Apache-2.0
#include "traces/match.h"

#include "traces/match/groups.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace echosim {
namespace {

constexpr std::size_t kMostNotes = 8;

// What the calls of a sequence share: a communicator, or the place of their stream among those of the class
// that communicate without one.
struct SequenceKey {
    std::uint32_t communicator = kNoRow;
    std::uint32_t place = 0;
    auto operator<=>(const SequenceKey&) const = default;
};
// Ranks of the sender and the receiver; kernels that do both: the smaller rank first.
struct PairKey {
    int from = -1;
    int to = -1;
    std::uint32_t communicator = kNoRow;
    bool both = false;
    auto operator<=>(const PairKey&) const = default;
};

struct Sequences {
    std::map<SequenceKey, std::map<std::uint32_t, std::vector<Call>>> collectives; // by class
    std::map<PairKey, std::array<std::vector<Call>, 2>> pairs; // calls of `from`, calls of `to`
    std::uint64_t calls = 0;
    std::vector<bool> shared; // by communicator
};

bool same_size_everywhere(CollectiveKind kind) {
    return kind != CollectiveKind::all_to_all && kind != CollectiveKind::send_recv &&
           kind != CollectiveKind::gather && kind != CollectiveKind::scatter;
}

// What all members agree on. Of a collective that is not known the kernel is: its name.
std::uint64_t signature_of(const Trace& trace, std::uint64_t event, const CommOp& op) {
    const std::uint64_t type =
        static_cast<std::uint64_t>(op.kind) << 8U | static_cast<std::uint64_t>(op.dtype);
    if (op.kind == kNoCollective) {
        const std::uint64_t name = trace.streams.at(stream_of(event)).events.name.at(index_of(event));
        return name << 16U | type;
    }
    return (same_size_everywhere(op.kind) ? op.bytes : 0) << 16U | type;
}

Call call_of(const Trace& trace, std::uint64_t event, const CommOp& op) {
    return {.event = event,
            .sequence = op.sequence,
            .signature = signature_of(trace, event, op),
            .time = trace.timed ? interval_of(trace, event) : Interval{}}; // a graph: the order alone
}

// The rank that a class is, -1: none or several.
int rank_of(const TraceClass& cls) {
    return cls.rank_count() == 1 ? static_cast<int>(cls.ranks.front().first) : -1;
}

bool is_pair(const CommOp& op, int rank) {
    return op.kind == CollectiveKind::send_recv && op.peer >= 0 && rank >= 0 && op.peer != rank &&
           op.direction != Direction::none;
}

void add_pair(Sequences& found, const CommOp& op, int rank, const Call& call) {
    const bool both = op.direction == Direction::both;
    const bool first = both ? rank < op.peer : op.direction == Direction::send;
    const PairKey key{.from = first ? rank : op.peer,
                      .to = first ? op.peer : rank,
                      .communicator = op.communicator,
                      .both = both};
    found.pairs[key][first ? 0 : 1].push_back(call);
    found.pairs[key][first ? 0 : 1].back().signature = op.bytes;
}

// Whether the calls of other classes may be on the same row: the ranks are recorded, or another class has it.
// Some recorders name a communicator by its address, which differs in every process.
std::vector<bool> shared_communicators(const Trace& trace) {
    std::vector<bool> shared(trace.communicators.size(), false);
    std::vector<std::uint32_t> first(trace.communicators.size(), kNoRow);
    for (const TraceStream& stream : trace.streams) {
        for (std::size_t i = 0; i < stream.events.size(); ++i) {
            if (stream.events.kind[i] != EventKind::comm || stream.events.ext[i] == kNoRow) {
                continue;
            }
            const std::uint32_t row = trace.comm_ops.at(stream.events.ext[i]).communicator;
            if (row != kNoRow) {
                first.at(row) = first[row] == kNoRow ? stream.rank_class : first[row];
                shared[row] =
                    shared[row] || first[row] != stream.rank_class || !trace.communicators[row].ranks.empty();
            }
        }
    }
    return shared;
}

// A send or receive whose peer nobody names meets the only other rank, or nobody knows whom.
bool meets_all(const Trace& trace, const CommOp& op) {
    if (op.kind != CollectiveKind::send_recv || op.communicator == kNoRow) {
        return true;
    }
    std::uint64_t size = 0;
    for (const RankRange& range : trace.communicators.at(op.communicator).ranks) {
        size += range.count;
    }
    return std::max<std::uint64_t>(size, op.group_size) <= 2;
}

void collect(const Trace& trace, std::uint32_t stream_row, std::uint32_t& places, Sequences& found) {
    const TraceStream& stream = trace.streams[stream_row];
    const int rank = rank_of(trace.classes.at(stream.rank_class));
    bool unnamed = false;
    for (std::uint32_t i = 0; i < stream.events.size(); ++i) {
        if (stream.events.kind[i] != EventKind::comm || stream.events.ext[i] == kNoRow) {
            continue;
        }
        const CommOp& op = trace.comm_ops.at(stream.events.ext[i]);
        const Call call = call_of(trace, event_ref(stream_row, i), op);
        ++found.calls;
        if (is_pair(op, rank)) {
            add_pair(found, op, rank, call);
        } else if (op.group_size != 1 && meets_all(trace, op)) {
            const bool named = op.communicator != kNoRow && found.shared.at(op.communicator);
            unnamed = unnamed || !named;
            const SequenceKey key{.communicator = named ? op.communicator : kNoRow,
                                  .place = named ? 0 : places};
            found.collectives[key][stream.rank_class].push_back(call);
        }
    }
    places += unnamed ? 1 : 0;
}

// Streams of a class in order of device and number, so that the j-th of one rank is the j-th of another.
Sequences collect(const Trace& trace) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t s = 0; s < trace.streams.size(); ++s) {
        order.push_back(s);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const TraceStream& x = trace.streams[a];
        const TraceStream& y = trace.streams[b];
        return std::tie(x.rank_class, x.device, x.number) < std::tie(y.rank_class, y.device, y.number);
    });
    Sequences found;
    found.shared = shared_communicators(trace);
    std::vector<std::uint32_t> places(trace.classes.size(), 0);
    for (const std::uint32_t s : order) {
        collect(trace, s, places.at(trace.streams[s].rank_class), found);
    }
    const auto by_start = [](const Call& a, const Call& b) { return a.time.start < b.time.start; };
    for (auto& [key, classes] : found.collectives) {
        for (auto& [row, calls] : classes) {
            std::stable_sort(calls.begin(), calls.end(), by_start);
        }
    }
    for (auto& [key, ends] : found.pairs) {
        for (std::vector<Call>& calls : ends) {
            std::stable_sort(calls.begin(), calls.end(), by_start);
        }
    }
    return found;
}

std::string name_of(const Trace& trace, const SequenceKey& key) {
    if (key.communicator == kNoRow) {
        return fmt::format("stream {} with communication", key.place + 1);
    }
    const TraceCommunicator& row = trace.communicators.at(key.communicator);
    return fmt::format("communicator {}", trace.text(row.name != kNoName ? row.name : row.description));
}

class Writer {
  public:
    explicit Writer(Trace& trace) : trace_(trace) {}

    void add(const SequenceKey& key, const GroupMatch& match) {
        matching_.inconsistent += match.inconsistent;
        for (const std::string& reason : match.reasons) {
            note(name_of(trace_, key) + ": " + reason);
        }
        for (const MatchedCall& call : match.calls) {
            for (const std::uint64_t event : call.events) {
                number(event, call.number, key.communicator != kNoRow && match.may_number);
                if (event != call.events.front()) {
                    trace_.flows.push_back({call.events.front(), event, FlowKind::collective});
                }
            }
            matching_.collectives += call.events.size() > 1 ? 1 : 0;
            matching_.members += call.events.size() > 1 ? call.events.size() : 0;
        }
    }
    void add_pairs(const GroupMatch& match) {
        for (const MatchedCall& call : match.calls) {
            if (call.events.size() == 2) {
                trace_.flows.push_back({call.events[0], call.events[1], FlowKind::p2p});
                ++matching_.pairs;
            }
        }
    }
    Matching finish(std::uint64_t calls) {
        const std::uint64_t met = matching_.members + 2 * matching_.pairs;
        matching_.alone = calls > met ? calls - met : 0;
        return std::move(matching_);
    }

  private:
    void note(std::string text) {
        if (matching_.notes.size() < kMostNotes) {
            matching_.notes.push_back(std::move(text));
        }
    }
    void number(std::uint64_t event, std::uint64_t value, bool allowed) {
        if (allowed) {
            trace_.comm_ops.at(trace_.streams[stream_of(event)].events.ext[index_of(event)]).sequence = value;
        }
    }

    Trace& trace_;
    Matching matching_;
};

bool is_matched(const Trace& trace) {
    return std::any_of(trace.flows.begin(), trace.flows.end(), [](const Flow& flow) {
        return flow.kind == FlowKind::collective || flow.kind == FlowKind::p2p;
    });
}

} // namespace

Matching match_collectives(Trace& trace) {
    if (is_matched(trace) || trace.classes.size() < 2) {
        return {};
    }
    Sequences found = collect(trace);
    Writer writer(trace);
    for (const auto& [key, classes] : found.collectives) {
        std::vector<ClassCalls> members;
        for (const auto& [row, calls] : classes) {
            members.push_back({row, calls});
        }
        writer.add(key, match_group(trace, members, key.communicator != kNoRow));
    }
    for (const auto& [key, ends] : found.pairs) {
        writer.add_pairs(match_group(trace, {{0, ends[0]}, {1, ends[1]}}, true));
    }
    return writer.finish(found.calls);
}

} // namespace echosim
