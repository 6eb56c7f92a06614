// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/fair_share.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace echosim {
namespace {

using FlowId = FairShare::FlowId;
using Demand = FairShare::Demand;

// A system as a table, and its solution by progressive filling over the whole of it: the second opinion.
struct Dense {
    std::vector<double> capacity;
    std::vector<std::vector<double>> demand; // [flow][resource]
    std::vector<double> weight;

    std::vector<double> rates() const {
        const std::size_t flows = demand.size();
        std::vector<double> rate(flows, 0), left = capacity;
        std::vector<bool> settled(flows, false);
        for (std::size_t open = flows; open > 0;) {
            double level = 1e300;
            for (std::size_t i = 0; i < flows; ++i)
                if (!settled[i])
                    level = std::min(level, 1 / weight[i]);
            for (std::size_t r = 0; r < capacity.size(); ++r)
                level = std::min(level, full_at(r, settled, left[r]));
            std::vector<bool> full(capacity.size());
            for (std::size_t r = 0; r < capacity.size(); ++r)
                full[r] = full_at(r, settled, left[r]) <= level * (1 + 1e-12);
            for (std::size_t i = 0; i < flows; ++i) {
                bool held = 1 / weight[i] <= level * (1 + 1e-12);
                for (std::size_t r = 0; r < capacity.size(); ++r)
                    held = held || (full[r] && demand[i][r] > 0);
                if (settled[i] || !held)
                    continue;
                settled[i] = true;
                --open;
                rate[i] = std::min(1.0, level * weight[i]);
                for (std::size_t r = 0; r < capacity.size(); ++r)
                    left[r] = std::max(0.0, left[r] - demand[i][r] * rate[i]);
            }
        }
        return rate;
    }

