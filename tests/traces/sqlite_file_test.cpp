// SPDX-License-Identifier: Apache-2.0
#include "traces/sqlite_file.h"

#include "tests/support/refusal.h"
#include "tests/traces/sample_trace.h"
#include "traces/sqlite/database.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace echosim::test {
namespace {

// A recorded rank with every table in use: a call, the kernel that it launched, a collective, a copy, a wait.
Trace recorded_trace() {
    TraceBuilder builder;
    builder.set_meta(R"({"recorder":"test"})");
    builder.set_t0(1'700'000'000'000'000'000);
    const auto rank = builder.add_class("rank 3", -1, {3});
    const auto thread = builder.add_stream(rank, StreamKind::host, "thread 9");
    builder.set_origin(thread, -1, 9);
    const auto stream = builder.add_stream(rank, StreamKind::compute, "stream 7");
    builder.set_origin(stream, 1, 7);
    const auto event = [&](EventKind kind, TimeNs start, TimeNs duration, std::string_view name) {
        Event e{start, duration, builder.name(name), kind};
        e.provenance = Provenance::measured;
        return e;
    };
    Event call = event(EventKind::api, 0, 5, "cudaLaunchKernel");
    call.correlation = 41;
    builder.add_event(thread, call);
    Event kernel = event(EventKind::kernel, 10, 30, "=gemm, \"quoted\"");
    kernel.correlation = 41;
    kernel.ext = builder.add_launch({{8, 4, 2}, {128, 1, 1}, 64, 1024});
    kernel.args = builder.name(R"({"context":1})");
    builder.add_event(stream, kernel);
    Event copy = event(EventKind::memcpy, 50, 10, "Memcpy HtoD");
    copy.ext =
        builder.add_copy({CopyKind::host_to_device, 0xffffffffffffffffULL}); // more than SQLite's signed
    builder.add_event(stream, copy);
    CommOp op;
    op.kind = CollectiveKind::all_reduce;
    op.bytes = 4096;
    op.group = builder.name("tp");
    op.communicator = builder.add_communicator({builder.name("0x10"), builder.name("TP"), {{0, 4, 1}}});
    Event comm = event(EventKind::comm, 70, 20, "ncclDevKernel_AllReduce");
    comm.ext = builder.add_comm_op(op);
    builder.add_event(stream, comm);
    Event wait = event(EventKind::sync, 95, 0, "Stream Wait Event");
    wait.ext = builder.add_sync({SyncKind::stream_wait_event, 7, 77, 41});
    builder.add_event(stream, wait);
    Event mark = event(EventKind::instant, 96, 0, "");
    mark.ext = builder.name("NVTX").value;
    builder.add_event(thread, mark);
    return builder.finish();
}

Trace back_of(const Trace& trace) {
    const std::string path = temporary_path(".sqlite");
    write_sqlite(trace, path);
    return read_sqlite(path).trace;
}

TEST(SqliteFile, GivesTheTraceBack) {
    EXPECT_TRUE(back_of(small_trace()) == small_trace());
    EXPECT_TRUE(back_of(recorded_trace()) == recorded_trace());
    EXPECT_TRUE(back_of(Trace{}) == Trace{});
    for (unsigned seed = 1; seed <= 8; ++seed) {
        EXPECT_TRUE(back_of(random_trace(seed)) == random_trace(seed)) << seed;
    }
}

TEST(SqliteFile, SameTraceSameBytes) {
    const std::string path = temporary_path(".sqlite");
    write_sqlite(small_trace(), path);
    const std::vector<std::byte> first = read_bytes(path);
    write_sqlite(small_trace(), path); // over the first
    EXPECT_TRUE(read_bytes(path) == first);
    EXPECT_FALSE(std::filesystem::exists(path + "-journal"));
}

TEST(SqliteFile, SliceSpellsAnEventOut) {
    const std::string path = temporary_path(".sqlite");
    write_sqlite(recorded_trace(), path);
    SqliteDatabase database = SqliteDatabase::open(path);
    SqliteStatement rows(database,
                         "SELECT class, ranks, stream, device, stream_number, kind, end_ns, grid_x, "
                         "launched_by, args FROM slice WHERE name LIKE '=gemm%'",
                         path);
    ASSERT_TRUE(rows.step());
    EXPECT_EQ(rows.text(0), "rank 3");
    EXPECT_EQ(rows.text(1), "3");
    EXPECT_EQ(rows.text(2), "stream 7");
    EXPECT_EQ(rows.integer(3), 1);
    EXPECT_EQ(rows.integer(4), 7);
    EXPECT_EQ(rows.text(5), "kernel");
    EXPECT_EQ(rows.integer(6), 40); // 10 + 30
    EXPECT_EQ(rows.integer(7), 8);
    EXPECT_EQ(rows.integer(8), 0); // the call is the first event of the first stream
    EXPECT_EQ(rows.text(9), R"({"context":1})");
    SqliteStatement comm(
        database,
        "SELECT collective, bytes, comm_group, communicator_description, launched_by IS NULL "
        "FROM slice WHERE kind = 'comm'",
        path);
    ASSERT_TRUE(comm.step());
    EXPECT_EQ(comm.text(0), "all_reduce");
    EXPECT_EQ(comm.integer(1), 4096);
    EXPECT_EQ(comm.text(2), "tp");
    EXPECT_EQ(comm.text(3), "TP");
    EXPECT_EQ(comm.integer(4), 1);
}

TEST(SqliteFile, WhatIsNotKnownIsNull) {
    TraceBuilder builder;
    const auto stream =
        builder.add_stream(builder.add_class("rank 0", -1, {0}), StreamKind::comm, "stream 7");
    Event event{5, 1, builder.name("nccl"), EventKind::comm};
    event.ext = builder.add_comm_op({.kind = CollectiveKind::all_reduce});
    builder.add_event(stream, event);
    const Trace trace = builder.finish();
    const std::string path = temporary_path(".sqlite");
    write_sqlite(trace, path);
    EXPECT_TRUE(read_sqlite(path).trace == trace);
    SqliteDatabase database = SqliteDatabase::open(path);
    SqliteStatement rows(database,
                         "SELECT count(*), count(stage) + count(device) + count(stream_number) + "
                         "count(alone_ns) + count(channels) + count(group_size) + count(peer) + "
                         "count(correlation) FROM slice",
                         path);
    ASSERT_TRUE(rows.step());
    EXPECT_EQ(rows.integer(0), 1);
    EXPECT_EQ(rows.integer(1), 0);
}

// The query of docs/formats.md. The all-reduce runs from 70 to 90, a kernel beside it from 60 to 75: 15 are
// exposed.
TEST(SqliteFile, ExposedCommunication) {
    Trace trace = recorded_trace();
    Event kernel{60, 15, trace.strings.intern("beside"), EventKind::kernel};
    trace.streams.push_back({0, 2, kernel.name, StreamKind::compute, 1, 8, {}});
    trace.streams.back().events.push_back(kernel);
    const std::string path = temporary_path(".sqlite");
    write_sqlite(trace, path);
    SqliteDatabase database = SqliteDatabase::open(path);
    SqliteStatement rows(database, R"sql(
WITH edge AS (
  SELECT class, start_ns AS t, kind = 'comm' AS comm, kind <> 'comm' AS work
    FROM slice WHERE kind IN ('kernel', 'comm')
  UNION ALL
  SELECT class, end_ns, -(kind = 'comm'), -(kind <> 'comm')
    FROM slice WHERE kind IN ('kernel', 'comm')),
span AS (
  SELECT class, t, sum(comm) OVER w AS comm, sum(work) OVER w AS work, lead(t) OVER w AS next
    FROM edge WINDOW w AS (PARTITION BY class ORDER BY t ROWS UNBOUNDED PRECEDING))
SELECT sum((next - t) * (comm > 0)), sum((next - t) * (comm > 0 AND work = 0)) FROM span GROUP BY class;
)sql",
                         path);
    ASSERT_TRUE(rows.step());
    EXPECT_EQ(rows.integer(0), 20);
    EXPECT_EQ(rows.integer(1), 15);
}

