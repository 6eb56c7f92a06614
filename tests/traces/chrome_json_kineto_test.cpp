// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusal.h"
#include "tests/traces/sample_trace.h"
#include "traces/chrome_json.h"
#include "traces/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

// The file of one rank as readers of Kineto expect it.
namespace echosim {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json document_of(const Trace& trace) {
    std::ostringstream out;
    write_chrome(trace, out);
    return json::parse(out.str());
}

json event_of(const json& document, const std::string& name) {
    for (const json& event : document.at("traceEvents")) {
        if (event.value("name", "") == name && event.at("ph") == "X") {
            return event;
        }
    }
    return {};
}

TEST(Kineto, TellsTheRankAndTheGpu) {
    const json document = document_of(test::recorded_trace());
    EXPECT_EQ(document.at("schemaVersion"), 1);
    EXPECT_EQ(document.at("deviceProperties")[0].at("name"), "NVIDIA H100");
    EXPECT_EQ(document.at("baseTimeNanoseconds"), 1'700'000'000'123'456'789);
    const json& info = document.at("distributedInfo");
    EXPECT_EQ(info.at("rank"), 3);
    EXPECT_EQ(info.at("world_size"), 8);
    EXPECT_EQ(info.at("backend"), "nccl");
    EXPECT_EQ(info.at("pg_config"), json::parse(R"([{"pg_name":"3","pg_desc":"TENSOR_MODEL_PARALLEL_GROUP",
                                                     "pg_size":4,"ranks":[0,1,2,3]}])"));
}

// GPU 1 is process 1, its streams are threads 7, 20, 22; the host is another process with threads 901 and
// 902. The annotations of stream 7 cannot be thread 7 too.
TEST(Kineto, NumbersProcessesAndThreadsAsRecorded) {
    const json document = document_of(test::recorded_trace());
    const json gemm = event_of(document, "ampere_bf16_s16816gemm");
    EXPECT_EQ(gemm.at("pid"), 1);
    EXPECT_EQ(gemm.at("tid"), 7);
    EXPECT_EQ(gemm.at("ts"), 40.001);
    EXPECT_EQ(gemm.at("dur"), 30.501);
    EXPECT_EQ(event_of(document, "aten::linear").at("tid"), 901);
    EXPECT_NE(event_of(document, "aten::linear").at("pid"), 1);
    EXPECT_EQ(event_of(document, "optimizer").at("pid"), 1);
    EXPECT_NE(event_of(document, "optimizer").at("tid"), 7);
    EXPECT_EQ(event_of(document, "a").at("tid"), 7);
    EXPECT_NE(event_of(document, "b").at("tid"), 7); // overlaps with a
    EXPECT_EQ(event_of(document, "b").at("args").at("stream"), 7);
}

TEST(Kineto, EventsHaveItsCategoriesAndKeys) {
    const json document = document_of(test::recorded_trace());
    const json gemm = event_of(document, "ampere_bf16_s16816gemm");
    EXPECT_EQ(gemm.at("cat"), "kernel");
    EXPECT_EQ(gemm.at("args"), json::parse(R"({"device":1,"stream":7,"correlation":101,"grid":[64,2,1],
        "block":[128,1,1],"registers per thread":168,"shared memory":49152,"provenance":"measured","context":1,
        "External id":41,"est. achieved occupancy %":37})"));
    EXPECT_EQ(event_of(document, "aten::linear").at("cat"), "cpu_op");
    EXPECT_EQ(event_of(document, "aten::linear").at("args").at("External id"), 41);
    EXPECT_EQ(event_of(document, "cudaLaunchKernel").at("cat"), "cuda_runtime");
    EXPECT_EQ(event_of(document, "cuStreamSynchronize").at("cat"), "cuda_driver");
    EXPECT_EQ(event_of(document, "ProfilerStep#12").at("cat"), "user_annotation");
    EXPECT_EQ(event_of(document, "optimizer").at("cat"), "gpu_user_annotation");
    EXPECT_EQ(event_of(document, "train.py(31): step").at("cat"), "python_function");
    EXPECT_EQ(event_of(document, "Activity Buffer Request").at("cat"), "overhead");
    const json wait = event_of(document, "Stream Wait Event");
    EXPECT_EQ(wait.at("cat"), "cuda_sync");
    EXPECT_EQ(wait.at("args").at("wait_on_stream"), 7);
    EXPECT_EQ(wait.at("args").at("wait_on_cuda_event_record_corr_id"), 109);
    const json copy = event_of(document, "Memcpy DtoH (Device -> Pinned)");
    EXPECT_EQ(copy.at("cat"), "gpu_memcpy");
    EXPECT_EQ(copy.at("args").at("bytes"), 4096);
}

