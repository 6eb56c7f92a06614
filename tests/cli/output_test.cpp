// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/output.h"

#include "simulator/core/error.h"
#include "tests/support/refusal.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A folder of its own with a file `in.json` and a link to it.
class OverwriteTest : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::remove_all(folder_);
        fs::create_directories(folder_ / "sub");
        std::ofstream(folder_ / "in.json") << "{}";
        std::ofstream(folder_ / "sub" / "rank0.json") << "{}";
        fs::create_symlink(folder_ / "in.json", folder_ / "link.json");
    }
    void TearDown() override { fs::remove_all(folder_); }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    fs::path folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("overwrite_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(OverwriteTest, AnInputUnderAnyNameIsKept) {
    const std::string input = path("in.json");
    for (const std::string& output : {input, path("link.json"), path("sub/../in.json"), path("./in.json")})
        EXPECT_THAT(refusal([&] { refuse_to_overwrite(output, {input}); }), HasSubstr("in.json")) << output;
    EXPECT_THAT(refusal([&] { refuse_to_overwrite(input, {path("link.json")}); }), HasSubstr("in.json"));
}

TEST_F(OverwriteTest, OtherFilesMayBeWritten) {
    EXPECT_NO_THROW(refuse_to_overwrite(path("out.json"), {path("in.json")}));
    EXPECT_NO_THROW(refuse_to_overwrite(path("out.json"), {path("missing.json")}));
}

} // namespace
} // namespace echosim
