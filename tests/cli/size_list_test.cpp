// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/size_list.h"

#include "simulator/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Bytes> sizes(const std::string& text) {
    return parse_size_list("--bytes", text).sizes;
}

std::string refusal(const std::string& text) {
    try {
        parse_size_list("--bytes", text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(SizeList, Factors) {
    EXPECT_THAT(sizes("8:64:x2"), ElementsAre(8, 16, 32, 64));
    EXPECT_THAT(sizes("8:64"), ElementsAre(8, 16, 32, 64)); // nccl-tests' factor
    EXPECT_THAT(sizes("10:100:x3"), ElementsAre(10, 30, 90));
    EXPECT_THAT(sizes("2:4:x1.5"), ElementsAre(2, 3)); // then 4.5
    EXPECT_EQ(sizes("8:8GiB:x2").size(), 31U);         // 2^3 .. 2^33
    EXPECT_EQ(parse_size_list("--bytes", "8:64:x2").step, "2(factor)");
}

TEST(SizeList, Steps) {
    EXPECT_THAT(sizes("1KiB:3KiB:+1KiB"), ElementsAre(1024, 2048, 3072));
    EXPECT_THAT(sizes("0:2:+1"), ElementsAre(0, 1, 2));
    EXPECT_EQ(parse_size_list("--bytes", "1MiB:4MiB:+1MiB").step, "1048576(bytes)");
}

TEST(SizeList, ListsAndUnits) {
    EXPECT_THAT(sizes("16MiB"), ElementsAre(16777216));
    EXPECT_THAT(sizes("1K,2k,1M,1MB,100"), ElementsAre(1024, 2048, 1048576, 1000000, 100));
    EXPECT_THAT(sizes("0,8:32:x2"), ElementsAre(0, 8, 16, 32));
}

TEST(SizeList, RefusesWhatGivesNoSizes) {
    EXPECT_THAT(refusal("abc"), HasSubstr("--bytes: \"abc\" is not a size"));
    EXPECT_THAT(refusal(""), HasSubstr("a size is missing"));
    EXPECT_THAT(refusal("8,,16"), HasSubstr("a size is missing"));
    EXPECT_THAT(refusal("-8"), HasSubstr("is not a size"));
    EXPECT_THAT(refusal("1GiB:1MiB:x2"), HasSubstr("runs backwards"));
    EXPECT_THAT(refusal("0:1MiB:x2"), HasSubstr("starts at 0"));
    EXPECT_THAT(refusal("8:1MiB:x1"), HasSubstr("factor must be above 1"));
    EXPECT_THAT(refusal("8:1MiB:xnan"), HasSubstr("factor must be above 1"));
    EXPECT_THAT(refusal("8:1MiB:2"), HasSubstr("must be a factor such as x2"));
    EXPECT_THAT(refusal("8:1MiB:+0"), HasSubstr("never moves"));
    EXPECT_THAT(refusal("8:1GiB:+8"), HasSubstr("more than 100000 sizes"));
    EXPECT_THAT(refusal("8:16:x2:x2"), HasSubstr("factor must be above 1"));
    EXPECT_THAT(refusal("2000PiB"), HasSubstr("more than 1 PiB"));
    EXPECT_THAT(refusal("99999999999999999999999999"), HasSubstr("--bytes"));
}

} // namespace
} // namespace echosim
