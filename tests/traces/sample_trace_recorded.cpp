// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/sample_trace.h"

namespace echosim::test {
namespace {

struct RecordedStreams {
    std::uint32_t main = 0;
    std::uint32_t backward = 0;
    std::uint32_t compute = 0;
    std::uint32_t ranges = 0;
    std::uint32_t comm = 0;
    std::uint32_t copy = 0;
};

RecordedStreams add_streams(TraceBuilder& builder) {
    const auto rank = builder.add_class("rank 3", -1, {3});
    RecordedStreams streams{builder.add_stream(rank, StreamKind::host, "python"),
                            builder.add_stream(rank, StreamKind::host, "thread 902"),
                            builder.add_stream(rank, StreamKind::compute, "stream 7"),
                            builder.add_stream(rank, StreamKind::other, "stream 7 annotations"),
                            builder.add_stream(rank, StreamKind::tp_comm, "stream 20"),
                            builder.add_stream(rank, StreamKind::copy, "stream 22")};
    builder.set_origin(streams.main, -1, 901);
    builder.set_origin(streams.backward, -1, 902);
    builder.set_origin(streams.compute, 1, 7);
    builder.set_origin(streams.ranges, 1, 7);
    builder.set_origin(streams.comm, 1, 20);
    builder.set_origin(streams.copy, 1, 22);
    return streams;
}

Event recorded(TimeNs start, TimeNs duration, NameId name, EventKind kind, std::uint32_t correlation) {
    Event event;
    event.start = start;
    event.duration = duration;
    event.name = name;
    event.kind = kind;
    event.correlation = correlation;
    event.provenance = Provenance::measured;
    return event;
}

CommOp reduce_scatter(TraceBuilder& builder) {
    CommOp op;
    op.kind = CollectiveKind::reduce_scatter;
    op.dtype = DType::bf16;
    op.bytes = 8192;
    op.group_size = 4;
    op.sequence = 12;
    op.communicator = builder.add_communicator(
        {builder.name("3"), builder.name("TENSOR_MODEL_PARALLEL_GROUP"), {{0, 4, 1}}});
    op.in_elements = 4096;
    op.out_elements = 1024;
    return op;
}

void add_host(TraceBuilder& builder, const RecordedStreams& streams) {
    Event op = recorded(1000, 90'000, builder.name("aten::linear"), EventKind::host, 41);
    op.args = builder.name(
        R"({"Input Dims":[[8,16],[16,4],[]],"Input type":["c10::BFloat16"],"Sequence number":5})");
    const auto forward = builder.add_event(streams.main, op);
    builder.add_event(streams.main,
                      recorded(0, 400'000, builder.name("ProfilerStep#12"), EventKind::annotation, 2));
    builder.add_event(streams.main,
                      recorded(500, 300'000, builder.name("train.py(31): step"), EventKind::python, 0));
    op.name = builder.name("LinearBackward0");
    op.start = 210'000;
    op.correlation = 77;
    builder.add_flow(forward, builder.add_event(streams.backward, op), FlowKind::forward_backward);
    Event mark = recorded(205'000, 0, builder.name("[memory]"), EventKind::instant, 0);
    mark.ext = builder.name("cpu_instant_event").value;
    mark.args = builder.name(R"({"Addr":140001,"Bytes":-512})");
    builder.add_event(streams.main, mark);
    Event flush = recorded(306'001, 77, builder.name("Activity Buffer Request"), EventKind::other, 0);
    flush.ext = builder.name("overhead").value;
    builder.add_event(streams.backward, flush);
}

// A call and what it put on a stream.
std::uint64_t launch(TraceBuilder& builder, const RecordedStreams& streams, std::uint32_t stream,
                     Event work) {
    Event call = recorded(work.start - 20'001, 6'003, builder.name("cudaLaunchKernel"), EventKind::api,
                          work.correlation);
    call.args = builder.name(R"({"cbid":211,"External id":41})");
    const auto from = builder.add_event(streams.main, call);
    const auto to = builder.add_event(stream, work);
    builder.add_flow(from, to, FlowKind::launch);
    return to;
}

void add_device(TraceBuilder& builder, const RecordedStreams& streams) {
    Event gemm = recorded(40'001, 30'501, builder.name("ampere_bf16_s16816gemm"), EventKind::kernel, 101);
    gemm.ext = builder.add_launch({{64, 2, 1}, {128, 1, 1}, 168, 49'152});
    gemm.args = builder.name(R"({"context":1,"External id":41,"est. achieved occupancy %":37})");
    const auto kernel = launch(builder, streams, streams.compute, gemm);
    Event comm = recorded(71'000, 50'000, builder.name("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"),
                          EventKind::comm, 102);
    comm.ext = builder.add_comm_op(reduce_scatter(builder));
    comm.args = builder.name(R"({"grid":[8,1,1],"block":[512,1,1],"In split size":[]})");
    const auto scatter = launch(builder, streams, streams.comm, comm);
    builder.add_flow(kernel, scatter, FlowKind::event);
    Event copy =
        recorded(150'000, 2'001, builder.name("Memcpy DtoH (Device -> Pinned)"), EventKind::memcpy, 103);
    copy.ext = builder.add_copy({CopyKind::device_to_host, 4096});
    launch(builder, streams, streams.copy, copy);
    copy.start = 160'000;
    copy.kind = EventKind::memset;
    copy.ext = builder.add_copy({CopyKind::memset, 64});
    copy.correlation = 104;
    launch(builder, streams, streams.copy, copy);
    launch(builder, streams, streams.compute,
           recorded(200'000, 9'000, builder.name("graph 5"), EventKind::graph, 105));
    builder.add_event(streams.ranges,
                      recorded(40'001, 60'000, builder.name("optimizer"), EventKind::annotation, 0));
    // Two kernels on one stream at the same time, as a CUDA graph leaves them.
    builder.add_event(streams.compute, recorded(220'000, 9'000, builder.name("a"), EventKind::kernel, 0));
    builder.add_event(streams.compute, recorded(224'000, 9'000, builder.name("b"), EventKind::kernel, 0));
}

void add_synchronisation(TraceBuilder& builder, const RecordedStreams& streams) {
    Event call = recorded(70'000, 900, builder.name("cudaStreamWaitEvent"), EventKind::api, 110);
    call.ext = builder.add_sync({SyncKind::stream_wait_event, 20, 5, 109});
    builder.add_event(streams.main, call);
    Event wait = recorded(70'500, 400, builder.name("Stream Wait Event"), EventKind::sync, 110);
    wait.ext = builder.add_sync({SyncKind::stream_wait_event, 7, 5, 109});
    builder.add_event(streams.comm, wait);
    call = recorded(250'000, 90'000, builder.name("cuStreamSynchronize"), EventKind::api, 111);
    call.ext = builder.add_sync({SyncKind::stream_synchronize, -1, 0, 0});
    builder.add_event(streams.main, call);
}

} // namespace

Trace recorded_trace() {
    TraceBuilder builder;
    builder.set_meta(
        R"({"schemaVersion":1,"deviceProperties":[{"id":1,"name":"NVIDIA H100"}],"distributedInfo":{"backend":"nccl","rank":3,"world_size":8}})");
    builder.set_t0(1'700'000'000'123'456'789);
    const RecordedStreams streams = add_streams(builder);
    add_host(builder, streams);
    add_device(builder, streams);
    add_synchronisation(builder, streams);
    const auto memory = builder.add_counter(0, "Total Reserved", "bytes");
    builder.add_sample(memory, 0, 0.1);
    builder.add_sample(memory, 9'001, 1e300);
    return builder.finish();
}

} // namespace echosim::test
