// SPDX-License-Identifier: Apache-2.0
#include "traces/workload_text.h"

#include "tests/support/refusal.h"
#include "tests/traces/workload_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kTransformer =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 2 vpp: 1 ga: 1 all_gpus: 32 "
    "checkpoints: 0 checkpoint_initiates: 0 pp_comm 4096\n"
    "2\n"
    "a\t-1\t10\tALLREDUCE\t64\t20\tALLGATHER\t128\t30\tREDUCESCATTER_DP_EP\t256\t100\n"
    "b   -1 11 ALLTOALL_EP 512 21 NONE 0 31 ALLREDUCE 1024 0 \n";

Imported table(std::string_view text) {
    const WorkloadFiles files;
    Imported imported = read_workload_text(files.write("table.txt", text));
    check_trace(imported.trace, "table.txt");
    return imported;
}

std::string refused(std::string_view text) {
    const WorkloadFiles files;
    const std::string path = files.write("table.txt", text);
    std::string message = refusal([&] { read_workload_text(path); });
    const std::size_t at = message.find("table.txt");
    return at == std::string::npos ? message : message.substr(at);
}

TEST(WorkloadText, TransformerForwardThenBackward) {
    const Imported read = table(kTransformer);
    const Trace& trace = read.trace;
    EXPECT_FALSE(trace.timed);
    // forward a, b; backward b, a: collectives of forward and input gradient block, those of weights do not
    EXPECT_THAT(flow_texts(trace),
                ElementsAre("a > tp ALLREDUCE", "tp ALLREDUCE > b", "b > ep ALLTOALL_EP",
                            "ep ALLTOALL_EP > b", "b > b", "b > dp ALLREDUCE", "b > a", "a > tp ALLGATHER",
                            "tp ALLGATHER > a", "a > edp REDUCESCATTER_DP_EP"));
    EXPECT_THAT(stream_names(trace), ElementsAre("compute", "tp communication", "ep communication",
                                                 "dp communication", "edp communication"));
    EXPECT_EQ(read.report.events, 2U);
    EXPECT_EQ(read.report.kernels, 6U + 5U); // three computations a layer, five collectives
    EXPECT_THAT(read.report.warnings, IsEmpty());
}

TEST(WorkloadText, DurationsBytesGroupsAndRanks) {
    const Trace trace = table(kTransformer).trace;
    TimeNs computed = 0;
    for (const TimeNs duration : trace.streams[0].events.dur_ns)
        computed += duration;
    EXPECT_EQ(computed, 10 + 20 + 30 + 11 + 21 + 31);
    EXPECT_EQ(expand_ranks(trace.classes[0].ranks).size(), 32U);
    EXPECT_EQ(trace.text(trace.classes[0].name), "rank 0");
    const auto op = [&](std::string_view name) { return trace.comm_ops.at(event_named(trace, name).ext); };
    EXPECT_EQ(op("ALLGATHER").group_size, 2U); // tensor parallel
    EXPECT_EQ(op("ALLGATHER").bytes, 128U);
    EXPECT_EQ(op("ALLTOALL_EP").group_size, 4U);
    EXPECT_EQ(op("REDUCESCATTER_DP_EP").kind, CollectiveKind::reduce_scatter);
    EXPECT_EQ(op("REDUCESCATTER_DP_EP").group_size, 2U); // 32 GPUs / (2 tp x 2 pp) / 4 ep
}

TEST(WorkloadText, LabelsAndUpdateTime) {
    const Trace trace = table(kTransformer).trace;
    const EventColumns& compute = trace.streams[0].events;
    const auto label = [&](std::size_t i) { return trace.labels.at(compute.label[i]); };
    EXPECT_EQ(label(1).phase, Phase::forward); // b
    EXPECT_EQ(label(1).layer, 1);
    EXPECT_EQ(label(5).phase, Phase::backward); // weight gradient of a, the last
    EXPECT_EQ(label(5).layer, 0);
    EXPECT_EQ(trace.text(NameId{compute.args[5]}), "{\"update_ns\":100}");
    EXPECT_EQ(compute.args[3], kNoName.value); // that of b has no update time
    EXPECT_EQ(trace.labels.at(event_named(trace, "REDUCESCATTER_DP_EP").label).phase, Phase::gradient_sync);
}

