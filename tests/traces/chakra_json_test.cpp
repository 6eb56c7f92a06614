// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusal.h"
#include "tests/traces/sample_trace.h"
#include "traces/chakra.h"
#include "traces/gzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string path_of(const std::string& text, const std::string& ending = "_6.json") {
    const std::string path = temporary_path(ending);
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    write_bytes(path, {data, data + text.size()});
    return path;
}

Imported read(const std::string& text) {
    Imported result = read_chakra(path_of(text));
    check_trace(result.trace, "test");
    return result;
}

// Schema 1.0.1: attributes are keys of the node; a node is written when it ends, so that the root comes last.
const std::string kOld = R"json({
  "schema": "1.0.1", "pid": 7,
  "nodes": [
    {"name": "aten::mm", "id": 4, "rf_id": 2, "parent": 3, "fw_parent": 0, "seq_id": 11, "scope": 0, "tid": 1,
     "fw_tid": 0, "op_schema": "", "inputs": [[5, 6, 0, 16, 4, "cuda:0"]], "input_shapes": [[4, 4]],
     "input_types": ["Tensor(float)"], "outputs": [], "output_shapes": [], "output_types": []},
    {"name": "## step ##", "id": 3, "parent": 2, "fw_parent": 0, "scope": 7, "tid": 1},
    {"name": "MmBackward", "id": 9, "parent": 8, "fw_parent": 3, "scope": 1, "tid": 2},
    {"name": "record_param_comms", "id": 6, "parent": 3, "scope": 0, "tid": 1,
     "inputs": [[1, 2, 0, 1000, 2, "cuda:0"], 21, 94398, 5, "allreduce", [], []],
     "input_types": ["Tensor(c10::BFloat16)", "Int", "Int", "Int", "String", "L", "L"],
     "outputs": [[1, 2, 0, 1000, 2, "cuda:0"]]},
    {"name": "record_param_comms", "id": 7, "parent": 3, "scope": 0, "tid": 1,
     "inputs": [21, 0, 5, "wait", [], []], "input_types": ["Int", "Int", "Int", "String", "L", "L"]},
    {"name": "thread", "id": 2, "parent": 1, "scope": 7, "tid": 1},
    {"name": "thread", "id": 8, "parent": 1, "scope": 7, "tid": 2},
    {"name": "process", "id": 1, "parent": 1, "scope": 7, "tid": 0}
  ], "finish_ts": 12
})json";

TEST(ChakraJson, PyTorchOperatorsInTheOrderOfTheirIds) {
    const Imported result = read(kOld);
    const Trace& trace = result.trace;
    EXPECT_EQ(result.report.format, "PyTorch execution trace");
    EXPECT_FALSE(trace.timed);
    EXPECT_EQ(trace.text(trace.classes[0].name), "rank 6"); // of the name of the file
    EXPECT_EQ(trace.meta,
              R"json({"format":"PyTorch execution trace","schema":"1.0.1","pid":7,"finish_ts":12})json");
    std::vector<std::string> names;
    for (const TraceStream& stream : trace.streams) {
        names.emplace_back(trace.text(stream.name));
        for (const std::uint32_t name : stream.events.name) {
            names.emplace_back(trace.text(NameId{name}));
        }
    }
    EXPECT_THAT(names, ElementsAre("thread 0", "process", "thread 1", "thread", "## step ##", "aten::mm",
                                   "record_param_comms", "collectives", "record_param_comms", "thread 2",
                                   "thread", "MmBackward"));
    const EventColumns& thread = trace.streams[1].events;
    EXPECT_THAT(thread.kind, ElementsAre(EventKind::annotation, EventKind::annotation, EventKind::host,
                                         EventKind::host)); // step has the scope of record_function, 7
    EXPECT_EQ(trace.text(NameId{thread.args[2]}),
              R"json({"seq_id":11,"inputs":{"values":[[5,6,0,16,4,"cuda:0"]],"shapes":[[4,4]],)json"
              R"json("types":["Tensor(float)"]}})json");
    EXPECT_EQ(result.report.events, 8U);
    EXPECT_THAT(result.report.warnings, IsEmpty());
}

