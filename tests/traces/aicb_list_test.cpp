// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusal.h"
#include "tests/traces/workload_files.h"
#include "traces/workload_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kHeader =
    "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,"
    "algbw,busbw,count\n";

Imported list(const std::string& text) {
    const WorkloadFiles files;
    Imported imported = read_workload_text(files.write("list.csv", text));
    check_trace(imported.trace, "list.csv");
    return imported;
}

std::string refused(const std::string& text) {
    const WorkloadFiles files;
    const std::string path = files.write("list.csv", text);
    const std::string message = refusal([&] { read_workload_text(path); });
    const std::size_t at = message.find("list.csv");
    return at == std::string::npos ? message : message.substr(at);
}

TEST(AicbList, OperationsFollowEachOther) {
    const Imported read =
        list("[rank0 ~ rank15]\n" + kHeader +
             "CommType.barrier,CommGroup.all,16,0,init,None,None,,None,None,None,1\n"
             "CommType.epoch_end,None,None,0,,None,None,,None,None,None,1\n"
             "CommType.broadcast,CommGroup.tp_group,8,40,forward_step,None,0,,None,None,None,1\n"
             "CommType.all_gather,CommGroup.dp_group,2,64,step,None,None,,None,None,None,1\n");
    const Trace& trace = read.trace;
    EXPECT_FALSE(trace.timed);
    EXPECT_THAT(flow_texts(trace), ElementsAre("world barrier > epoch_end", "epoch_end > tp broadcast",
                                               "tp broadcast > dp all_gather"));
    EXPECT_EQ(trace.classes[0].rank_count(), 16U);
    const auto op = [&](std::string_view name) { return trace.comm_ops.at(event_named(trace, name).ext); };
    const auto label = [&](std::string_view name) { return trace.labels.at(event_named(trace, name).label); };
    EXPECT_EQ(op("broadcast").peer, 0); // its root
    EXPECT_EQ(op("broadcast").bytes, 40U);
    EXPECT_EQ(op("all_gather").group_size, 2U);
    EXPECT_EQ(label("barrier").iteration, -1); // set-up, in front of the first epoch_end
    EXPECT_EQ(label("broadcast").iteration, 0);
    EXPECT_EQ(label("all_gather").phase, Phase::param_gather);
    EXPECT_EQ(read.report.events, 4U);
    EXPECT_EQ(read.report.kernels, 3U); // all but epoch_end
}

TEST(AicbList, StagesOfAPipelineAreClasses) {
    const std::string send =
        "CommType.isend,CommGroup.pp_group,2,4096,forward_step,None,None,send_next,None,None,"
        "None,1\n";
    const std::string receive =
        "CommType.irecv,CommGroup.pp_group,2,4096,forward_step,None,None,recv_prev,None,"
        "None,None,1\n";
    const Trace trace = list("[ pp_stage0: [rank0, rank1] ]\n" + kHeader + send +
                             "[ pp_stage1: [rank2, rank3] ]\n" + kHeader + receive)
                            .trace;
    ASSERT_EQ(trace.classes.size(), 2U);
    EXPECT_EQ(trace.classes[1].stage, 1);
    EXPECT_EQ(expand_ranks(trace.classes[1].ranks), (std::vector<int>{2, 3}));
    EXPECT_EQ(trace.comm_ops[0].direction, Direction::send);
    EXPECT_EQ(trace.comm_ops[1].direction, Direction::receive);
    EXPECT_EQ(trace.text(event_named(trace, "isend").args), "{\"additional\":\"send_next\"}");
    EXPECT_TRUE(trace.flows.empty()); // nothing joins the stages
}

TEST(AicbList, ComputationsKeepTheirShapes) {
    const Trace trace =
        list(kHeader +
             "CommType.computation,CommGroup.all,None,((1024, 4096), (4096, 512)),forward.MLP,None,None,,"
             "250000,None,None,1\n")
            .trace;
    const Event event = event_named(trace, "forward.MLP");
    EXPECT_EQ(event.duration, 250'000); // AIOB: nanoseconds
    EXPECT_EQ(event.kind, EventKind::kernel);
    EXPECT_EQ(trace.text(event.args), "{\"shapes\":\"((1024, 4096), (4096, 512))\"}");
}

TEST(AicbList, ALogOfARunIsInMilliseconds) {
    const Trace trace =
        list(kHeader +
             "CommType.computation,CommGroup.all,None,((8, 8), (8, 8)),forward.MLP,None,None,,0.5,0,0,1\n"
             "CommType.all_reduce,CommGroup.dp_group,2,64,step,None,None,,1.25,0.1,0.1,1\n")
            .trace;
    EXPECT_EQ(event_named(trace, "forward.MLP").duration, 500'000);
    EXPECT_EQ(event_named(trace, "all_reduce").duration, 1'250'000);
    EXPECT_EQ(event_named(trace, "all_reduce").provenance, Provenance::measured);
}

TEST(AicbList, ColumnsMayBeMissing) {
    const Imported read = list("comm_type,comm_group,msg_size,stage\n"
                               "CommType.all_to_all,CommGroup.ep_group,4096,warmup\n");
    EXPECT_EQ(read.trace.comm_ops[0].group_size, 0U); // not known
    EXPECT_EQ(read.trace.text(read.trace.classes[0].name), "list");
    EXPECT_EQ(read.report.notes.size(), 3U); // no times, no ranks, no sizes
}

TEST(AicbList, MalformedListsAreRefusedAtTheirLine) {
    const std::string tail = ",stage,None,None,,None,None,None,1\n";
    EXPECT_THAT(refused(kHeader + "CommType.all_redce,CommGroup.dp_group,2,64" + tail),
                HasSubstr("list.csv:2: unknown comm_type \"CommType.all_redce\""));
    EXPECT_THAT(refused(kHeader + "all_reduce,CommGroup.dp_group,2,64" + tail),
                HasSubstr("list.csv:2: comm_type is \"all_reduce\""));
    EXPECT_THAT(refused(kHeader + "CommType.all_reduce,CommGroup.xp_group,2,64" + tail),
                HasSubstr("list.csv:2: unknown comm_group"));
    EXPECT_THAT(refused(kHeader + "CommType.all_reduce,CommGroup.dp_group,two,64" + tail),
                HasSubstr("comm_group_size is \"two\""));
    EXPECT_THAT(refused(kHeader + "CommType.all_reduce,CommGroup.dp_group,2,-64" + tail),
                HasSubstr("msg_size is \"-64\""));
    EXPECT_THAT(refused(kHeader + "CommType.all_reduce,CommGroup.dp_group,2\n"),
                HasSubstr("list.csv:2: 3 fields; the header has 12"));
    EXPECT_THAT(refused("[rank0 ~ rank99999999]\n" + kHeader), HasSubstr("list.csv:1: ranks"));
    EXPECT_THAT(refused("[rank0 ~ rank3]\nCommType.all_reduce\n"),
                HasSubstr("list.csv:2: \"CommType.all_reduce\" "
                          "where a header belongs"));
    EXPECT_THAT(refused("comm_type,comm_group,stage\n"), HasSubstr("list.csv:1: no column \"msg_size\""));
    EXPECT_THAT(refused(kHeader), HasSubstr("no operation in the file"));
    EXPECT_THAT(refused("[rank0 ~ rank4194303]\n[rank0 ~ rank0]\n"),
                HasSubstr("list.csv:2: more than 4194304 ranks"));
}

} // namespace
} // namespace echosim