TEST(WorkloadText, DataParallelDoesWeightsFirst) {
    const Trace trace = table("DATA\n2\na -1 1 NONE 0 2 NONE 0 3 ALLREDUCE 8 0\n"
                              "b -1 4 NONE 0 5 NONE 0 6 ALLREDUCE 16 0\n")
                            .trace;
    EXPECT_EQ(trace.streams[0].events.dur_ns, (std::vector<TimeNs>{1, 4, 6, 5, 3, 2}));
    EXPECT_THAT(flow_texts(trace), ElementsAre("a > b", "b > b", "b > dp ALLREDUCE", "b > b", "b > a",
                                               "a > dp ALLREDUCE", "a > a"));
}

TEST(WorkloadText, InputGradientsOfHybridLayersOverlapTheirWeights) {
    const Trace trace = table("HYBRID_DATA_MODEL\n2\na -1 1 NONE 0 2 NONE 0 3 NONE 0 0\n"
                              "b -1 4 NONE 0 5 ALLREDUCE 8 6 NONE 0 0\n")
                            .trace;
    // the collective beside the weight gradient of b; the input gradient of a waits for both
    EXPECT_THAT(flow_texts(trace), ElementsAre("a > b", "b > b", "b > tp ALLREDUCE", "b > b", "b > a",
                                               "tp ALLREDUCE > a", "a > a"));
}

TEST(WorkloadText, EmbeddingExchangeOfDlrmBlocksBehindTheBottomLayers) {
    const Trace trace = table("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1\n3\n"
                              "emb -1 1 ALLTOALL 64 1 ALLTOALL 64 1 NONE 0 0\n"
                              "bottom -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n"
                              "top -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n")
                            .trace;
    const auto flows = flow_texts(trace);
    EXPECT_THAT(std::vector<std::string>(flows.begin(), flows.begin() + 4),
                ElementsAre("emb > world ALLTOALL", "emb > bottom", "bottom > top", "world ALLTOALL > top"));
}

TEST(WorkloadText, MicroTablesAreTheirCollectivesAlone) {
    const Imported read = table("MICRO\n2\nm -1 1 NONE 0 1 NONE 0 1 ALLGATHER 4096 1\n"
                                "m -1 1 NONE 0 1 NONE 0 1 ALLGATHER 8192 1\n");
    EXPECT_THAT(stream_names(read.trace), ElementsAre("world communication"));
    EXPECT_THAT(flow_texts(read.trace), ElementsAre("world ALLGATHER > world ALLGATHER"));
    EXPECT_EQ(read.trace.comm_ops[1].bytes, 8192U);
    EXPECT_THAT(read.trace.classes[0].ranks, IsEmpty());
    EXPECT_EQ(read.trace.text(read.trace.classes[0].name), "table");
}

TEST(WorkloadText, CheckpointsAreRecomputed) {
    const Trace trace = table("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 checkpoints: 1 0 "
                              "checkpoint_initiates: 1 2\n3\n"
                              "a -1 1 NONE 0 1 NONE 0 1 NONE 0 0\nb -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n"
                              "c -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n")
                            .trace;
    std::vector<std::string> order;
    const EventColumns& events = trace.streams[0].events;
    for (std::size_t i = 0; i < events.size(); ++i)
        order.push_back(std::string(trace.text(NameId{events.name[i]})) + " " +
                        std::string(to_string(trace.labels.at(events.label[i]).phase)));
    EXPECT_THAT(order,
                ElementsAre("a forward", "b forward", "c forward", "a recompute", "b recompute", "c backward",
                            "c backward", "b backward", "b backward", "a backward", "a backward"));
}

TEST(WorkloadText, MicroBatchesBeginWithTheEmbedding) {
    const Trace trace =
        table("HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ga: 2\n5\n"
              "head -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n"
              "embedding_layer -1 1 NONE 0 1 NONE 0 1 NONE 0 0\nx -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n"
              "embedding_layer -1 1 NONE 0 1 NONE 0 1 NONE 0 0\nx -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n")
            .trace;
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 0; i < 5; ++i)
        numbers.push_back(trace.labels.at(trace.streams[0].events.label[i]).micro_batch);
    EXPECT_THAT(numbers, ElementsAre(-1, 0, 0, 1, 1));
}

