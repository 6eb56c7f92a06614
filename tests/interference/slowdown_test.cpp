// SPDX-License-Identifier: Apache-2.0
#include "interference/slowdown.h"

#include <array>
#include <gtest/gtest.h>
#include <vector>

namespace echosim {
namespace {

std::vector<double> rates_of(const SlowdownModel& model, std::initializer_list<OpKind> kinds) {
    std::vector<Running> running;
    for (const OpKind kind : kinds)
        running.push_back({.kind = kind});
    std::vector<double> rates(running.size(), -1.0);
    model.rates(running, rates);
    return rates;
}
using Rates = std::vector<double>;

TEST(NoSlowdown, EveryRateIsOne) {
    EXPECT_TRUE(NoSlowdown{}.identity());
    EXPECT_EQ(rates_of(NoSlowdown{}, {OpKind::compute, OpKind::collective, OpKind::p2p}), (Rates{1, 1, 1}));
    EXPECT_EQ(rates_of(NoSlowdown{}, {}), Rates{});
}

TEST(ConstantSlowdown, SlowsComputeBesideCommunicationOnly) {
    const ConstantSlowdown model(1.25); // rate 1 / 1.25 = 0.8
    EXPECT_FALSE(model.identity());
    EXPECT_EQ(rates_of(model, {OpKind::compute}), (Rates{1}));
    EXPECT_EQ(rates_of(model, {OpKind::collective}), (Rates{1}));
    EXPECT_EQ(rates_of(model, {OpKind::compute, OpKind::compute}), (Rates{1, 1}));
    EXPECT_EQ(rates_of(model, {OpKind::compute, OpKind::collective}), (Rates{0.8, 1}));
    EXPECT_EQ(rates_of(model, {OpKind::p2p, OpKind::compute}), (Rates{1, 0.8}));
    EXPECT_EQ(rates_of(model, {OpKind::collective, OpKind::p2p}), (Rates{1, 1}));
    EXPECT_EQ(rates_of(model, {OpKind::compute, OpKind::memory, OpKind::collective}), (Rates{0.8, 1, 1}));
}

TEST(ConstantSlowdown, CommunicationThatWaitsForItsPeersDoesNotSlow) {
    const std::vector<Running> running = {{.kind = OpKind::compute},
                                          {.kind = OpKind::collective, .waiting = true}};
    Rates rates(2, -1.0);
    ConstantSlowdown(1.25).rates(running, rates);
    EXPECT_EQ(rates, (Rates{1, 1}));
}

TEST(ConstantSlowdown, FactorOneIsTheIdentity) {
    EXPECT_TRUE(ConstantSlowdown(1.0).identity());
    EXPECT_EQ(rates_of(ConstantSlowdown(1.0), {OpKind::compute, OpKind::collective}), (Rates{1, 1}));
}

TEST(ConstantSlowdownDeathTest, FactorBelowOneIsABrokenInvariant) {
    EXPECT_DEATH(ConstantSlowdown(0.5), "a slowdown factor is at least 1");
}

} // namespace
} // namespace echosim