TEST(ChakraJson, ParentsAndForwardOperatorsAreFlows) {
    const Trace trace = read(kOld).trace;
    const auto count = [&](FlowKind kind) {
        return std::count_if(trace.flows.begin(), trace.flows.end(),
                             [&](const Flow& flow) { return flow.kind == kind; });
    };
    EXPECT_EQ(count(FlowKind::control), 7); // all but the root, its own parent
    EXPECT_EQ(count(FlowKind::forward_backward), 1);
    // "## step ##" (thread 1, second) is the forward operator of MmBackward (thread 2, second)
    EXPECT_THAT(trace.flows,
                testing::Contains(Flow{event_ref(1, 1), event_ref(3, 1), FlowKind::forward_backward}));
}

TEST(ChakraJson, RecordsOfCollectivesStandForTheCommunication) {
    const Imported result = read(kOld);
    ASSERT_EQ(result.trace.comm_ops.size(), 1U); // the wait is none
    const CommOp& op = result.trace.comm_ops[0];
    EXPECT_EQ(op.kind, CollectiveKind::all_reduce);
    EXPECT_EQ(op.dtype, DType::bf16);
    EXPECT_EQ(op.bytes, 2000U); // 1000 elements of 2 bytes
    EXPECT_EQ(op.in_elements, 1000U);
    EXPECT_EQ(op.sequence, 21U);
    EXPECT_EQ(result.trace.text(op.group), "94398");
    EXPECT_EQ(result.report.kernels, 1U);
    EXPECT_THAT(result.report.notes, testing::Contains(HasSubstr("no device work")));
}

// Schema 1.1: attributes in a list; the collective described by name; times and device work of a linked
// trace.
const std::string kNew = R"json({"schema":"1.1.1-chakra.0.0.4","nodes":[
{"id":1,"name":"process","ctrl_deps":1,"inputs":{"values":[],"shapes":[],"types":[]},
 "outputs":{"values":[],"shapes":[],"types":[]},
 "attrs":[{"name":"tid","type":"uint64","value":0},{"name":"scope","type":"uint64","value":7}],"ts":1000},
{"id":2,"name":"## process_group:init ##","ctrl_deps":1,
 "inputs":{"values":["[{\"pg_name\": \"3\", \"pg_desc\": \"dp\", \"ranks\": [1, 3, 5, 7]}]"],"shapes":[[]],
 "types":["String"]},"attrs":[{"name":"tid","type":"uint64","value":1}],"ts":1000},
{"id":3,"name":"record_param_comms","ctrl_deps":1,"inputs":{"values":[[[8,9,0,100,4,"cuda:0"]],5,["3","dp"],2,
 "all_gather",[],[],1,2,4],"shapes":[],
 "types":["GenericList[Tensor(float)]","Int","Tuple[String,String]","Int","String",
 "GenericList[]","GenericList[]","Int","Int","Int"]},
 "outputs":{"values":[[[8,9,0,400,4,"cuda:0"]]],"shapes":[],"types":[]},
 "attrs":[{"name":"tid","type":"uint64","value":1},
 {"name":"collective_name","type":"string","value":"all_gather"},
 {"name":"pg_name","type":"string","value":"3"},{"name":"pg_size","type":"uint64","value":4},
 {"name":"in_split_size","type":"string","value":"[]"}],"ts":1001.5,"inclusive_dur":20,"exclusive_dur":4},
{"id":4,"name":"ncclDevKernel_AllGather_RING_LL","ctrl_deps":3,
 "cat":"kernel","stream":20,"ts":1010.25,"inclusive_dur":7.125},
{"id":5,"name":"Memcpy DtoH (Device -> Pageable)","ctrl_deps":1,
 "cat":"gpu_memcpy","stream":7,"ts":1020,"inclusive_dur":1}
]})json";

