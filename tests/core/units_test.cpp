// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "simulator/core/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::HasSubstr;

template <class Parse> std::string refusal(Parse parse, std::string_view text) {
    try {
        parse(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Units, BytesAreDecimalOrBinaryAsWritten) {
    EXPECT_EQ(parse_bytes("80GB"), 80'000'000'000U);
    EXPECT_EQ(parse_bytes("80GiB"), 85'899'345'920U); // 80 x 2^30
    EXPECT_EQ(parse_bytes("512MiB"), 536'870'912U);   // 2^29
    EXPECT_EQ(parse_bytes("4096B"), 4096U);
    EXPECT_EQ(parse_bytes(" 1.5 KiB "), 1536U);
    EXPECT_EQ(parse_bytes("0B"), 0U);
}

TEST(Units, BandwidthInBitsIsAnEighthInBytes) {
    EXPECT_DOUBLE_EQ(parse_bandwidth("400Gbps"), 50e9);
    EXPECT_DOUBLE_EQ(parse_bandwidth("400Gb/s"), 50e9);
    EXPECT_DOUBLE_EQ(parse_bandwidth("50GB/s"), 50e9);
    EXPECT_DOUBLE_EQ(parse_bandwidth("3.35TB/s"), 3.35e12);
    EXPECT_DOUBLE_EQ(parse_bandwidth("1GiB/s"), 1073741824.0);
}

TEST(Units, TimesAndRates) {
    EXPECT_DOUBLE_EQ(parse_time("3.5us"), 3.5e-6);
    EXPECT_DOUBLE_EQ(parse_time("20ms"), 0.02);
    EXPECT_DOUBLE_EQ(parse_time("60d"), 5184000.0); // 60 x 86400
    EXPECT_DOUBLE_EQ(parse_flops("989TFLOPS"), 989e12);
    EXPECT_DOUBLE_EQ(parse_flops("4.5PFLOP/s"), 4.5e15);
}

TEST(Units, Counts) {
    EXPECT_EQ(parse_count("1.5T"), 1.5e12);
    EXPECT_EQ(parse_count("300B"), 3e11);
    EXPECT_EQ(parse_count("9_765_625"), 9765625.0);
    EXPECT_EQ(parse_count("174.6b"), 174.6e9);
    EXPECT_EQ(parse_count("2048"), 2048.0);
    EXPECT_THAT(refusal(parse_count, "1.5"), HasSubstr("not a whole number"));
    EXPECT_THAT(refusal(parse_count, "_5"), HasSubstr("underscore"));
    EXPECT_THAT(refusal(parse_count, "5__0"), HasSubstr("underscore"));
    EXPECT_THAT(refusal(parse_count, "7Q"), HasSubstr("the unit \"Q\" is not known"));
}

TEST(Units, ANumberWithoutAUnitIsRefusedAndTheTextSaysWhatIsAllowed) {
    EXPECT_EQ(refusal(parse_bandwidth, "400"),
              "\"400\" is not a bandwidth: the unit is missing; write 400Gbps, 50GB/s or 3.35TB/s");
    EXPECT_THAT(refusal(parse_bytes, "80"), HasSubstr("the unit is missing"));
    EXPECT_THAT(refusal(parse_time, "3"), HasSubstr("the unit is missing"));
    EXPECT_THAT(refusal(parse_flops, "989"), HasSubstr("the unit is missing"));
}

TEST(Units, NonsenseIsRefused) {
    for (const char* text : {"", " ", "nan", "nanGB", "infGB", "-1GB", "+1GB", "GB", "1e400GB", "20000000TB",
                             "1.2.3GB", "80 G B", "80gb", "0x10GB", "0.5B", "1GB/s"})
        EXPECT_NE(refusal(parse_bytes, text), "accepted") << text;
    for (const char* text : {"-400Gbps", "400gbps", "400GB", "1e30GB/s", "nanGbps"})
        EXPECT_NE(refusal(parse_bandwidth, text), "accepted") << text;
    EXPECT_NE(refusal(parse_time, "400y"), "accepted");
    EXPECT_NE(refusal(parse_time, "1000000d"), "accepted"); // 2,700 years do not fit in 64-bit nanoseconds
}

TEST(Units, TextsForPeopleHaveThreeDigits) {
    EXPECT_EQ(format_time(8.906), "8.91 s");
    EXPECT_EQ(format_time(145.2e-6), "145 us");
    EXPECT_EQ(format_time(0.9999), "1.00 s");
    EXPECT_EQ(format_time(0), "0 s");
    EXPECT_EQ(format_time(120), "120 s");
    EXPECT_EQ(format_time(86400.0 * 41.3), "41.3 d");
    EXPECT_EQ(format_bytes(76'450'000'000), "71.2 GiB"); // 76.45e9 / 2^30 = 71.20
    EXPECT_EQ(format_bytes(512), "512 B");
    EXPECT_EQ(format_bandwidth(48.06e9), "48.1 GB/s");
    EXPECT_EQ(format_bandwidth(0), "0 B/s");
    EXPECT_EQ(format_count(174.6e9), "174.6 B");
    EXPECT_EQ(format_count(1.5e12), "1.5 T");
    EXPECT_EQ(format_count(1024), "1.024 k");
    EXPECT_EQ(format_count(42), "42");
}

} // namespace
} // namespace echosim
