// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Suggest, DistanceCountsEditsAndSwaps) {
    EXPECT_EQ(edit_distance("bandwith", "bandwidth"), 1U); // one letter missing
    EXPECT_EQ(edit_distance("gpsu", "gpus"), 1U);          // two neighbours swapped
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);     // k->s, e->i, +g
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("same", "same"), 0U);
}

TEST(Suggest, NearestFirstAndNothingFarAway) {
    const std::vector<std::string> keys = {"count", "bandwidth", "latency", "gpus_per_nic"};
    EXPECT_THAT(nearest(keys, "bandwith"), ElementsAre("bandwidth"));
    EXPECT_THAT(nearest(keys, "Latency"), ElementsAre("latency"));
    EXPECT_THAT(nearest(keys, "colour"), IsEmpty());
    EXPECT_THAT(nearest({"dgx-h200", "dgx-h100", "dgx-b300"}, "dgx-h10"),
                ElementsAre("dgx-h100", "dgx-h200"));
}

TEST(Suggest, AShortTextMayDifferByOneLetterOnly) {
    EXPECT_THAT(nearest({"gpus", "cpu", "tp"}, "xyz"), IsEmpty());
    EXPECT_THAT(nearest({"tp", "dp", "world"}, "pp"), ElementsAre("tp", "dp"));
}

TEST(Suggest, APrefixStandsForWhatStartsWithIt) {
    EXPECT_THAT(nearest({"gpus_per_nic", "bandwidth"}, "gpus"), ElementsAre("gpus_per_nic"));
    EXPECT_THAT(nearest({"h100-sxm", "h100-pcie", "b200-sxm"}, "h100"), ElementsAre("h100-sxm", "h100-pcie"));
    EXPECT_THAT(nearest({"a-11111", "a-22222", "a-33333", "a-44444"}, "a-"), IsEmpty());
}

TEST(Suggest, Sentence) {
    EXPECT_EQ(did_you_mean({"bandwidth"}, "bandwith"), "; did you mean \"bandwidth\"?");
    EXPECT_EQ(did_you_mean({"tp", "dp"}, "pp"), "; did you mean \"tp\" or \"dp\"?");
    EXPECT_EQ(did_you_mean({"bandwidth"}, "colour"), "");
    EXPECT_EQ(join({"a", "b", "c"}), "a, b, c");
}

} // namespace
} // namespace echosim
