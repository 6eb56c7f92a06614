// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_tests_log.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "tests/support/refusal.h"

#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kHeader =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n";

// All-reduce of 1 GiB over 8 ranks in 4000 us out of place: algbw 268.44, busbw 7/4 of it = 469.76; in place
// 4100 us: 261.89 and 458.30.
constexpr const char* kRow =
    "  1073741824     268435456     float     sum      -1   4000.0  268.44  469.76      0   4100.0  261.89  "
    "458.30      0\n";
constexpr const char* kSmallRow = "        1024           256     float     sum      -1    16.00    0.06    "
                                  "0.11      0    15.50    0.07    "
                                  "0.12      0\n";

NcclTestsTable only(const std::string& text) {
    auto tables = read_nccl_tests(text, "a.log");
    EXPECT_EQ(tables.size(), 1U);
    return std::move(tables.at(0));
}

// The same lines with something in front of each.
std::string with_prefix(const std::string& text, const std::string& prefix) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        result += prefix + text.substr(at, end - at + 1);
        at = end + 1;
    }
    return result;
}

TEST(NcclTestsLog, BothHalvesOfARow) {
    const NcclTestsTable table = only(std::string(kHeader) + kRow);
    EXPECT_EQ(table.kind, CollectiveKind::all_reduce); // busbw / algbw = 1.75 > 1
    EXPECT_EQ(table.ranks, 8);                         // 2 (n - 1) / n = 1.75
    ASSERT_EQ(table.rows.size(), 1U);
    const NcclTestsRow& row = table.rows[0];
    EXPECT_EQ(row.bytes, 1_GiB);
    EXPECT_EQ(row.dtype, "float");
    EXPECT_EQ(row.out_of_place_us, 4000);
    EXPECT_EQ(row.in_place_us, 4100);
    EXPECT_EQ(row.out_of_place_busbw, 469.76);
    EXPECT_EQ(row.in_place_busbw, 458.30);
    EXPECT_EQ(row.line, 3);
    EXPECT_THAT(table.warnings, IsEmpty());
}

class Prefixes : public testing::TestWithParam<const char*> {};

TEST_P(Prefixes, DoNotMatter) {
    const NcclTestsTable table = only(with_prefix(std::string(kHeader) + kSmallRow + kRow, GetParam()));
    EXPECT_EQ(table.ranks, 8);
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(table.rows[0].bytes, 1024U);
    EXPECT_EQ(table.rows[1].out_of_place_us, 4000);
    EXPECT_THAT(table.warnings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Launchers, Prefixes,
                         testing::Values("[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", "node-3: ",
                                         "2025-01-31T12:00:00.123Z ", "[2025-01-31 12:00:00] ",
                                         "2025-01-31 12:00:00,123 INFO stdout | ", "> ", "    ", "\x1b[32m",
                                         "pod/launcher-x7 nccl ", "| ", "worker-0 | 1 "));

TEST(NcclTestsLog, AnsiCodesInsideAndCarriageReturns) {
    const NcclTestsTable table =
        only("\x1b[1m  1073741824 \x1b[0m 268435456     float     sum   -1 \x1b[32m  4000.0\x1b[0m  268.44 "
             "469.76      0\r\n");
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].out_of_place_us, 4000);
    EXPECT_FALSE(table.rows[0].in_place_us);
}

TEST(NcclTestsLog, MarkdownTable) {
    const NcclTestsTable table = only(
        "| size | count | type | redop | root | time | algbw | busbw |\n|---|---|---|---|---|---|---|---|\n"
        "| 1073741824 | 268435456 | float | sum | -1 | 4000.0 | 268.44 | 469.76 |\n");
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.ranks, 8);
}

