// SPDX-License-Identifier: Apache-2.0
#include "validation/pipeline_timeline.h"

#include "tests/support/refusal.h"
#include "tests/validation/pipeline_folder.h"
#include "validation/pipeline_timeline_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr TimeNs kMs = 1'000'000;

std::string refusal_of(const PipelineFolder& folder) {
    return refusal([&] { read_pipeline_timeline(folder.path()); });
}

TEST(PipelineTimeline, ReadsTheSample) {
    const PipelineTimeline timeline = read_pipeline_timeline("traces/samples/pipeline_pp2");
    EXPECT_EQ(timeline.stages, 2);
    EXPECT_EQ(timeline.microbatches, 3);
    EXPECT_EQ(timeline.iterations, (std::vector<int>{1, 2, 3}));
    EXPECT_TRUE(timeline.notes.empty());
    const StageIteration& last = timeline.times[2][0];
    EXPECT_EQ(last.backward[2].start, 108'010'000);
    EXPECT_EQ(last.backward[2].duration(), 20 * kMs);
    EXPECT_EQ(last.total, 128'510'000);
}

TEST(PipelineTimeline, KnowsItsFolder) {
    EXPECT_TRUE(is_pipeline_timeline("traces/samples/pipeline_pp2"));
    EXPECT_FALSE(is_pipeline_timeline("traces/samples"));
    EXPECT_FALSE(is_pipeline_timeline("traces/samples/pipeline_pp2/config.json"));
    EXPECT_FALSE(is_pipeline_timeline("no such folder"));
}

TEST(PipelineTimeline, RefusesWrongConfigurations) {
    const auto with = [](const std::string& from, const std::string& to) {
        const PipelineFolder folder = PipelineFolder::sample();
        folder.edit("config.json", from, to);
        return refusal_of(folder);
    };
    EXPECT_THAT(with("\"pp_size\": 2", "\"pp\": 2"),
                AllOf(HasSubstr("config.json"), HasSubstr("\"pp_size\" is missing")));
    EXPECT_THAT(with("\"num_mbs\": 3", "\"num_mbs\": 0"),
                AllOf(HasSubstr("num_mbs"), HasSubstr("0 is out of")));
    EXPECT_THAT(with("\"num_mbs\": 3", "\"num_mbs\": \"3\""),
                HasSubstr("expected a whole number, found \"3\""));
    EXPECT_THAT(with("\"vp_size\": 1", "\"vp_size\": 2"), HasSubstr("vp_size is 2"));
    EXPECT_THAT(with("\"dp_size\": 1", "\"dp_size\": 4"), HasSubstr("world_size is 2, but dp_size x"));
}

TEST(PipelineTimeline, RefusesListsThatDoNotMatch) {
    const PipelineFolder more = PipelineFolder::sample();
    more.edit("config.json", "\"num_mbs\": 3", "\"num_mbs\": 4");
    EXPECT_THAT(refusal_of(more), AllOf(HasSubstr("pp_rank_0.json: 1.fwd_start"),
                                        HasSubstr("3 entries, but num_mbs of config.json is 4")));
    const PipelineFolder shorter = PipelineFolder::sample();
    shorter.edit("pp_rank_1.json", "[53.0, 116, 179.0]", "[53.0, 116]");
    EXPECT_THAT(refusal_of(shorter), AllOf(HasSubstr("pp_rank_1.json: 1.bwd_start"), HasSubstr("2 entries")));
    const PipelineFolder missing = PipelineFolder::sample();
    missing.edit("pp_rank_1.json", "bwd_end", "bwd_stop");
    EXPECT_THAT(refusal_of(missing),
                AllOf(HasSubstr("pp_rank_1.json: 1"), HasSubstr("\"bwd_end\" is missing")));
}

TEST(PipelineTimeline, RefusesWrongTimes) {
    const auto with = [](const std::string& from, const std::string& to) {
        const PipelineFolder folder = PipelineFolder::sample();
        folder.edit("pp_rank_0.json", from, to);
        return refusal_of(folder);
    };
    EXPECT_THAT(with("[0, 22, 125.5]", "[0, -22, 125.5]"),
                AllOf(HasSubstr("pp_rank_0.json: 1.fwd_start[1]"), HasSubstr("read -22")));
    EXPECT_THAT(with("[0, 22, 125.5]", "[0, null, 125.5]"), HasSubstr("read null"));
    EXPECT_THAT(with("[0, 22, 125.5]", "[0, 1e300, 125.5]"), HasSubstr("read 1e+300"));
    EXPECT_THAT(with("[0, 22, 125.5]", "0"), HasSubstr("expected a list, found 0"));
    // no JSON: the line of the word
    EXPECT_THAT(with("[0, 22, 125.5]", "[0, NaN, 125.5]"), HasSubstr("pp_rank_0.json:3:"));
    EXPECT_THAT(
        with("[20, 42, 145.5]", "[20, 21.5, 145.5]"),
        AllOf(HasSubstr("1.fwd_end[1]"), HasSubstr("21.500000 ms is before fwd_start[1], 22.000000 ms")));
    EXPECT_THAT(with("\"total\": 252.0", "\"total\": -1"),
                AllOf(HasSubstr("1.total"), HasSubstr("-1 is out of")));
    EXPECT_THAT(with("\"2\":", "\"two\":"), HasSubstr("\"two\": is no number of an iteration"));
    EXPECT_THAT(with("\"2\":", "\"01\":"), HasSubstr("iteration 1 occurs twice"));
}

