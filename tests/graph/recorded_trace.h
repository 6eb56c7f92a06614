// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "interference/slowdown.h"
#include "simulator/engine/engine.h"
#include "simulator/graph/graph_from_trace.h"
#include "traces/trace.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Recordings written by hand, and their replay. All times are nanoseconds; every device op has a name of its
// own.
namespace echosim::test {

struct Span {
    TimeNs start = 0;
    TimeNs duration = 0;
};

class HandTrace {
  public:
    // One class a rank; streams and threads come into being where they are first named.
    void rank(int number) {
        class_ = builder_.add_class("rank " + std::to_string(number), -1, {number});
        streams_.clear();
    }
    std::uint64_t op(std::int64_t stream, std::string_view name, Span at, std::uint32_t correlation = 0,
                     EventKind kind = EventKind::kernel) {
        Event event = event_of(name, at, kind, correlation);
        if (kind == EventKind::memcpy)
            event.ext = builder_.add_copy({CopyKind::device_to_host, 4});
        return builder_.add_event(stream_of(stream, 0), event);
    }
    // A call that launches one op, of a correlation of its own.
    std::uint64_t launch(Span call, std::int64_t stream, std::string_view name, Span at,
                         EventKind kind = EventKind::kernel, std::int64_t thread = 1) {
        const std::uint32_t correlation = ++last_correlation_;
        api("cudaLaunchKernel", call, correlation, thread);
        return op(stream, name, at, correlation, kind);
    }
    std::uint32_t api(std::string_view name, Span call, std::uint32_t correlation = 0,
                      std::int64_t thread = 1) {
        builder_.add_event(stream_of(thread, -1), event_of(name, call, EventKind::api, correlation));
        return correlation;
    }
    std::uint32_t sync(const SyncOp& sync, Span call, std::int64_t thread = 1) {
        Event event = event_of("sync", call, EventKind::api, ++last_correlation_);
        event.ext = builder_.add_sync(sync);
        builder_.add_event(stream_of(thread, -1), event);
        return event.correlation;
    }
    void flow(std::uint64_t from, std::uint64_t to) { builder_.add_flow(from, to, FlowKind::collective); }
    std::uint32_t next_correlation() { return ++last_correlation_; }
    TraceBuilder& builder() { return builder_; }
    Trace finish() { return builder_.finish(); }

  private:
    Event event_of(std::string_view name, Span at, EventKind kind, std::uint32_t correlation) {
        Event event;
        event.start = at.start;
        event.duration = at.duration;
        event.name = builder_.name(name);
        event.kind = kind;
        event.correlation = correlation;
        event.provenance = Provenance::measured;
        return event;
    }
    std::uint32_t stream_of(std::int64_t number, std::int32_t device) {
        const auto [it, added] = streams_.try_emplace({device, number});
        if (added) {
            it->second = builder_.add_stream(class_, device < 0 ? StreamKind::host : StreamKind::compute,
                                             "stream " + std::to_string(number));
            builder_.set_origin(it->second, device, number);
        }
        return it->second;
    }

    TraceBuilder builder_;
    std::uint32_t class_ = 0;
    std::uint32_t last_correlation_ = 0;
    std::map<std::pair<std::int32_t, std::int64_t>, std::uint32_t> streams_;
};

// The graph of a recording, and what the engine makes of it.
class Replayed {
  public:
    explicit Replayed(Trace trace) : trace_(std::move(trace)), step(graph_from_trace(trace_)) {}

    // Every op of this name takes `factor` times as long.
    void scale(std::string_view name, double factor) {
        for (std::size_t rank = 0; rank < step.graphs.size(); ++rank) {
            const RankGraph& graph = *step.graphs[rank];
            for (std::size_t block = 0; block < graph.blocks.size(); ++block)
                for (std::size_t op = 0; op < graph.blocks[block].ops.size(); ++op)
                    if (graph.names[graph.blocks[block].ops[op].name] == name) {
                        TimeNs& alone = step.annotated[rank].costs[block][op].alone_ns;
                        alone = static_cast<TimeNs>(static_cast<double>(alone) * factor);
                    }
        }
    }
    // name -> start and duration, on the clock of the recording; of the last rank that has the name.
    std::map<std::string, Span> run() {
        const NoSlowdown none;
        const Timeline timeline = simulate({.placement = step.placement,
                                            .graphs = step.annotated,
                                            .slowdown = none,
                                            .record = std::vector<bool>(step.graphs.size(), true)});
        end = timeline.end + step.zero_ns;
        std::map<std::string, Span> out;
        for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
            const RankTimeline& t = timeline.ranks[rank];
            for (std::size_t row = 0; row < t.size(); ++row) {
                const std::uint64_t ref = step.event_of[rank][t.instance[row]][t.op[row]];
                if (ref == kNoEvent)
                    continue;
                const EventColumns& events = trace_.streams[stream_of(ref)].events;
                out[std::string(trace_.text(NameId{events.name[index_of(ref)]}))] = {
                    t.start[row] + step.zero_ns, t.duration[row]};
            }
        }
        return out;
    }
    TimeNs start(std::string_view name) { return run().at(std::string(name)).start; }
    bool has_note(std::string_view text) const {
        return std::ranges::any_of(
            step.notes, [&](const std::string& note) { return note.find(text) != std::string::npos; });
    }

  private:
    Trace trace_;

  public:
    RecordedStep step;
    TimeNs end = 0; // of the last run
};

} // namespace echosim::test