TEST(WorkloadText, MalformedTablesAreRefusedAtTheirLine) {
    const std::string row = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n";
    EXPECT_THAT(refused("HYBRID_TRANSFORMR\n1\n" + row),
                HasSubstr("table.txt:1: unknown policy \"HYBRID_TRANSFORMR\""));
    EXPECT_THAT(refused("MICRO\n2\n" + row), HasSubstr("table.txt:3: 1 layers; line 2 says 2"));
    EXPECT_THAT(refused("MICRO\n1\n" + row + row), HasSubstr("table.txt:4: more than the 1 layers"));
    EXPECT_THAT(refused("MICRO\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n"),
                HasSubstr("table.txt:3: 11 fields of a layer; 12"));
    EXPECT_THAT(refused("MICRO\n1\na -1 1 ALLREDUCE_TP 0 1 NONE 0 1 NONE 0 0\n"),
                HasSubstr("table.txt:3: the forward collective is \"ALLREDUCE_TP\""));
    EXPECT_THAT(refused("MICRO\n1\na -1 1 NONE 0 -5 NONE 0 1 NONE 0 0\n"),
                HasSubstr("table.txt:3: the input-gradient compute time is \"-5\""));
    EXPECT_THAT(refused("MICRO\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 99999999999999999999 0\n"),
                HasSubstr("the weight-gradient bytes is \"99999999999999999999\""));
    EXPECT_THAT(refused("HYBRID_TRANSFORMER ep: x\n1\n" + row), HasSubstr("table.txt:1: \"ep:\" is \"x\""));
    EXPECT_THAT(refused("HYBRID_TRANSFORMER ep:\n1\n" + row), HasSubstr("nothing behind \"ep:\""));
    EXPECT_THAT(refused("HYBRID_TRANSFORMER checkpoints: 3 0\n1\n" + row),
                HasSubstr("the number of layers behind"));
    EXPECT_THAT(refused("HYBRID_TRANSFORMER checkpoints: 1 7\n1\n" + row),
                HasSubstr("layer 7 of the header"));
    EXPECT_THAT(refused("HYBRID_TRANSFORMER\nmany\n" + row),
                HasSubstr("table.txt:2: the number of layers is \"many\""));
    EXPECT_THAT(refused("hello\n"), HasSubstr("neither a layer table"));
}

TEST(WorkloadText, EveryPrefixIsReadOrRefused) {
    const std::string whole = kTransformer;
    for (std::size_t length = 1; length + 2 < whole.size(); ++length) // the blank and line end may go
        EXPECT_NE(refused(whole.substr(0, length)), "accepted") << length;
}

TEST(WorkloadText, IsToldByItsFirstLines) {
    EXPECT_TRUE(is_workload_text(kTransformer));
    EXPECT_TRUE(is_workload_text("MICRO\n19\n"));
    EXPECT_TRUE(is_workload_text("[rank0 ~ rank127]\ncomm_type,comm_group,"));
    EXPECT_TRUE(is_workload_text("comm_type,comm_group,msg_size,stage\n"));
    EXPECT_FALSE(is_workload_text("MODEL S OF 1998\nfor sale\n")); // no number below
    EXPECT_FALSE(is_workload_text("[{\"name\": \"rank\"}]"));
    EXPECT_FALSE(is_workload_text(""));
}

// Sums that awk makes of the published files.
TEST(WorkloadText, PublishedTables) {
    const std::string folder = "../shared/data/inputs/simai/";
    if (!std::filesystem::exists(folder))
        GTEST_SKIP() << folder << " is not there";
    const Imported read = read_workload_text(folder + "SimAI/workload_analytical.txt");
    EXPECT_EQ(read.report.kernels, 3U * 1789U + 3540U); // 3,540 collectives that are not NONE
    TimeNs computed = 0;
    for (const TimeNs duration : read.trace.streams[0].events.dur_ns)
        computed += duration;
    EXPECT_EQ(computed, 4'542'795'477);
    EXPECT_EQ(read.trace.classes[0].rank_count(), 9216U);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        const bool workload = (name.ends_with(".txt") && name != "Example.txt") ||
                              (name.ends_with(".csv") && !name.starts_with("Workload_spec"));
        if (!entry.is_regular_file() || !workload)
            continue;
        const Imported imported = read_workload_text(entry.path().string());
        check_trace(imported.trace, name);
        EXPECT_GT(imported.report.kernels, 0U) << name;
        ++files;
    }
    EXPECT_EQ(files, 15U);
}

} // namespace
} // namespace echosim
