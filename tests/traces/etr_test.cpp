// SPDX-License-Identifier: Apache-2.0
#include "traces/etr.h"

#include "simulator/core/error.h"
#include "tests/traces/sample_trace.h"

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using test::temporary_path;

class EtrCodecs : public testing::TestWithParam<EtrCodec> {};

TEST_P(EtrCodecs, GiveBackWhatWasWritten) {
    const std::string path = temporary_path(".etr");
    for (unsigned seed = 0; seed < 20; ++seed) {
        const Trace trace = test::random_trace(seed);
        write_etr(trace, path, GetParam());
        std::vector<std::string> warnings;
        EXPECT_TRUE(read_etr(path, &warnings) == trace) << "seed " << seed;
        EXPECT_TRUE(warnings.empty());
    }
    std::filesystem::remove(path);
}

TEST_P(EtrCodecs, KeepARecordedRank) {
    const std::string path = temporary_path(".etr");
    write_etr(test::recorded_trace(), path, GetParam());
    EXPECT_TRUE(read_etr(path) == test::recorded_trace());
    std::filesystem::remove(path);
}

TEST_P(EtrCodecs, KeepAnEmptyTraceAndAGraphWithoutTimes) {
    const std::string path = temporary_path(".etr");
    write_etr(Trace{}, path, GetParam());
    EXPECT_TRUE(read_etr(path) == Trace{});
    Trace graph;
    graph.timed = false;
    write_etr(graph, path, GetParam());
    EXPECT_TRUE(read_etr(path) == graph);
    std::filesystem::remove(path);
}

TEST_P(EtrCodecs, GiveTheSameBytesTwice) {
    const std::string path = temporary_path(".etr");
    write_etr(test::random_trace(3), path, GetParam());
    const auto once = test::read_bytes(path);
    write_etr(test::random_trace(3), path, GetParam());
    EXPECT_EQ(test::read_bytes(path), once);
    std::filesystem::remove(path);
}

// 150,000 events are chunks of 65,536, 65,536 and 18,928; the columns of a chunk outlive the file object.
TEST_P(EtrCodecs, ReadOneChunkByItself) {
    const std::string path = temporary_path(".etr");
    const Trace trace = test::long_trace(150'000);
    write_etr(trace, path, GetParam());
    std::vector<EtrEvents> chunks;
    {
        const EtrFile file(path);
        EXPECT_TRUE(file.complete());
        for (const EtrSection& section : file.sections()) {
            if (section.kind == EtrSectionKind::events) {
                chunks.push_back(file.read_events(section));
                EXPECT_EQ(section.room.first_ns, chunks.back().events.start_ns.front());
                EXPECT_EQ(section.room.last_ns, chunks.back().events.start_ns.back() + 9000);
            }
        }
    }
    std::filesystem::remove(path);
    ASSERT_EQ(chunks.size(), 3U);
    EXPECT_EQ(chunks[2].events.size(), 18'928U);
    EXPECT_EQ(chunks[1].events.row(5), trace.streams[0].events.row(65'541));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chunks[1].events.binding_pred.data()) % 64, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, EtrCodecs, testing::Values(EtrCodec::raw, EtrCodec::zstd),
                         [](const auto& codec) { return codec.param == EtrCodec::raw ? "raw" : "zstd"; });

// 1,000,000 events / 65,536 = 15.3: 16 chunks. A raw event has 8+8+4+1+4+4+8+8+1+4+4 = 54 bytes.
TEST(Etr, IndexesAMillionEvents) {
    const std::string path = temporary_path(".etr");
    write_etr(test::long_trace(1'000'000), path);
    const EtrFile file(path);
    EXPECT_EQ(file.event_count(), 1'000'000U);
    EXPECT_EQ(std::count_if(file.sections().begin(), file.sections().end(),
                            [](const EtrSection& s) { return s.kind == EtrSectionKind::events; }),
              16);
    const auto bytes = static_cast<double>(std::filesystem::file_size(path));
    EXPECT_GT(bytes, 54e6);
    EXPECT_LT(bytes, 54.1e6);
    std::filesystem::remove(path);
}

TEST(Etr, TablesAreReadWithoutEvents) {
    const std::string path = temporary_path(".etr");
    const Trace trace = test::small_trace();
    write_etr(trace, path);
    const Trace tables = EtrFile(path).read_tables();
    EXPECT_EQ(tables.meta, trace.meta);
    EXPECT_EQ(tables.classes, trace.classes);
    EXPECT_EQ(tables.flows, trace.flows);
    ASSERT_EQ(tables.streams.size(), 5U);
    EXPECT_EQ(tables.streams[1].kind, StreamKind::tp_comm);
    EXPECT_EQ(tables.event_count(), 0U);
    std::filesystem::remove(path);
}

TEST(Etr, RefusesToWriteAnInconsistentTrace) {
    const std::string path = temporary_path(".etr");
    Trace trace = test::small_trace();
    trace.streams[0].events.label[0] = 12;
    EXPECT_THROW(write_etr(trace, path), InputError);
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Etr, LeavesNothingBehindWhenItCannotWrite) {
    EXPECT_THROW(write_etr(test::small_trace(), "/no/such/folder/t.etr"), InputError);
    EXPECT_THROW(write_etr(test::small_trace(), testing::TempDir()), InputError);
    const std::string folder = temporary_path("_dir");
    std::filesystem::create_directory(folder);
    write_etr(test::small_trace(), folder + "/t.etr");
    const std::filesystem::directory_iterator entries(folder);
    EXPECT_EQ(std::distance(begin(entries), end(entries)), 1); // no temporary file beside it
    std::filesystem::remove_all(folder);
}

TEST(Etr, WritesThroughASymbolicLink) {
    const std::string path = temporary_path(".etr");
    const std::string link = temporary_path("_link.etr");
    write_etr(Trace{}, path);
    std::filesystem::create_symlink(path, link);
    write_etr(test::small_trace(), link);
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_TRUE(read_etr(path) == test::small_trace());
    std::filesystem::remove(link);
    std::filesystem::remove(path);
}

} // namespace
} // namespace echosim
