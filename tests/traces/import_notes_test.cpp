// SPDX-License-Identifier: Apache-2.0
#include "traces/import/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Imported two_ranks() {
    TraceBuilder builder;
    builder.set_meta(R"({"job":"mine"})");
    builder.add_class("rank 0", -1, {0});
    builder.add_class("rank 1", -1, {1});
    Imported imported;
    imported.trace = builder.finish();
    return imported;
}

TEST(ImportNotes, GoWithTheTraceAndComeBack) {
    Imported first = two_ranks();
    first.report.note("the clocks are as recorded");
    first.report.note_counts("{} kernels have no size", {3});
    first.report.alignment = Alignment{.ranks = {{0, 0, 5, 9, 8}, {1, -70, 5, 9, 8}},
                                       .trusted = false,
                                       .reason = "too few",
                                       .applied = false};
    keep_notes(first);
    EXPECT_THAT(first.trace.meta, ::testing::StartsWith(R"({"job":"mine","import":{"notes":)"));

    Imported again = two_ranks();
    again.trace.meta = first.trace.meta;
    recall_notes(again);
    EXPECT_THAT(again.report.notes, ElementsAre("the clocks are as recorded", "3 kernels have no size"));
    ASSERT_TRUE(again.report.alignment);
    EXPECT_EQ(again.report.alignment->reason, "too few");
    EXPECT_EQ(again.report.alignment->ranks.at(1).offset, -70);

    keep_notes(again); // once each, however often it is written
    EXPECT_EQ(again.trace.meta, first.trace.meta);
}

TEST(ImportNotes, AlignmentOfOtherRanksIsNotRecalled) {
    Imported first = two_ranks();
    first.report.alignment = Alignment{.ranks = {{}}, .trusted = true, .reason = "", .applied = false};
    keep_notes(first); // one rank for two classes
    recall_notes(first);
    Imported again = two_ranks();
    again.trace.meta = first.trace.meta;
    recall_notes(again);
    EXPECT_FALSE(again.report.alignment);
}

TEST(ImportNotes, WhatCannotBeReadIsNoNote) {
    for (const char* meta : {"", "{", "[]", R"({"import":3})", R"({"import":{"notes":[1,{}]}})",
                             R"({"import":{"alignment":{"trusted":1,"ranks":[0,0]}}})"}) {
        Imported imported = two_ranks();
        imported.trace.meta = meta;
        recall_notes(imported);
        EXPECT_THAT(imported.report.notes, IsEmpty()) << meta;
        EXPECT_FALSE(imported.report.alignment) << meta;
    }
}

TEST(ImportNotes, FilesOfOneTraceShareItsClock) {
    std::vector<Imported> files(2, two_ranks());
    const std::string before = files[0].trace.meta;
    EXPECT_FALSE(take_one_clock(files)); // no marks
    mark_one_clock(files[0].trace);
    mark_one_clock(files[1].trace); // the same trace: the same mark
    EXPECT_NE(files[0].trace.meta, before);
    EXPECT_TRUE(take_one_clock(files));
    EXPECT_EQ(files[0].trace.meta, before);
    EXPECT_EQ(files[1].trace.meta, before);
}

TEST(ImportNotes, FilesOfDifferentTracesDoNot) {
    std::vector<Imported> files(2, two_ranks());
    files[1].trace.t0_ns = 5;
    mark_one_clock(files[0].trace);
    mark_one_clock(files[1].trace);
    EXPECT_FALSE(take_one_clock(files));
    mark_one_clock(files[0].trace);
    files.pop_back();
    EXPECT_FALSE(take_one_clock(files)); // a recording alone
    EXPECT_EQ(files[0].trace.meta, two_ranks().trace.meta);
}

} // namespace
} // namespace echosim
