// SPDX-License-Identifier: Apache-2.0
#include "interference/trace_samples.h"
#include "interference/kernel_names.h"
#include "interference/occupancy.h"
#include "interference/samples/overlap_sweep.h"
#include "interference/samples/recorder_facts.h"
#include "simulator/core/error.h"
#include "traces/trace.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace echosim {
namespace {

constexpr std::size_t kLeastAlone = 3;
constexpr std::size_t kMostSamples = 50; // of one kernel on one GPU
constexpr double kLeastOverlap = 0.05;   // less says nothing
constexpr double kMostBeside = 0.05;     // of a kernel's time, beside other kernels
constexpr double kMostSpread = 0.25;     // of the time alone, quartile to quartile, over the median
constexpr double kLeastFactor = 0.85;    // median of a kernel's factors: communication speeds nothing up
constexpr TimeNs kLeastSteps = 10;       // of the recorder's clock
constexpr double kHbmPerBusByte = 2.5;   // docs/models.md; 2 for copies between GPUs: read here, write there
constexpr double kHbmPerCopyByte = 1;    // read here, written there

// A kernel, or a communication, of one GPU.
struct Work {
    WorkInterval interval;
    std::uint32_t stream = 0;
    std::uint32_t index = 0;
};

struct GpuWork {
    std::uint32_t rank_class = 0;
    std::vector<Work> kernels;
    std::vector<Work> comms;
};

// Runs of one kernel: indices into GpuWork::kernels.
struct KernelRuns {
    std::vector<std::uint32_t> alone;
    std::vector<std::uint32_t> overlapped;
};

struct LeftOut {
    std::uint64_t no_launch = 0;
    std::uint64_t beside_kernels = 0;
    std::uint64_t short_ones = 0;
    std::uint64_t varying = 0;
    std::uint64_t faster = 0;
    std::uint64_t thinned = 0;
};

double quantile(const std::vector<TimeNs>& sorted, double q) {
    const double at = q * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    const double part = at - static_cast<double>(low);
    return static_cast<double>(sorted[low]) * (1 - part) + static_cast<double>(sorted[high]) * part;
}

std::vector<TimeNs> sorted_times(const GpuWork& work, const std::vector<std::uint32_t>& kernels) {
    std::vector<TimeNs> times;
    for (const std::uint32_t k : kernels) {
        times.push_back(work.kernels[k].interval.end - work.kernels[k].interval.start);
    }
    std::ranges::sort(times);
    return times;
}

class PairFinder {
  public:
    PairFinder(const Trace& trace, const std::string& where, const Gpu* gpu)
        : trace_(trace), where_(where), gpu_(recorded_gpu(trace.meta, gpu)) {}
    TracePairs find();

  private:
    struct CommRow {
        CommFootprint footprint;
        std::string words;
    };

    std::vector<GpuWork> gpus();
    void add_stream(const TraceStream& stream, std::uint32_t number, GpuWork& work);
    void find_on(GpuWork& work);
    void add_samples(const GpuWork& work, const OverlapSweep& sweep, KernelRuns& runs);
    InterferenceSample sample_of(const GpuWork& work, const OverlapSweep& sweep, std::uint32_t kernel,
                                 Seconds alone);
    KernelFootprint footprint(const Work& kernel);
    CommRow comm_row(const Work& comm);
    CommRow copy_row(const Event& event) const;
    TimeNs clock_step() const;
    void add_notes();
    const Event event(const Work& work) const { return trace_.streams[work.stream].events.row(work.index); }

