// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace echosim::engine {

// The rates that a SlowdownModel gave for sets of ops in the order of their starts: models may be slow, and a
// step meets some hundred sets some hundred thousand times. Open addressing; the keys and rates of all sets
// lie in two arrays. When more than kMostSets are known all are forgotten: the model will be asked again and,
// a pure function, say the same.
class RateMemo {
  public:
    static constexpr std::size_t kMostSets = std::size_t{1} << 16U;

    // Rates of the set, in its order; null: not known. Valid until the next add().
    const double* find(std::span<const std::uint64_t> set) const {
        if (slots_.empty())
            return nullptr;
        const Slot& slot = slots_[place_of(set)];
        return slot.size == 0 ? nullptr : rates_.data() + slot.first;
    }
    // A set that find() does not know, not empty.
    void add(std::span<const std::uint64_t> set, std::span<const double> rates) {
        if (sets_ == kMostSets) {
            std::ranges::fill(slots_, Slot{});
            keys_.clear();
            rates_.clear();
            sets_ = 0;
        }
        if (2 * (sets_ + 1) > slots_.size())
            grow();
        slots_[place_of(set)] = {static_cast<std::uint32_t>(keys_.size()),
                                 static_cast<std::uint32_t>(set.size())};
        keys_.insert(keys_.end(), set.begin(), set.end());
        rates_.insert(rates_.end(), rates.begin(), rates.end());
        ++sets_;
    }
    std::size_t size() const { return sets_; }

  private:
    struct Slot {
        std::uint32_t first = 0; // in keys_ and rates_
        std::uint32_t size = 0;  // 0: free
    };
    std::span<const std::uint64_t> set_of(const Slot& slot) const {
        return {keys_.data() + slot.first, slot.size};
    }
    // Where the set is, or would be.
    std::size_t place_of(std::span<const std::uint64_t> set) const {
        std::uint64_t hash = 0x9E3779B97F4A7C15U;
        for (const std::uint64_t key : set) {
            hash = (hash ^ key) * 0xBF58476D1CE4E5B9U;
            hash ^= hash >> 29U;
        }
        std::size_t place = hash & (slots_.size() - 1);
        while (slots_[place].size != 0 && !std::ranges::equal(set_of(slots_[place]), set))
            place = (place + 1) & (slots_.size() - 1);
        return place;
    }
    void grow() {
        const std::vector<Slot> old = std::move(slots_);
        slots_.assign(std::max<std::size_t>(64, 2 * old.size()), Slot{});
        for (const Slot& slot : old)
            if (slot.size != 0)
                slots_[place_of(set_of(slot))] = slot;
    }

    std::vector<Slot> slots_;
    std::vector<std::uint64_t> keys_;
    std::vector<double> rates_;
    std::size_t sets_ = 0;
};

} // namespace echosim::engine