TEST(ChakraJson, LinkedTracesHaveTimesAndDeviceWork) {
    const Imported result = read(kNew);
    const Trace& trace = result.trace;
    EXPECT_TRUE(trace.timed);
    EXPECT_EQ(trace.t0_ns, 1'000'000);
    ASSERT_EQ(trace.streams.size(), 4U); // threads 0 and 1, streams 20 and 7
    const Event kernel = trace.streams[2].events.row(0);
    EXPECT_EQ(kernel.kind, EventKind::comm);
    EXPECT_EQ(kernel.start, 10'250);
    EXPECT_EQ(kernel.duration, 7'125);
    // what the kernel does stands in the record that called it
    const CommOp& op = trace.comm_ops.at(kernel.ext);
    EXPECT_EQ(op.kind, CollectiveKind::all_gather);
    EXPECT_EQ(op.bytes, 1600U); // what comes out: 400 floats
    EXPECT_EQ(op.in_elements, 100U);
    EXPECT_EQ(op.group_size, 4U);
    const TraceCommunicator& group = trace.communicators.at(op.communicator);
    EXPECT_EQ(trace.text(group.description), "dp");
    EXPECT_EQ(expand_ranks(group.ranks), (std::vector<int>{1, 3, 5, 7}));
    EXPECT_EQ(trace.streams[1].events.kind[1], EventKind::host); // the record itself
    EXPECT_EQ(trace.text(NameId{trace.streams[1].events.args[1]}).substr(0, 44),
              R"json({"in_split_size":"[]","exclusive_dur":4,"inp)json");
    EXPECT_EQ(trace.copies.at(trace.streams[3].events.ext[0]).kind, CopyKind::device_to_host);
    EXPECT_EQ(trace.streams[3].kind, StreamKind::copy);
    EXPECT_EQ(result.report.kernels, 1U);
    EXPECT_EQ(result.report.complete_events, 3U);
    EXPECT_THAT(result.report.warnings, IsEmpty());
}

TEST(ChakraJson, ChakraFormWithKeysInAnyCase) {
    const Imported result = read(R"json({"workload_graph": [
      {"Id": 216, "Name": "op(0)", "NodeType": 4, "ctrlDeps": [3], "data_deps": [],
       "runtime": 318, "is_cpu_op": true},
      {"id": 435, "name": "ncclKernel_Broadcast_RING", "node_type": 7, "ctrl_deps": [], "dataDeps": [216],
       "runtime": 28,
       "is_cpu_op": false, "comm_size": 640, "soc": "x"}], "ngpus": 8})json");
    EXPECT_EQ(result.report.format, "Chakra JSON");
    ASSERT_EQ(result.trace.streams.size(), 2U);
    EXPECT_EQ(result.trace.streams[0].events.dur_ns[0], 318'000);
    EXPECT_EQ(result.trace.comm_ops.at(0).kind, CollectiveKind::broadcast); // of the name of the kernel
    EXPECT_EQ(result.trace.comm_ops[0].bytes, 640U);
    EXPECT_EQ(result.trace.text(NameId{result.trace.streams[1].events.args[0]}), R"json({"soc":"x"})json");
    EXPECT_THAT(result.trace.flows, ElementsAre(Flow{event_ref(0, 0), event_ref(1, 0), FlowKind::data}));
    EXPECT_THAT(result.report.warnings, ElementsAre(Pair("missing_dependency", 1)));
}

TEST(ChakraJson, GzipGivesTheSame) {
    const std::string path = temporary_path("_6.json.gz");
    OutputFile file(path);
    Gzip gzip(file);
    gzip.write(kOld);
    gzip.finish();
    file.commit();
    EXPECT_TRUE(read_chakra(path).trace == read(kOld).trace);
}

// A program that was killed leaves the list of nodes open.
TEST(ChakraJson, WhatCanBeMendedIsCounted) {
    const Imported result = read(R"json({"schema":"1.0.1","nodes":[{"id":1,"parent":1,"name":"a )json"
                                 "\xff\n"
                                 R"json("},
        {"id":2,"parent":1,"name":"b"}, )json");
    EXPECT_THAT(result.report.warnings, ElementsAre(Pair("control_character", 1), Pair("invalid_utf8", 1),
                                                    Pair("missing_closing_bracket", 2)));
    EXPECT_EQ(result.trace.text(NameId{result.trace.streams[0].events.name[0]}), "a \xef\xbf\xbd\n");
    EXPECT_EQ(result.report.events, 2U);
    EXPECT_THAT(read(R"json({"schema":"1","nodes":[{"id":1,"parent":1},],})json").report.warnings,
                ElementsAre(Pair("trailing_comma", 2)));
}

