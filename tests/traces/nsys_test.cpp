// SPDX-License-Identifier: Apache-2.0
#include "traces/nsys.h"

#include "tests/traces/nsys_database.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>

namespace echosim::test {
namespace {

const TraceStream& stream_named(const Trace& trace, std::string_view name) {
    const auto found = std::find_if(trace.streams.begin(), trace.streams.end(),
                                    [&](const TraceStream& s) { return trace.text(s.name) == name; });
    if (found == trace.streams.end()) {
        throw std::runtime_error("no stream " + std::string(name));
    }
    return *found;
}

const std::string kWork = kNsysTables + R"sql(
INSERT INTO ThreadNames VALUES (6, 20, 281475094151177);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,130,0,281475094151177,41,3,0),
  (140,150,0,281475094151177,42,4,0), (160,170,0,281475094151177,43,5,700);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  (200,450,1,3,20,41,281475094151168,1,2,64,8,4,2,128,2,1,1024,2048,NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (460,500,1,3,20,42,281475094151168,4096,1,1,2);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (510,511,1,3,21,43,281475094151168,0,64,2);
)sql";

TEST(Nsys, DeviceWorkAndItsCalls) {
    const auto [trace, report] = import_nsys(kWork);
    ASSERT_EQ(trace.classes.size(), 1U);
    EXPECT_EQ(trace.text(trace.classes[0].name), "process 7 python3");
    EXPECT_EQ(trace.t0_ns, 1'700'000'000'000'000'000);
    const TraceStream& thread = stream_named(trace, "thread 9 (main)");
    EXPECT_EQ(thread.kind, StreamKind::host);
    EXPECT_EQ(thread.number, 9);
    ASSERT_EQ(thread.events.size(), 3U);
    EXPECT_EQ(trace.text(thread.events.row(0).name), "cudaLaunchKernel"); // without _v7000
    EXPECT_EQ(thread.events.row(0).kind, EventKind::api);
    EXPECT_EQ(trace.text(thread.events.row(2).args), R"({"returnValue":700})");

    const TraceStream& stream = stream_named(trace, "stream 20");
    EXPECT_EQ(stream.device, 1);
    EXPECT_EQ(stream.number, 20);
    EXPECT_EQ(stream.kind, StreamKind::compute);
    const Event kernel = stream.events.row(0);
    EXPECT_EQ(kernel.kind, EventKind::kernel);
    EXPECT_EQ(trace.text(kernel.name), "void gemm<float>(float*)");
    EXPECT_EQ(kernel.start, 200);
    EXPECT_EQ(kernel.duration, 250); // 450 - 200
    EXPECT_EQ(kernel.correlation, 41U);
    EXPECT_EQ(kernel.provenance, Provenance::measured);
    const KernelLaunch launch = trace.launches[kernel.ext];
    EXPECT_EQ(launch, (KernelLaunch{{8, 4, 2}, {128, 2, 1}, 64, 3072})); // 1024 + 2048 bytes
    const Event copy = stream.events.row(1);
    EXPECT_EQ(trace.text(copy.name), "Memcpy HtoD (Pinned -> Device)");
    EXPECT_EQ(trace.copies[copy.ext], (CopyOp{CopyKind::host_to_device, 4096}));
    EXPECT_EQ(stream_named(trace, "stream 21").kind, StreamKind::copy);
    EXPECT_EQ(report.kernels, 1U);
    EXPECT_EQ(report.events, 6U);
    EXPECT_EQ(report.complete_events, 6U);
    EXPECT_TRUE(report.warnings.empty());
}

// The oldest exports: no process in the rows of the GPU, no context, only the short name.
TEST(Nsys, ProcessesByCorrelationWithoutGlobalPid) {
    const auto [trace, report] = import_nsys(R"sql(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1,'gemm'),(2,'cudaLaunchKernel');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT,
  correlationId INT, shortName INT);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10,20,0,7,5,1),(30,40,1,7,6,1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2,281475094151177,5,2),(1,2,281475110928387,6,2);
)sql");
    ASSERT_EQ(trace.classes.size(), 2U);
    EXPECT_EQ(trace.text(trace.classes[1].name), "process 8");
    const auto kernels_of = [&trace = trace](std::uint32_t rank_class) {
        std::size_t count = 0;
        for (const TraceStream& stream : trace.streams) {
            count += stream.rank_class == rank_class && stream.kind == StreamKind::compute
                         ? stream.events.size()
                         : 0;
        }
        return count;
    };
    EXPECT_EQ(kernels_of(0), 1U);
    EXPECT_EQ(kernels_of(1), 1U);
    EXPECT_TRUE(report.warnings.empty());
}

