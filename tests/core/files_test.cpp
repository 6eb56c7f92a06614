// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "tests/support/refusal.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace echosim {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Files : public ::testing::Test {
  protected:
    Files() : folder_(fs::temp_directory_path() / ("echosim_files_" + std::to_string(::getpid()))) {
        fs::create_directories(folder_);
    }
    ~Files() override {
        fs::permissions(folder_, fs::perms::owner_all);
        fs::remove_all(folder_);
    }
    std::string path(const char* name) const { return (folder_ / name).string(); }
    std::size_t entries() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }

    fs::path folder_;
};

TEST_F(Files, WhatIsWrittenIsReadAndNothingElseStays) {
    write_file_atomically(path("a.json"), "first");
    write_file_atomically(path("a.json"), "second");
    EXPECT_EQ(read_text_file(path("a.json")), "second");
    EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, ReplacingKeepsModeAndSymbolicLink) {
    write_file_atomically(path("real"), "first");
    fs::permissions(path("real"), fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("real", path("link"));
    write_file_atomically(path("link"), "second");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(read_text_file(path("real")), "second");
    EXPECT_EQ(fs::status(path("real")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(entries(), 2U);
}

TEST_F(Files, ALinkToAFileThatDoesNotExistYetIsFollowed) {
    fs::create_symlink("later", path("link"));
    write_file_atomically(path("link"), "text");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(read_text_file(path("later")), "text");
}

TEST_F(Files, ADeviceIsWrittenToAndNotReplaced) {
    write_file_atomically("/dev/null", "text");
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Files, AMissingFolderIsNamed) {
    const std::string message = refusal([&] { write_file_atomically(path("none/a.json"), "x"); });
    EXPECT_THAT(message, StartsWith(path("none/a.json") + ": cannot be written: there is no folder"));
    EXPECT_THAT(message, HasSubstr("hint: create the folder first"));
    EXPECT_THAT(refusal([&] { write_file_atomically(folder_.string(), "x"); }), HasSubstr("it is a folder"));
    EXPECT_THAT(refusal([&] { write_file_atomically(path("new/"), "x"); }), HasSubstr("name of a folder"));
}

TEST_F(Files, AFolderThatCannotBeWrittenIsNamed) {
    // /proc refuses new files even to root.
    EXPECT_THAT(refusal([] { write_file_atomically("/proc/echosim.json", "x"); }),
                HasSubstr("in folder \"/proc\""));
}

TEST_F(Files, AReadOnlyFolderKeepsTheOldFile) {
    write_file_atomically(path("a.json"), "old");
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
    if (::access(folder_.c_str(), W_OK) == 0)
        GTEST_SKIP() << "runs as root, which may write everywhere";
    EXPECT_THAT(refusal([&] { write_file_atomically(path("a.json"), "new"); }),
                HasSubstr("cannot be written in folder"));
    EXPECT_EQ(read_text_file(path("a.json")), "old");
}

TEST_F(Files, AFullDiskIsReportedAndLeavesNoTemporary) {
    // Writing to /dev/full always fails with "No space left on device".
    EXPECT_THAT(refusal([] { write_file_atomically("/dev/full", "x"); }), HasSubstr("No space left"));
    // A target that appears as a folder with files cannot be replaced: the temporary must be gone afterwards.
    fs::create_directory(path("sub"));
    EXPECT_NE(refusal([&] { write_file_atomically(path("sub"), "x"); }), "accepted");
    EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, ReadingSaysWhatIsWrong) {
    EXPECT_EQ(refusal([&] { read_text_file(path("none")); }), path("none") + ": there is no such file");
    EXPECT_EQ(refusal([&] { read_text_file(folder_.string()); }),
              folder_.string() + ": is a folder, not a file");
    EXPECT_EQ(refusal([] { read_text_file(""); }), "the file name is empty");
    write_file_atomically(path("empty"), "");
    EXPECT_EQ(refusal([&] { read_text_file(path("empty")); }), path("empty") + ": is empty");
    write_file_atomically(path("binary"), std::string_view("ab\0c", 4));
    EXPECT_EQ(refusal([&] { read_text_file(path("binary")); }),
              path("binary") + ": is not a text file: byte 2 is NUL");
    write_file_atomically(path("large"), std::string(2000, 'x'));
    EXPECT_THAT(refusal([&] { read_text_file(path("large"), 1_KiB); }), HasSubstr("is larger than 1.00 KiB"));
    EXPECT_EQ(read_text_file(path("large"), 2000).size(), 2000U);
}

TEST_F(Files, AnUnreadableFileIsNamed) {
    write_file_atomically(path("secret"), "x");
    fs::permissions(path("secret"), fs::perms::none);
    if (::access(path("secret").c_str(), R_OK) == 0)
        GTEST_SKIP() << "runs as root, which may read everything";
    EXPECT_THAT(refusal([&] { read_text_file(path("secret")); }),
                HasSubstr("cannot be read: Permission denied"));
}

} // namespace
} // namespace echosim
