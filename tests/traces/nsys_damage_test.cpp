// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusal.h"
#include "tests/traces/nsys_database.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace echosim::test {
namespace {

using testing::Test;

std::string refused_sql(const std::string& sql) {
    const std::string path = make_database(sql);
    return refusal([&] { read_nsys(path); });
}

void expect_in(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

std::string kernel(const std::string& start, const std::string& end, const std::string& rest = "1,7") {
    return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,demangledName,streamId,globalPid) "
           "VALUES (" +
           start + "," + end + ",0," + rest + ",281475094151168);";
}

TEST(NsysDamage, TimesAndNamesAreCounted) {
    const auto [trace, report] = import_nsys(kNsysTables + kernel("100", "50") + kernel("100", "NULL") +
                                             kernel("100", "150", "999,7") + kernel("0", "0", "NULL,8"));
    EXPECT_EQ(report.kernels, 4U);
    EXPECT_EQ(trace.event_count(), 4U);
    EXPECT_EQ(report.warnings.at("negative_duration"), 1U);
    EXPECT_EQ(report.warnings.at("missing_duration"), 1U);
    EXPECT_EQ(report.warnings.at("unknown_string"), 1U);
    EXPECT_EQ(report.warnings.at("missing_name"), 1U);
    EXPECT_EQ(report.warnings.at("missing_time"), 1U); // CUPTI writes 0 and 0 for times that it lacks
    EXPECT_EQ(report.complete_events, 2U);             // 100-50 and 100-150
}

TEST(NsysDamage, WrongTypesAreRefusedWithTableAndRow) {
    const std::string good = kernel("1", "2") + kernel("3", "4");
    std::string text = refused_sql(kNsysTables + good + kernel("'soon'", "9"));
    expect_in(text, ".sqlite: table CUPTI_ACTIVITY_KIND_KERNEL, row 3");
    expect_in(text, "column start holds the text 'soon'; a whole number is expected");
    expect_in(refused_sql(kNsysTables + kernel("1", "2.5")), "column end holds 2.5");
    expect_in(refused_sql(kNsysTables + kernel("1", "x'00'")), "column end holds a blob");
    expect_in(refused_sql(kNsysTables + kernel("1", "9223372036854775807")), "times go from -2^61 to 2^61");
    expect_in(refused_sql(kNsysTables + good + "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = -5;"),
              "row 1: column gridX is -5; allowed are 0 to 4294967295");
}

TEST(NsysDamage, OtherFilesAreRefused) {
    const std::string path = temporary_path(".sqlite");
    write_bytes(path, {});
    expect_in(refusal([&] { read_nsys(path); }), path + ":0: is empty");
    std::ofstream(path) << "QDREP: not a database at all";
    expect_in(refusal([&] { read_nsys(path); }), "is not a SQLite database");
    expect_in(refusal([&] { read_nsys(path + ".none"); }), "does not exist");
    expect_in(refusal([&] { read_nsys(testing::TempDir()); }), "is not a regular file");
    expect_in(refused_sql("CREATE TABLE songs (id INTEGER);"), "not an export of Nsight Systems");
    expect_in(refused_sql("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (begin INTEGER, end INTEGER);"),
              "table CUPTI_ACTIVITY_KIND_KERNEL: has no column start");
}

TEST(NsysDamage, AnOpenJournalIsRefused) {
    const std::string path = make_database(kNsysTables);
    std::ofstream(path + "-wal") << "rows that are not in the file";
    expect_in(refusal([&] { read_nsys(path); }), "part of the data is not in the file yet");
    std::filesystem::remove(path + "-wal");
    EXPECT_EQ(refusal([&] { read_nsys(path); }), "accepted");
}

// A view in place of a table could run for ever; it is not read.
TEST(NsysDamage, ViewsAreNotRead) {
    const Imported imported = import_nsys(kNsysTables + kernel("1", "2") + R"sql(
CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)
  SELECT start, start AS end, 59 AS eventType FROM n;)sql");
    EXPECT_EQ(imported.report.events, 1U);
}

// Cut and changed files end in a refusal or in a trace, never in anything else.
TEST(NsysDamage, CutsAndChangedBytes) {
    std::string sql = kNsysTables;
    for (int i = 0; i < 300; ++i) {
        sql += kernel(std::to_string(i * 10), std::to_string(i * 10 + 5));
    }
    const std::string path = make_database(sql);
    const std::vector<std::byte> good = read_bytes(path);
    std::mt19937 dice(7);
    int refusals = 0;
    for (int i = 0; i < 150; ++i) {
        std::vector<std::byte> bytes = good;
        if (i % 3 == 0) {
            bytes.resize(dice() % good.size());
        }
        for (int j = 0; j < 20 && !bytes.empty() && i % 3 != 0; ++j) {
            bytes[dice() % bytes.size()] = static_cast<std::byte>(dice());
        }
        write_bytes(path, bytes);
        const std::string text = refusal([&] { read_nsys(path); });
        refusals += text == "accepted" ? 0 : 1;
        EXPECT_TRUE(text == "accepted" || text.find(path) != std::string::npos) << text;
    }
    EXPECT_GE(refusals, 50); // every cut loses a page
}

TEST(NsysReport, ClosedFormatIsRefusedWithTheCommand) {
    EXPECT_TRUE(is_nsys_report("a/job.nsys-rep"));
    EXPECT_TRUE(is_nsys_report("job.qdrep"));
    EXPECT_FALSE(is_nsys_report("job.sqlite"));
    expect_in(refusal([] { refuse_nsys_report("job.nsys-rep"); }),
              "nsys export --type sqlite --output job.sqlite job.nsys-rep");
    expect_in(refusal([] { refuse_nsys_report("my runs/it's.qdrep"); }),
              "nsys export --type sqlite --output 'my runs/it'\\''s.sqlite' 'my runs/it'\\''s.qdrep'");
}

} // namespace
} // namespace echosim::test