TEST(Kineto, CommunicationSaysWhatPyTorchSays) {
    const json document = document_of(test::recorded_trace());
    const json args = event_of(document, "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL").at("args");
    EXPECT_EQ(args.at("Collective name"), "_reduce_scatter_base");
    EXPECT_EQ(args.at("dtype"), "BFloat16");
    EXPECT_EQ(args.at("In msg nelems"), 4096);
    EXPECT_EQ(args.at("Out msg nelems"), 1024);
    EXPECT_EQ(args.at("Group size"), 4);
    EXPECT_EQ(args.at("Process Group Name"), "3");
    EXPECT_EQ(args.at("Process Group Description"), "TENSOR_MODEL_PARALLEL_GROUP");
    EXPECT_EQ(args.at("Process Group Ranks"), "[0, 1, 2, 3]");
    EXPECT_EQ(args.at("grid"), json::parse("[8,1,1]")); // the recorder's
}

TEST(Kineto, LongGroupsAreCutAsPyTorchCutsThem) {
    TraceBuilder builder;
    const auto stream = builder.add_stream(builder.add_class("rank 0", -1, {0}), StreamKind::comm, "s");
    CommOp op;
    op.communicator = builder.add_communicator({builder.name("0"), kNoName, {{0, 31, 2}}});
    builder.add_event(stream, {.kind = EventKind::comm, .ext = builder.add_comm_op(op)});
    const json document = document_of(builder.finish());
    const std::string ranks = document.at("traceEvents").back().at("args").at("Process Group Ranks");
    EXPECT_THAT(ranks, HasSubstr("[0, 2, 4, "));
    EXPECT_THAT(ranks, HasSubstr(", 58, ...]")); // 30 ranks: 0 .. 58
    EXPECT_EQ(document.at("distributedInfo").at("pg_config")[0].at("ranks").size(), 31U);
}

// Readers tell communication and copies by the name.
TEST(Kineto, SimulatedWorkIsKnownByItsName) {
    const json document = document_of(select_ranks(test::small_trace(), {1}));
    const json all_reduce = event_of(document, "ncclKernel all_reduce");
    EXPECT_EQ(all_reduce.at("args").at("own_name"), "all_reduce");
    EXPECT_EQ(all_reduce.at("args").at("Collective name"), "allreduce");
    EXPECT_EQ(all_reduce.at("args").at("stream"), 1); // number within the class
    EXPECT_EQ(document.at("distributedInfo").at("rank"), 1);
    EXPECT_FALSE(document.at("distributedInfo").contains("world_size"));
}

std::size_t count(const json& document, const std::string& phase, const std::string& category) {
    std::size_t found = 0;
    for (const json& event : document.at("traceEvents")) {
        found += event.at("ph") == phase && event.value("cat", "") == category ? 1U : 0U;
    }
    return found;
}

// Five launches, each with an arrow; without flows the same arrows follow from the correlation.
TEST(Kineto, ArrowsLeadFromCallsToTheirWork) {
    Trace trace = test::recorded_trace();
    const json document = document_of(trace);
    EXPECT_EQ(count(document, "s", "ac2g"), 5U);
    EXPECT_EQ(count(document, "f", "ac2g"), 5U);
    EXPECT_EQ(count(document, "s", "fwdbwd"), 1U);
    trace.flows.clear();
    const json again = document_of(trace);
    EXPECT_EQ(count(again, "s", "ac2g"), 5U);
    EXPECT_FALSE(again.at("traceEvents").dump().find("\"flow\"") != std::string::npos);
}

TEST(Kineto, WorldSizeOfMergedAndSimulatedRanks) {
    Trace other = test::recorded_trace();
    other.classes[0].ranks = {{5, 1, 1}};
    other.meta = R"({"distributedInfo":{"rank":5,"world_size":16}})";
    const Trace both = merge({test::recorded_trace(), other});
    EXPECT_EQ(document_of(select_ranks(both, {5})).at("distributedInfo").at("world_size"), 16);
    EXPECT_EQ(document_of(select_ranks(both, {3})).at("distributedInfo").at("world_size"), 8);
    other.meta = R"({"tool":"echosim","world_size":1024})";
    EXPECT_EQ(document_of(other).at("distributedInfo").at("world_size"), 1024);
}

TEST(Kineto, HoldsOneRank) {
    std::ostringstream out;
    EXPECT_THAT(refusal([&] { write_chrome(test::small_trace(), out); }), HasSubstr("has 2 of them"));
    Trace one = test::small_trace();
    one.classes.pop_back();
    one.streams.resize(3);
    one.flows.clear();
    EXPECT_THAT(refusal([&] { write_chrome(one, out); }), HasSubstr("stands for 4 ranks"));
    EXPECT_THAT(refusal([&] { write_chrome(Trace{}, out); }), HasSubstr("choose one rank"));
    EXPECT_TRUE(out.str().empty());
    // A process whose rank is not known has no distributedInfo.
    Trace unknown = test::recorded_trace();
    unknown.classes[0].ranks.clear();
    EXPECT_FALSE(document_of(unknown).contains("distributedInfo"));
}

} // namespace
} // namespace echosim
