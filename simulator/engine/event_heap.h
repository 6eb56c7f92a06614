// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

namespace echosim {

// When an event happens. Of events at one time the smaller tie goes first.
struct EventTime {
    TimeNs time = 0;
    std::uint64_t tie = 0;
    auto operator<=>(const EventTime&) const = default;
};
inline constexpr EventTime kNever{std::numeric_limits<TimeNs>::max(), 0};

// Index-based 4-ary min-heap over (EventTime, id): the next of the events whose time can still move. Ids are
// small integers that the caller reuses; after the first pushes nothing is allocated. set, pop: O(log n).
class EventHeap {
  public:
    bool empty() const { return heap_.empty(); }
    bool contains(std::uint32_t id) const { return id < place_.size() && place_[id] != kAbsent; }
    EventTime next() const { return heap_.empty() ? kNever : heap_.front().at; }

    // Adds the event, or moves it to another time.
    void set(std::uint32_t id, EventTime at) {
        if (id >= place_.size())
            place_.resize(id + 1U, kAbsent);
        if (place_[id] == kAbsent) {
            heap_.push_back({at, id});
            place_[id] = static_cast<std::uint32_t>(heap_.size() - 1);
            up(place_[id]);
            return;
        }
        Entry& entry = heap_[place_[id]];
        const bool earlier = at < entry.at;
        entry.at = at;
        earlier ? up(place_[id]) : down(place_[id]);
    }
    std::uint32_t pop() {
        const std::uint32_t id = heap_.front().id;
        place_[id] = kAbsent;
        const Entry last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) {
            heap_[0] = last;
            place_[last.id] = 0;
            down(0);
        }
        return id;
    }

  private:
    static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;
    struct Entry {
        EventTime at;
        std::uint32_t id;
        auto operator<=>(const Entry&) const = default;
    };
    void place(std::uint32_t at, const Entry& entry) {
        heap_[at] = entry;
        place_[entry.id] = at;
    }
    void up(std::uint32_t at) {
        const Entry entry = heap_[at];
        while (at > 0) {
            const std::uint32_t parent = (at - 1) / 4;
            if (!(entry < heap_[parent]))
                break;
            place(at, heap_[parent]);
            at = parent;
        }
        place(at, entry);
    }
    void down(std::uint32_t at) {
        const Entry entry = heap_[at];
        const auto size = static_cast<std::uint32_t>(heap_.size());
        for (;;) {
            std::uint32_t best = at, first = 4 * at + 1;
            const Entry* least = &entry;
            for (std::uint32_t child = first; child < first + 4 && child < size; ++child)
                if (heap_[child] < *least) {
                    best = child;
                    least = &heap_[child];
                }
            if (best == at)
                break;
            place(at, *least);
            at = best;
        }
        place(at, entry);
    }

    std::vector<Entry> heap_;
    std::vector<std::uint32_t> place_;
};

} // namespace echosim
