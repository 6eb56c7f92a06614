// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "tests/support/refusal.h"
#include "tests/traces/kineto_file.h"
#include "traces/kineto/mend.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::HasSubstr;

MendedText mend(std::string_view text) {
    return mend_json(text, {"f.json", [](std::size_t index) { return index; }, true});
}

std::string mended(std::string_view text, std::string_view word) {
    const MendedText out = mend(text);
    EXPECT_EQ(out.counts, (std::map<std::string, std::uint64_t>{{std::string(word), 1}})) << text;
    return out.text;
}

TEST(KinetoDamage, MendsWhatNeedsNoGuess) {
    EXPECT_EQ(mended(R"({"a": nan, "b": 1})", "non_finite_number"), R"({"b":1})");
    EXPECT_EQ(mended(R"({"a": 1, "b": -Infinity})", "non_finite_number"), R"({"a":1})");
    EXPECT_EQ(mended(R"([1, -nan(ind), 2])", "non_finite_number"), "[1,null,2]");
    EXPECT_EQ(mended("[1, 2, ]", "trailing_comma"), "[1,2]");
    EXPECT_EQ(mended(R"([{"a": 1},)", "missing_closing_bracket"), R"([{"a":1}])");
    EXPECT_EQ(mended("[\"a\xff\xfe"
                     "b\"]",
                     "invalid_utf8"),
              "[\"a\xef\xbf\xbd\xef\xbf\xbd"
              "b\"]");
    EXPECT_EQ(mended("[\"a\tb\nc\"]", "control_character"), R"(["a\u0009b\u000ac"])");
    EXPECT_EQ(mended(R"(["C:\Users\new"])", "invalid_escape"), R"(["C:\\Users\new"])");
}

TEST(KinetoDamage, RefusesTheRestWithTheByte) {
    const auto message = [](std::string_view text) { return refusal([&] { mend(text); }); };
    EXPECT_THAT(message(R"([{"a" 1}])"), HasSubstr(R"(f.json:6: "1" is read where ':' is expected)"));
    EXPECT_THAT(message(R"([{"a": 1)"),
                HasSubstr("f.json:8: the file ends inside the value that begins at byte 1"));
    EXPECT_THAT(message(R"(["abc)"),
                HasSubstr("f.json:5: the file ends inside the string that begins at byte 1"));
    EXPECT_THAT(message("[01]"), HasSubstr("f.json:1:"));
    EXPECT_THAT(message("[1 2]"), HasSubstr("f.json:3: \"2\" is read where ',' or ']' is expected"));
    EXPECT_THAT(message("[1}]"), HasSubstr("f.json:2:"));
    EXPECT_THAT(message("[] x"), HasSubstr("f.json:3: text follows"));
    EXPECT_THAT(message(std::string(2000, '[')),
                HasSubstr("f.json:512: brackets are nested deeper than 512"));
}

// 10,000 members are read, one more is refused: finding them takes the square of their number.
TEST(KinetoDamage, AnObjectWithTooManyMembersIsRefused) {
    const auto trace_with = [](int members) {
        std::string text = "{";
        for (int i = 0; i < members; ++i)
            text += fmt::format("\"k{}\":{},", i, i);
        return text + "\"traceEvents\":[]}";
    };
    EXPECT_EQ(import_text(trace_with(9'999)).report.events, 0U); // and traceEvents
    EXPECT_THAT(refusal([&] { import_text(trace_with(10'000)); }),
                HasSubstr("an object beside the events has more than 10000 members"));
}

// Text of a trace with something else in place of its GEMM's name.
TEST(KinetoDamage, DamagedFilesImportWithACountOrAreRefused) {
    const Imported bytes = import_text(small_trace("a\xff\xfe"));
    EXPECT_EQ(bytes.report.warnings, (std::map<std::string, std::uint64_t>{{"invalid_utf8", 1}}));
    event_named(bytes.trace, "a\xef\xbf\xbd\xef\xbf\xbd");
    const std::string quoted = small_trace("a\"b");
    const std::string where = ":" + std::to_string(quoted.find("a\"b") + 2) + ": \"b\" is read";
    EXPECT_THAT(refusal([&] { import_text(quoted); }), HasSubstr(where));
    std::string nan = small_trace();
    nan.replace(nan.find("\"warps per SM\":12") + 15, 2, "inf");
    const Imported dropped = import_text(nan);
    EXPECT_EQ(dropped.report.warnings, (std::map<std::string, std::uint64_t>{{"non_finite_number", 1}}));
    EXPECT_EQ(dropped.report.kernels, 2U);
    EXPECT_EQ(event_named(dropped.trace, "sm90_gemm").args, kNoName);
}

TEST(KinetoDamage, AnEventAndAnArrayMayLackTheirEnd) {
    const std::string text = small_trace();
    const Imported open = import_text(text.substr(0, text.rfind("\n]")));
    EXPECT_EQ(open.report.kernels, 2U);
    EXPECT_EQ(open.report.warnings.at("missing_closing_bracket"), 2U); // ] and }
    const std::string cut = text.substr(0, text.find("grid"));
    const std::string end = ":" + std::to_string(cut.size()) + ": the file ends inside the string";
    EXPECT_THAT(refusal([&] { import_text(cut); }), HasSubstr(end));
}

TEST(KinetoDamage, DeepNestingIsRefused) {
    const std::string deep =
        R"([{"ph":"X","name":"a","ts":1,"dur":1,"args":{"x":)" + std::string(100000, '[');
    EXPECT_THAT(refusal([&] { import_text(deep); }), HasSubstr("nested deeper than 512"));
    EXPECT_THAT(refusal([&] { import_text(R"({"a":)" + std::string(100000, '[')); }),
                HasSubstr("nested deeper than 512"));
}

// Either a trace or a refusal; check_trace() has looked at the trace.
bool survives(std::string_view content, const std::string& name) {
    try {
        import_text(content, name);
        return true;
    } catch (const InputError&) {
        return false;
    }
}

TEST(KinetoDamage, NoTruncationOrFlippedByteDoesHarm) {
    const std::string text = small_trace();
    int imported = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        imported += survives(text.substr(0, i), "t.json") ? 1 : 0;
        std::string flipped = text;
        for (const int bit : {0, 1, 4, 7}) {
            flipped[i] = static_cast<char>(text[i] ^ (1 << bit));
            imported += survives(flipped, "t.json") ? 1 : 0;
        }
    }
    EXPECT_GT(imported, 1000); // most flips are within names and numbers
}

TEST(KinetoDamage, NoFlippedByteOfGzipDoesHarm) {
    const std::string member = gzip_member(small_trace());
    int imported = 0;
    for (std::size_t i = 0; i < member.size(); ++i) {
        imported += survives(member.substr(0, i), "t.json.gz") ? 1 : 0;
        std::string flipped = member;
        flipped[i] = static_cast<char>(member[i] ^ 16);
        imported += survives(flipped, "t.json.gz") ? 1 : 0;
    }
    EXPECT_LT(imported, 20); // flags and time of the header only
}

} // namespace
} // namespace echosim
