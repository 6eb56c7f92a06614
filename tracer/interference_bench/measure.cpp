// SPDX-License-Identifier: Apache-2.0
#include "tracer/interference_bench/measure.h"

#include <algorithm>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr int kFirstRuns = 10;
constexpr int kSizings = 4;

Seconds seconds(const std::vector<double>& times_ns, const Rig& rig) {
    return typical(times_ns, static_cast<double>(rig.step())) * 1e-9;
}

Bytes most_operand(const std::vector<KernelCase>& kernels, bool half) {
    Bytes most = 1_MiB;
    for (const KernelCase& kernel : kernels)
        if ((kernel.program == Program::gemm_half) == half)
            most = std::max(most, buffer_bytes(kernel));
    return most;
}

Seconds time_alone(TimedOp& kernel, Rig& rig) {
    std::vector<double> times;
    for (int i = 0; i < kWarmUps + kFirstRuns; ++i) {
        const TimeNs time = rig.run({.kernel = &kernel}).kernel.length();
        if (i >= kWarmUps)
            times.push_back(static_cast<double>(time));
    }
    return std::max(1e-9, seconds(times, rig));
}

// Chooses bytes that take about `wanted` alone.
void size_communication(Communication& comm, Rig& rig, Seconds wanted) {
    Bytes bytes = 4_MiB;
    for (int i = 0; i < kSizings; ++i) {
        comm.set_bytes(bytes);
        const Seconds time = std::max(1e-6, to_seconds(rig.run({.comm = &comm}).comm.length()));
        const double scale = wanted / time;
        if (i > 0 && scale > .8 && scale < 1.1)
            return;
        bytes = static_cast<Bytes>(static_cast<double>(bytes) * std::clamp(scale, .05, 50.0));
        bytes = std::max<Bytes>(bytes, 1024);
    }
    comm.set_bytes(bytes);
}

struct Pair {
    const KernelSet::Entry& kernel;
    Communication& comm;
    CommCase plan;
    LaunchOrder order;
};

BenchSample measure_pair(const Pair& pair, const BenchOptions& options, const GpuFacts& gpu, Rig& rig) {
    const Seconds lead = head_start(pair.order, pair.plan.stand_in, pair.kernel.alone);
    std::vector<double> alone, overlapped, comm_alone, comm_overlapped, overlap;
    for (int i = 0; i < kWarmUps + options.repeats; ++i) {
        const Interval kernel = rig.run({.kernel = pair.kernel.op.get()}).kernel;
        const Interval comm = rig.run({.comm = &pair.comm}).comm;
        const Rig::Times both = rig.run({pair.kernel.op.get(), &pair.comm, pair.order, lead});
        if (i < kWarmUps)
            continue;
        alone.push_back(static_cast<double>(kernel.length()));
        comm_alone.push_back(static_cast<double>(comm.length()));
        overlapped.push_back(static_cast<double>(both.kernel.length()));
        comm_overlapped.push_back(static_cast<double>(both.comm.length()));
        overlap.push_back(overlap_ratio(both.kernel, both.comm));
    }
    BenchSample sample;
    sample.kernel = pair.kernel.kernel;
    sample.launch = pair.kernel.launch;
    sample.order = pair.order;
    sample.high_priority = options.high_priority;
    sample.alone = seconds(alone, rig);
    sample.overlapped = seconds(overlapped, rig);
    sample.comm_alone = seconds(comm_alone, rig);
    sample.comm_overlapped = seconds(comm_overlapped, rig);
    sample.overlap = median(overlap);
    sample.comm = pair.comm.facts(sample.comm_alone, gpu);
    sample.shares = shares_of(sample.kernel, gpu, std::max(1e-9, sample.alone));
    sample.repeats = options.repeats;
    return sample;
}

std::string progress_line(const BenchSample& sample, std::size_t at, std::size_t of) {
    return fmt::format("[{}/{}] {} beside {}, {}: {} -> {} (x {:.2f}), overlap {:.2f}", at, of,
                       sample.kernel.name, to_string(sample.comm.plan), to_string(sample.order),
                       format_time(sample.alone), format_time(sample.overlapped),
                       sample.overlapped / sample.alone, sample.overlap);
}

} // namespace

KernelSet::KernelSet(const std::vector<KernelCase>& kernels, const GpuFacts& gpu, Rig& rig)
    : floats_(make_operands(most_operand(kernels, false), Filling::fp32)),
      halves_(make_operands(most_operand(kernels, true),
                            gpu.compute_major >= 8 ? Filling::bf16 : Filling::fp16)) {
    if (std::any_of(kernels.begin(), kernels.end(), is_gemm))
        cublas_ = std::make_unique<Cublas>();
    if (cublas_ && !cublas_->available())
        notes_.emplace_back("no GEMMs: libcublas was not found (LD_LIBRARY_PATH)");
    for (const KernelCase& kernel : kernels)
        if (!is_gemm(kernel) || cublas_->available())
            add(kernel, gpu);
    for (Entry& entry : entries_)
        entry.alone = time_alone(*entry.op, rig);
}

void KernelSet::add(const KernelCase& kernel, const GpuFacts& gpu) {
    Entry entry;
    entry.kernel = kernel;
    if (is_gemm(kernel)) {
        const cudaDataType half = gpu.compute_major >= 8 ? CUDA_R_16BF : CUDA_R_16F;
        auto gemm = std::make_unique<Gemm>(*cublas_, kernel, half,
                                           kernel.program == Program::gemm_half ? halves_ : floats_);
        entry.launch = gemm->facts();
        entry.op = std::move(gemm);
    } else {
        auto own = std::make_unique<OwnKernel>(kernel, gpu, floats_);
        entry.launch = own->facts();
        entry.op = std::move(own);
    }
    entries_.push_back(std::move(entry));
}

const KernelSet::Entry* KernelSet::find(const std::string& name) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.kernel.name == name; });
    return found == entries_.end() ? nullptr : &*found;
}

Measured measure(const BenchPlan& plan, const BenchOptions& options, const GpuFacts& gpu, CommSource& comms,
                 const std::function<void(const std::string&)>& progress) {
    Rig rig(gpu, options.high_priority);
    const KernelSet kernels(plan.kernels, gpu, rig);
    Measured measured;
    measured.notes = kernels.notes();
    measured.notes.push_back(
        fmt::format("clock step {} ns, gap between kernels {} ns", rig.step(), rig.gap()));
    std::unique_ptr<Communication> comm;
    for (std::size_t i = 0; i < plan.pairs.size(); ++i) {
        const PairCase& pair = plan.pairs[i];
        const CommCase& wanted = plan.comms[pair.comm];
        if (i == 0 || pair.comm != plan.pairs[i - 1].comm) {
            comm.reset();
            comm = comms.make(wanted);
        }
        const KernelSet::Entry* kernel = kernels.find(plan.kernels[pair.kernel].name);
        if (kernel == nullptr)
            continue;
        if (i == 0 || pair.comm != plan.pairs[i - 1].comm || pair.kernel != plan.pairs[i - 1].kernel)
            size_communication(*comm, rig, wanted_comm_time(kernel->alone));
        measured.samples.push_back(measure_pair({*kernel, *comm, wanted, pair.order}, options, gpu, rig));
        progress(progress_line(measured.samples.back(), i + 1, plan.pairs.size()));
    }
    return measured;
}

} // namespace echosim
