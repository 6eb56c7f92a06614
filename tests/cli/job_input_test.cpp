// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/job_input.h"

#include "simulator/core/error.h"
#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RankList, ReadsNumbersAndRanges) {
    EXPECT_THAT(parse_rank_list("0,8,16-19"), ElementsAre(0, 8, 16, 17, 18, 19));
    EXPECT_THAT(parse_rank_list("3,1-2,2"), ElementsAre(1, 2, 3));
}

TEST(RankList, RefusesEverythingElse) {
    for (const char* text : {"", "a", "1,", "-1", "5-3", "1-", "0-99999999999", "1 2", "0,,1"})
        EXPECT_THAT(refusal([&] { parse_rank_list(text); }), HasSubstr("--timeline-ranks")) << text;
}

TEST(Numbers, NameTheOptionAndTheRange) {
    EXPECT_EQ(parse_whole_number("--gpus", "1024", 1, 4096), 1024);
    for (const char* text : {"0", "-5", "8.5", "1e3", "", "999999999999999999999", "8x"})
        EXPECT_THAT(refusal([&] { parse_whole_number("--gpus", text, 1, 4096); }),
                    HasSubstr("--gpus: must be a whole number from 1 to 4096"))
            << text;
}

TEST(Numbers, ReadPercentages) {
    EXPECT_DOUBLE_EQ(parse_percent("--max-error", "10%"), 10.0);
    EXPECT_DOUBLE_EQ(parse_percent("--max-error", "7.5"), 7.5);
    for (const char* text : {"", "%", "-1%", "ten", "nan"})
        EXPECT_THAT(refusal([&] { parse_percent("--max-error", text); }), HasSubstr("--max-error")) << text;
}

TEST(Overrides, GoWhereTheirPrefixSays) {
    const Overrides got = read_overrides({"cluster.node.nics.bandwidth=800Gbps", "gpu.hbm_bandwidth=1.5x",
                                          "interference=constant:1.2", "job.batch.micro=2"});
    EXPECT_THAT(got.cluster,
                ElementsAre(std::pair<std::string, std::string>("node.nics.bandwidth", "800Gbps"),
                            std::pair<std::string, std::string>("gpu.hbm_bandwidth", "1.5x")));
    EXPECT_EQ(got.interference, "constant:1.2");
    ASSERT_EQ(got.flags.size(), 1U);
    EXPECT_EQ(got.flags[0].name, "--micro-batch-size");
    EXPECT_EQ(got.flags[0].origin, "--set");
}

TEST(Overrides, ListAllProblemsAtOnce) {
    const std::string text = refusal([] {
        read_overrides(
            {"clusterr.x=1", "nothing", "interference=prio", "interference=constant:0.5", "job.x="});
    });
    EXPECT_THAT(text, HasSubstr("unknown key \"clusterr\"; did you mean \"cluster\"?"));
    EXPECT_THAT(text, HasSubstr("\"nothing\" is not KEY=VALUE"));
    EXPECT_THAT(text, HasSubstr("allowed: off, constant:F, prior, or a file"));
    EXPECT_THAT(text, HasSubstr("from 1 to 10, read \"0.5\""));
    EXPECT_THAT(text, HasSubstr("the value after = is empty"));
}

} // namespace
} // namespace echosim
