// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/event_heap.h"

#include <boost/heap/d_ary_heap.hpp>
#include <gtest/gtest.h>
#include <random>

namespace echosim {
namespace {

struct Entry {
    TimeNs time;
    std::uint64_t order;
    std::uint32_t id;
    bool operator<(const Entry& other) const { // the largest is on top there
        return time != other.time ? time > other.time : order > other.order;
    }
};
using Reference = boost::heap::d_ary_heap<Entry, boost::heap::arity<4>, boost::heap::mutable_<true>>;

TEST(EventHeap, AgreesWithAReferenceHeap) {
    std::mt19937 random(20240501);
    EventHeap heap;
    Reference reference;
    std::vector<Reference::handle_type> handles(200);
    std::uint64_t order = 0;
    int pops = 0;
    for (int step = 0; step < 100'000; ++step) {
        const auto id = static_cast<std::uint32_t>(random() % 200);
        const auto time = static_cast<TimeNs>(random() % 500); // many equal times
        if (!heap.contains(id)) {
            heap.set(id, {time, order});
            handles[id] = reference.push({time, order++, id});
        } else if (random() % 2 == 0) {
            heap.set(id, {time, (*handles[id]).order});
            reference.update(handles[id], {time, (*handles[id]).order, id});
        } else {
            ASSERT_EQ(heap.next().time, reference.top().time);
            ASSERT_EQ(heap.pop(), reference.top().id);
            reference.pop();
            ++pops;
        }
        ASSERT_EQ(heap.empty(), reference.empty());
    }
    EXPECT_GT(pops, 20'000);
    while (!reference.empty()) {
        ASSERT_EQ(heap.pop(), reference.top().id);
        reference.pop();
    }
    EXPECT_TRUE(heap.empty());
}

TEST(EventHeap, EqualTimesGoByTheirTie) {
    EventHeap heap;
    std::uint64_t tie = 0;
    for (const std::uint32_t id : {7U, 3U, 9U, 1U, 5U})
        heap.set(id, {10, tie++});
    heap.set(2, {9, tie++});
    heap.set(9, {11, 0});
    std::vector<std::uint32_t> order;
    while (!heap.empty())
        order.push_back(heap.pop());
    EXPECT_EQ(order, (std::vector<std::uint32_t>{2, 7, 3, 1, 5, 9}));
    EXPECT_EQ(heap.next(), kNever);
}

} // namespace
} // namespace echosim
