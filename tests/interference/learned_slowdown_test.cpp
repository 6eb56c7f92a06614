// SPDX-License-Identifier: Apache-2.0
#include "interference/learned_slowdown.h"

#include "tests/interference/made_samples.h"
#include "tests/support/refusal.h"

#include <array>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using testing::HasSubstr;

// Short elementwise kernels suffer: e^0.6 = 1.8 times the prior at 20 us, nothing at 2 ms; GEMMs e^0.1.
double truth(const KernelFootprint& kernel, const CommLoad&) {
    if (kernel.kernel_class == KernelClass::gemm)
        return 0.1;
    return 0.6 * (1 - std::log(kernel.time / 20e-6) / std::log(100.0));
}

const LearnedSlowdown& fitted() {
    static const auto model = fit_slowdown(made_samples(120, truth), {});
    return *model;
}

InterferenceSample one(std::size_t index) {
    return made_samples(index + 1, truth).back();
}

void expect_same(const SlowdownEstimate& a, const SlowdownEstimate& b) {
    EXPECT_EQ(a.factor, b.factor);
    EXPECT_EQ(a.low, b.low);
    EXPECT_EQ(a.high, b.high);
    EXPECT_EQ(a.expected, b.expected);
    EXPECT_EQ(a.source, b.source);
}

TEST(LearnedSlowdown, RecoversAKnownFunctionWithin5Percent) {
    for (const std::size_t i : {150U, 151U, 153U, 160U, 171U}) { // not among the 120
        const InterferenceSample s = one(i);
        const SlowdownEstimate e = fitted().estimate(s.kernel, s.load, s.family);
        EXPECT_NEAR(e.factor / s.factor(), 1, 0.05) << i;
        EXPECT_EQ(e.source, EstimateSource::residual);
        EXPECT_LE(e.low, e.factor);
        EXPECT_GE(e.high, e.factor);
    }
}

// The columns that vary: time, the two classes, shares, CTAs and what follows from them; the rest is left
// out.
TEST(LearnedSlowdown, LeavesOutWhatDoesNotVary) {
    const auto& columns = fitted().columns();
    const auto has = [&](Feature f) { return std::ranges::find(columns, f) != columns.end(); };
    EXPECT_TRUE(has(Feature::log_time));
    EXPECT_TRUE(has(Feature::gemm));
    EXPECT_TRUE(has(Feature::comm_ctas));
    EXPECT_FALSE(has(Feature::attention));
    EXPECT_FALSE(has(Feature::comm_hbm_share)); // 0.05 in all
    EXPECT_FALSE(has(Feature::waves));          // the grid is never known
}

TEST(LearnedSlowdown, IsTheIdentityWithoutCommunication) {
    const InterferenceSample s = one(1);
    expect_same(fitted().estimate(s.kernel, {}, s.family), {});
    std::array<double, 1> rate{};
    fitted().rates(std::array{Running{.kind = OpKind::compute, .kernel = &s.kernel}}, rate);
    EXPECT_EQ(rate[0], 1);
}

TEST(LearnedSlowdown, FallsBackToThePriorForFamiliesItHasNotSeen) {
    const InterferenceSample s = one(1);
    const PriorSlowdown prior{GpuLimits{}};
    expect_same(fitted().estimate(s.kernel, s.load, "flash_fwd_kernel"),
                prior.estimate(s.kernel, s.load, {}));
    EXPECT_EQ(fitted().estimate(s.kernel, s.load, s.family).source, EstimateSource::residual);
}

// A simulated graph has no names: the class decides.
TEST(LearnedSlowdown, FallsBackToThePriorForClassesItHasNotSeen) {
    InterferenceSample s = one(1);
    EXPECT_EQ(fitted().estimate(s.kernel, s.load, {}).source, EstimateSource::residual);
    s.kernel.kernel_class = KernelClass::attention;
    expect_same(fitted().estimate(s.kernel, s.load, {}),
                PriorSlowdown{GpuLimits{}}.estimate(s.kernel, s.load, {}));
}

TEST(LearnedSlowdown, FallsBackToThePriorFarFromTheData) {
    InterferenceSample s = one(1);
    s.load.ctas = 100; // the data have 8 to 32
    expect_same(fitted().estimate(s.kernel, s.load, s.family),
                PriorSlowdown{GpuLimits{}}.estimate(s.kernel, s.load, {}));
}

// 20 us to 2 ms in the data: ln us from 3.0 to 7.6, a quarter is 1.15, so that the residual reaches to 6.3
// ms. Ridge and Gaussian process alike.
TEST(LearnedSlowdown, FallsBackToThePriorOutsideTheRangesOfTheData) {
    for (const Fitter fitter : {Fitter::ridge, Fitter::gaussian_process}) {
        const auto model = fit_slowdown(made_samples(120, truth), {.fitter = fitter});
        InterferenceSample s = one(21); // elementwise, 16 CTAs
        s.kernel.time = 2.2e-3;
        EXPECT_EQ(model->estimate(s.kernel, s.load, s.family).source, EstimateSource::residual);
        for (const double time : {6.5e-3, 1e4, 5e-6}) {
            s.kernel.time = time;
            EXPECT_EQ(model->estimate(s.kernel, s.load, s.family).source, EstimateSource::prior) << time;
        }
    }
}