TEST(PipelineTimeline, RefusesFilesThatDoNotBelongTogether) {
    const PipelineFolder missing = PipelineFolder::sample();
    missing.remove("pp_rank_1.json");
    EXPECT_THAT(refusal_of(missing), AllOf(HasSubstr("pp_rank_1.json"), HasSubstr("is missing: pp_size")));
    const PipelineFolder further = PipelineFolder::sample();
    further.write("pp_rank_2.json", "{}");
    EXPECT_THAT(refusal_of(further), HasSubstr("pp_rank_2.json: is beyond the pipeline"));
    const PipelineFolder iterations = PipelineFolder::sample();
    iterations.edit("pp_rank_1.json", "\"3\":", "\"4\":");
    EXPECT_THAT(refusal_of(iterations), HasSubstr("has 3 iterations, 1 to 4; pp_rank_0.json has 3, 1 to 3"));
    const PipelineFolder empty = PipelineFolder::sample();
    empty.write("pp_rank_0.json", "{}");
    EXPECT_THAT(refusal_of(empty), HasSubstr("pp_rank_0.json: holds no iterations"));
}

// All forwards first, as GPipe does: forward 2 of stage 0 would come before backward 0.
TEST(PipelineTimeline, RefusesAnotherOrderThan1F1B) {
    const PipelineFolder folder = PipelineFolder::sample();
    folder.edit("pp_rank_0.json", "[0, 22, 125.5]", "[0, 22, 44]");
    folder.edit("pp_rank_0.json", "[20, 42, 145.5]", "[20, 42, 64]");
    EXPECT_THAT(refusal_of(folder), AllOf(HasSubstr("1.fwd_start[2]"),
                                          HasSubstr("44.000000 ms is before the end of bwd_start[0]")));
}

TEST(PipelineTimeline, NotesIterationsThatAreNotThere) {
    const PipelineFolder folder = PipelineFolder::sample();
    folder.edit("config.json", "\"train_iters\": 3", "\"train_iters\": 20");
    EXPECT_THAT(read_pipeline_timeline(folder.path()).notes,
                testing::ElementsAre("train_iters of config.json is 20, the files have 3 iterations"));
}

// Forward 0 ends at 10 on the clock of stage 0, and starts at 16 on that of stage 1: 6 = T + c. The least lag
// of gradients is 42.5 - 46.5 = -4 = T - c. So T = 1, c = 5. In the warm-up all is doubled.
TEST(PipelineFit, AlignsClocks) {
    const PipelineTimeline timeline = read_pipeline_timeline("traces/samples/pipeline_pp2");
    EXPECT_EQ(clock_offsets(timeline, 1), (std::vector<TimeNs>{0, 5 * kMs}));
    EXPECT_EQ(clock_offsets(timeline, 0), (std::vector<TimeNs>{0, 10 * kMs}));
    const PipelineConstants constants = fit_constants(timeline, {1});
    EXPECT_EQ(constants.transfer, kMs);
    EXPECT_EQ(constants.forward_backward_gap, kMs / 2); // last stage: 26.5 - 26
    EXPECT_EQ(constants.backward_forward_gap, kMs / 4); // first stage: 62.75 - 62.5
}

// Stage 1 sends gradient 0 at 46.5 on its clock; that stage 0 gets it at 32.5 cannot be, with the forwards.
TEST(PipelineFit, RefusesTransfersOfNegativeTime) {
    const PipelineFolder folder = PipelineFolder::sample();
    folder.edit("pp_rank_0.json", "\"bwd_start\": [42.5, 74, 105.5]", "\"bwd_start\": [32.5, 74, 105.5]");
    const PipelineTimeline timeline = read_pipeline_timeline(folder.path());
    EXPECT_THAT(refusal([&] { clock_offsets(timeline, 1); }),
                AllOf(HasSubstr("iteration 2"), HasSubstr("between stages 0 and 1 would take -4.000 ms")));
}

TEST(PipelineFit, Quantiles) {
    EXPECT_EQ(quantile({}, 0.5), 0);
    EXPECT_EQ(quantile({30, 10, 20}, 0.5), 20);
    EXPECT_EQ(quantile({4, 3, 2, 1}, 0.95), 4); // 3.8 of 4 values: the fourth
    EXPECT_EQ(quantile({4, 3, 2, 1}, 0), 1);
}

} // namespace
} // namespace echosim
