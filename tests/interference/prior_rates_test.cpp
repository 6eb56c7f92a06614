// SPDX-License-Identifier: Apache-2.0
#include "interference/prior.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace echosim {
namespace {

const PriorSlowdown kPrior(GpuLimits{}); // A100: 108 SMs

Running running(const KernelFootprint& kernel) {
    return {.kind = OpKind::compute, .kernel = &kernel};
}
Running running(const CommFootprint& comm, bool waiting = false) {
    return {.kind = OpKind::collective, .comm = &comm, .waiting = waiting};
}
std::vector<double> rates_of(const std::vector<Running>& ops) {
    std::vector<double> rate(ops.size(), -1);
    kPrior.rates(ops, rate);
    return rate;
}
// Many waves, no tensor cores; one block an SM that leaves a CTA no room.
KernelFootprint kernel_of(double hbm_share, double blocks = 108e3) {
    return {.time = 1e-3,
            .hbm_share = hbm_share,
            .blocks = blocks,
            .blocks_per_sm = 1,
            .threads_per_block = 256,
            .registers_per_thread = 255};
}
using Rates = std::vector<double>;

TEST(PriorRates, NothingSlowsWithoutCommunication) {
    const KernelFootprint kernel = kernel_of(0.95);
    const CommFootprint comm{.ctas = 24, .hbm_share = 0.97};
    EXPECT_EQ(rates_of({}), Rates{});
    EXPECT_EQ(rates_of({running(kernel), running(kernel)}), (Rates{1, 1}));
    EXPECT_EQ(rates_of({running(comm)}), Rates{1});
    EXPECT_EQ(rates_of({{.kind = OpKind::compute}, running(comm)}), (Rates{1, 1})); // nothing is known of it
}

TEST(PriorRates, CommunicationWaitsForMemory) {
    // u = .8, h = .3: 1 + .5 (1.1 - .9) = 1.1
    const KernelFootprint kernel = kernel_of(0.8);
    const CommFootprint comm{.ctas = 4, .hbm_share = 0.3};
    EXPECT_NEAR(rates_of({running(comm), running(kernel)})[0], 1 / 1.1, 1e-9);
    // two of them: 1 + .5 (1.4 - .9) = 1.25; three kernels more: 2 at most
    EXPECT_NEAR(rates_of({running(comm), running(comm), running(kernel)})[0], 1 / 1.25, 1e-9);
    EXPECT_NEAR(
        rates_of({running(comm), running(kernel), running(kernel), running(kernel), running(kernel)})[0],
        1 / 2.0, 1e-9);
}

TEST(PriorRates, SumsCommunicationForEveryKernel) {
    // 8 + 16 CTAs, no traffic: 108 / 84 = 1.286 for each kernel, in whatever order
    const KernelFootprint kernel = kernel_of(0);
    const CommFootprint small{.ctas = 8}, large{.ctas = 16};
    for (const std::vector<Running>& ops :
         {std::vector{running(small), running(large), running(kernel), running(kernel)},
          std::vector{running(kernel), running(small), running(kernel), running(large)}})
        for (std::size_t i = 0; i < ops.size(); ++i)
            EXPECT_NEAR(rates_of(ops)[i], ops[i].kernel != nullptr ? 84 / 108.0 : 1, 1e-3);
}

TEST(PriorRates, WaitingCommunicationHoldsSmsAndMovesNothing) {
    const KernelFootprint kernel = kernel_of(0.8);
    const CommFootprint comm{.ctas = 24, .hbm_share = 0.4};
    const CommFootprint still{.ctas = 24, .hbm_share = 0};
    const std::vector<double> waiting = rates_of({running(comm, true), running(kernel)});
    EXPECT_EQ(waiting[1], rates_of({running(still), running(kernel)})[1]);
    EXPECT_LT(rates_of({running(comm), running(kernel)})[1], waiting[1]);
    EXPECT_EQ(waiting[0], 1);
}

TEST(PriorRates, CopyEnginesHoldNoSm) {
    const KernelFootprint kernel = kernel_of(0.1, 108); // a second wave would double it
    const CommFootprint copy{.ctas = 0, .hbm_share = 0.2};
    // S_sm = 1, S_mem = 1 + .15 x .2 by b = .9: 1 + .03 (.1 / .9)^4 = 1.000005
    EXPECT_NEAR(rates_of({running(copy), running(kernel)})[1], 1 / 1.000005, 1e-6);
    EXPECT_EQ(kPrior.start_delay(running(copy), std::vector{running(kernel)}, std::vector{1e-3}), 0);
}

TEST(PriorRates, FirstInLineKeepsItsSms) {
    const KernelFootprint kernel = kernel_of(0, 108);
    const CommFootprint comm{.ctas = 24};
    EXPECT_EQ(rates_of({running(kernel), running(comm)})[0], 1);    // its blocks are placed
    EXPECT_LT(rates_of({running(comm), running(kernel)})[1], 0.65); // a second wave
}

struct Wait {
    double blocks = 0;
    Seconds remaining = 1e-3;
    double ctas = 24;
    bool high_priority = false;
};
Seconds wait_of(const Wait& wait, KernelFootprint kernel = kernel_of(0)) {
    kernel.blocks = wait.blocks;
    const CommFootprint comm{.ctas = wait.ctas, .high_priority = wait.high_priority};
    return kPrior.start_delay(running(comm), std::vector{running(kernel)}, std::vector{wait.remaining});
}

TEST(PriorDelay, UntilTheLastFullWaveEnds) {
    // 270 blocks = 2.5 waves of 1 ms: SMs come free after 2/3 ms, 54 of them
    EXPECT_NEAR(wait_of({.blocks = 270}), 2e-3 / 3, 1e-9);
    EXPECT_NEAR(wait_of({.blocks = 270, .remaining = 0.7e-3}), 2e-3 / 3 - 0.3e-3, 1e-9);
    EXPECT_EQ(wait_of({.blocks = 270, .remaining = 0.3e-3}), 0);                  // in the last wave
    EXPECT_EQ(wait_of({.blocks = 270, .remaining = 0.7e-3, .ctas = 55}), 0.7e-3); // only 54 come free
    EXPECT_EQ(wait_of({.blocks = 216, .remaining = 0.7e-3}), 0.7e-3); // 2 waves: none before the end
}

TEST(PriorDelay, NoneWhereThereIsRoom) {
    EXPECT_EQ(wait_of({.blocks = 84}), 0);    // 24 SMs are free
    EXPECT_EQ(wait_of({.blocks = 85}), 1e-3); // 23
    KernelFootprint small = kernel_of(0);
    small.registers_per_thread = 32; // 256 x 32 + 544 x 96 registers: fits beside
    EXPECT_EQ(wait_of({.blocks = 1080}, small), 0);
}

TEST(PriorDelay, HigherPriorityTakesTheFirstSmsThatComeFree) {
    // 3 waves begun: half of a lifetime of 1/3 ms
    EXPECT_NEAR(wait_of({.blocks = 270, .high_priority = true}), 1e-3 / 6, 1e-9);
    EXPECT_NEAR(wait_of({.blocks = 270, .remaining = 0.1e-3, .high_priority = true}), 0.1e-3, 1e-9);
    EXPECT_EQ(wait_of({.blocks = 108, .remaining = 0.8e-3, .high_priority = true}), 0.8e-3); // one wave
}

TEST(PriorDelay, PersistentKernelsHoldTheirSmsToTheEnd) {
    KernelFootprint kernel = kernel_of(0);
    kernel.persistent = true;
    kernel.tiles = 3072;
    EXPECT_EQ(wait_of({.blocks = 108, .remaining = 0.6e-3}, kernel), 0.6e-3);
    EXPECT_EQ(wait_of({.blocks = 108, .remaining = 0.6e-3, .high_priority = true}, kernel), 0.6e-3);
    EXPECT_EQ(wait_of({.blocks = 80, .remaining = 0.6e-3}, kernel), 0); // an SM margin of 28
}

TEST(PriorDelay, UnknownGridCountsAsNineAndAHalfWaves) {
    EXPECT_NEAR(wait_of({.blocks = 0}), 0.9e-3, 1e-9);
    EXPECT_NEAR(wait_of({.blocks = 0, .high_priority = true}), 0.05e-3, 1e-9);
}

TEST(PriorDelay, OnlyCommunicationWaitsAndForTheLongest) {
    const KernelFootprint few = kernel_of(0, 270), more = kernel_of(0, 216);
    const CommFootprint comm{.ctas = 24};
    EXPECT_EQ(kPrior.start_delay(running(few), std::vector{running(comm)}, std::vector{1e-3}), 0);
    EXPECT_EQ(kPrior.start_delay(running(comm), {}, {}), 0);
    EXPECT_EQ(kPrior.start_delay(running(comm), std::vector{running(few), running(more)},
                                 std::vector{1e-3, 0.9e-3}),
              0.9e-3);
    // 54 SMs come free in the last wave; another communication holds 40 of them
    const CommFootprint other{.ctas = 40};
    EXPECT_EQ(
        kPrior.start_delay(running(comm), std::vector{running(other), running(few)}, std::vector{1.0, 1e-3}),
        1e-3);
}

KernelFootprint random_kernel(std::mt19937& random) {
    const auto uniform = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    KernelFootprint k;
    k.kernel_class = static_cast<KernelClass>(std::uniform_int_distribution<int>(0, 12)(random));
    k.time = 1e-4;
    k.hbm_share = uniform(0, 1);
    k.compute_share = uniform(-0.5, 1) > 0 ? uniform(0, 1) : 0;
    k.blocks = uniform(0, 1) < 0.2 ? 0 : std::floor(std::exp(uniform(0, 9)));
    k.blocks_per_sm = std::floor(uniform(1, 17));
    k.occupancy_ratio = uniform(0, 1);
    k.threads_per_block = static_cast<int>(uniform(0, 33)) * 32;
    k.registers_per_thread = static_cast<int>(uniform(0, 256));
    k.shared_bytes = uniform(0, 100) * 1024;
    k.tensor_cores = uniform(0, 1) < 0.5;
    k.persistent = uniform(0, 1) < 0.3;
    k.tiles = uniform(0, 1) < 0.5 ? 0 : std::floor(std::exp(uniform(0, 9)));
    k.yields_sms = uniform(0, 1) < 0.2;
    return k;
}

TEST(PriorProperties, MoreCtasAndMoreTrafficNeverSpeedAKernel) {
    std::mt19937 random(1);
    for (int n = 0; n < 3000; ++n) {
        const KernelFootprint kernel = random_kernel(random);
        EXPECT_EQ(kPrior.factor(kernel, {}), 1);
        const bool fits = n % 3 == 0, first = n % 5 == 0;
        double before_row[24] = {};
        for (double ctas = 0; ctas <= 130; ctas = ctas < 3 ? ctas + 0.25 : ctas * 1.37) {
            double before = 1;
            for (int i = 0; i < 24; ++i) {
                const CommLoad load{.ctas = ctas,
                                    .hbm_share = i / 20.0,
                                    .ctas_fitting = fits ? ctas / 2 : 0,
                                    .kernel_first = first};
                const double factor = kPrior.factor(kernel, load);
                ASSERT_GE(factor, before - 1e-12) << "traffic, kernel " << n;
                ASSERT_GE(factor, before_row[i] - 1e-12) << "CTAs, kernel " << n;
                ASSERT_LE(factor, 6);
                before = before_row[i] = factor;
            }
        }
    }
}

TEST(PriorProperties, RatesAreInRangeForAnySet) {
    std::mt19937 random(2);
    for (int n = 0; n < 2000; ++n) {
        std::vector<KernelFootprint> kernels;
        std::vector<CommFootprint> comms;
        for (int i = 0; i < 4; ++i) {
            kernels.push_back(random_kernel(random));
            comms.push_back({.ctas = static_cast<double>(random() % 40),
                             .hbm_share = static_cast<double>(random() % 11) / 10});
        }
        std::vector<Running> ops;
        std::vector<Seconds> remaining;
        for (unsigned i = 0; i < 1 + random() % 6; ++i) {
            const auto at = random() % 4;
            ops.push_back(random() % 2 == 0 ? running(kernels[at]) : running(comms[at], random() % 4 == 0));
            remaining.push_back(1e-5 * static_cast<double>(random() % 11));
        }
        for (const double rate : rates_of(ops)) {
            ASSERT_GT(rate, 0);
            ASSERT_LE(rate, 1);
        }
        const Seconds wait = kPrior.start_delay(running(comms[0]), ops, remaining);
        ASSERT_GE(wait, 0);
        ASSERT_LE(wait, 1e-4);
    }
}

TEST(PriorProperties, ContinuousInTraffic) {
    std::mt19937 random(3);
    for (int n = 0; n < 1000; ++n) {
        const KernelFootprint kernel = random_kernel(random);
        double before = kPrior.factor(kernel, {.ctas = 0, .hbm_share = 0});
        for (double h = 1e-3; h < 1; h += 1e-3) { // slope: 1 / .92 + .02 / .1, times at most 1.2
            const double factor = kPrior.factor(kernel, {.ctas = 0, .hbm_share = h});
            ASSERT_LT(factor - before, 1.6e-3);
            before = factor;
        }
    }
}

} // namespace
} // namespace echosim