TEST(SqliteFile, CountsOfTheReport) {
    const std::string path = temporary_path(".sqlite");
    write_sqlite(recorded_trace(), path);
    const ImportReport report = read_sqlite(path).report;
    EXPECT_EQ(report.events, 6U);
    EXPECT_EQ(report.kernels, 2U); // the GEMM and the all-reduce
}

// The refusal after one change to a good file.
std::string after(const std::string& change) {
    const std::string path = temporary_path(".sqlite");
    write_sqlite(recorded_trace(), path);
    const std::string changed = temporary_path(".changed.sqlite");
    std::filesystem::copy_file(path, changed, std::filesystem::copy_options::overwrite_existing);
    SqliteDatabase database = SqliteDatabase::create(changed);
    database.execute(change);
    database.close();
    return refusal([&] { read_sqlite(changed); });
}

TEST(SqliteFile, RefusesWithTableAndRow) {
    const auto expect = [](const std::string& change, const std::string& part) {
        const std::string text = after(change);
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    EXPECT_EQ(after("SELECT 1;"), "accepted");
    expect("UPDATE echosim_meta SET value = 9 WHERE key = 'format_version';", "format version 9");
    expect("UPDATE stream SET kind = 'tape' WHERE id = 1;", "table stream, row 2: unknown word 'tape'");
    expect("UPDATE event SET kind_id = 99 WHERE id = 3;", "table event, row 4: unknown number 99");
    expect("UPDATE event SET start_ns = 'now' WHERE id = 3;", "table event, row 4");
    expect("UPDATE event SET binding_pred = 6 WHERE id = 3;", "event 6 of 6");
    expect("UPDATE event SET ext_id = 5 WHERE kind_id = 4;", "ext row 5 of 1");
    expect("DELETE FROM event WHERE id = 2;", "table event, row 3: ids do not run from 0");
    expect("UPDATE stream SET event_count = 1000000000 WHERE id = 0;", "the file has no room for them");
    expect("DROP VIEW slice; DROP TABLE flow;", "is no trace of echosim: it has no table flow");
    expect("UPDATE string SET value = (SELECT value FROM string WHERE id = 0) WHERE id = 1;",
           "table string, row 2: a text that an earlier row has");
}

TEST(SqliteFile, WritesWholeOrNotAtAll) {
    EXPECT_NE(refusal([] { write_sqlite(small_trace(), "/dev/null"); }).find("is not a regular file"),
              std::string::npos);
    EXPECT_NE(refusal([] { write_sqlite(small_trace(), "/nowhere/at/all.sqlite"); }), "accepted");
    Trace broken = small_trace();
    broken.streams[0].events.dur_ns[0] = -1;
    const std::string path = temporary_path(".sqlite");
    std::filesystem::remove(path);
    EXPECT_NE(refusal([&] { write_sqlite(broken, path); }), "accepted");
    EXPECT_FALSE(std::filesystem::exists(path));
}

} // namespace
} // namespace echosim::test
