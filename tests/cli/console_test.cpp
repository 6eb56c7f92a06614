// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/console.h"

#include "simulator/cli/text_table.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>

namespace echosim {
namespace {

TEST(TextStyle, DrawsBarsInEighthsOfAColumn) {
    const TextStyle utf8{.utf8 = true};
    // 0.5 of 4 columns = 2 full blocks (U+2588); 0.3125 of 2 columns = 5 eighths (U+258B).
    EXPECT_EQ(utf8.bar(0.5, 4), "\xe2\x96\x88\xe2\x96\x88");
    EXPECT_EQ(utf8.bar(0.3125, 2), "\xe2\x96\x8b");
    EXPECT_EQ(utf8.bar(0, 4), "");
}

TEST(TextStyle, DrawsBarsInAsciiAndNeverWiderThanAsked) {
    const TextStyle ascii;
    EXPECT_EQ(ascii.bar(0.5, 8), "####");
    EXPECT_EQ(ascii.bar(7.0, 8), "########");
}

TEST(TextStyle, ColoursOnlyWhenAsked) {
    EXPECT_EQ(TextStyle{}.bad("x"), "x");
    EXPECT_EQ((TextStyle{.colour = true}.bad("x")), "\x1b[1;31mx\x1b[0m");
}

// Sets an environment variable for the time of a test.
class Environment {
  public:
    Environment(const char* name, const char* value) : name_(name) {
        const char* old = std::getenv(name);
        had_ = old != nullptr;
        if (had_)
            old_ = old;
        ::setenv(name, value, 1);
    }
    ~Environment() {
        if (had_)
            ::setenv(name_, old_.c_str(), 1);
        else
            ::unsetenv(name_);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    const char* name_;
    bool had_ = false;
    std::string old_;
};

TEST(TextStyle, FollowsTheUsualVariablesAndTheOptionAboveThem) {
    const Environment force("CLICOLOR_FORCE", "1");
    const Environment none("NO_COLOR", "");
    EXPECT_TRUE(detect_style(ColourChoice::automatic).colour);
    EXPECT_FALSE(detect_style(ColourChoice::never).colour);
    const Environment no_colour("NO_COLOR", "1");
    EXPECT_FALSE(detect_style(ColourChoice::automatic).colour);
    EXPECT_TRUE(detect_style(ColourChoice::always).colour);
}

TEST(TextStyle, TakesTheCharacterSetFromTheLocale) {
    const Environment all("LC_ALL", "de_DE.UTF-8");
    EXPECT_TRUE(detect_style(ColourChoice::never).utf8);
    const Environment plain("LC_ALL", "C");
    EXPECT_FALSE(detect_style(ColourChoice::never).utf8);
}

TEST(Text, SeparatesThousands) {
    EXPECT_EQ(with_separators(0), "0");
    EXPECT_EQ(with_separators(999), "999");
    EXPECT_EQ(with_separators(1536), "1,536");
    EXPECT_EQ(with_separators(-1048576), "-1,048,576");
}

TEST(Text, WrapsAtTheWidthAndIndentsWhatFollows) {
    // The first line starts at column 2, so that "aa bb" ends at column 7.
    EXPECT_EQ(wrap("aa bb cc", 7, 2), "aa bb\n  cc");
    EXPECT_EQ(wrap("longerthanthat", 4, 0), "longerthanthat");
}

TEST(Text, CountsColumnsNotBytes) {
    EXPECT_EQ(display_width("abc"), 3U);
    EXPECT_EQ(display_width("\xe2\x96\x88\xe2\x96\x88"), 2U);
    EXPECT_EQ(display_width("\x1b[1mabc\x1b[0m"), 3U);
}

TEST(TextTable, AlignsColumns) {
    TextTable table({{"name"}, {"bytes", TextTable::Align::right}});
    table.add({"a", "5"});
    table.add({"longer", "1,024"});
    EXPECT_EQ(table.text(TextStyle{}, 1), " name    bytes\n"
                                          " a           5\n"
                                          " longer  1,024\n");
}

TEST(Console, KeepsWarningsAndDetailsToTheirLevels) {
    std::ostringstream out;
    std::ostringstream err;
    Console console(out, err, TextStyle{});
    console.set_level(true, false);
    console.warn("w");
    console.detail("d");
    console.error("e");
    EXPECT_EQ(err.str(), "error: e\n");
    console.set_level(false, true);
    console.warn("w");
    console.detail("d");
    EXPECT_EQ(err.str(), "error: e\nwarning: w\nd\n");
    EXPECT_EQ(out.str(), "");
}

} // namespace
} // namespace echosim