TEST(Nsys, OneProcessWithTwoDevicesIsOneClass) {
    const Imported imported = import_nsys(kNsysTables + R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,streamId,correlationId,globalPid,demangledName)
  VALUES (1,2,0,7,1,281475094151168,1), (1,2,1,7,2,281475094151168,1), (1,2,1,8,3,281475094151168,1);
)sql");
    EXPECT_EQ(imported.trace.classes.size(), 1U);
    EXPECT_EQ(imported.trace.streams.size(), 3U); // (0, 7), (1, 7), (1, 8)
    EXPECT_EQ(imported.report.kernels, 3U);
    EXPECT_EQ(imported.report.warnings.at("unmatched_correlation"), 3U); // no calls in the file
}

// A wait names its event, and through eventSyncId the call that recorded it. The record says GPU 0, but its
// context has kernels on GPU 1.
TEST(Nsys, WaitsFindTheCallThatRecordedTheEvent) {
    const Imported imported = import_nsys(kWork + R"sql(
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0,1,3,20,50,281475094151168,77,900);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER,
  eventId INTEGER, eventSyncId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (620,625,0,3,33,51,281475094151168,2,77,900),
  (640,690,0,3,4294967295,4294967295,281475094151168,4,4294967295,4294967295);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (600,610,0,281475094151177,50,8,0),
  (619,626,0,281475094151177,51,7,0);
)sql");
    const Trace& trace = imported.trace;
    const TraceStream& waiting = stream_named(trace, "stream 33");
    EXPECT_EQ(waiting.device, 1);
    const SyncOp wait{SyncKind::stream_wait_event, 33, 77, 50};
    EXPECT_EQ(waiting.events.row(0).kind, EventKind::sync);
    EXPECT_EQ(trace.syncs[waiting.events.row(0).ext], wait);
    const EventColumns& calls = stream_named(trace, "thread 9 (main)").events;
    EXPECT_EQ(trace.syncs[calls.row(3).ext], (SyncOp{SyncKind::event_record, 20, 77, 0}));
    EXPECT_EQ(trace.syncs[calls.row(4).ext], wait);
    const Event device = stream_named(trace, "no stream").events.row(0);
    EXPECT_EQ(trace.syncs[device.ext], (SyncOp{SyncKind::device_synchronize, -1, 0, 0}));
}

TEST(Nsys, OldSynchronizationTypeAndCudaGraphs) {
    const Imported imported = import_nsys(kWork + R"sql(
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (620,625,20,91,281475094151168,3);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER,
  graphExecId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (700,900,1,3,20,41,281475094151168,12,13);
)sql");
    const Trace& trace = imported.trace;
    const EventColumns& events = stream_named(trace, "stream 20").events;
    EXPECT_EQ(events.row(2).kind, EventKind::graph);
    EXPECT_EQ(trace.text(events.row(2).name), "CUDA graph 12");
    EXPECT_EQ(trace.text(events.row(2).args), R"({"context":3,"graphId":12,"graphExecId":13})");
    const auto& syncs = trace.streams;
    const auto has_sync = std::any_of(syncs.begin(), syncs.end(), [&](const TraceStream& s) {
        return s.number == 20 && s.events.size() > 0 &&
               s.events.row(s.events.size() - 1).kind == EventKind::sync;
    });
    EXPECT_TRUE(has_sync);
}

TEST(Nsys, RangesMarksDomainsAndOtherLibraries) {
    const Imported imported = import_nsys(kWork + R"sql(
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, category INTEGER,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER);
INSERT INTO NVTX_EVENTS VALUES (1,NULL,75,NULL,'loader',281475094151177,NULL,NULL,4,NULL),
  (10,30,59,NULL,'step 1',281475094151177,NULL,NULL,0,NULL),
  (12,NULL,34,NULL,NULL,281475094151177,NULL,6,4,17),
  (15,NULL,60,NULL,'never ended',281475094151177,NULL,NULL,0,NULL),
  (16,20,59,NULL,'of a process without GPU',281475110928387,NULL,NULL,0,NULL);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
INSERT INTO OSRT_API VALUES (5,9,281475094151177,6);
)sql");
    const Trace& trace = imported.trace;
    const EventColumns& events = stream_named(trace, "thread 9 (main)").events;
    ASSERT_EQ(events.size(), 7U); // three calls, two ranges, a mark, a library call
    EXPECT_EQ(events.row(0).kind, EventKind::other);
    EXPECT_EQ(trace.text(NameId{events.row(0).ext}), "OS runtime");
    EXPECT_EQ(events.row(1).kind, EventKind::annotation);
    EXPECT_EQ(trace.text(events.row(1).name), "step 1");
    EXPECT_EQ(events.row(1).duration, 20);
    EXPECT_EQ(events.row(2).kind, EventKind::instant);
    EXPECT_EQ(trace.text(events.row(2).name), "main");
    EXPECT_EQ(trace.text(events.row(2).args), R"({"domain":"loader","uint64Value":17})");
    EXPECT_EQ(imported.report.warnings.at("unclosed_begin"), 1U);
    EXPECT_EQ(imported.report.warnings.at("event_of_process_without_gpu"), 1U);
}

