// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/nsys_database.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace echosim::test {
namespace {

const std::string kNccl = kNsysTables + R"sql(
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
  globalTid INTEGER, domainId INTEGER, jsonText TEXT, binaryData BLOB);
INSERT INTO NVTX_EVENTS VALUES (1,NULL,75,'NCCL',281475094151177,1,NULL,NULL);
)sql";

// A call of NCCL on thread 9 from `start` to `start` + 20.
std::string call(int start, std::string_view name, std::string_view json) {
    return fmt::format("INSERT INTO NVTX_EVENTS VALUES ({},{},59,'{}',281475094151177,1,'{}',NULL);", start,
                       start + 20, name, json);
}

// A kernel (name 9: all-reduce of bf16, 10: all-gather) launched at `launch`.
std::string kernel(int launch, int correlation, int name) {
    return fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({},{},0,281475094151177,{},3,0);"
                       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,contextId,streamId,"
                       "correlationId,globalPid,demangledName,gridX,gridY,gridZ,blockX,blockY,blockZ) VALUES "
                       "({},{},0,1,30,{},281475094151168,{},24,1,1,512,1,1);",
                       launch, launch + 5, correlation, launch + 100, launch + 150, correlation, name);
}

constexpr std::string_view kInit =
    R"({"NCCL communicator ID":255,"No. of ranks":4,"Rank":2,"CUDA device":0})";

TEST(NsysNccl, SizeAndCommunicatorOfTheCall) {
    const auto [trace, report] = import_nsys(
        kNccl + call(10, "ncclCommInitRank", kInit) +
        call(100, "ncclAllReduce", R"({"NCCL communicator ID":255,"Message size [bytes]":"1,048,576"})") +
        kernel(110, 7, 9) +
        call(200, "ncclAllGather", R"({"NCCL communicator ID":255,"Message size [bytes]":1000})") +
        kernel(210, 8, 10));
    ASSERT_EQ(trace.comm_ops.size(), 2U);
    const CommOp reduce = trace.comm_ops[0];
    EXPECT_EQ(reduce.kind, CollectiveKind::all_reduce);
    EXPECT_EQ(reduce.dtype, DType::bf16);
    EXPECT_EQ(reduce.algorithm, Algorithm::ring);
    EXPECT_EQ(reduce.protocol, Protocol::ll);
    EXPECT_EQ(reduce.bytes, 1'048'576U);
    EXPECT_EQ(reduce.group_size, 4U);
    // NCCL tells what one rank sends; nccl-tests counts what all of them send: 4 x 1000.
    EXPECT_EQ(trace.comm_ops[1].bytes, 4000U);
    ASSERT_EQ(trace.communicators.size(), 1U);
    EXPECT_EQ(trace.text(trace.communicators[0].name), "0x00000000000000ff");
    EXPECT_EQ(reduce.communicator, 0U);
    EXPECT_EQ(trace.text(trace.classes[0].name), "rank 2");
    const TraceStream& stream = trace.streams.back();
    EXPECT_EQ(stream.kind, StreamKind::comm);
    EXPECT_EQ(stream.events.row(0).kind, EventKind::comm);
    EXPECT_EQ(
        trace.text(stream.events.row(0).args),
        R"({"context":1,"grid":[24,1,1],"block":[512,1,1],"registers per thread":0,"shared memory":0})");
    EXPECT_EQ(report.warnings.count("ambiguous_collective"), 0U);
}

// Head: 8 bytes, schema 5, 16 bytes of payload, 48 in all; then communicator 0x10 and 0x200 bytes.
TEST(NsysNccl, BinaryPayload) {
    const Imported imported = import_nsys(kNccl + R"sql(
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, flags INTEGER,
  type INTEGER, name TEXT, offset INTEGER);
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1,5,0,NULL,18,'NCCL communicator ID',NULL),
  (1,5,1,NULL,22,'Message size [bytes]',8);
INSERT INTO NVTX_EVENTS VALUES (100,120,59,'ncclAllReduce',281475094151177,1,NULL,
x'010000000000000005000000000000001000000000000000300000000000000010000000000000000002000000000000');
)sql" + kernel(110, 7, 9));
    EXPECT_EQ(imported.trace.comm_ops.at(0).bytes, 512U);
    EXPECT_EQ(imported.trace.text(imported.trace.communicators.at(0).name), "0x0000000000000010");
}

// The kernel of a group is launched at its end: the calls since the kernel before are in it.
TEST(NsysNccl, FusedGroup) {
    const Imported imported = import_nsys(
        kNccl + call(100, "ncclAllReduce", R"({"NCCL communicator ID":3,"Message size [bytes]":100})") +
        call(130, "ncclAllReduce", R"({"NCCL communicator ID":3,"Message size [bytes]":50})") +
        call(160, "ncclGroupEnd", "{}") + kernel(165, 7, 9));
    EXPECT_EQ(imported.trace.comm_ops.at(0).bytes, 150U);
    EXPECT_EQ(imported.trace.comm_ops.at(0).communicator, 0U);
}

// A call of another collective than the kernel's name says is not taken for its call.
TEST(NsysNccl, WhatDoesNotFitIsCounted) {
    const Imported imported = import_nsys(
        kNccl + call(100, "ncclAllGather", R"({"NCCL communicator ID":3,"Message size [bytes]":100})") +
        kernel(110, 7, 9) + kernel(300, 8, 9));
    EXPECT_EQ(imported.trace.comm_ops.at(0).bytes, 0U);
    EXPECT_EQ(imported.trace.comm_ops.at(0).communicator, kNoRow);
    EXPECT_EQ(imported.report.warnings.at("ambiguous_collective"), 2U);
    EXPECT_EQ(imported.report.kernels, 2U);
}

TEST(NsysNccl, WithoutCallsItIsSaid) {
    const Imported imported = import_nsys(kNsysTables + kernel(110, 7, 10));
    const std::vector<std::string>& notes = imported.report.notes;
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note.find("sizes and groups of the collectives are not in the file") == 0;
    }));
    EXPECT_EQ(imported.trace.comm_ops.at(0).kind, CollectiveKind::all_gather);
    EXPECT_EQ(imported.trace.comm_ops.at(0).dtype, kNoDType);
}

} // namespace
} // namespace echosim::test
