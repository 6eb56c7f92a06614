// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal(std::string_view text, Bytes max_bytes = 1_MiB) {
    try {
        parse_json(text, "c.json", max_bytes);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Json, CommentsAndOrder) {
    const auto json = parse_json(
        "// head\n{\"z\": 1, /* a\n b */ \"a\": [true, null, 2.5, \"\\u00e9\"]} // tail", "c.json");
    EXPECT_EQ(json.dump(), "{\"z\":1,\"a\":[true,null,2.5,\"\xc3\xa9\"]}");
}

TEST(Json, WrongSyntaxIsNamedByLineAndColumn) {
    // line 3 is `  "b" 2`: the 2 stands at column 7
    EXPECT_THAT(refusal("{\n  \"a\": 1,\n  \"b\" 2\n}"), StartsWith("c.json:3:7: "));
    EXPECT_THAT(refusal("{\"a\": 1,}"), StartsWith("c.json:1:9: "));
    EXPECT_THAT(refusal("{\"a\": [1, 2"), StartsWith("c.json:1:12: "));
    EXPECT_THAT(refusal("{\n\"a\": tru\n}"), StartsWith("c.json:2:6: "));
    EXPECT_THAT(refusal("{} {}"), StartsWith("c.json:1:4: "));
    EXPECT_THAT(refusal(""), StartsWith("c.json:1:1: "));
    EXPECT_THAT(refusal("{\"a\": \"\xff\"}"), HasSubstr("UTF-8"));
    EXPECT_THAT(refusal("{\"a\": 1e999}"), StartsWith("c.json:1:7: "));
    EXPECT_THAT(refusal("[NaN]"), StartsWith("c.json:1:"));
    EXPECT_THAT(refusal("{ /* no end "), StartsWith("c.json:1:"));
}

TEST(Json, MessagesAreNotThoseOfTheLibrary) {
    EXPECT_THAT(refusal("{\"a\" 1}"), testing::Not(HasSubstr("json.exception")));
    EXPECT_THAT(refusal("{\"a\": 1e999}"), testing::Not(HasSubstr("json.exception")));
}

TEST(Json, ADuplicateKeyIsRefusedWhereItStands) {
    EXPECT_EQ(refusal("{\"a\": 1,\n \"b\": 2, \"a\": 3}"),
              "c.json:2:10: the key \"a\" occurs twice in this object");
    EXPECT_EQ(refusal("{\"a\": {\"a\": 1}, \"b\": {\"a\": 1}}"), "accepted");
}

TEST(Json, DepthAndSizeAreLimited) {
    EXPECT_EQ(refusal(std::string(64, '[') + std::string(64, ']')), "accepted");
    EXPECT_EQ(refusal(std::string(65, '[') + std::string(65, ']')),
              "c.json:1:65: more than 64 levels of objects and lists");
    EXPECT_THAT(refusal(std::string(1'000'000, '['), 2_MiB), HasSubstr("more than 64 levels"));
    EXPECT_EQ(refusal("[1, 2, 3, 4, 5]", 10), "c.json: is larger than 10 B, the most that is read");
}

struct Nic {
    int count = 1;
    double bandwidth = 2;
    double share = 3;
    Bytes buffer = 4;
    bool on = false;
    std::string name = "old";
};

std::vector<std::string> read_nic(std::string_view text, Nic& nic) {
    const auto json = parse_json(text, "c.json");
    std::vector<Problem> problems;
    ObjectReader reader(json, "cluster.json", "node.nics", problems);
    reader.read({.key = "count", .required = true, .min = 1, .max = 64}, nic.count);
    reader.read_quantity({.key = "bandwidth", .min = 1e9}, Quantity::bandwidth, nic.bandwidth);
    reader.read({.key = "share", .max = 1}, nic.share);
    reader.read({.key = "buffer", .max = 1e9}, nic.buffer);
    reader.read({.key = "on"}, nic.on);
    reader.read({.key = "name"}, nic.name);
    reader.finish();
    std::vector<std::string> texts;
    for (const Problem& problem : problems)
        texts.push_back(problem.where + ": " + problem.message);
    return texts;
}

TEST(ObjectReader, TakesEveryType) {
    Nic nic;
    EXPECT_THAT(
        read_nic(
            R"({"count": 8, "bandwidth": "400Gbps", "share": 0.5, "buffer": "4MiB", "on": true, "name": "x"})",
            nic),
        testing::IsEmpty());
    EXPECT_EQ(nic.count, 8);
    EXPECT_DOUBLE_EQ(nic.bandwidth, 50e9);
    EXPECT_EQ(nic.share, 0.5);
    EXPECT_EQ(nic.buffer, 4_MiB);
    EXPECT_TRUE(nic.on);
    EXPECT_EQ(nic.name, "x");
}

TEST(ObjectReader, AnUnknownKeyComesWithASuggestion) {
    Nic nic;
    EXPECT_THAT(read_nic(R"({"count": 8, "bandwith": "400Gbps"})", nic),
                testing::ElementsAre(
                    "cluster.json: node.nics: unknown key \"bandwith\"; did you mean \"bandwidth\"?"));
    EXPECT_THAT(
        read_nic(R"({"count": 8, "colour": 1})", nic),
        testing::ElementsAre("cluster.json: node.nics: unknown key \"colour\"; known keys: count, bandwidth, "
                             "share, buffer, on, name"));
}

TEST(ObjectReader, CollectsAllProblemsAndLeavesTheValuesAlone) {
    Nic nic;
    EXPECT_THAT(
        read_nic(R"({"bandwidth": 400, "share": 1.5, "buffer": "2GB", "on": "yes", "name": [1]})", nic),
        testing::ElementsAre(
            "cluster.json: node.nics: the key \"count\" is missing",
            "cluster.json: node.nics.bandwidth: expected a text such as \"400Gbps\" or \"50GB/s\", found 400",
            "cluster.json: node.nics.share: 1.5 is out of range: 0 to 1",
            "cluster.json: node.nics.buffer: 1.86 GiB is out of range: 0 B to 954 MiB",
            "cluster.json: node.nics.on: expected true or false, found \"yes\"",
            "cluster.json: node.nics.name: expected a text, found a list"));
    EXPECT_EQ(nic.count, 1);
    EXPECT_EQ(nic.bandwidth, 2);
    EXPECT_EQ(nic.share, 3);
    EXPECT_EQ(nic.buffer, 4U);
    EXPECT_FALSE(nic.on);
    EXPECT_EQ(nic.name, "old");
}

TEST(ObjectReader, RangesAndWholeNumbers) {
    Nic nic;
    EXPECT_THAT(read_nic(R"({"count": 0})", nic),
                testing::ElementsAre("cluster.json: node.nics.count: 0 is out of range: 1 to 64"));
    EXPECT_THAT(read_nic(R"({"count": 2.5})", nic),
                testing::ElementsAre("cluster.json: node.nics.count: expected a whole number, found 2.5"));
    EXPECT_THAT(read_nic(R"({"count": 1, "bandwidth": "1MB/s"})", nic),
                testing::ElementsAre(
                    "cluster.json: node.nics.bandwidth: 1.00 MB/s is out of range: at least 1.00 GB/s"));
    EXPECT_THAT(read_nic("[1]", nic),
                testing::ElementsAre("cluster.json: node.nics: expected an object, found a list"));
}

} // namespace
} // namespace echosim
