// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto/slices.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace echosim {
namespace {

bool is_flow(const KinetoMark& mark) {
    return mark.kind == KinetoMarkKind::flow_start || mark.kind == KinetoMarkKind::flow_step ||
           mark.kind == KinetoMarkKind::flow_end;
}

bool begins(const KinetoMark& mark) {
    return mark.kind == KinetoMarkKind::begin || mark.kind == KinetoMarkKind::async_begin;
}

bool is_async(const KinetoMark& mark) {
    return mark.kind == KinetoMarkKind::async_begin || mark.kind == KinetoMarkKind::async_end;
}

// What begin and end share: a thread, or the category and id of something asynchronous in a process.
using SliceKey = std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t>;

SliceKey key_of(const KinetoTable& table, const KinetoMark& mark) {
    if (!is_async(mark)) {
        return {-1, mark.row.track, kNoName.value, kNoName.value};
    }
    const KinetoPlace& pid = table.tracks[mark.row.track].pid;
    return {std::max<std::int64_t>(pid.number, 0), pid.text.value, mark.row.category.value, mark.id.value};
}

// The args of begin and end in one object.
NameId joined_args(KinetoTable& table, NameId first, NameId second) {
    if (first == kNoName || second == kNoName) {
        return first == kNoName ? second : first;
    }
    std::string text = table.text(first);
    text.back() = ',';
    return table.builder.name(text + table.text(second).substr(1));
}

} // namespace

void close_slices(KinetoTable& table) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < table.marks.size(); ++i) {
        if (!is_flow(table.marks[i])) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return table.marks[a].row.start < table.marks[b].row.start;
    });
    std::vector<KinetoRow> closed;
    std::map<SliceKey, std::vector<std::size_t>> open; // -> rows of `closed`, outermost first
    for (const std::uint32_t i : order) {
        const KinetoMark& mark = table.marks[i];
        std::vector<std::size_t>& stack = open[key_of(table, mark)];
        if (begins(mark)) {
            stack.push_back(closed.size());
            closed.push_back(mark.row);
            if (is_async(mark)) {
                closed.back().lane = KinetoLane::async;
            }
        } else if (stack.empty()) {
            table.report.warn("unmatched_end");
        } else {
            KinetoRow& row = closed[stack.back()];
            row.duration = mark.row.start - row.start;
            row.args = joined_args(table, row.args, mark.row.args);
            stack.pop_back();
        }
    }
    for (const auto& [key, stack] : open) {
        table.report.warn("unclosed_begin", stack.size());
    }
    if (!closed.empty()) {
        table.rows.push_back(std::move(closed));
    }
    std::erase_if(table.marks, [](const KinetoMark& mark) { return !is_flow(mark); });
}

namespace {

// Events that enclose (or follow) moments of one stream, for moments in order of time.
class Enclosing {
  public:
    explicit Enclosing(const EventColumns& events) : events_(events) {}

    std::uint32_t at(TimeNs time) {
        while (next_ < events_.size() && events_.start_ns[next_] <= time) {
            close_before(events_.start_ns[next_]);
            open_.push_back(next_++);
        }
        close_before(time);
        return open_.empty() ? kNoRow : open_.back();
    }

    std::uint32_t from(TimeNs time) const {
        const auto found = std::lower_bound(events_.start_ns.begin(), events_.start_ns.end(), time);
        return found == events_.start_ns.end() ? kNoRow
                                               : static_cast<std::uint32_t>(found - events_.start_ns.begin());
    }

  private:
    void close_before(TimeNs time) {
        while (!open_.empty() && events_.start_ns[open_.back()] + events_.dur_ns[open_.back()] < time) {
            open_.pop_back();
        }
    }

    const EventColumns& events_;
    std::uint32_t next_ = 0;
    std::vector<std::uint32_t> open_;
};

bool is_forward_backward(std::string_view text) {
    return text.find("fwdbwd") != std::string_view::npos ||
           text.find("forward_backward") != std::string_view::npos;
}

// The event of each mark.
std::vector<std::uint64_t> bound_events(const KinetoTable& table,
                                        const std::vector<std::uint32_t>& stream_of_track, TimeNs t0) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < table.marks.size(); ++i) {
        order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return table.marks[a].row.start < table.marks[b].row.start;
    });
    const Trace& trace = table.builder.so_far();
    std::unordered_map<std::uint32_t, Enclosing> streams;
    std::vector<std::uint64_t> events(table.marks.size(), kNoEvent);
    for (const std::uint32_t i : order) {
        const KinetoMark& mark = table.marks[i];
        const std::uint32_t stream = stream_of_track[mark.row.track];
        if (stream == kNoRow) {
            continue;
        }
        Enclosing& enclosing = streams.try_emplace(stream, trace.streams[stream].events).first->second;
        const TimeNs time = mark.row.start - t0;
        const std::uint32_t event = mark.next_slice ? enclosing.from(time) : enclosing.at(time);
        events[i] = event == kNoRow ? kNoEvent : event_ref(stream, event);
    }
    return events;
}

} // namespace

void bind_flows(KinetoTable& table, const std::vector<std::uint32_t>& stream_of_track, TimeNs t0) {
    const std::vector<std::uint64_t> events = bound_events(table, stream_of_track, t0);
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < table.marks.size(); ++i) {
        order.push_back(i);
    }
    const auto key = [&](std::uint32_t i) {
        const KinetoMark& mark = table.marks[i];
        return std::tuple(mark.row.category.value, mark.id.value, mark.row.start, mark.kind);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::uint32_t last = kNoRow; // the arrow's latest end, in order
    const auto same = [&](std::uint32_t a, std::uint32_t b) {
        return table.marks[a].row.category == table.marks[b].row.category &&
               table.marks[a].id == table.marks[b].id;
    };
    bool used = true;
    for (const std::uint32_t i : order) {
        const KinetoMark& mark = table.marks[i];
        const bool follows = last != kNoRow && same(last, i) && mark.kind != KinetoMarkKind::flow_start;
        if (!follows) {
            table.report.warn("unmatched_flow",
                              (used ? 0U : 1U) + (mark.kind != KinetoMarkKind::flow_start ? 1U : 0U));
            used = mark.kind != KinetoMarkKind::flow_start;
        } else if (events[last] != kNoEvent && events[i] != kNoEvent) {
            const bool known = is_forward_backward(table.text(mark.row.category)) ||
                               is_forward_backward(table.text(mark.row.name));
            table.builder.add_flow(events[last], events[i],
                                   known ? FlowKind::forward_backward : FlowKind::other);
            used = true;
        } else {
            table.report.warn("unmatched_flow");
            used = true;
        }
        last = mark.kind == KinetoMarkKind::flow_end ? kNoRow : i;
    }
    table.report.warn("unmatched_flow", used ? 0 : 1);
}

} // namespace echosim
