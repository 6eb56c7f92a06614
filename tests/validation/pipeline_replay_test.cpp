// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/files.h"
#include "tests/support/refusal.h"
#include "tests/validation/pipeline_folder.h"
#include "validation/pipeline_timeline_graph.h"
#include "validation/replay_report.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using ::testing::HasSubstr;

constexpr TimeNs kMs = 1'000'000;
constexpr const char* kSample = "traces/samples/pipeline_pp2";
constexpr const char* kMeasured = "../shared/data/inputs/pipeline_timelines/gpu8_layer64_gbs16/pp8";

TimeNs makespan(const std::vector<PredictedStage>& stages) {
    TimeNs end = 0;
    for (const PredictedStage& stage : stages)
        end = std::max(end, stage.backward.back().end);
    return end;
}

TimeNs makespan(const PipelineTimeline& timeline, SendMode sends = SendMode::rendezvous) {
    return makespan(replay_iteration(timeline, 0, {}, sends));
}

void slow_down(PipelineTimeline& timeline, std::size_t stage, int factor) {
    for (auto* ops : {&timeline.times[0][stage].forward, &timeline.times[0][stage].backward})
        for (TimedOp& op : *ops)
            op.end *= factor;
}

// Two stages, three micro-batches, forward 10, backward 20, transfer 1, 0.5 between forward and backward of
// the last stage, 0.25 between backward and forward of the first, all in ms:
//   stage 0  F0 0-10, F1 11-21                     B0 42.5-62.5, F2 62.75-72.75  B1 74-94       B2
//   105.5-125.5 stage 1            F0 11-21, B0 21.5-41.5, F1 42.5-52.5, B1 53-73,           F2 74-84,
//   B2 84.5-104.5
// F1 of stage 1 follows the exchange of B0 and F1 at 41.5; F2 and B1 follow the one at 73.
TEST(PipelineReplay, TwoStagesByHand) {
    const PipelineTimeline timeline = read_pipeline_timeline(kSample);
    for (const SendMode sends : {SendMode::rendezvous, SendMode::eager}) {
        const auto stages = replay_iteration(timeline, 1, {kMs, kMs / 2, kMs / 4}, sends);
        const std::vector<TimeNs> forward{0, 11 * kMs, 62'750'000},
            backward{42'500'000, 74 * kMs, 105'500'000};
        for (std::size_t m = 0; m < 3; ++m) {
            EXPECT_EQ(stages[0].forward[m].start, forward[m]);
            EXPECT_EQ(stages[0].backward[m].start, backward[m]);
        }
        EXPECT_EQ(stages[1].forward[2].start, 74 * kMs);
        EXPECT_EQ(stages[1].backward[2].start, 84'500'000);
        EXPECT_EQ(makespan(stages), 125'500'000);
    }
}

// Iteration 2 is exact. In iteration 3 the last backward of stage 0 starts 2.51 ms late, for no reason that a
// replay could know: 125.5 against 128.01 ms, -1.9608 %; its idle share is 1 - 90/128.01 = 29.69 % measured,
// 1 - 90/125.5 = 28.29 % replayed.
TEST(PipelineReplay, ReportOfTheSample) {
    const ReplayReport report = replay_pipeline(kSample);
    const std::vector<ValidationRow>& rows = report.validation.rows;
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].skipped, "the first iteration is warm-up");
    EXPECT_DOUBLE_EQ(rows[0].measured, 0.251); // 0 to 251 ms, on one clock
    EXPECT_FALSE(rows[0].predicted);
    EXPECT_DOUBLE_EQ(rows[1].error_percent.value(), 0);
    EXPECT_EQ(rows[1].groups.at("constants"), "fitted");
    EXPECT_NEAR(rows[2].error_percent.value(), -1.9608, 1e-4);
    EXPECT_EQ(rows[2].groups.at("constants"), "held out");
    ASSERT_EQ(report.ranks.size(), 2U);
    EXPECT_NEAR(report.ranks[0].idle_worst_points.value(), 28.29 - 29.69, 0.01);
    EXPECT_DOUBLE_EQ(report.ranks[0].start_worst, 0.00251);
    EXPECT_NEAR(report.ranks[0].start_mean.value(), -0.00251 / 12, 1e-12); // one of 12 ops
    EXPECT_EQ(report.ranks[0].start_median, 0);
    EXPECT_DOUBLE_EQ(report.ranks[1].idle_worst_points.value(), 0);
    EXPECT_NEAR(report.ranks[1].idle_measured, 1 - 90 / 93.5, 1e-12); // 11 to 104.5
    ASSERT_EQ(report.worst.size(), 1U);
    EXPECT_EQ(report.worst[0].id, "backward of micro-batch 2, iteration 3");
    EXPECT_EQ(report.worst[0].rank, "rank 0");
}

// Stage 0 is faster than stage 1 (forward 10 and 30, transfer 1): F0 0-10, sent by 11, F1 11-21. Stage 1 runs
// F0 from 11 to 41, hands it on by 42, and only then takes F1, by 43. So F2 of stage 0 starts at 43 when a
// send waits for its receiver, at 22 when it does not.
TEST(PipelineReplay, SendsWithAndWithoutTheirReceiver) {
    PipelineTimeline timeline = uniform_pipeline(3, 3, 10 * kMs, 20 * kMs);
    for (TimedOp& op : timeline.times[0][1].forward)
        op.end = 30 * kMs;
    const PipelineConstants constants{kMs, 0, 0};
    EXPECT_EQ(replay_iteration(timeline, 0, constants, SendMode::rendezvous)[0].forward[2].start, 43 * kMs);
    EXPECT_EQ(replay_iteration(timeline, 0, constants, SendMode::eager)[0].forward[2].start, 22 * kMs);
}