// Releases before 2022 have neither root nor #wrong, and print "error".
TEST(NcclTestsLog, OldReleaseWithoutRoot) {
    const NcclTestsTable table = only(
        "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   "
        "busbw  error\n"
        "  1073741824     268435456     float     sum   4000.0  268.44  469.76    N/A   4100.0  261.89  "
        "458.30    N/A\n");
    EXPECT_FALSE(table.root_column);
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].in_place_us, 4100);
}

TEST(NcclTestsLog, InPlaceNotAvailable) {
    const NcclTestsTable table = only(
        std::string(kHeader) + "1073741824 33554432 float none -1 2000.0 536.87 469.76 0 N/A N/A N/A N/A\n");
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].out_of_place_us, 2000);
    EXPECT_FALSE(table.rows[0].in_place_us);
}

TEST(NcclTestsLog, InPlaceColumnsOnly) {
    const NcclTestsTable table = only("#                      in-place\n"
                                      "# size count type redop root time algbw busbw #wrong\n"
                                      "1073741824 268435456 float sum -1 4100.0 261.89 458.30 0\n");
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_FALSE(table.rows[0].out_of_place_us);
    EXPECT_EQ(table.rows[0].in_place_us, 4100);
}

TEST(NcclTestsLog, TimesOfTheCpuAreNoMeasurement) {
    const NcclTestsTable table = only("# size count type redop root cputime algbw busbw #wrong\n"
                                      "1073741824 268435456 float sum -1 4000.0 268.44 469.76 0\n");
    EXPECT_THAT(table.rows, IsEmpty());
    EXPECT_THAT(table.warnings, ElementsAre(HasSubstr("1 row left out, the first in line 2: the times are")));
}

