// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/kineto_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace echosim {
namespace {

using ::testing::ElementsAre;

const TraceStream& stream_named(const Trace& trace, std::string_view name) {
    for (const TraceStream& stream : trace.streams) {
        if (trace.text(stream.name) == name) {
            return stream;
        }
    }
    throw std::runtime_error("no stream is called " + std::string(name));
}

TEST(KinetoDialects, BeginsAndEndsNestWithinTheirThread) {
    const Imported imported = import_text(R"j([
        {"ph":"B","name":"outer","cat":"work","pid":1,"tid":1,"ts":10,"args":{"a":1}},
        {"ph":"B","name":"inner","pid":1,"tid":1,"ts":12},
        {"ph":"B","name":"other","pid":1,"tid":2,"ts":13},
        {"ph":"E","pid":1,"tid":1,"ts":15},
        {"ph":"E","pid":1,"tid":1,"ts":20,"args":{"b":2}},
        {"ph":"E","pid":1,"tid":2,"ts":30},
        {"ph":"M","name":"process_name","pid":1,"args":{"name":"browser"}},
        {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"io "}}])j");
    const Trace& trace = imported.trace;
    EXPECT_EQ(imported.report.format, "Chrome trace");
    EXPECT_TRUE(imported.report.warnings.empty());
    EXPECT_EQ(trace.text(trace.classes.at(0).name), "browser");
    const Event outer = event_named(trace, "outer");
    EXPECT_EQ(outer.duration, 10000); // 10 to 20 us
    EXPECT_EQ(trace.text(outer.args), R"({"a":1,"b":2})");
    EXPECT_EQ(outer.kind, EventKind::other);
    EXPECT_EQ(trace.text(NameId{outer.ext}), "work");
    EXPECT_EQ(event_named(trace, "inner").duration, 3000);
    EXPECT_EQ(stream_named(trace, "io").events.size(), 1U);
}

TEST(KinetoDialects, ProcessesOfAChromeTraceAreClasses) {
    const Trace trace = import_text(R"j([
        {"ph":"X","name":"a","pid":"gpu","tid":"queue","ts":1,"dur":1},
        {"ph":"X","name":"b","pid":2,"ts":1,"dur":1},
        {"ph":"X","name":"c","ts":1,"dur":1}])j")
                            .trace;
    ASSERT_EQ(trace.classes.size(), 3U);
    EXPECT_EQ(trace.text(trace.classes[0].name), "gpu");
    EXPECT_EQ(trace.text(trace.classes[1].name), "process 2");
    EXPECT_EQ(stream_named(trace, "queue").number, -1);
}

TEST(KinetoDialects, AsynchronousEventsLieBesideTheThreads) {
    const Trace trace = import_text(R"j([
        {"ph":"b","cat":"net","id":"0x1","name":"get","pid":1,"tid":1,"ts":1},
        {"ph":"b","cat":"net","id2":{"local":"0x1"},"name":"put","pid":1,"tid":1,"ts":2},
        {"ph":"e","cat":"net","id":"0x1","name":"get","pid":1,"tid":1,"ts":5},
        {"ph":"e","cat":"net","id2":{"local":"0x1"},"name":"put","pid":1,"tid":1,"ts":9}])j")
                            .trace;
    EXPECT_EQ(stream_named(trace, "async net").events.size(), 2U);
    EXPECT_EQ(event_named(trace, "get").duration, 4000);
    EXPECT_EQ(event_named(trace, "put").duration, 7000);
}

TEST(KinetoDialects, FlowsBindToTheEnclosingSlice) {
    const Imported imported = import_text(R"j([
        {"ph":"X","cat":"cpu_op","name":"forward","pid":1,"tid":1,"ts":10,"dur":20},
        {"ph":"X","cat":"cpu_op","name":"mm","pid":1,"tid":1,"ts":12,"dur":4},
        {"ph":"X","cat":"cpu_op","name":"mm backward","pid":1,"tid":2,"ts":50,"dur":9},
        {"ph":"f","bp":"e","id":1,"cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":2,"ts":51},
        {"ph":"s","id":1,"cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":1,"ts":12},
        {"ph":"s","id":2,"cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":1,"ts":12}])j");
    const Trace& trace = imported.trace;
    ASSERT_EQ(trace.flows.size(), 1U);
    const auto name_of = [&](std::uint64_t ref) {
        return trace.text(NameId{trace.streams[stream_of(ref)].events.name[index_of(ref)]});
    };
    EXPECT_EQ(trace.flows[0].kind, FlowKind::forward_backward);
    EXPECT_EQ(name_of(trace.flows[0].from), "mm"); // the innermost at 12 us
    EXPECT_EQ(name_of(trace.flows[0].to), "mm backward");
    EXPECT_EQ(imported.report.warnings.at("unmatched_flow"), 1U); // id 2 does not end
}

