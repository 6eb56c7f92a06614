// SPDX-License-Identifier: Apache-2.0
#include "traces/csv.h"

#include "tests/support/refusal.h"
#include "tests/traces/sample_trace.h"

#include <gtest/gtest.h>
#include <map>

namespace echosim::test {
namespace {

using Row = std::vector<std::string>;

// Reads RFC 4180: quoted fields may hold commas, quotes (doubled) and line ends.
std::vector<Row> parse_csv(const std::string& text) {
    std::vector<Row> rows;
    Row row(1);
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (quoted) {
            if (text[i] != '"') {
                row.back() += text[i];
            } else if (i + 1 < text.size() && text[i + 1] == '"') {
                row.back() += text[++i];
            } else {
                quoted = false;
            }
        } else if (text[i] == '"') {
            quoted = true;
        } else if (text[i] == ',') {
            row.emplace_back();
        } else if (text.compare(i, 2, "\r\n") == 0) {
            rows.push_back(row);
            row.assign(1, "");
            ++i;
        } else {
            row.back() += text[i];
        }
    }
    return rows;
}

std::string text_of(const Trace& trace) {
    const std::string path = temporary_path(".csv");
    write_csv(trace, path);
    const std::vector<std::byte> bytes = read_bytes(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The rows after the header, as column -> field.
std::vector<std::map<std::string, std::string>> table_of(const Trace& trace) {
    const std::vector<Row> rows = parse_csv(text_of(trace));
    std::vector<std::map<std::string, std::string>> table;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].size(), rows[0].size()) << "row " << i;
        std::map<std::string, std::string> fields;
        for (std::size_t j = 0; j < std::min(rows[0].size(), rows[i].size()); ++j) {
            fields[rows[0][j]] = rows[i][j];
        }
        table.push_back(fields);
    }
    return table;
}

TEST(Csv, SpellsAnEventOut) {
    auto rows = table_of(small_trace());
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_EQ(rows[0]["class"], "stage 0");
    EXPECT_EQ(rows[0]["ranks"], "0-3");
    EXPECT_EQ(rows[0]["kind"], "kernel");
    EXPECT_EQ(rows[0]["name"], "gemm");
    EXPECT_EQ(rows[0]["start_ns"], "1000");
    EXPECT_EQ(rows[0]["end_ns"], "3500"); // 1000 + 2500
    EXPECT_EQ(rows[0]["phase"], "forward");
    EXPECT_EQ(rows[0]["layer"], "17");
    EXPECT_EQ(rows[0]["collective"], "");
    EXPECT_EQ(rows[1]["collective"], "all_reduce");
    EXPECT_EQ(rows[1]["algorithm"], "nvls");
    EXPECT_EQ(rows[1]["bytes"], "33554432");
    EXPECT_EQ(rows[1]["group"], "tp");
    EXPECT_EQ(rows[1]["binding_pred"], "0");
    EXPECT_EQ(rows[1]["args"], "");
    EXPECT_EQ(rows[2]["peer"], "4");
    EXPECT_EQ(rows[2]["algorithm"], ""); // not known
}

// One stream with an event of each of the names.
Trace named(const std::vector<std::string>& names) {
    TraceBuilder builder;
    const auto stream = builder.add_stream(builder.add_class("all", 0, {0}), StreamKind::compute, "compute");
    for (std::size_t i = 0; i < names.size(); ++i) {
        builder.add_event(stream, {static_cast<TimeNs>(i), 1, builder.name(names[i])});
    }
    return builder.finish();
}

TEST(Csv, NamesComeBackAndAreNoFormulas) {
    const std::vector<std::string> names{
        "=1+2",       "+cmd|' /C calc'!A0", "-5", "@SUM(A1)", "'quoted'", "\ttab",    "a,b",
        "say \"no\"", "two\r\nlines",       "",   "plain",    "\rreturn", "k<int, 3>"};
    auto rows = table_of(named(names));
    ASSERT_EQ(rows.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string field = rows[i]["name"];
        EXPECT_EQ(std::string("=+-@\t\r").find(field.empty() ? 'x' : field[0]), std::string::npos) << field;
        EXPECT_EQ(field.substr(0, 1) == "'" ? field.substr(1) : field, names[i]);
    }
}

TEST(Csv, BytesThatAreNoUtf8AreReplaced) {
    auto rows = table_of(named({"bad \xff byte", "\xc3\xa9t\xc3\xa9"}));
    EXPECT_EQ(rows[0]["name"], "bad \xef\xbf\xbd byte");
    EXPECT_EQ(rows[1]["name"], "\xc3\xa9t\xc3\xa9");
}

TEST(Csv, NegativeTimesStayNumbers) {
    TraceBuilder builder;
    const auto stream = builder.add_stream(builder.add_class("all", 0, {0}), StreamKind::copy, "copy");
    Event copy{-30, 10, builder.name("Memcpy HtoD"), EventKind::memcpy};
    copy.ext = builder.add_copy({CopyKind::host_to_device, 512});
    builder.add_event(stream, copy);
    auto rows = table_of(builder.finish());
    EXPECT_EQ(rows[0]["start_ns"], "-30");
    EXPECT_EQ(rows[0]["end_ns"], "-20");
    EXPECT_EQ(rows[0]["bytes"], "512");
    EXPECT_EQ(rows[0]["copy_kind"], "HtoD");
}

TEST(Csv, TheCallThatLaunchedAKernel) {
    TraceBuilder builder;
    const auto rank = builder.add_class("rank 0", -1, {0});
    const auto thread = builder.add_stream(rank, StreamKind::host, "thread 1");
    const auto stream = builder.add_stream(rank, StreamKind::compute, "stream 7");
    Event call{0, 1, builder.name("cudaLaunchKernel"), EventKind::api};
    call.correlation = 9;
    Event kernel{5, 1, builder.name("gemm"), EventKind::kernel};
    kernel.correlation = 9;
    kernel.ext = builder.add_launch({{3, 2, 1}, {64, 1, 1}, 32, 0});
    builder.add_event(thread, call);
    builder.add_event(stream, kernel);
    auto rows = table_of(builder.finish());
    EXPECT_EQ(rows[0]["launched_by"], "");
    EXPECT_EQ(rows[1]["launched_by"], "0");
    EXPECT_EQ(rows[1]["grid_x"], "3");
    EXPECT_EQ(rows[1]["block_x"], "64");
    EXPECT_EQ(rows[1]["correlation"], "9");
    for (const char* unknown : {"stage", "device", "stream_number", "alone_ns", "peer", "channels"}) {
        EXPECT_EQ(rows[1][unknown], "") << unknown;
    }
}

TEST(Csv, EveryEventIsARow) {
    const Trace trace = random_trace(3);
    EXPECT_EQ(table_of(trace).size(), trace.event_count());
    EXPECT_NE(refusal([&] { write_csv(trace, "/nowhere/at/all.csv"); }), "accepted");
}

} // namespace
} // namespace echosim::test
