// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/order.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace echosim {
namespace {

bool orders(FlowKind kind) {
    return kind != FlowKind::collective && kind != FlowKind::p2p;
}

struct Edge {
    std::uint64_t from = kNoEvent;
    std::uint64_t to = kNoEvent;
};

// Flows that order events, and what a simulation names: the event of another stream whose end let one start.
std::vector<Edge> edges_of(const Trace& trace) {
    std::vector<Edge> edges;
    for (const Flow& flow : trace.flows) {
        if (orders(flow.kind) && flow.from != flow.to) {
            edges.push_back({flow.from, flow.to});
        }
    }
    for (std::uint32_t stream = 0; stream < trace.streams.size(); ++stream) {
        const EventColumns& events = trace.streams[stream].events;
        for (std::uint32_t i = 0; i < events.size(); ++i) {
            const std::uint64_t pred = events.binding_pred[i];
            if (pred == kNoEvent || stream_of(pred) == stream) {
                continue;
            }
            const EventColumns& others = trace.streams[stream_of(pred)].events;
            if (others.start_ns[index_of(pred)] + others.dur_ns[index_of(pred)] <= events.start_ns[i]) {
                edges.push_back({pred, event_ref(stream, i)});
            }
        }
    }
    return edges;
}

bool waits(const Trace& trace, const Event& event) {
    if (event.kind == EventKind::sync) {
        return true;
    }
    if (event.kind != EventKind::api || event.ext == kNoRow) {
        return false;
    }
    const SyncKind kind = trace.syncs[event.ext].kind;
    return kind == SyncKind::event_synchronize || kind == SyncKind::stream_synchronize ||
           kind == SyncKind::device_synchronize;
}

// Events numbered through all streams, with the flows that order them.
class Ordering {
  public:
    explicit Ordering(const Trace& trace) : trace_(trace) {
        for (const TraceStream& stream : trace.streams) {
            base_.push_back(count_);
            count_ += stream.events.size();
        }
        collect_edges();
    }

    ChakraOrder run() {
        order_.events.reserve(count_);
        place_.assign(count_, kNoRow);
        next_.assign(trace_.streams.size(), 0);
        for (std::uint32_t stream = 0; stream < trace_.streams.size(); ++stream) {
            offer(stream);
        }
        while (order_.events.size() < count_) {
            if (ready_.empty()) {
                ready_.push(earliest_head());
            }
            const std::uint32_t stream = std::get<1>(ready_.top());
            ready_.pop();
            emit(stream);
        }
        set_dependencies();
        set_callers_and_times();
        return std::move(order_);
    }

  private:
    using Head = std::tuple<TimeNs, std::uint32_t>; // start, stream

    std::size_t number(std::uint64_t ref) const { return base_[stream_of(ref)] + index_of(ref); }

    void collect_edges() {
        const std::vector<Edge> edges = edges_of(trace_);
        first_out_.assign(count_ + 1, 0);
        open_.assign(count_, 0);
        for (const Edge& edge : edges) {
            ++first_out_[number(edge.from) + 1];
            ++open_[number(edge.to)];
            sources_.emplace_back(number(edge.to), edge.from);
        }
        for (std::size_t i = 0; i < count_; ++i) {
            first_out_[i + 1] += first_out_[i];
        }
        targets_.resize(edges.size());
        std::vector<std::size_t> next(first_out_.begin(), first_out_.end());
        for (const Edge& edge : edges) {
            targets_[next[number(edge.from)]++] = edge.to;
        }
        std::sort(sources_.begin(), sources_.end());
        launched_by_.assign(count_, kNoEvent);
        for (const Flow& flow : trace_.flows) {
            if (flow.kind == FlowKind::launch && flow.from != flow.to) {
                launched_by_[number(flow.to)] = flow.from;
            }
        }
    }

    Head head(std::uint32_t stream) const {
        return {trace_.streams[stream].events.start_ns[next_[stream]], stream};
    }

    // The first event of the stream that is not placed yet, when nothing holds it back.
    void offer(std::uint32_t stream) {
        const bool left = next_[stream] < trace_.streams[stream].events.size();
        if (left && open_[base_[stream] + next_[stream]] == 0) {
            ready_.push(head(stream));
        }
    }

    Head earliest_head() const {
        Head best{};
        bool any = false;
        for (std::uint32_t stream = 0; stream < next_.size(); ++stream) {
            if (next_[stream] < trace_.streams[stream].events.size() && (!any || head(stream) < best)) {
                best = head(stream);
                any = true;
            }
        }
        return best;
    }