  private:
    double full_at(std::size_t r, const std::vector<bool>& settled, double left) const {
        double wanted = 0;
        for (std::size_t i = 0; i < demand.size(); ++i)
            if (!settled[i])
                wanted += demand[i][r] * weight[i];
        return wanted > 0 ? left / wanted : 1e300;
    }
};

std::vector<Demand> sparse(const std::vector<double>& row) {
    std::vector<Demand> demands;
    for (std::size_t r = 0; r < row.size(); ++r)
        if (row[r] > 0)
            demands.push_back({static_cast<FairShare::ResourceId>(r), row[r]});
    return demands;
}

TEST(FairShare, AFlowAloneRunsAtOne) {
    FairShare share;
    const auto nic = share.add_resource(50);
    const FlowId flow = share.add_flow(std::vector<Demand>{{nic, 40}});
    const FlowId idle = share.add_flow({});
    const auto changed = share.solve();
    EXPECT_EQ(std::vector<FlowId>(changed.begin(), changed.end()), (std::vector<FlowId>{flow, idle}));
    EXPECT_EQ(share.rate(flow), 1);
    EXPECT_EQ(share.rate(idle), 1);
    EXPECT_EQ(share.bottleneck(flow), FairShare::kNoResource);
    EXPECT_TRUE(share.solve().empty());
}

TEST(FairShare, TwoEqualFlowsShareEquallyAndRemovingOneDoublesTheOther) {
    // System: x (50 + 50) <= 50. Expectation: x = 1 / 2 each; alone 1.
    FairShare share;
    const auto nic = share.add_resource(50);
    const std::vector<Demand> all = {{nic, 50}};
    const FlowId a = share.add_flow(all), b = share.add_flow(all);
    share.solve();
    EXPECT_DOUBLE_EQ(share.rate(a), 0.5);
    EXPECT_DOUBLE_EQ(share.rate(b), 0.5);
    EXPECT_EQ(share.bottleneck(a), nic);
    EXPECT_DOUBLE_EQ(share.used(nic), 50);
    share.remove_flow(a);
    const auto changed = share.solve();
    EXPECT_EQ(std::vector<FlowId>(changed.begin(), changed.end()), std::vector<FlowId>{b});
    EXPECT_EQ(share.rate(b), 1);
}

TEST(FairShare, WeightsDivideAFullResource) {
    // System: x0 / 16 = x1 / 4, 50 x0 + 50 x1 = 50. Expectation: 0.8 and 0.2.
    FairShare share;
    const auto nic = share.add_resource(50);
    const std::vector<Demand> all = {{nic, 50}};
    const FlowId heavy = share.add_flow(all, 16), light = share.add_flow(all, 4);
    share.solve();
    EXPECT_DOUBLE_EQ(share.rate(heavy), 0.8);
    EXPECT_DOUBLE_EQ(share.rate(light), 0.2);
}

TEST(FairShare, WhatABottleneckElsewhereLeavesIsUsed) {
    // r0: x0 + x1 <= 1, r1: x1 + 3 x2 <= 1. Level 1/4: r1 is full, x1 = x2 = 1/4; r0 leaves 3/4 for x0.
    FairShare share;
    const auto r0 = share.add_resource(1), r1 = share.add_resource(1);
    const FlowId f0 = share.add_flow(std::vector<Demand>{{r0, 1}});
    const FlowId f1 = share.add_flow(std::vector<Demand>{{r0, 1}, {r1, 1}});
    share.solve();
    EXPECT_DOUBLE_EQ(share.rate(f0), 0.5);
    EXPECT_DOUBLE_EQ(share.rate(f1), 0.5);
    const FlowId f2 = share.add_flow(std::vector<Demand>{{r1, 3}}); // reaches f0 through f1
    share.solve();
    EXPECT_DOUBLE_EQ(share.rate(f1), 0.25);
    EXPECT_DOUBLE_EQ(share.rate(f2), 0.25);
    EXPECT_DOUBLE_EQ(share.rate(f0), 0.75);
    EXPECT_EQ(share.bottleneck(f1), r1);
    EXPECT_EQ(share.bottleneck(f0), r0);
}

TEST(FairShare, CapacityMayChange) {
    FairShare share;
    const auto nic = share.add_resource(50), other = share.add_resource(50);
    const FlowId a = share.add_flow(std::vector<Demand>{{nic, 50}});
    const FlowId b = share.add_flow(std::vector<Demand>{{other, 10}});
    share.solve();
    share.set_capacity(nic, 45);
    const auto changed = share.solve();
    EXPECT_EQ(std::vector<FlowId>(changed.begin(), changed.end()), std::vector<FlowId>{a});
    EXPECT_DOUBLE_EQ(share.rate(a), 0.9);
    EXPECT_EQ(share.rate(b), 1);
    share.set_capacity(nic, 60);
    share.solve();
    EXPECT_EQ(share.rate(a), 1);
}

TEST(FairShare, FlowsThatTheChangeDoesNotReachAreNotReported) {
    FairShare share;
    const auto left = share.add_resource(1), right = share.add_resource(1);
    const std::vector<Demand> on_left = {{left, 1}}, on_right = {{right, 1}};
    share.add_flow(on_left);
    share.add_flow(on_left);
    share.add_flow(on_right);
    share.solve();
    const FlowId added = share.add_flow(on_right);
    const auto changed = share.solve();
    EXPECT_EQ(std::vector<FlowId>(changed.begin(), changed.end()), (std::vector<FlowId>{2, added}));
}

struct Kind {
    bool weighted = false;
    bool ties = false; // amounts and capacities of 1 and 2: many resources are full at one level
};

// Random additions, removals and changes of capacity: after each, the same rates as from scratch, and no
// resource over its capacity.
void compare_with_dense(unsigned seed, std::size_t resources, std::size_t most, Kind kind) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    const auto some_capacity = [&] {
        return kind.ties ? 1.0 + static_cast<double>(random() % 2) : 0.5 + unit(random);
    };
    Dense dense;
    FairShare share;
    for (std::size_t r = 0; r < resources; ++r) {
        dense.capacity.push_back(some_capacity());
        share.add_resource(dense.capacity.back());
    }
    std::vector<FlowId> ids; // parallel to dense.demand
    std::size_t slowed = 0;
    for (int step = 0; step < 120; ++step) {
        const auto dice = random() % 8;
        if (dice == 0) {
            const auto r = random() % resources;
            dense.capacity[r] = some_capacity();
            share.set_capacity(static_cast<FairShare::ResourceId>(r), dense.capacity[r]);
        } else if (!ids.empty() && (dice < 4 || ids.size() >= most)) {
            const auto gone = static_cast<std::ptrdiff_t>(random() % ids.size());
            share.remove_flow(ids[static_cast<std::size_t>(gone)]);
            ids.erase(ids.begin() + gone);
            dense.demand.erase(dense.demand.begin() + gone);
            dense.weight.erase(dense.weight.begin() + gone);
        } else {
            std::vector<double> row(resources, 0);
            for (int i = 0; i < 4; ++i)
                row[random() % resources] = kind.ties || unit(random) < 0.3 ? 1.0 : unit(random);
            dense.demand.push_back(row);
            dense.weight.push_back(kind.weighted ? 1.0 + static_cast<double>(random() % 16) : 1.0);
            ids.push_back(share.add_flow(sparse(row), dense.weight.back()));
        }
        if (random() % 3 == 0)
            continue; // several changes at once
        share.solve();
        const std::vector<double> expected = dense.rates();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            ASSERT_NEAR(share.rate(ids[i]), expected[i], 1e-7) << "seed " << seed << ", step " << step;
            slowed += expected[i] < 1 ? 1 : 0;
        }
        for (std::size_t r = 0; r < resources; ++r)
            ASSERT_LE(share.used(static_cast<FairShare::ResourceId>(r)), dense.capacity[r] * (1 + 1e-9));
    }
    EXPECT_GT(slowed, 100U);
}