// Free transfers: the makespan of the literature, (M + p - 1) (F + B).
TEST(PipelineReplay, UniformPipelines) {
    for (const int stages : {1, 2, 4, 7})
        for (const int microbatches : {1, 3, 8}) {
            const PipelineTimeline timeline = uniform_pipeline(stages, microbatches, 10 * kMs, 20 * kMs);
            EXPECT_EQ(makespan(timeline), (microbatches + stages - 1) * 30 * kMs);
            EXPECT_EQ(makespan(timeline, SendMode::eager), (microbatches + stages - 1) * 30 * kMs);
        }
}

// Four stages, eight micro-batches, forward 10, backward 20; one stage at half speed holds up all others.
//   last:  it starts at 30, never waits, 8 x 60, and the last backward needs 3 x 20 more: 30 + 480 + 60
//   first: its first backward can start at 20 + 3 x 10 + 3 x 20 = 110; from then on it never waits, with all
//   8
//          backwards and 4 of the forwards left: 110 + 8 x 40 + 4 x 20
TEST(PipelineReplay, OneStageAtHalfSpeed) {
    PipelineTimeline last = uniform_pipeline(4, 8, 10 * kMs, 20 * kMs);
    slow_down(last, 3, 2);
    EXPECT_EQ(makespan(last), 570 * kMs);
    PipelineTimeline first = uniform_pipeline(4, 8, 10 * kMs, 20 * kMs);
    slow_down(first, 0, 2);
    EXPECT_EQ(makespan(first), 510 * kMs);
    for (std::size_t stage = 0; stage < 4; ++stage)
        slow_down(last, stage, 3);
    EXPECT_EQ(makespan(last), 3 * 570 * kMs);
}

// Starts that the engine makes, on clocks that are apart, come back without error, with all constants.
TEST(PipelineReplay, FindsWhatATimelineWasMadeWith) {
    for (const SendMode sends : {SendMode::eager, SendMode::rendezvous}) {
        PipelineTimeline timeline = uniform_pipeline(4, 6, 10 * kMs, 20 * kMs);
        for (std::size_t stage = 0; stage < 4; ++stage)
            for (TimedOp& op : timeline.times[0][stage].forward)
                op.end += static_cast<TimeNs>(stage) * 3 * kMs; // later stages are slower
        const PipelineConstants made{700'000, 400'000, 20'000};
        const std::vector<PredictedStage> stages = replay_iteration(timeline, 0, made, sends);
        for (std::size_t s = 0; s < 4; ++s) {
            timeline.times[0][s].forward = stages[s].forward;
            timeline.times[0][s].backward = stages[s].backward;
        }
        timeline.iterations = {1, 2};
        timeline.times.push_back(timeline.times[0]);
        const PipelineFolder folder(timeline, 2.5);
        const ReplayReport report = replay_pipeline(folder.path());
        EXPECT_NEAR(report.constants[0].value, 700e-6, 2e-9);
        EXPECT_NEAR(report.constants[1].value, 400e-6, 2e-9);
        EXPECT_NEAR(report.constants[2].value, 20e-6, 2e-9);
        for (const ReplayRank& rank : report.ranks)
            EXPECT_LT(rank.start_worst, 100e-9) << rank.name; // rounding to whole nanoseconds
        EXPECT_THAT(report.notes,
                    testing::Contains(
                        HasSubstr(sends == SendMode::eager ? "sends are done without" : "sends wait for")));
    }
}

TEST(PipelineReplay, OrderOfIterationsInAFileDoesNotMatter) {
    const PipelineFolder folder = PipelineFolder::sample();
    for (const char* name : {"pp_rank_0.json", "pp_rank_1.json"}) {
        const auto json = nlohmann::ordered_json::parse(read_text_file(folder.file(name)));
        nlohmann::ordered_json reversed = nlohmann::ordered_json::object();
        for (const char* key : {"3", "1", "2"})
            reversed[key] = json[key];
        folder.write(name, reversed.dump());
    }
    auto expected = replay_to_json(replay_pipeline(kSample));
    auto found = replay_to_json(replay_pipeline(folder.path()));
    expected.erase("source");
    found.erase("source");
    EXPECT_EQ(found, expected);
}

TEST(PipelineReplay, OneIterationIsWarmUpOnly) {
    const PipelineFolder folder(uniform_pipeline(1, 2, 0, 0), 0);
    EXPECT_THAT(refusal([&] { replay_pipeline(folder.path()); }), HasSubstr("has one iteration"));
}

// The published run: 8 stages, 16 micro-batches, iterations 2 to 20.
TEST(PipelineReplay, MeasuredRun) {
    if (!std::filesystem::exists(kMeasured))
        GTEST_SKIP() << kMeasured << " is not here";
    const ReplayReport report = replay_pipeline(kMeasured);
    ASSERT_EQ(report.validation.rows.size(), 20U);
    for (std::size_t i = 1; i < 20; ++i)
        EXPECT_LE(std::abs(report.validation.rows[i].error_percent.value()), 2)
            << report.validation.rows[i].id;
    ASSERT_EQ(report.ranks.size(), 8U);
    for (const ReplayRank& rank : report.ranks) {
        EXPECT_LE(std::abs(rank.idle_worst_points.value()), 2) << rank.name;
        EXPECT_EQ(rank.ops, 19U * 32U);
        EXPECT_LE(rank.start_worst, 10e-3) << rank.name; // of 3.2 s
    }
    EXPECT_NEAR(report.constants[0].value, 0.69e-3, 0.05e-3);
}

} // namespace
} // namespace echosim
