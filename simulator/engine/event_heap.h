// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/core/units.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace echosim {

// Index-based 4-ary min-heap over (time, insertion order): the next of the ops whose end can still move. Ids
// are small integers that the caller reuses; after the first pushes nothing is allocated. push, update, pop:
// O(log n).
class EventHeap {
  public:
    bool empty() const { return heap_.empty(); }
    bool contains(std::uint32_t id) const { return id < place_.size() && place_[id] != kAbsent; }
    TimeNs next_time() const { return heap_.front().time; }

    void push(std::uint32_t id, TimeNs time) {
        if (id >= place_.size())
            place_.resize(id + 1U, kAbsent);
        heap_.push_back({time, order_++, id});
        place_[id] = static_cast<std::uint32_t>(heap_.size() - 1);
        up(place_[id]);
    }
    void update(std::uint32_t id, TimeNs time) {
        const std::uint32_t at = place_[id];
        const TimeNs old = std::exchange(heap_[at].time, time);
        time < old ? up(at) : down(at);
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
        TimeNs time;
        std::uint64_t order;
        std::uint32_t id;
        bool before(const Entry& other) const {
            return time != other.time ? time < other.time : order < other.order;
        }
    };
    void place(std::uint32_t at, const Entry& entry) {
        heap_[at] = entry;
        place_[entry.id] = at;
    }
    void up(std::uint32_t at) {
        const Entry entry = heap_[at];
        while (at > 0) {
            const std::uint32_t parent = (at - 1) / 4;
            if (!entry.before(heap_[parent]))
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
                if (heap_[child].before(*least)) {
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
    std::uint64_t order_ = 0;
};

} // namespace echosim