// Residuals that fall with CTAs faster than the prior rises, and with HBM traffic: beside 8 CTAs 1.65 times
// the prior, beside 32 times 1.0. In the data a kernel beside more communication is faster; the model keeps
// the factor of the lesser.
double falling(const KernelFootprint&, const CommLoad& load) {
    return 0.5 * (32 - load.ctas) / 24 - 2 * (load.hbm_share - 0.05);
}

std::vector<InterferenceSample> configurations(std::size_t count) {
    auto samples = made_samples(count, falling);
    const PriorSlowdown prior{GpuLimits{}};
    for (std::size_t i = 0; i < count; ++i) {
        InterferenceSample& s = samples[i];
        s.load.hbm_share = 0.05 + 0.05 * static_cast<double>(i / 4 % 2);
        s.time_overlapped =
            s.time_alone * prior.factor(s.kernel, s.load) * std::exp(falling(s.kernel, s.load));
    }
    return samples;
}

TEST(LearnedSlowdown, NeverFallsWithMoreCommunication) {
    const auto samples = configurations(160);
    for (const Fitter fitter : {Fitter::ridge, Fitter::gaussian_process}) {
        const auto model = fit_slowdown(samples, {.fitter = fitter});
        for (const std::size_t i : {0U, 1U, 6U, 11U}) {
            const auto factor = [&](int c, int h) {
                const CommLoad load{.ctas = static_cast<double>(c), .hbm_share = 0.01 * h};
                return model->estimate(samples[i].kernel, load, samples[i].family).factor;
            };
            for (int c = 0; c <= 60; c += 2)
                for (int h = 0; h <= 20; h += 2) {
                    const double here = factor(c, h);
                    EXPECT_LE(here, factor(c + 2, h) * (1 + 1e-12)) << c << " " << h;
                    EXPECT_LE(here, factor(c, h + 2) * (1 + 1e-12)) << c << " " << h;
                }
        }
    }
}

// Of a kernel beside 8 and 32 CTAs: at 8 what was measured, at 32 not less.
TEST(LearnedSlowdown, KeepsTheFactorOfTheSmallerConfiguration) {
    const auto samples = configurations(160);
    const auto model = fit_slowdown(samples, {});
    const InterferenceSample& s = samples[8];
    ASSERT_EQ(s.load.ctas, 8);
    ASSERT_EQ(s.load.hbm_share, 0.05);
    const double least = model->estimate(s.kernel, s.load, s.family).factor;
    EXPECT_NEAR(least / s.factor(), 1, 0.03);
    CommLoad more = s.load;
    more.ctas = 32;
    const double prior = PriorSlowdown(GpuLimits{}).factor(s.kernel, more);
    EXPECT_LT(prior, least);
    const SlowdownEstimate e = model->estimate(s.kernel, more, s.family);
    EXPECT_GE(e.factor, least);
    EXPECT_LE(e.low, e.factor);
    EXPECT_GE(e.high, e.factor);
    EXPECT_EQ(e.source, EstimateSource::residual);
}

// All samples beside 8 CTAs: e^0.5 = 1.65 times the prior there. Beside others the prior's rise, times that.
TEST(LearnedSlowdown, RisesWithCommunicationWhereTheDataHaveOneConfiguration) {
    auto samples = made_samples(60, truth);
    const PriorSlowdown prior{GpuLimits{}};
    for (InterferenceSample& s : samples) {
        s.load.ctas = 8;
        s.time_overlapped = s.time_alone * 1.65 * prior.factor(s.kernel, s.load);
    }
    const auto model = fit_slowdown(samples, {});
    for (const InterferenceSample& s : {samples[0], samples[1]}) {
        double last = 1;
        for (int c = 0; c <= 60; ++c) {
            const CommLoad load{.ctas = static_cast<double>(c), .hbm_share = c * 0.01};
            const SlowdownEstimate e = model->estimate(s.kernel, load, s.family);
            EXPECT_GE(e.factor, last) << c;
            EXPECT_NEAR(e.factor, (c > 0 ? 1.65 : 1) * prior.factor(s.kernel, load), 0.02) << c;
            last = e.factor;
        }
    }
}

TEST(LearnedSlowdown, CarriesOverToUnseenFamiliesWhenAsked) {
    const auto model = fit_slowdown(made_samples(60, truth), {.known_families_only = false});
    const InterferenceSample s = one(1);
    EXPECT_EQ(model->estimate(s.kernel, s.load, "another").source, EstimateSource::residual);
}

