// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/rate_memo.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace echosim::engine {
namespace {

TEST(RateMemo, AgreesWithAMap) {
    std::mt19937 random(5);
    RateMemo memo;
    std::map<std::vector<std::uint64_t>, std::vector<double>> reference;
    for (int i = 0; i < 20'000; ++i) {
        std::vector<std::uint64_t> set(1 + random() % 4);
        for (std::uint64_t& key : set)
            key = random() % 16; // many sets differ in their order only
        const double* known = memo.find(set);
        const auto it = reference.find(set);
        ASSERT_EQ(known != nullptr, it != reference.end());
        if (known != nullptr) {
            ASSERT_EQ(std::vector<double>(known, known + set.size()), it->second);
            continue;
        }
        std::vector<double> rates(set.size());
        for (double& rate : rates)
            rate = static_cast<double>(random() % 1000) / 1000;
        memo.add(set, rates);
        reference[set] = rates;
    }
    EXPECT_EQ(memo.size(), reference.size());
    EXPECT_GT(memo.size(), 5'000U);
}

TEST(RateMemo, IsBounded) {
    RateMemo memo;
    const double rate = 0.5;
    for (std::uint64_t key = 0; key <= RateMemo::kMostSets; ++key)
        memo.add({&key, 1}, {&rate, 1});
    EXPECT_EQ(memo.size(), 1U); // full: all forgotten, then one more
    const std::uint64_t first = 0, last = RateMemo::kMostSets;
    EXPECT_EQ(memo.find({&first, 1}), nullptr);
    ASSERT_NE(memo.find({&last, 1}), nullptr);
    EXPECT_EQ(*memo.find({&last, 1}), 0.5);
}

} // namespace
} // namespace echosim::engine
