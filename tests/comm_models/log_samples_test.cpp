// SPDX-License-Identifier: Apache-2.0
#include "clusters.h"
#include "comm_models/log_samples.h"

#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NcclTestsRow row_of(Bytes bytes, double us, int line = 1) {
    NcclTestsRow row;
    row.bytes = bytes;
    row.dtype = "half";
    row.out_of_place_us = us;
    row.line = line;
    return row;
}

NcclTestsTable table_of(int ranks, int nodes) {
    NcclTestsTable table;
    table.kind = CollectiveKind::all_reduce;
    table.ranks = ranks;
    table.nodes = nodes;
    table.nccl = "2.21.5";
    table.gpu = "NVIDIA H100 80GB HBM3";
    table.line = 4;
    table.rows = {row_of(1024, 10), row_of(2048, 11)};
    return table;
}

struct Added {
    CalibrationData data;
    LogSamples log;
};

Added add(const NcclTestsTable& table, int gpus = 0) {
    Added added;
    add_samples(table, "a.log", {test::cluster_of("h100-sxm"), gpus, {}}, added.data, added.log);
    return added;
}

// 68 us in the first row, 13 and 14 later: more than 1.5 times what a larger message takes.
TEST(WarmUpRows, SlowerThanLargerMessages) {
    EXPECT_THAT(warm_up_rows({row_of(8, 68), row_of(16, 13), row_of(32, 14)}),
                ElementsAre(true, false, false));
    // a switch of the protocol costs less, and the same size again is no larger message
    EXPECT_THAT(warm_up_rows({row_of(8, 15), row_of(16, 11), row_of(16, 30)}),
                ElementsAre(false, false, false));
    EXPECT_THAT(warm_up_rows({}), IsEmpty());
}

TEST(LogSamples, GeometryVersionAndTypeOfATable) {
    const Added added = add(table_of(16, 4));
    ASSERT_EQ(added.data.samples.size(), 2U);
    const CollectiveSample& sample = added.data.samples[0];
    EXPECT_EQ(sample.group.ranks, 16);
    EXPECT_EQ(sample.group.nodes, 4); // four ranks on each of four hosts, though a node holds eight
    EXPECT_EQ(sample.group.max_ranks_per_node, 4);
    EXPECT_EQ(sample.collective.dtype, DType::fp16);
    EXPECT_FALSE(sample.collective.in_place);
    EXPECT_EQ(sample.us, 10);
    EXPECT_EQ(added.data.clusters.at(0).nccl, "2.21.5");
    EXPECT_THAT(added.log.notes, IsEmpty());
}

TEST(LogSamples, EveryTableHasTheSameWeight) {
    NcclTestsTable longer = table_of(8, 1);
    longer.rows.clear();
    for (int i = 0; i < 40; ++i)
        longer.rows.push_back(row_of(1024U << (i / 2), 10 + i));
    const Added added = add(longer);
    EXPECT_EQ(added.data.samples.at(0).weight, 0.5); // 20 / 40
}

TEST(LogSamples, OutliersAreNamedAndLeftOut) {
    NcclTestsTable table = table_of(8, 1);
    table.rows = {row_of(8, 68, 7), row_of(16, 13, 8), row_of(32, 14, 9)};
    const Added added = add(table);
    EXPECT_EQ(added.data.samples.size(), 2U);
    EXPECT_THAT(added.log.outliers, ElementsAre(HasSubstr("a.log:7: 8 B in 68 us")));
}

TEST(LogSamples, WhatCannotBeUsedIsSaid) {
    EXPECT_THAT(add(table_of(0, 0)).log.notes,
                ElementsAre("a.log:4: not used: the number of ranks is not known: "
                            "give --gpus N"));
    EXPECT_THAT(add(table_of(1, 1)).log.notes, ElementsAre(HasSubstr("one rank communicates with nobody")));
    EXPECT_THAT(add(table_of(16, 1)).log.notes,
                ElementsAre(HasSubstr("16 ranks on 1 hosts, but a node of the cluster has 8 GPUs")));
    NcclTestsTable unknown = table_of(8, 1);
    unknown.kind = std::nullopt;
    EXPECT_THAT(add(unknown).log.notes, ElementsAre(HasSubstr("which collective it is")));
}

TEST(LogSamples, AnotherGpuIsRefused) {
    NcclTestsTable table = table_of(8, 1);
    table.gpu = "NVIDIA A100-SXM4-40GB";
    EXPECT_THAT(refusal([&] { add(table); }),
                HasSubstr("the log is of \"NVIDIA A100-SXM4-40GB\", the cluster has h100-sxm"));
}

TEST(LogSamples, WhatIsAssumedIsSaid) {
    NcclTestsTable table = table_of(16, 0);
    table.nccl.clear();
    EXPECT_THAT(add(table).log.notes, ElementsAre(HasSubstr("no NCCL version; the newest is assumed"),
                                                  HasSubstr("16 ranks are taken to fill nodes of 8 GPUs")));
    EXPECT_THAT(add(table_of(8, 1), 16).log.notes,
                ElementsAre(HasSubstr("--gpus 16 is taken, although the table is that of 8 ranks"),
                            HasSubstr("16 ranks on 1 hosts")));
}

TEST(LogSamples, OldFormMeansOldNccl) {
    NcclTestsTable table = table_of(8, 1);
    table.gpu.clear();
    table.nccl.clear();
    table.root_column = false;
    Added added;
    add_samples(table, "a.log", {test::cluster_of("a100-sxm-80gb"), 0, {}}, added.data, added.log);
    EXPECT_EQ(added.data.clusters.at(0).nccl, "2.10");
}

TEST(LogSamples, NamesOfGpus) {
    EXPECT_TRUE(names_gpu("NVIDIA H100 80GB HBM3", "h100-sxm"));
    EXPECT_TRUE(names_gpu("A100-SXM4-40GB", "a100-sxm-80gb"));
    EXPECT_TRUE(names_gpu("NVIDIA GeForce RTX 4090", "rtx-4090"));
    EXPECT_FALSE(names_gpu("NVIDIA H200", "h100-sxm"));
}

TEST(LogSamples, ElementTypes) {
    EXPECT_EQ(element_type("float"), DType::fp32);
    EXPECT_EQ(element_type("bfloat16"), DType::bf16);
    EXPECT_EQ(element_type("f8e4m3"), DType::fp8);
    EXPECT_EQ(element_type("uint8"), DType::int8);
    EXPECT_EQ(element_type("double"), DType::int64); // as many bytes
}

} // namespace
} // namespace echosim::nccl