    void emit(std::uint32_t stream) {
        const std::uint32_t index = next_[stream]++;
        const std::size_t event = base_[stream] + index;
        place_[event] = static_cast<std::uint32_t>(order_.events.size());
        order_.events.push_back(event_ref(stream, index));
        for (std::size_t i = first_out_[event]; i < first_out_[event + 1]; ++i) {
            const std::size_t target = number(targets_[i]);
            --open_[target];
            // a stream's head that was waiting for this one; placed ones were forced
            const std::uint32_t other = stream_of(targets_[i]);
            if (open_[target] == 0 && place_[target] == kNoRow && other != stream &&
                next_[other] == index_of(targets_[i])) {
                ready_.push(head(other));
            }
        }
        offer(stream);
    }

    void set_dependencies() {
        std::vector<std::uint32_t> row;
        for (std::uint32_t node = 0; node < order_.events.size(); ++node) {
            const std::uint64_t event = order_.events[node];
            row.clear();
            if (index_of(event) > 0) {
                row.push_back(place_[number(event) - 1]);
            }
            auto source = std::lower_bound(sources_.begin(), sources_.end(),
                                           std::pair<std::size_t, std::uint64_t>(number(event), 0));
            for (; source != sources_.end() && source->first == number(event); ++source) {
                const std::uint32_t from = place_[number(source->second)];
                if (from < node) {
                    row.push_back(from);
                }
            }
            std::sort(row.begin(), row.end());
            row.erase(std::unique(row.begin(), row.end()), row.end());
            order_.first.push_back(order_.depends_on.size());
            order_.depends_on.insert(order_.depends_on.end(), row.begin(), row.end());
        }
        order_.first.push_back(order_.depends_on.size());
    }

    void set_callers_and_times() {
        order_.caller.assign(count_, kNoRow);
        order_.own_micros.assign(count_, 0);
        for (std::uint32_t stream = 0; stream < trace_.streams.size(); ++stream) {
            nest(stream);
        }
        for (std::size_t event = 0; event < count_; ++event) {
            const std::uint32_t from =
                launched_by_[event] == kNoEvent ? kNoRow : place_[number(launched_by_[event])];
            if (from != kNoRow && from < place_[event]) {
                order_.caller[place_[event]] = from;
            }
        }
    }

    // Time that a thread spends in an event itself; a call that waits for what is among its dependencies
    // takes no time of its own. Microseconds are rounded so that their sum stays right.
    void nest(std::uint32_t stream) {
        const EventColumns& events = trace_.streams[stream].events;
        std::vector<TimeNs> own(events.dur_ns);
        std::vector<std::uint32_t> open;
        const bool thread = trace_.streams[stream].kind == StreamKind::host && trace_.timed;
        for (std::uint32_t i = 0; thread && i < events.size(); ++i) {
            const TimeNs end = events.start_ns[i] + events.dur_ns[i];
            while (!open.empty() && events.start_ns[open.back()] + events.dur_ns[open.back()] < end) {
                open.pop_back();
            }
            if (!open.empty()) {
                own[open.back()] = std::max<TimeNs>(own[open.back()] - events.dur_ns[i], 0);
                order_.caller[place_[base_[stream] + i]] = place_[base_[stream] + open.back()];
            }
            open.push_back(i);
        }
        std::uint64_t total = 0; // unsigned: absurd durations wrap
        for (std::uint32_t i = 0; i < events.size(); ++i) {
            const std::uint32_t node = place_[base_[stream] + i];
            const std::size_t others = order_.first[node + 1U] - order_.first[node] - (i > 0 ? 1 : 0);
            const bool waited = others > 0 && waits(trace_, events.row(i));
            const std::uint64_t next = total + (waited ? 0U : static_cast<std::uint64_t>(own[i]));
            order_.own_micros[node] = (next + 500) / 1000 - (total + 500) / 1000;
            total = next;
        }
    }

    const Trace& trace_;
    ChakraOrder order_;
    std::vector<std::size_t> base_; // stream -> number of its first event
    std::size_t count_ = 0;
    std::vector<std::size_t> first_out_;                         // event -> begin of its row of targets_
    std::vector<std::uint64_t> targets_;                         // events to which flows lead
    std::vector<std::pair<std::size_t, std::uint64_t>> sources_; // (number of the target, source), sorted
    std::vector<std::uint32_t> open_;                            // flows from events that are not placed yet
    std::vector<std::uint64_t> launched_by_;
    std::vector<std::uint32_t> place_; // event -> node
    std::vector<std::uint32_t> next_;  // stream -> first event that is not placed
    std::priority_queue<Head, std::vector<Head>, std::greater<>> ready_;
};

} // namespace

ChakraOrder chakra_order(const Trace& trace) {
    return Ordering(trace).run();
}

} // namespace echosim
