// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine/fair_share.h"

#include <gtest/gtest.h>
#include <vector>

namespace echosim {
namespace {

std::vector<double> rates_of(const std::vector<Demand>& demands) {
    std::vector<double> rates(demands.size());
    fair_rates(demands, rates);
    return rates;
}

TEST(FairShare, NothingIsSlowerThanAloneWhileTheLinksHaveRoom) {
    // NIC: 0.5 + 0.4 < 1
    EXPECT_EQ(rates_of({{0, 0.5F}, {0, 0.4F}}), (std::vector<double>{1, 1}));
    EXPECT_EQ(rates_of({}), std::vector<double>{});
    EXPECT_EQ(rates_of({{0, 0}}), std::vector<double>{1});
}

TEST(FairShare, EqualTransfersShareAFullLinkEqually) {
    // System: x (0.8 + 0.8) = 1. Expectation: x = 0.625 for both, the NIC is exactly full.
    const std::vector<double> rates = rates_of({{0, 0.8F}, {0, 0.8F}});
    EXPECT_NEAR(rates[0], 0.625, 1e-6);
    EXPECT_NEAR(rates[1], 0.625, 1e-6);
}

TEST(FairShare, AnOpOnTheOtherLinkIsNotTouched) {
    const std::vector<double> rates = rates_of({{0, 1.0F}, {0, 1.0F}, {0.9F, 0}});
    EXPECT_NEAR(rates[0], 0.5, 1e-6);
    EXPECT_NEAR(rates[1], 0.5, 1e-6);
    EXPECT_EQ(rates[2], 1.0);
}

TEST(FairShare, TheTightestLinkIsFilledFirst) {
    // NVLink: 1.0 x0 + 0.5 x1 <= 1 fills at x = 2/3; NIC: 1.0 x1 + 1.0 x2 <= 1 fills at x = 1/2 and binds
    // first: x1 = x2 = 1/2. NVLink then has 1 - 0.25 left for x0: 0.75.
    const std::vector<double> rates = rates_of({{1.0F, 0}, {0.5F, 1.0F}, {0, 1.0F}});
    EXPECT_NEAR(rates[0], 0.75, 1e-6);
    EXPECT_NEAR(rates[1], 0.5, 1e-6);
    EXPECT_NEAR(rates[2], 0.5, 1e-6);
}

TEST(FairShare, NoLinkCarriesMoreThanItCan) {
    for (int seed = 1; seed < 200; ++seed) {
        std::vector<Demand> demands;
        unsigned state = static_cast<unsigned>(seed);
        const auto next = [&] {
            state = state * 1664525U + 1013904223U;
            return static_cast<float>(state >> 8U) / static_cast<float>(1U << 24U);
        };
        for (int i = 0; i < 1 + seed % 6; ++i)
            demands.push_back({next(), next()});
        const std::vector<double> rates = rates_of(demands);
        for (std::size_t r = 0; r < kResources; ++r) {
            double used = 0;
            for (std::size_t i = 0; i < demands.size(); ++i) {
                EXPECT_GT(rates[i], 0) << "seed " << seed;
                EXPECT_LE(rates[i], 1) << "seed " << seed;
                used += static_cast<double>(demands[i][r]) * rates[i];
            }
            EXPECT_LE(used, 1 + 1e-6) << "seed " << seed;
        }
    }
}

} // namespace
} // namespace echosim
