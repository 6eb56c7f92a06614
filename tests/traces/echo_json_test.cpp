// SPDX-License-Identifier: Apache-2.0
#include "traces/echo_json.h"

#include "tests/support/refusal.h"
#include "tests/traces/workload_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string node(const std::string& name, const std::string& op, const std::string& inputs,
                 const std::string& outputs, const std::string& rest = "") {
    return fmt::format(
        "{{\"name\": \"{}\", \"op\": \"{}\", \"input_nodes\": [{}], \"output_nodes\": [{}]{}}}", name, op,
        inputs, outputs, rest);
}

const std::string kTensor = ", \"input_types\": [\"torch.float16\"], \"output_types\": [\"torch.float16\"]";

// size -> addmm -> AddmmBackward00 -> AccumulateGrad0 -> ddp_pre_0 -> ddp_Allreduce_0
std::string graph() {
    return "[" + node("size", "size", "", "\"addmm\"", ", \"input_types\": [], \"output_types\": []") +
           ",\n" + node("addmm", "torch.addmm", "\"size\"", "\"AddmmBackward00\"", kTensor) + ",\n" +
           node("AddmmBackward00", "AddmmBackward0", "\"addmm\"", "\"AccumulateGrad0\"", kTensor) + ",\n" +
           node("AccumulateGrad0", "AccumulateGrad", "\"AddmmBackward00\"", "\"ddp_pre_0\"",
                ", \"input_types\": [\"torch.float16\"], \"output_types\": []") +
           ",\n" +
           node("ddp_pre_0", "ddp_pre", "\"AccumulateGrad0\"", "\"ddp_Allreduce_0\"",
                ", \"attrs\": {\"bucket_size\": 1000}") +
           ",\n" +
           node("ddp_Allreduce_0", "ddp_Allreduce", "\"ddp_pre_0\"", "",
                ", \"attrs\": {\"bucket_size\": 1000}") +
           "]";
}

TEST(EchoJson, GraphWithItsTimes) {
    const WorkloadFiles files;
    files.write(
        "out/pytorch_ops_profiling/gpt2/global_ops_profiling_bs1.json",
        "{\"size\": 0.0041, \"addmm\": 0.128, \"AddmmBackward00\": 0.25, \"AccumulateGrad0\": 0.003}");
    const Imported read = read_echo_json(
        files.write("out/pytorch_graph_profiling/gpt2/global_graph_profiling_bs1.json", graph()));
    check_trace(read.trace, "graph");
    EXPECT_THAT(flow_texts(read.trace),
                UnorderedElementsAre("size > addmm", "addmm > AddmmBackward00",
                                     "AddmmBackward00 > AccumulateGrad0", "AccumulateGrad0 > ddp_pre_0",
                                     "ddp_pre_0 > dp ddp_Allreduce_0"));
    EXPECT_EQ(event_named(read.trace, "addmm").duration, 128'000); // 0.128 ms
    EXPECT_EQ(event_named(read.trace, "size").kind, EventKind::host);
    EXPECT_EQ(event_named(read.trace, "AccumulateGrad0").kind, EventKind::kernel);
    EXPECT_EQ(read.trace.comm_ops.at(0).bytes, 2000U); // 1000 elements of float16, the type of the gradient
    EXPECT_EQ(read.report.kernels, 5U);
    EXPECT_EQ(read.report.warnings.at("missing_duration"), 2U); // of the two ddp nodes
    EXPECT_EQ(read.report.files.size(), 2U);
}

TEST(EchoJson, GraphAlone) {
    const WorkloadFiles files;
    const Imported read = read_echo_json(files.write("graph.json", graph()));
    EXPECT_EQ(event_named(read.trace, "addmm").duration, 0);
    EXPECT_THAT(read.report.notes.front(), HasSubstr("no times beside the graph"));
}

TEST(EchoJson, TimesAlone) {
    const WorkloadFiles files;
    const Imported read =
        read_echo_json(files.write("ops.json", "{\"a\": 0.001, \"b\": 0.0025, \"c\": 1.5}"));
    EXPECT_THAT(flow_texts(read.trace), ElementsAre("a > b", "b > c"));
    EXPECT_EQ(read.trace.streams[0].events.dur_ns, (std::vector<TimeNs>{1000, 2500, 1'500'000}));
}

TEST(EchoJson, IsToldByItsBegin) {
    EXPECT_TRUE(is_echo_json(graph()));
    EXPECT_TRUE(is_echo_json(
        "{\n    \"input_ids\": 0.0163,\n    \"size\": 0.0096,\n \"getitem\": 8.8e-3, \"x\": 0.1,"));
    EXPECT_FALSE(is_echo_json("{\"schemaVersion\": 1, \"deviceProperties\": []}"));
    EXPECT_FALSE(is_echo_json("[{\"ph\": \"X\", \"name\": \"op\"}]"));
    EXPECT_FALSE(is_echo_json(""));
}

TEST(EchoJson, MalformedGraphsAreRefusedAtTheirNode) {
    const WorkloadFiles files;
    const auto refused = [&](const std::string& text) {
        const std::string path = files.write("g.json", text);
        return refusal([&] { read_echo_json(path); });
    };
    EXPECT_THAT(refused("[" + node("a", "x", "", "") + "," + node("a", "x", "", "") + "]"),
                HasSubstr("g.json: node 1: the name \"a\" is there twice"));
    EXPECT_THAT(refused("[{\"op\": \"x\"}]"), HasSubstr("g.json: node 0: \"name\" is missing"));
    EXPECT_THAT(refused("[" + node("a", "x", "3", "") + "]"), HasSubstr("\"input_nodes\" holds number"));
    EXPECT_THAT(refused("{\"a\": -1.0}"), HasSubstr("g.json: a: no time in milliseconds"));
    EXPECT_THAT(refused("[{\"name\": "), HasSubstr("g.json:1:"));
}

} // namespace
} // namespace echosim
