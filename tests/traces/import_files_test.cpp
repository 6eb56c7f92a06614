// SPDX-License-Identifier: Apache-2.0
#include "traces/import.h"
#include "traces/import/detect.h"
#include "traces/import/names.h"

#include "tests/support/refusal.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class ImportFiles : public testing::Test {
  protected:
    ImportFiles() {
        folder_ =
            fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    ~ImportFiles() override { fs::remove_all(folder_); }
    std::string put(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return (folder_ / name).string();
    }
    fs::path folder_;
};

TEST(ImportNames, DigitsCompareAsNumbers) {
    EXPECT_TRUE(natural_less("rank_2.json", "rank_10.json"));
    EXPECT_FALSE(natural_less("rank_10.json", "rank_2.json"));
    EXPECT_TRUE(natural_less("a2b3", "a2b12"));
    EXPECT_TRUE(natural_less("rank_007", "rank_8"));
    EXPECT_TRUE(natural_less("rank_7", "rank_70"));
    EXPECT_FALSE(natural_less("same1", "same1"));
    EXPECT_TRUE(natural_less("99999999999999999998", "99999999999999999999")); // longer than any integer
}

TEST(ImportNames, RanksOfNames) {
    EXPECT_THAT(ranks_of_names({"t/rank-3.json", "t/Rank_12.pt.json"}), ElementsAre(3, 12));
    EXPECT_THAT(ranks_of_names({"job.0.et", "job.1.et", "job.10.et"}), ElementsAre(0, 1, 10));
    // the first number that differs everywhere: the step does not, the worker does
    EXPECT_THAT(ranks_of_names({"step_12_worker1.169.json", "step_12_worker4.167.json"}), ElementsAre(1, 4));
    EXPECT_TRUE(ranks_of_names({"alice.json", "bob.json"}).empty());
    EXPECT_TRUE(ranks_of_names({"a1.json", "a1.json"}).empty());
}

TEST_F(ImportFiles, AFolderInNaturalOrderWithoutHiddenFilesAndCompanions) {
    for (const char* name : {"rank_10.json", "rank_2.json", ".hidden.json", "train.log", "README.md"}) {
        put(name, "{}");
    }
    put("job.sqlite", "x");
    put("job.nsys-rep", "x");
    put("alone.nsys-rep", "x");
    std::vector<std::string> notes;
    const std::vector<std::string> files = trace_files({folder_.string()}, notes);
    EXPECT_THAT(files, ElementsAre((folder_ / "alone.nsys-rep").string(), (folder_ / "job.sqlite").string(),
                                   (folder_ / "rank_2.json").string(), (folder_ / "rank_10.json").string()));
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0], HasSubstr("README.md, job.nsys-rep, train.log"));
}

TEST_F(ImportFiles, FormatsAreToldByContent) {
    EXPECT_EQ(detect_format(put("a.txt", "\xef\xbb\xbf \r\n {\"traceEvents\": []}")),
              TraceFormat::trace_events);
    EXPECT_EQ(detect_format(put("b.json", "[{\"ph\": \"X\"}]")), TraceFormat::trace_events);
    EXPECT_EQ(detect_format(put("c", "ECHOTRC1........")), TraceFormat::etr);
    EXPECT_EQ(detect_format(put("d", std::string("SQLite format 3\0 etc", 20))), TraceFormat::nsys);
    std::string own(100, '\0');
    own.replace(0, 15, "SQLite format 3");
    own.replace(68, 4, "echs");
    EXPECT_EQ(detect_format(put("e", own)), TraceFormat::own_sqlite);
    EXPECT_EQ(detect_format(put("f.json", R"({"schema": "1.0.1", "pid": 1, "nodes": []})")),
              TraceFormat::chakra);
    EXPECT_EQ(detect_format(put("g.json.gz", "\x1f\x8b damaged at its begin")), TraceFormat::trace_events)
        << "the reader of trace events names the place";
}

TEST_F(ImportFiles, WhatNoReaderTakesIsRefusedWithAPlace) {
    EXPECT_THAT(refusal([&] { detect_format(put("a", "Dear reader")); }), HasSubstr("a:0: is no trace"));
    EXPECT_THAT(refusal([&] { detect_format(put("b", "PK\x03\x04...")); }), HasSubstr("run: unzip"));
    EXPECT_THAT(refusal([&] { detect_format(put("c", "")); }), HasSubstr("c:0: is empty"));
    EXPECT_THAT(refusal([&] { detect_format(put("d", std::string(100, '\0'))); }), HasSubstr("d:0:"));
    EXPECT_THAT(refusal([&] { detect_format((folder_ / "none").string()); }), HasSubstr("cannot be read"));
    EXPECT_THAT(refusal([&] { detect_format(folder_.string()); }), HasSubstr("is a folder"));
    EXPECT_THAT(refusal([&] { import_trace({}); }), HasSubstr("no file or folder"));
}

} // namespace
} // namespace echosim