TEST(ChakraJson, WhatIsNoJsonIsRefusedWithTheByte) {
    const std::string path = temporary_path("_6.json");
    const auto answer = [&](const std::string& text) { return refusal([&] { read(text); }); };
    //                                    0         1         2         3
    //                                    0123456789012345678901234567890123456789
    EXPECT_THAT(answer(R"json({"schema":"1","nodes":[{"id":1,"x":nan}]})json"), HasSubstr(path + ":36: "));
    EXPECT_THAT(answer(R"json({"schema":"1","nodes":[{"id":1,"x":"cut)json"), HasSubstr(path + ":"));
    EXPECT_THAT(answer(R"json({"schema":"1","nodes":[{"id":-1}]})json"),
                HasSubstr(path + ":23: -1 as the id of a node"));
    EXPECT_THAT(answer(R"json({"schema":"1","nodes":[{"id":1,"parent":"2"}]})json"),
                HasSubstr(":23: \"2\" as the id"));
    EXPECT_THAT(answer(R"json({"schema":"1","nodes":[{"name":"a"}]})json"),
                HasSubstr(":23: a node without an id"));
    EXPECT_THAT(answer(R"json({"schema":"1","nodes":[7]})json"), HasSubstr(":23: an element of the list"));
    EXPECT_THAT(answer(R"json({"schema":"1"})json"), HasSubstr("no list of nodes"));
    EXPECT_THAT(answer(R"json({"nodes":[{"id":1,"x":)json" + std::string(5000, '[')), HasSubstr(path + ":"));
    EXPECT_THAT(
        answer(R"json({"nodes":[{"id":1,"x":)json" + std::string(600, '[') + std::string(600, ']') + "}]}"),
        HasSubstr("nested deeper than 512"));
}

TEST(ChakraJson, CutAnywhereItIsReadOrRefused) {
    std::size_t whole = 0;
    for (std::size_t size = 1; size < kNew.size(); size += 3) {
        whole += refusal([&] { read(kNew.substr(0, size)); }) == "accepted" ? 1 : 0;
    }
    EXPECT_GT(whole, 2U); // where a node has just ended
    EXPECT_LT(whole, 20U);
}

TEST(ChakraJson, RankOfTheFileName) {
    const auto rank = [](const std::string& ending) {
        const Trace trace =
            read_chakra(path_of(R"json({"schema":"1","nodes":[{"id":1,"parent":1}]})json", ending)).trace;
        const std::vector<int> ranks = expand_ranks(trace.classes.at(0).ranks);
        return ranks.empty() ? -1 : ranks[0];
    };
    EXPECT_EQ(rank("_eg_3.json"), 3);
    EXPECT_EQ(rank(".12.json"), 12);
    EXPECT_EQ(rank("_rank7.json"), 7);
    EXPECT_EQ(rank("_et_1.0.3-chakra.0.0.4.json"), -1); // a version
    EXPECT_EQ(rank("_et.json"), -1);
}

} // namespace
} // namespace echosim::test