    const Trace& trace_;
    const std::string& where_;
    RecordedGpu gpu_;
    TracePairs pairs_;
    LeftOut left_out_;
    TimeNs shortest_ = 0;
    bool no_bytes_ = false;
};

// The work of each GPU: streams of one class and device, in order of start.
std::vector<GpuWork> PairFinder::gpus() {
    std::map<std::pair<std::uint32_t, std::int32_t>, GpuWork> found;
    for (std::uint32_t s = 0; s < trace_.streams.size(); ++s) {
        const TraceStream& stream = trace_.streams[s];
        GpuWork& work = found[{stream.rank_class, stream.device}];
        work.rank_class = stream.rank_class;
        add_stream(stream, s, work);
    }
    std::vector<GpuWork> result;
    for (auto& [key, work] : found) {
        const auto by_start = [](const Work& a, const Work& b) {
            return a.interval.start < b.interval.start;
        };
        std::ranges::stable_sort(work.kernels, by_start);
        std::ranges::stable_sort(work.comms, by_start);
        if (!work.kernels.empty()) {
            result.push_back(std::move(work));
        }
    }
    return result;
}

void PairFinder::add_stream(const TraceStream& stream, std::uint32_t number, GpuWork& work) {
    const EventView events = stream.events.view();
    for (std::uint32_t i = 0; i < events.size(); ++i) {
        const EventKind kind = events.kind[i];
        const bool copy = kind == EventKind::memcpy && events.ext[i] != kNoRow &&
                          trace_.copies[events.ext[i]].kind == CopyKind::peer_to_peer;
        if ((kind != EventKind::kernel && kind != EventKind::comm && !copy) || events.dur_ns[i] <= 0 ||
            events.provenance[i] != Provenance::measured) {
            continue;
        }
        const Work row{{events.start_ns[i], events.start_ns[i] + events.dur_ns[i]}, number, i};
        (kind == EventKind::kernel ? work.kernels : work.comms).push_back(row);
    }
}

// 1,000 ns when every duration is whole microseconds.
TimeNs PairFinder::clock_step() const {
    for (const TraceStream& stream : trace_.streams) {
        for (std::size_t i = 0; i < stream.events.size(); ++i) {
            if (is_device_work(stream.events.kind[i]) && stream.events.dur_ns[i] % 1000 != 0) {
                return 1;
            }
        }
    }
    return 1000;
}

TracePairs PairFinder::find() {
    shortest_ = kLeastSteps * clock_step();
    pairs_.gpu = gpu_.name;
    std::vector<GpuWork> all = gpus();
    for (GpuWork& work : all) {
        pairs_.kernels += work.kernels.size();
        pairs_.communications += work.comms.size();
    }
    if (pairs_.kernels == 0) {
        throw InputError(where_, "holds no recorded kernels of a GPU",
                         trace_.timed
                             ? "record with Kineto or Nsight Systems; a simulated timeline measures nothing"
                             : "an execution graph has no times: record with Kineto or Nsight Systems");
    }
    for (GpuWork& work : all) {
        if (!work.comms.empty()) {
            find_on(work);
        }
    }
    add_notes();
    return std::move(pairs_);
}

void PairFinder::find_on(GpuWork& work) {
    const auto intervals = [](const std::vector<Work>& rows) {
        std::vector<WorkInterval> result(rows.size());
        std::ranges::transform(rows, result.begin(), &Work::interval);
        return result;
    };
    const OverlapSweep sweep = sweep_overlaps(intervals(work.kernels), intervals(work.comms));
    std::unordered_map<std::uint64_t, KernelRuns> runs; // by name and row of the launch
    std::vector<std::uint64_t> order;
    for (std::uint32_t k = 0; k < work.kernels.size(); ++k) {
        const auto& events = trace_.streams[work.kernels[k].stream].events;
        const std::uint32_t launch = events.ext[work.kernels[k].index];
        const auto time = static_cast<double>(work.kernels[k].interval.end - work.kernels[k].interval.start);
        if (launch == kNoRow) {
            ++left_out_.no_launch;
        } else if (static_cast<double>(sweep.beside_kernels[k]) > kMostBeside * time) {
            ++left_out_.beside_kernels;
        } else {
            const std::uint64_t key = std::uint64_t{events.name[work.kernels[k].index]} << 32U | launch;
            const auto [entry, added] = runs.try_emplace(key);
            if (added) {
                order.push_back(key);
            }
            if (sweep.beside_comm[k] == 0) {
                entry->second.alone.push_back(k);
            } else if (static_cast<double>(sweep.beside_comm[k]) >= kLeastOverlap * time) {
                entry->second.overlapped.push_back(k);
            }
        }
    }
    for (const std::uint64_t key : order) {
        add_samples(work, sweep, runs.at(key));
    }
}

void PairFinder::add_samples(const GpuWork& work, const OverlapSweep& sweep, KernelRuns& runs) {
    pairs_.kernels_overlapped += runs.overlapped.size();
    if (runs.overlapped.empty() || runs.alone.size() < kLeastAlone) {
        pairs_.without_partner += runs.overlapped.size();
        return;
    }
    const std::vector<TimeNs> times = sorted_times(work, runs.alone);
    const double median = quantile(times, 0.5);
    if (median < static_cast<double>(shortest_)) {
        left_out_.short_ones += runs.overlapped.size();
        return;
    }
    if (quantile(times, 0.75) - quantile(times, 0.25) > kMostSpread * median) {
        left_out_.varying += runs.overlapped.size();
        return;
    }
    if (quantile(sorted_times(work, runs.overlapped), 0.5) < kLeastFactor * median) {
        left_out_.faster += runs.overlapped.size();
        return;
    }
    const std::size_t samples = std::min(kMostSamples, runs.overlapped.size());
    left_out_.thinned += runs.overlapped.size() - samples;
    for (std::size_t i = 0; i < samples; ++i) { // spread over the recording
        const std::uint32_t kernel = runs.overlapped[i * runs.overlapped.size() / samples];
        pairs_.samples.push_back(sample_of(work, sweep, kernel, median * 1e-9));
    }
}

InterferenceSample PairFinder::sample_of(const GpuWork& work, const OverlapSweep& sweep, std::uint32_t kernel,
                                         Seconds alone) {
    const Work& row = work.kernels[kernel];
    const Event recorded = event(row);
    InterferenceSample sample;
    sample.id = fmt::format(
        "{}: {} {}, {} at {:.6f} ms", where_, trace_.text(trace_.classes[work.rank_class].name),
        trace_.text(trace_.streams[row.stream].name), "kernel", static_cast<double>(recorded.start) * 1e-6);
    sample.kernel_name = trace_.text(recorded.name);
    sample.family = kernel_family(sample.kernel_name);
    sample.gpu = gpu_.name;
    sample.nccl_version = gpu_.nccl_version;
    sample.sms = gpu_.limits.sms;
    sample.kernel = footprint(row);
    sample.kernel.time = sample.time_alone = alone;
    sample.time_overlapped = to_seconds(recorded.duration);
    const auto covered = static_cast<double>(sweep.beside_comm[kernel]);
    sample.overlap = std::min(1.0, covered / static_cast<double>(recorded.duration));
    const auto pairs = std::ranges::equal_range(sweep.pairs, kernel, {}, &WorkOverlap::kernel);
    std::vector<CommFootprint> comms;
    const WorkOverlap* most = nullptr;
    for (const WorkOverlap& pair : pairs) {
        CommRow comm = comm_row(work.comms[pair.comm]);
        const double part = static_cast<double>(pair.time) / covered;
        comm.footprint.ctas *= part;
        comm.footprint.hbm_share *= part;
        comms.push_back(comm.footprint);
        if (most == nullptr || pair.time > most->time) {
            most = &pair;
            sample.communication = comm.words;
        }
    }
    const bool first = work.comms[most->comm].interval.start > row.interval.start;
    sample.load = load_of(sample.kernel, comms, first, gpu_.limits);
    return sample;
}

KernelFootprint PairFinder::footprint(const Work& kernel) {
    const Event recorded = event(kernel);
    const KernelLaunch& launch = trace_.launches[recorded.ext];
    const std::string name(trace_.text(recorded.name));
    const auto product = [](const std::array<std::uint32_t, 3>& size) {
        return std::max(1.0, static_cast<double>(size[0])) * std::max(1.0, static_cast<double>(size[1])) *
               std::max(1.0, static_cast<double>(size[2]));
    };
    KernelFootprint result;
    result.kernel_class = kernel_class_of(name);
    result.blocks = product(launch.grid);
    result.threads_per_block = static_cast<int>(std::min(1024.0, product(launch.block)));
    result.registers_per_thread = static_cast<int>(std::min(launch.registers, 512U));
    result.shared_bytes = launch.shared_bytes;
    result.blocks_per_sm = blocks_that_fit(result, gpu_.limits);
    result.tensor_cores = uses_tensor_cores(name);
    result.yields_sms = is_stream_k(name);
    const bool one_wave = result.blocks <= result.blocks_per_sm * gpu_.limits.sms;
    result.persistent =
        one_wave && (name.find("nvjet") != std::string::npos || name.find("ersistent") != std::string::npos);
    result.hbm_share = typical_hbm_share(result, gpu_.limits.sms);
    result.occupancy_ratio = recorded_occupancy(trace_.text(recorded.args), result, gpu_.limits);
    return result;
}

PairFinder::CommRow PairFinder::copy_row(const Event& recorded) const {
    const double bytes = static_cast<double>(trace_.copies[recorded.ext].bytes);
    CommRow row;
    row.footprint.kind = CollectiveKind::send_recv;
    if (gpu_.hbm > 0) {
        row.footprint.hbm_share =
            std::min(1.0, kHbmPerCopyByte * bytes / to_seconds(recorded.duration) / gpu_.hbm);
    }
    row.words = "copy between GPUs";
    return row;
}

PairFinder::CommRow PairFinder::comm_row(const Work& comm) {
    const Event recorded = event(comm);
    if (recorded.kind == EventKind::memcpy) {
        return copy_row(recorded);
    }
    const CommOp op = recorded.ext == kNoRow ? CommOp{} : trace_.comm_ops[recorded.ext];
    CommRow row;
    row.footprint.ctas = op.channels;
    read_comm_launch(trace_.text(recorded.args), row.footprint);
    const bool known = op.kind != kNoCollective;
    row.footprint.kind = known ? op.kind : CollectiveKind::all_reduce;
    row.footprint.algorithm = op.algorithm == kNoAlgorithm ? Algorithm::ring : op.algorithm;
    row.footprint.protocol = op.protocol == kNoProtocol ? Protocol::simple : op.protocol;
    const double bus = static_cast<double>(op.bytes) * bus_factor(op.kind, op.group_size);
    if (gpu_.hbm > 0) {
        row.footprint.hbm_share =
            std::min(1.0, kHbmPerBusByte * bus / to_seconds(recorded.duration) / gpu_.hbm);
    }
    no_bytes_ = no_bytes_ || op.bytes == 0;
    row.words = fmt::format("{} {} CTAs", known ? to_string(op.kind) : "communication", row.footprint.ctas);
    row.words += op.bytes > 0 ? " " + format_bytes(std::bit_floor(op.bytes)) + " and more" : std::string();
    return row;
}

void PairFinder::add_notes() {
    const auto note = [&](std::uint64_t count, std::string_view text) {
        if (count > 0) {
            pairs_.notes.push_back(fmt::format("{}: {} {}", where_, count, text));
        }
    };
    note(left_out_.no_launch, "kernels left out: their grid is not in the file");
    note(left_out_.beside_kernels, "kernels left out: other kernels ran beside them");
    note(left_out_.short_ones,
         shortest_ > kLeastSteps
             ? "overlapped kernels left out: under 10 us, and the file has whole microseconds"
             : "overlapped kernels left out: under 10 ns");
    note(left_out_.varying, "overlapped kernels left out: their time alone varies by more than 25 %");
    note(left_out_.faster,
         "overlapped kernels left out: as a rule they ran faster than alone, so the calls differ in "
         "more than communication (size of the work, caches)");
    note(left_out_.thinned, "overlapped kernels left out: 50 of a kernel and GPU are enough");
    if (pairs_.samples.empty()) {
        return;
    }
    pairs_.notes.push_back(fmt::format("{}: HBM share of the kernels is that of their class", where_));
    if (gpu_.hbm <= 0) {
        pairs_.notes.push_back(
            fmt::format("{}: HBM share of communication is not known: the GPU{} is none of "
                        "the catalogue; --gpu names one",
                        where_, gpu_.name.empty() ? "" : " \"" + gpu_.name + "\""));
    } else if (no_bytes_) {
        pairs_.notes.push_back(
            fmt::format("{}: some communication has no size in the file: its HBM share counts as 0", where_));
    }
}

} // namespace

TracePairs find_pairs(const Trace& trace, const std::string& where, const Gpu* gpu) {
    return PairFinder(trace, where, gpu).find();
}

} // namespace echosim