TEST(Nsys, CountersOfTheGpu) {
    const Imported imported = import_nsys(kWork + R"sql(
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER,
  metricName TEXT);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (281474976710657,0,'GPU Metrics',5,'SMs Active [Throughput %]');
CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
INSERT INTO GPU_METRICS VALUES (300,281474976710657,5,80),(200,281474976710657,5,70);
)sql");
    ASSERT_EQ(imported.trace.counters.size(), 1U);
    const TraceCounter& counter = imported.trace.counters[0];
    EXPECT_EQ(imported.trace.text(counter.name), "GPU 1: SMs Active [Throughput %]");
    EXPECT_EQ(imported.trace.text(counter.unit), "Throughput %");
    EXPECT_EQ(counter.time_ns, (std::vector<TimeNs>{200, 300}));
    EXPECT_EQ(counter.value, (std::vector<double>{70, 80}));
}

// srun starts one profiler a rank: its environment has the rank. 'XRANK' must not be taken for it.
TEST(Nsys, RankOfTheRecordedEnvironment) {
    const Imported imported = import_nsys(kWork + R"sql(
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('DeviceEnvironment','XRANK=1;SLURM_PROCID=5;A=b;SLURM_NTASKS=8');
)sql");
    EXPECT_EQ(imported.trace.text(imported.trace.classes[0].name), "rank 5");
    EXPECT_EQ(expand_ranks(imported.trace.classes[0].ranks), std::vector<int>{5});
}

TEST(Nsys, TimesOfANormalizedExportCountFromTheStartOfTheSession) {
    const Imported imported = import_nsys(kNsysTables + R"sql(
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE','true');
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,streamId,globalPid,demangledName)
  VALUES (1700000000000000500,1700000000000000900,0,7,281475094151168,1);
)sql");
    EXPECT_EQ(imported.trace.streams.at(0).events.row(0).start, 500);
    EXPECT_EQ(imported.trace.t0_ns, 1'700'000'000'000'000'000);
}

// What the sqlite3 shell counts in the files, table by table.
struct RealFile {
    const char* name;
    std::uint64_t kernels, copies, memsets, calls, syncs, ranges, other;
};

class NsysRealFile : public testing::TestWithParam<RealFile> {};

TEST_P(NsysRealFile, NothingIsDropped) {
    const RealFile& file = GetParam();
    const std::string path = std::string("../shared/data/inputs/nsys/") + file.name;
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " is not there";
    }
    const auto [trace, report] = read_nsys(path);
    std::map<EventKind, std::uint64_t> counts;
    for (const TraceStream& stream : trace.streams) {
        for (const EventKind kind : stream.events.kind) {
            ++counts[kind];
        }
    }
    EXPECT_EQ(report.kernels, file.kernels);
    EXPECT_EQ(counts[EventKind::kernel] + counts[EventKind::comm], file.kernels);
    EXPECT_EQ(counts[EventKind::memcpy], file.copies);
    EXPECT_EQ(counts[EventKind::memset], file.memsets);
    EXPECT_EQ(counts[EventKind::api], file.calls);
    EXPECT_EQ(counts[EventKind::sync], file.syncs);
    EXPECT_EQ(counts[EventKind::annotation], file.ranges);
    EXPECT_EQ(counts[EventKind::other], file.other); // overhead tables
    EXPECT_EQ(report.events, trace.event_count());
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
}

INSTANTIATE_TEST_SUITE_P(Files, NsysRealFile,
                         testing::Values(RealFile{"h100_2gpu_1s.sqlite", 3442, 904, 22, 5796, 244, 16782,
                                                  198},
                                         RealFile{"mock.sqlite", 2, 1, 0, 9, 1, 0, 31},
                                         RealFile{"healthy_1pct.sqlite", 400, 0, 0, 400, 0, 0, 0}),
                         [](const auto& file) {
                             const std::string name = file.param.name;
                             return name.substr(0, name.find('.'));
                         });

} // namespace
} // namespace echosim::test