// Half overlapped: the excess of the whole kernel is half of that of the overlapped part, and the fit says
// so.
TEST(LearnedSlowdown, FitsTheOverlappedPart) {
    const auto whole = fit_slowdown(made_samples(60, truth, 1.0), {.fitter = Fitter::ridge});
    const auto half = fit_slowdown(made_samples(60, truth, 0.5), {.fitter = Fitter::ridge});
    const InterferenceSample s = one(21);
    EXPECT_NEAR(half->estimate(s.kernel, s.load, s.family).factor,
                whole->estimate(s.kernel, s.load, s.family).factor, 1e-6);
}

// Twice as fast beside communication is noise: the factor stays 1, the band holds it.
TEST(LearnedSlowdown, NeverSaysFaster) {
    const auto model =
        fit_slowdown(made_samples(60, [](const KernelFootprint&, const CommLoad&) { return -0.7; }), {});
    const InterferenceSample s = one(4);
    const SlowdownEstimate e = model->estimate(s.kernel, s.load, s.family);
    EXPECT_EQ(e.factor, 1);
    EXPECT_LT(e.low, 0.9);
    EXPECT_GE(e.high, 1);
    EXPECT_GE(e.expected, 1);
}

// Kernels run at 1 / factor; communication and waits are the prior's.
TEST(LearnedSlowdown, GivesRatesToTheEngine) {
    const InterferenceSample s = one(1);
    CommFootprint comm;
    comm.ctas = 16; // as many as elementwise kernels have met
    comm.hbm_share = 0.05;
    const std::array running{Running{.kind = OpKind::collective, .comm = &comm},
                             Running{.kind = OpKind::compute, .kernel = &s.kernel}};
    std::array<double, 2> rate{}, priors{};
    fitted().rates(running, rate);
    const PriorSlowdown prior{GpuLimits{}};
    prior.rates(running, priors);
    const CommLoad load = prior.load_beside(running, 1);
    EXPECT_EQ(load.ctas, 16);
    EXPECT_EQ(rate[1], 1 / fitted().estimate(s.kernel, load, {}).factor);
    EXPECT_NE(rate[1], priors[1]);
    EXPECT_EQ(rate[0], priors[0]);
    const std::array<Seconds, 2> remaining{1e-3, 1e-3};
    EXPECT_EQ(fitted().start_delay(running[0], running, remaining),
              prior.start_delay(running[0], running, remaining));
}

TEST(LearnedSlowdown, AsksAboutAnotherGpu) {
    const InterferenceSample s = one(0);
    const LearnedSlowdown other = fitted().on_gpu({.sms = 40}); // 8 CTAs are a fifth of it
    EXPECT_GT(other.estimate(s.kernel, s.load, s.family).factor,
              fitted().estimate(s.kernel, s.load, s.family).factor);
}

TEST(FitSlowdown, IsDeterministic) {
    const auto samples = made_samples(60, truth);
    for (const Fitter fitter : {Fitter::ridge, Fitter::gaussian_process})
        EXPECT_EQ(fit_slowdown(samples, {.fitter = fitter})->to_json_text(),
                  fit_slowdown(samples, {.fitter = fitter})->to_json_text());
}

TEST(FitSlowdown, IgnoresSamplesWithoutOverlap) {
    auto samples = made_samples(60, truth);
    const std::string text = fit_slowdown(samples, {})->to_json_text();
    for (InterferenceSample s : made_samples(10, truth)) {
        s.overlap = 0;
        s.family = "alone";
        samples.push_back(s);
    }
    EXPECT_EQ(fit_slowdown(samples, {})->to_json_text(), text);
}

TEST(FitSlowdown, RefusesTooFewSamples) {
    auto samples = made_samples(40, truth);
    for (std::size_t i = 0; i < 21; ++i)
        samples[i].overlap = 0;
    EXPECT_THAT(refusal([&] { fit_slowdown(samples, {}); }),
                HasSubstr("19 of 40 overlap communication; a fit takes 20"));
    samples[0].overlap = 1;
    EXPECT_NO_THROW(fit_slowdown(samples, {}));
}

TEST(FitSlowdown, SaysWhatItWasFittedTo) {
    const ModelFacts& facts = fitted().facts();
    EXPECT_EQ(facts.samples, 120);
    ASSERT_EQ(facts.gpus.size(), 1U);
    EXPECT_EQ(facts.gpus[0].name, "a100-sxm-80gb");
    EXPECT_EQ(facts.gpus[0].sms, 108);
    EXPECT_THAT(facts.nccl_versions, testing::ElementsAre("2.21.5"));
    ASSERT_EQ(facts.families.size(), 2U);
    EXPECT_EQ(facts.families[0].name, "sgemm");
    EXPECT_EQ(facts.families[0].samples, 60);
    EXPECT_THAT(facts.classes, testing::ElementsAre(KernelClass::gemm, KernelClass::elementwise));
}

} // namespace
} // namespace echosim
