// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/printable.h"

#include <gtest/gtest.h>

namespace echosim {
namespace {

TEST(Printable, ControlBytesOfNamesAreShown) {
    EXPECT_EQ(printable("gemm\x1b[2Jx"), "gemm\\x1b[2Jx");
    EXPECT_EQ(printable("a\rb\x7f"), "a\\x0db\\x7f");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "\\xc2\\x9b"
              "31m"); // U+009B: the 8-bit form of ESC [
    EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
}

TEST(Printable, HarmlessTextStays) {
    EXPECT_EQ(printable("two lines\n\tand a tab"), "two lines\n\tand a tab");
    EXPECT_EQ(printable("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ(printable(""), "");
}

TEST(Printable, ACellOfATableIsOneLine) {
    EXPECT_EQ(printable_line("a\nb\tc"), "a\\nb\\tc");
}

TEST(Printable, StyledTextKeepsColourCodesOnly) {
    EXPECT_EQ(printable("\x1b[1mbold\x1b[0m", PrintableKind::styled), "\x1b[1mbold\x1b[0m");
    EXPECT_EQ(printable("\x1b[1mx\x1b]0;title\x07", PrintableKind::styled), "\x1b[1mx\\x1b]0;title\\x07");
}

} // namespace
} // namespace echosim