TEST(KinetoDialects, CountersAndMemoryAreSeries) {
    const Trace trace = import_text(R"j([
        {"ph":"C","name":"power","pid":0,"ts":3,"args":{"W":310.5}},
        {"ph":"C","name":"power","pid":0,"ts":1,"args":{"W":300}},
        {"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":2,
         "args":{"Total Reserved":4096,"Total Allocated":1024,"Bytes":512,"Device Id":1,"Device Type":1}},
        {"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":4,"args":{"Device Type":0,"Device Id":-1,"Bytes":8}},
        {"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":5,"args":{"Device Type":0,"Device Id":-1,"Bytes":-3}}])j")
                            .trace;
    const auto series = [&](std::string_view name) -> const TraceCounter& {
        for (const TraceCounter& counter : trace.counters) {
            if (trace.text(counter.name) == name) {
                return counter;
            }
        }
        throw std::runtime_error("no counter is called " + std::string(name));
    };
    EXPECT_THAT(series("power").time_ns, ElementsAre(0, 2000));
    EXPECT_THAT(series("power").value, ElementsAre(300, 310.5));
    EXPECT_EQ(trace.text(series("power").unit), "W");
    EXPECT_THAT(series("memory allocated (GPU 1)").value, ElementsAre(1024));
    EXPECT_THAT(series("memory reserved (GPU 1)").value, ElementsAre(4096));
    EXPECT_THAT(series("memory allocated since the beginning (CPU)").value, ElementsAre(8, 5));
    EXPECT_EQ(trace.event_count(), 0U);
}

TEST(KinetoDialects, WaitsAndTheirCallsKnowEachOther) {
    const Trace trace = import_text(R"j([
        {"ph":"X","cat":"cuda_runtime","name":"cudaEventRecord","pid":9,"tid":9,"ts":1,"dur":1,"args":{"External id":32,"cbid":135,"correlation":32}},
        {"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":9,"tid":9,"ts":3,"dur":1,"args":{"correlation":40}},
        {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":24,"ts":4,"dur":2,
         "args":{"cuda_sync_kind":"Stream Wait Event","wait_on_stream":20,"wait_on_cuda_event_record_corr_id":32,"wait_on_cuda_event_id":19,"stream":24,"correlation":40,"device":0,"context":1}},
        {"ph":"X","cat":"cuda_runtime","name":"hipDeviceSynchronize","pid":9,"tid":9,"ts":9,"dur":1,"args":{"correlation":41}}])j")
                            .trace;
    const auto sync = [&](std::string_view name) { return trace.syncs.at(event_named(trace, name).ext); };
    EXPECT_EQ(sync("Stream Wait Event"), (SyncOp{SyncKind::stream_wait_event, 24, 19, 32}));
    EXPECT_EQ(sync("cudaStreamWaitEvent"), (SyncOp{SyncKind::stream_wait_event, 24, 19, 32}));
    EXPECT_EQ(sync("cudaEventRecord"), (SyncOp{SyncKind::event_record, 20, 19, 0}));
    EXPECT_EQ(sync("hipDeviceSynchronize"), (SyncOp{SyncKind::device_synchronize, -1, 0, 0}));
    const Event record = event_named(trace, "Stream Wait Event");
    EXPECT_EQ(record.kind, EventKind::sync);
    EXPECT_EQ(trace.text(record.args), R"({"context":1,"wait_on_stream":20})");
    EXPECT_EQ(trace.text(event_named(trace, "cudaEventRecord").args),
              R"({"cbid":135})"); // external id = correlation
}

TEST(KinetoDialects, ArrowsFollowFromTheCorrelation) {
    const Imported imported = import_text(R"j([
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1,"dur":1,"args":{"correlation":1}},
        {"ph":"X","cat":"cuda_runtime","name":"cudaGetDevice","pid":9,"tid":9,"ts":3,"dur":1,"args":{"correlation":2}},
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":1,"args":{"stream":7,"correlation":1}},
        {"ph":"s","id":1,"cat":"ac2g","name":"ac2g","pid":9,"tid":9,"ts":1},
        {"ph":"f","id":1,"cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":5,"bp":"e"},
        {"ph":"f","id":2,"cat":"ac2g","name":"ac2g","pid":9,"tid":9,"ts":3,"bp":"e"},
        {"ph":"s","id":8,"cat":"ac2g","name":"ac2g","pid":9,"tid":9,"ts":6}])j");
    EXPECT_TRUE(imported.trace.flows.empty());
    EXPECT_EQ(imported.report.warnings.at("unmatched_flow"), 1U); // id 8
    EXPECT_TRUE(imported.report.all_notes().empty()); // id 2: an arrow to a call that launched nothing
}