TEST(NcclTestsLog, SeveralTablesAndWhatBelongsToThem) {
    const std::string text =
        "$ srun build/all_gather_perf -b 8\n"
        "# nccl-tests version 2.16.4 nccl-headers=22703 nccl-library=22703\n"
        "#  Rank  0 Group  0 Pid    1 on host-a device  0 [0000:07:00] NVIDIA H100 80GB HBM3\n"
        "#  Rank  1 Group  0 Pid    2 on host-b device  0 [0000:07:00] NVIDIA H100 80GB HBM3\n" +
        std::string(kHeader) +
        // all_gather over 2 ranks: busbw / algbw = 1 / 2
        "1048576 131072 float none -1 100.0 10.49 5.24 0 98.00 10.70 5.35 0\n"
        "# Avg bus bandwidth    : 5.3\n"
        "# build/all_reduce_perf -g 8\n"
        "NCCL version 2.21.5+cuda12.4\n" +
        kHeader + kRow;
    const auto tables = read_nccl_tests(text, "a.log");
    ASSERT_EQ(tables.size(), 2U);
    EXPECT_EQ(tables[0].kind, CollectiveKind::all_gather);
    EXPECT_EQ(tables[0].ranks, 2);
    EXPECT_EQ(tables[0].nodes, 2);
    EXPECT_EQ(tables[0].gpu, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(tables[0].nccl, "2.27.3");
    EXPECT_EQ(tables[1].kind, CollectiveKind::all_reduce);
    EXPECT_EQ(tables[1].ranks, 8);
    EXPECT_EQ(tables[1].nodes, 0);
    EXPECT_EQ(tables[1].gpu, "");
    EXPECT_EQ(tables[1].nccl, "2.21.5+cuda12.4");
}

TEST(NcclTestsLog, WrongNameIsOverruledByTheColumns) {
    const NcclTestsTable table = only("all_gather_perf\n" + std::string(kHeader) + kRow);
    EXPECT_EQ(table.kind, CollectiveKind::all_reduce);
    EXPECT_THAT(table.warnings, ElementsAre(HasSubstr("names all_gather, but busbw / algbw is 1.750")));
}

TEST(NcclTestsLog, ProseThatListsProgramsNamesNone) {
    const NcclTestsTable table =
        only("use `all_gather_perf`, `alltoall_perf` or `sendrecv_perf`\n" + std::string(kHeader) + kRow);
    EXPECT_EQ(table.kind, CollectiveKind::all_reduce);
    EXPECT_THAT(table.warnings, IsEmpty());
}

TEST(NcclTestsLog, RanksOfTheColumnsOverruleAShorterList) {
    const NcclTestsTable table =
        only("#  Rank  0 Pid 1 on a device 0 [0x07] NVIDIA H100\n" + std::string(kHeader) + kRow);
    EXPECT_EQ(table.ranks, 8);
    EXPECT_EQ(table.nodes, 0);
    EXPECT_THAT(table.warnings, ElementsAre(HasSubstr("1 ranks are listed, but busbw / algbw is 1.750, as "
                                                      "with 8: 8 is taken")));
}

// A list of ranks may be cut short, never too long: eight listed and 2 (3 - 1) / 3 = 1.333 contradict.
TEST(NcclTestsLog, FewerRanksThanListedLeaveNoRow) {
    std::string text;
    for (int i = 0; i < 8; ++i)
        text += "#  Rank  " + std::to_string(i) + " Pid 1 on a device 0 [0x07] NVIDIA H100\n";
    const NcclTestsTable table =
        only(text + kHeader + "1073741824 268435456 float sum -1 2000.0 536.87 715.83 0\n");
    EXPECT_TRUE(table.rows.empty());
    EXPECT_THAT(table.warnings, ElementsAre(HasSubstr("8 ranks are listed, but busbw / algbw is 1.333")));
}

// Without MPI every process runs alone and busbw is 0.
TEST(NcclTestsLog, OneRank) {
    const NcclTestsTable table =
        only("all_reduce_perf\n" + std::string(kHeader) +
             "1073741824 268435456 float sum -1 1620.4 662.64 0.00 0 0.48 0 0.00 0\n");
    EXPECT_EQ(table.ranks, 1);
}

// reduce_scatter by its operator, broadcast by its root; an all_gather and an all_to_all look the same.
TEST(NcclTestsLog, KindFromColumnsAlone) {
    const std::string head = kHeader;
    EXPECT_EQ(only(head + "1073741824 33554432 float sum -1 2000.0 536.87 469.76 0\n").kind,
              CollectiveKind::reduce_scatter);
    EXPECT_EQ(only(head + "1073741824 268435456 float none 0 3000.0 357.91 357.91 0\n").kind,
              CollectiveKind::broadcast);
    EXPECT_EQ(only(head + "1073741824 268435456 float sum 0 3000.0 357.91 357.91 0\n").kind,
              CollectiveKind::reduce);
    EXPECT_FALSE(only(head + "1073741824 33554432 float none -1 2000.0 536.87 469.76 0\n").kind);
    EXPECT_EQ(only(head + "1073741824 268435456 float sum -1 3000.0 357.91 357.91 0\n").kind,
              CollectiveKind::all_reduce); // of two ranks
}

TEST(NcclTestsLog, RowsThatDoNotAddUpAreLeftOut) {
    const std::string cut = "  536870912     134217728     float     sum      -1   20";
    // another process wrote into the line: 999.0 us is not 268.44 GB/s
    const std::string garbled =
        "  1073741824     268435456     float     sum   -1   999.0  268.44  469.76  0\n";
    const NcclTestsTable table = only(std::string(kHeader) + kRow + garbled + cut);
    EXPECT_EQ(table.rows.size(), 1U);
    EXPECT_THAT(table.warnings,
                ElementsAre("2 rows left out, the first in line 4: cut off, or size, time and "
                            "algbw do not agree"));
}

TEST(NcclTestsLog, TwoRowsInOneLine) {
    std::string line = std::string(kSmallRow) + kRow;
    line.erase(line.find('\n'), 1);
    EXPECT_EQ(only(std::string(kHeader) + line).rows.size(), 2U);
}

TEST(NcclTestsLog, WithoutHeaderAndTwice) {
    const NcclTestsTable table = only(std::string(kRow) + kRow);
    EXPECT_EQ(table.rows.size(), 2U); // a size may come twice
    EXPECT_EQ(table.ranks, 8);
}

// busbw / algbw of 1,000 ranks is 1.998: two decimals leave 1,000 +- 30, so nothing is claimed.
TEST(NcclTestsLog, ManyRanksNeedTheList) {
    const NcclTestsTable table =
        only("1073741824 268435456 float sum -1 40000.0 26.84 53.63 0 41000.0 26.19 52.33 0\n");
    EXPECT_EQ(table.kind, CollectiveKind::all_reduce);
    EXPECT_EQ(table.ranks, 0);
}

TEST(NcclTestsLog, WrongResultsAreAWarning) {
    const NcclTestsTable table = only(std::string(kHeader) + kRow + "# Out of bounds values : 3 FAILED\n");
    EXPECT_THAT(table.warnings, ElementsAre("line 4: the run reports wrong results"));
}

TEST(NcclTestsLog, TextWithoutTables) {
    EXPECT_THAT(refusal([] { read_nccl_tests("", "a.log"); }), HasSubstr("a.log: holds no nccl-tests table"));
    EXPECT_THAT(refusal([] { read_nccl_tests("hello\n1 2 3\n", "a.log"); }), HasSubstr("2 lines"));
    EXPECT_THAT(refusal([] { read_nccl_tests("\n" + std::string(kHeader), "a.log"); }),
                HasSubstr("a.log:2: the header of an nccl-tests table, without a single readable row"));
}

TEST(NcclTestsLog, LongLinesAreReadToTheirSixteenthKibibyte) {
    const std::string text = std::string(20000, 'x') + "\n" + kRow;
    EXPECT_THAT(only(text).warnings, ElementsAre(HasSubstr("1 lines longer than 16 KiB")));
}

TEST(NcclTestsLog, HugeNumbersAreNoRows) {
    EXPECT_THAT(
        refusal([] { read_nccl_tests("99999999999999999999999 1 float sum -1 1e999 nan inf 0\n", "a.log"); }),
        HasSubstr("holds no nccl-tests table"));
}

// Published logs beside the project: 2 to 32 A100 of Echo, and a Markdown page of AWS with three tables.
TEST(NcclTestsLogData, PublishedLogs) {
    const std::string folder = "../shared/data/inputs/nccl_logs/";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << folder << " is not there";
    struct Expected {
        int ranks, nodes;
        std::size_t rows;
    };
    for (const auto& [ranks, nodes, rows] :
         {Expected{2, 1, 28}, {4, 1, 28}, {8, 1, 28}, {16, 2, 25}, {32, 4, 23}}) {
        const std::string name = fmt::format("{}nccl_{}.log", folder, ranks);
        const auto tables = read_nccl_tests(read_text_file(name), name);
        ASSERT_EQ(tables.size(), 1U);
        EXPECT_EQ(tables[0].kind, CollectiveKind::all_reduce) << name;
        EXPECT_EQ(tables[0].ranks, ranks);
        EXPECT_EQ(tables[0].nodes, nodes);
        EXPECT_EQ(tables[0].rows.size(), rows);
        EXPECT_EQ(tables[0].gpu, "A100-SXM4-40GB");
        EXPECT_THAT(tables[0].warnings, IsEmpty()) << name;
    }
    const std::string page = folder + "aws_p4de_p5_README.md";
    const auto tables = read_nccl_tests(read_text_file(page), page);
    ASSERT_EQ(tables.size(), 3U);
    for (const NcclTestsTable& table : tables)
        EXPECT_EQ(table.ranks, 16);
    EXPECT_EQ(tables[1].rows.size(), 32U);
    EXPECT_EQ(tables[1].rows.back().out_of_place_us, 66132);
    EXPECT_EQ(tables[2].rows.size(), 7U); // "..." stands for rows
}

} // namespace
} // namespace echosim
