// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusal.h"
#include "tests/traces/chakra_wire.h"
#include "tests/traces/sample_trace.h"
#include "traces/chakra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string path_of(const std::string& bytes, const std::string& ending = ".3.et") {
    const std::string path = temporary_path(ending);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    write_bytes(path, {data, data + bytes.size()});
    return path;
}

Imported read(const std::string& bytes) {
    Imported result = read_chakra(path_of(bytes));
    check_trace(result.trace, "test");
    return result;
}

const std::string kMetadata = delimited(text(1, "0.0.4"));

std::string node(std::uint64_t id, std::string_view name, std::uint64_t type, const std::string& rest = {}) {
    return delimited(number(1, id) + text(2, name) + number(3, type) + rest);
}

bool detected(const std::string& bytes) {
    return is_chakra(std::as_bytes(std::span(bytes)));
}

// A host operator launches a kernel, which an all-gather of group "7" follows.
const std::string kStep =
    kMetadata +
    node(5, "aten::mm", 4, number(7, 12) + attribute("is_cpu_op", 27, 1) + attribute("tid", 9, 44)) +
    node(6, "gemm", 4,
         text(4, varint(5)) + number(7, 30) + attribute("is_cpu_op", 27, 0) + attribute("stream", 9, 7)) +
    node(9, "ncclDevKernel_AllGather_RING_LL", 7,
         text(5, varint(6) + varint(5)) + attribute("is_cpu_op", 27, 0) + attribute("stream", 9, 20) +
             attribute("comm_type", 9, 2) + attribute("comm_size", 9, 4096) + attribute("pg_name", "7") +
             text(8, text(3, "['Tensor(c10::Half)']")) + attribute("priority", 9, 1));