// 1 of 2 and 1 of 1 kernels have no call in the file: 2 of 3 of both files.
TEST(KinetoDialects, NotesWithCountsAreSums) {
    const auto kernels = [](const std::string& call, const std::string& more) {
        return import_text(
                   R"j([{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1,
            "dur":1,"color":"{}","args":{"correlation":)j" +
                   call + R"j(}},
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":1,"args":{"stream":7,"correlation":1}})j" +
                   more + "]")
            .report;
    };
    ImportReport all = kernels("1", R"j(,
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":7,"dur":1,"args":{"stream":7,"correlation":8}})j");
    all.add(kernels("4", ""));
    EXPECT_THAT(
        all.all_notes(),
        ElementsAre("the calls that launched 2 of 3 records of the device are not in the file: recording "
                    "began later, or calls were not recorded",
                    "2 events have a member \"color\", which is not kept"));
}

TEST(KinetoDialects, GraphKernelsShareOneLaunch) {
    const Imported imported = import_text(R"j([
        {"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":9,"tid":9,"ts":1,"dur":1,"args":{"correlation":1}},
        {"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":5,"dur":4,"args":{"stream":7,"correlation":1,"graph node id":11,"graph id":2}},
        {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":8,"dur":4,"args":{"stream":7,"correlation":1,"graph node id":12,"graph id":2}}])j");
    EXPECT_EQ(imported.report.kernels, 2U);
    EXPECT_EQ(imported.report.warnings.at("overlapping_kernels"), 1U); // b begins before a ends
    const Event event = event_named(imported.trace, "b");
    EXPECT_EQ(event.correlation, 1U);
    EXPECT_EQ(imported.trace.text(event.args), R"({"graph node id":12,"graph id":2})");
}

TEST(KinetoDialects, CommunicationWithoutMetadataIsDescribedByItsOperator) {
    const Trace trace = import_text(R"j([
        {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":9,"ts":1,"dur":9,"args":{"External id":1,"Input Dims":[[6144]]}},
        {"ph":"X","cat":"user_annotation","name":"nccl:all_to_all","pid":9,"tid":9,"ts":2,"dur":7,"args":{"Input Dims":[[6144]],"Input type":["float"]}},
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":4,"dur":1,"args":{"correlation":3}},
        {"ph":"X","cat":"kernel","name":"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)","pid":0,"tid":84,"ts":20,"dur":6,"args":{"stream":84,"correlation":3}}])j")
                            .trace;
    const CommOp op = trace.comm_ops.at(event_named(trace, "ncclKernel_SendRecv").ext);
    EXPECT_EQ(op.kind, CollectiveKind::all_to_all);
    EXPECT_EQ(op.dtype, DType::fp32);
    EXPECT_EQ(op.bytes, 6144U * 4);
    EXPECT_EQ(trace.streams.back().kind, StreamKind::comm);
}

TEST(KinetoDialects, HipGivesTheSizeOfACopyToItsCall) {
    const Trace trace = import_text(R"j([
        {"ph":"X","cat":"cuda_runtime","name":"hipMemcpyWithStream","pid":9,"tid":9,"ts":1,"dur":6,"args":{"stream":"0x0","correlation":117,"size":"2560","kind":"1"}},
        {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Host -> Device)","pid":2,"tid":0,"ts":4,"dur":2,"args":{"External id":8,"device":2,"stream":0,"correlation":117,"kind":"HtoD"}}])j")
                            .trace;
    const Event copy = event_named(trace, "Memcpy");
    EXPECT_EQ(trace.copies.at(copy.ext), (CopyOp{CopyKind::host_to_device, 2560}));
    EXPECT_EQ(trace.text(copy.args), R"({"External id":8})");
    EXPECT_EQ(trace.streams.back().kind, StreamKind::copy);
    EXPECT_EQ(trace.streams.back().device, 2);
}

TEST(KinetoDialects, TheFirstTracesOfKinetoAreArraysWithTextsForNumbers) {
    const Imported imported = import_text(R"j([
        {"ph":"X","cat":"Operator","name":"aten::mm","pid":9,"tid":"77","ts":1,"dur":5,"args":{"External id":2}},
        {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":9,"tid":77,"ts":2,"dur":1,"args":{"correlation":5,"external id":2,"external ts":1}},
        {"ph":"X","cat":"Kernel","name":"gemm","pid":0,"tid":"stream 7","ts":4,"dur":2,"args":{"correlation":5,"external id":5}},
        {"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Traces","tid":"PyTorch Profiler","ts":0,"dur":9}])j");
    const Trace& trace = imported.trace;
    EXPECT_EQ(imported.report.format, "Kineto");
    EXPECT_EQ(stream_named(trace, "thread 77").events.size(), 2U);
    EXPECT_EQ(stream_named(trace, "stream 7").number, 7);
    EXPECT_EQ(stream_named(trace, "PyTorch Profiler").kind, StreamKind::other);
    EXPECT_EQ(trace.text(trace.classes.at(0).name), "process 9");
    EXPECT_EQ(event_named(trace, "gemm").args, kNoName); // external id = correlation
}

} // namespace
} // namespace echosim
