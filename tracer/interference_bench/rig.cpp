// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/rig.h"

#include <algorithm>

namespace echosim {
namespace {

constexpr Seconds kTimeout = 5;
constexpr int kGapRuns = 30;
constexpr std::size_t kEnds = static_cast<std::size_t>(kSlots) * kSlotStride;

} // namespace

struct Rig::Lane {
    TimedOp* op = nullptr; // null: only the stamps
    const Stream* stream = nullptr;
    int index = 0;
};

Rig::Rig(const GpuFacts& gpu, bool high_priority)
    : comm_stream_(high_priority), flush_(2 * gpu.l2_bytes + 1_MiB), slots_(Bytes{2} * kSlotWords * 8),
      release_(sizeof(Release)), expired_(8), read_back_(std::size_t{2} * kSlotWords) {
    void* ticket = nullptr;
    check(cudaHostAlloc(&ticket, sizeof(unsigned long long), cudaHostAllocMapped), "allocating host memory");
    host_ticket_ = static_cast<volatile unsigned long long*>(ticket);
    *host_ticket_ = 0;
    check(cudaMemset(release_.as<void>(), 0, release_.bytes()), "clearing memory");
    check(cudaMemset(expired_.as<void>(), 0, expired_.bytes()), "clearing memory");
    step_ = clock_step();
    gap_ = measure_gap();
}

Rig::~Rig() {
    (void)cudaFreeHost(const_cast<unsigned long long*>(host_ticket_));
}

unsigned long long* Rig::slots_of(int lane) const {
    return slots_.as<unsigned long long>() + static_cast<std::size_t>(lane) * kSlotWords;
}

void Rig::queue_gate(const Lane& lane, bool first, Seconds delay) {
    void* mapped = nullptr;
    check(cudaHostGetDevicePointer(&mapped, const_cast<unsigned long long*>(host_ticket_), 0),
          "mapping host memory");
    GateArguments gate{};
    gate.host_ticket = first ? static_cast<const volatile unsigned long long*>(mapped) : nullptr;
    gate.release = release_.as<Release>();
    gate.ticket = ticket_;
    gate.delay_ns = static_cast<unsigned long long>(to_ns(delay));
    gate.timeout_ns = static_cast<unsigned long long>(to_ns(kTimeout));
    gate.begin = lane.op != nullptr && lane.op->stamps_itself() ? nullptr : slots_of(lane.index);
    gate.expired = expired_.as<unsigned long long>();
    launch(DeviceKernel::gate, {}, gate, lane.stream->get());
}

void Rig::queue_op(const Lane& lane) {
    unsigned long long* slots = slots_of(lane.index);
    if (lane.op != nullptr)
        lane.op->launch(lane.stream->get(), slots);
    if (lane.op == nullptr || !lane.op->stamps_itself())
        launch(DeviceKernel::stamp, {}, StampArguments{slots + kEnds}, lane.stream->get());
}

void Rig::prepare_run() {
    ++ticket_;
    check(cudaMemsetAsync(slots_.as<void>(), 0, slots_.bytes(), compute_stream_.get()), "clearing stamps");
    check(cudaMemsetAsync(flush_.as<void>(), static_cast<int>(ticket_ % 256), flush_.bytes(),
                          compute_stream_.get()),
          "flushing the L2 cache");
    compute_stream_.wait();
}

void Rig::finish_run() {
    *host_ticket_ = ticket_;
    compute_stream_.wait();
    comm_stream_.wait();
    unsigned long long expired = 0;
    check(cudaMemcpy(&expired, expired_.as<void>(), sizeof expired, cudaMemcpyDeviceToHost),
          "reading stamps");
    if (expired != 0)
        throw DeviceError("holding back the kernels of a run", "a gate was shut for 5 s",
                          "launches must not block: unset CUDA_LAUNCH_BLOCKING, run without a debugger");
    check(cudaMemcpy(read_back_.data(), slots_.as<void>(), slots_.bytes(), cudaMemcpyDeviceToHost),
          "reading stamps");
}

Interval Rig::interval_of(const Lane& lane) const {
    const auto from = read_back_.begin() + static_cast<std::ptrdiff_t>(lane.index) * kSlotWords;
    unsigned long long begin = ~0ULL, end = 0;
    for (int slot = 0; slot < kSlots; ++slot) {
        const unsigned long long begun = from[slot * kSlotStride],
                                 ended = from[(kSlots + slot) * kSlotStride];
        if (begun != 0)
            begin = std::min(begin, begun);
        end = std::max(end, ended);
    }
    const Interval stamps{static_cast<TimeNs>(begin), static_cast<TimeNs>(end)};
    return lane.op == nullptr || lane.op->stamps_itself() ? stamps : without_gaps(stamps, gap_);
}

Rig::Times Rig::run(const Run& run) {
    const Lane kernel{run.kernel, &compute_stream_, 0}, comm{run.comm, &comm_stream_, 1};
    const bool both = run.kernel != nullptr && run.comm != nullptr;
    const bool comm_leads = run.kernel == nullptr || (both && run.order == LaunchOrder::comm_first);
    const Lane& first = comm_leads ? comm : kernel;
    const Lane& second = comm_leads ? kernel : comm;
    prepare_run();
    queue_gate(first, true, 0);
    if (both)
        queue_gate(second, false, run.head_start);
    queue_op(first);
    if (both)
        queue_op(second);
    finish_run();
    Times times;
    if (run.kernel != nullptr)
        times.kernel = interval_of(kernel);
    if (run.comm != nullptr)
        times.comm = interval_of(comm);
    return times;
}

TimeNs Rig::measure_gap() {
    std::vector<double> gaps;
    const Lane empty{nullptr, &compute_stream_, 0};
    for (int i = 0; i < kGapRuns; ++i) {
        prepare_run();
        queue_gate(empty, true, 0);
        queue_op(empty);
        finish_run();
        gaps.push_back(static_cast<double>(interval_of(empty).length()));
    }
    return static_cast<TimeNs>(typical(gaps, static_cast<double>(step_)));
}

} // namespace echosim