TEST(FairShare, ChangesGiveWhatASolutionFromScratchGives) {
    for (unsigned seed = 1; seed <= 12; ++seed) {
        compare_with_dense(seed, 6, 12, {});
        compare_with_dense(seed, 40, 60, {}); // long chains of sharing
        compare_with_dense(seed, 12, 30, {.weighted = true});
        compare_with_dense(seed, 12, 30, {.ties = true});
        compare_with_dense(seed, 40, 60, {.ties = true});
        compare_with_dense(seed, 40, 60, {.weighted = true, .ties = true});
    }
}

TEST(FairShare, TheOrderOfFlowsChangesNothing) {
    std::mt19937 random(11);
    std::vector<std::vector<Demand>> flows;
    for (int i = 0; i < 60; ++i) {
        std::vector<Demand> demands;
        for (std::uint32_t r = static_cast<std::uint32_t>(i) % 7; r < 20; r += 5)
            demands.push_back({r, 0.1 + static_cast<double>(random() % 100) / 100});
        flows.push_back(demands);
    }
    std::vector<std::size_t> order(flows.size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<double> first;
    for (int round = 0; round < 5; ++round) {
        FairShare share;
        for (int r = 0; r < 20; ++r)
            share.add_resource(1);
        std::vector<FlowId> id(flows.size());
        for (const std::size_t i : order) {
            id[i] = share.add_flow(flows[i]);
            if (round % 2 == 1)
                share.solve(); // one at a time
        }
        share.solve();
        std::vector<double> rates;
        for (std::size_t i = 0; i < flows.size(); ++i)
            rates.push_back(share.rate(id[i]));
        if (round == 0)
            first = rates;
        for (std::size_t i = 0; i < flows.size(); ++i)
            EXPECT_NEAR(rates[i], first[i], 1e-12);
        std::shuffle(order.begin(), order.end(), random);
    }
}

} // namespace
} // namespace echosim