TEST(ChakraRead, NodesAreEventsOnStreamsAndDependenciesAreFlows) {
    const Imported result = read(kStep);
    const Trace& trace = result.trace;
    EXPECT_FALSE(trace.timed);
    ASSERT_EQ(trace.classes.size(), 1U);
    EXPECT_EQ(trace.text(trace.classes[0].name), "rank 3"); // NAME.3.et
    EXPECT_EQ(expand_ranks(trace.classes[0].ranks), std::vector<int>{3});
    ASSERT_EQ(trace.streams.size(), 3U);
    EXPECT_EQ(trace.text(trace.streams[0].name), "thread 44");
    EXPECT_EQ(trace.streams[0].kind, StreamKind::host);
    EXPECT_EQ(trace.streams[0].number, 44);
    EXPECT_EQ(trace.text(trace.streams[1].name), "stream 7");
    EXPECT_EQ(trace.streams[1].kind, StreamKind::compute);
    EXPECT_EQ(trace.streams[2].kind, StreamKind::comm);
    EXPECT_EQ(trace.streams[0].events.kind[0], EventKind::host);
    EXPECT_EQ(trace.streams[1].events.kind[0], EventKind::kernel);
    EXPECT_EQ(trace.streams[1].events.dur_ns[0], 30'000);
    EXPECT_THAT(trace.flows, ElementsAre(Flow{event_ref(0, 0), event_ref(1, 0), FlowKind::control},
                                         Flow{event_ref(1, 0), event_ref(2, 0), FlowKind::data},
                                         Flow{event_ref(0, 0), event_ref(2, 0), FlowKind::data}));
    EXPECT_EQ(result.report.events, 3U);
    EXPECT_EQ(result.report.kernels, 2U);
    EXPECT_THAT(result.report.warnings, IsEmpty());
}

TEST(ChakraRead, CommunicationHasItsOperation) {
    const Trace trace = read(kStep).trace;
    ASSERT_EQ(trace.comm_ops.size(), 1U);
    const CommOp& op = trace.comm_ops[0];
    EXPECT_EQ(op.kind, CollectiveKind::all_gather);
    EXPECT_EQ(op.bytes, 4096U); // of one rank: the size of the group is not known
    EXPECT_EQ(op.dtype, DType::fp16);
    EXPECT_EQ(trace.text(op.group), "7");
    const Event event = trace.streams[2].events.row(0);
    EXPECT_EQ(event.ext, 0U);
    EXPECT_EQ(trace.text(event.args),
              R"({"priority":1,"inputs":{"values":"","shapes":"","types":"['Tensor(c10::Half)']"}})");
}

TEST(ChakraRead, ProcessGroupsGiveTheSizeOfAnAllGather) {
    const std::string groups =
        node(1, "## process_group:init ##", 1,
             text(8, text(1, R"(['[{"pg_name": "7", "pg_desc": "tp", "ranks": [2, 3]}]'])")));
    const Imported result = read(kMetadata + groups + kStep.substr(kMetadata.size()));
    const CommOp& op = result.trace.comm_ops.at(0);
    EXPECT_EQ(op.bytes, 8192U); // 2 ranks of 4096 bytes
    EXPECT_EQ(op.group_size, 2U);
    const TraceCommunicator& group = result.trace.communicators.at(op.communicator);
    EXPECT_EQ(result.trace.text(group.description), "tp");
    EXPECT_EQ(expand_ranks(group.ranks), (std::vector<int>{2, 3}));
    // the record itself is an event of its own kind
    const Event record = result.trace.streams[0].events.row(0);
    EXPECT_EQ(record.kind, EventKind::other);
    EXPECT_EQ(result.trace.text(NameId{record.ext}), "METADATA_NODE");
}

TEST(ChakraRead, TransfersAndMemory) {
    const Imported result =
        read(kMetadata +
             node(1, "s", 5,
                  attribute("comm_size", 9, 64) + attribute("comm_dst", 7, 4) + attribute("comm_tag", 7, 9)) +
             node(2, "r", 6, attribute("comm_size", 9, 32) + attribute("comm_src", 7, 2)) +
             node(3, "l", 2, attribute("tensor_size", 13, 1000)) + node(4, "?", 77));
    ASSERT_EQ(result.trace.comm_ops.size(), 2U);
    EXPECT_EQ(result.trace.comm_ops[0].kind, CollectiveKind::send_recv);
    EXPECT_EQ(result.trace.comm_ops[0].direction, Direction::send);
    EXPECT_EQ(result.trace.comm_ops[0].peer, 4);
    EXPECT_EQ(result.trace.comm_ops[0].bytes, 64U);
    EXPECT_EQ(result.trace.comm_ops[1].direction, Direction::receive);
    EXPECT_EQ(result.trace.comm_ops[1].peer, 2);
    EXPECT_EQ(result.trace.text(result.trace.streams[0].events.row(0).args), R"({"comm_tag":9})");
    EXPECT_THAT(result.trace.copies, ElementsAre(CopyOp{CopyKind::host_to_device, 1000}));
    EXPECT_THAT(result.report.warnings, ElementsAre(Pair("unknown_node_type", 1)));
}

TEST(ChakraRead, StartTimesMakeATimedTrace) {
    const Imported result = read(kMetadata + node(1, "a", 4, number(6, 1'000'005) + number(7, 3)) +
                                 node(2, "b", 4, number(6, 1'000'000) + number(7, 2)) + node(3, "c", 4));
    EXPECT_TRUE(result.trace.timed);
    EXPECT_EQ(result.trace.t0_ns, 1'000'000'000);
    const EventColumns& events = result.trace.streams.at(0).events;
    EXPECT_THAT(events.start_ns, ElementsAre(0, 0, 5000));
    EXPECT_THAT(events.dur_ns, ElementsAre(2000, 0, 3000));
    EXPECT_EQ(result.report.complete_events, 2U);
    EXPECT_THAT(result.report.warnings, ElementsAre(Pair("missing_time", 1)));
}

// Files of 2023 hold attributes in field 1 of the metadata, where the version is now.
TEST(ChakraRead, EarlyMetadata) {
    const std::string early = delimited(text(1, text(1, "schema") + text(29, "1.0.1")));
    const Trace trace = read(early + node(1, "a", 4)).trace;
    EXPECT_EQ(trace.meta, R"({"format":"Chakra ET","version":"","schema":"1.0.1"})");
}

TEST(ChakraRead, WhatIsOddIsCounted) {
    // 1 depends on itself and on 99; 2, 3, 4 are a circle, 5 hangs on it; a second node 1; field 1 as text
    const Imported result = read(
        kMetadata + node(1, "a", 4, number(5, 1) + number(5, 99)) + node(2, "b", 4, number(5, 4)) +
        node(3, "c", 4, number(5, 2)) + node(4, "d", 4, number(4, 3)) + node(5, "e", 4, number(5, 4)) +
        node(1, "f", 4) + delimited(text(1, "no id") + number(3, 4)) + node(7, "g", 4, number(6, ~0ULL)));
    EXPECT_THAT(result.report.warnings, ElementsAre(Pair("dependency_cycle", 3), Pair("duplicate_id", 1),
                                                    Pair("missing_dependency", 1), Pair("self_dependency", 1),
                                                    Pair("time_out_of_range", 1), Pair("unknown_field", 1)));
    EXPECT_EQ(result.report.events, 8U);
    EXPECT_EQ(result.trace.event_count(), 8U);
}

TEST(ChakraRead, CutOffFilesAreRefusedWithTheByte) {
    const std::string path = path_of(kStep);
    std::size_t read_whole = 0;
    for (std::size_t size = 0; size < kStep.size(); ++size) {
        path_of(kStep.substr(0, size));
        const std::string answer = refusal([&] { read_chakra(path); });
        read_whole += answer == "accepted" ? 1 : 0;
        if (answer != "accepted") {
            EXPECT_THAT(answer, HasSubstr(path + ":"));
        }
    }
    EXPECT_EQ(read_whole, 3U); // behind the metadata, behind the first and the second node
}

TEST(ChakraRead, LengthsAreNotBelieved) {
    // the metadata takes 8 bytes; then a length of 2^32
    const std::string answer = refusal([&] { read(kMetadata + varint(1ULL << 32U) + "abc"); });
    EXPECT_THAT(answer, HasSubstr(".3.et:8"));
    EXPECT_THAT(answer, HasSubstr("4294967296 bytes; 3 are left"));
    EXPECT_THAT(refusal([&] { read(kMetadata + std::string(11, '\xff')); }), HasSubstr("no varint"));
    // a string that says it has 100 bytes in a message of 3
    EXPECT_THAT(refusal([&] { read(kMetadata + delimited(varint(2 * 8 + 2) + varint(100) + "a")); }),
                HasSubstr(".3.et:9: 3 bytes that are no Node"));
}

TEST(ChakraRead, AnyDamagedByteIsReadOrRefused) {
    std::size_t refused = 0;
    for (std::size_t at = 0; at < kStep.size(); ++at) {
        std::string bytes = kStep;
        bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ 0x85U);
        refused += refusal([&] { read(bytes); }) == "accepted" ? 0 : 1;
    }
    EXPECT_GT(refused, 10U);
    EXPECT_LT(refused, kStep.size());
}

TEST(ChakraRead, IsToldFromOtherFiles) {
    EXPECT_TRUE(detected(kStep));
    EXPECT_TRUE(detected(kStep.substr(0, 40)));
    EXPECT_TRUE(detected(R"({"schema": "1.0.1", "nodes": [)"));
    EXPECT_TRUE(detected("{\n \"workload_graph\": ["));
    EXPECT_FALSE(detected(R"({"schemaVersion": 1, "traceEvents": [)"));
    EXPECT_FALSE(detected("SQLite format 3"));
    EXPECT_FALSE(detected("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8"));
    EXPECT_FALSE(detected("\x1f\x8b\x08"));
    EXPECT_FALSE(detected("ECHOTRC1"));
    EXPECT_FALSE(detected("[1, 2]"));
    EXPECT_FALSE(detected(""));
    EXPECT_FALSE(detected(std::string(100, '\0')));                // messages without fields
    EXPECT_TRUE(detected(std::string(1, '\0') + node(0, "a", 4))); // an empty GlobalMetadata
}

} // namespace
} // namespace echosim::test
