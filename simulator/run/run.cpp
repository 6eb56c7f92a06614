// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/run.h"

#include "comm_models/nccl_model.h"
#include "interference/make_slowdown.h"
#include "simulator/analysis/breakdown.h"
#include "simulator/analysis/trace_of.h"
#include "simulator/core/error.h"
#include "simulator/engine/engine.h"
#include "simulator/graph/annotate.h"
#include "simulator/graph/build_graph.h"
#include "simulator/kernels/host_cost.h"
#include "simulator/kernels/kernel_time.h"
#include "simulator/run/interference_used.h"
#include "simulator/run/limits.h"
#include "simulator/run/memory_verdict.h"
#include "simulator/run/step_interval.h"
#include "simulator/workload/flops.h"
#include "simulator/workload/tensor_sizes.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

void refuse_what_is_not_modelled(const Job& job) {
    if (job.not_modelled.empty())
        return;
    std::vector<Problem> problems;
    for (const std::string& feature : job.not_modelled)
        problems.push_back({job.name, "cannot be simulated yet: " + feature, ""});
    throw InputError(std::move(problems));
}

constexpr std::size_t kContributors = 30;

// What the models leave out for this cluster, in the user's words.
void warn_of_cluster(const Job& job, const Cluster& cluster, std::vector<std::string>& warnings) {
    const Node& node = cluster.node;
    if (job.parallel.world_size <= node.gpus)
        return;
    const BytesPerSecond pcie = pcie_bandwidth(node.pcie);
    if (node.nics.bandwidth > 1.1 * pcie)
        warnings.push_back(
            fmt::format("cluster.node.nics.bandwidth {} is more than a GPU's PCIe path carries ({}): the "
                        "path counts; raise cluster.node.pcie.gen as well",
                        format_bandwidth(node.nics.bandwidth), format_bandwidth(pcie)));
}

// The whole chain; holds what later stages point into.
class Simulation {
  public:
    Simulation(const Job& job, const Cluster& cluster, const RunOptions& options)
        : job_(job), cluster_(cluster), options_(options),
          kernels_(KernelTimes::for_gpu(cluster.gpu, job.kernels.software)),
          collectives_(cluster, {options.calibration, job.environment, {}}),
          host_(host_costs(job.kernels.software)),
          slowdown_(make_slowdown(options.interference, cluster.gpu)) {}

    RunOutput run() {
        const auto begin = std::chrono::steady_clock::now();
        build();
        const EngineInput input{placement_, annotated_, *slowdown_, ranks_to_record(), options_.contention};
        timeline_ = simulate(input);
        RunOutput out;
        out.result = result();
        if (options_.keep_timeline)
            out.trace = trace();
        out.result.simulation.wall =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return out;
    }

  private:
    void build();
    std::vector<bool> ranks_to_record() const;
    Result result() const;
    Trace trace() const;
    void fill_throughput(Result& r) const;
    void fill_breakdown(Result& r, const StepBreakdown& b) const;

    const Job& job_;
    const Cluster& cluster_;
    const RunOptions& options_;
    KernelTimes kernels_;
    NcclModel collectives_;
    HostCosts host_;
    std::unique_ptr<SlowdownModel> slowdown_;
    std::vector<RankGraph> graphs_;
    Placement placement_;
    std::vector<AnnotatedGraph> annotated_;
    Timeline timeline_;
};

void Simulation::build() {
    check_job_size(job_, cluster_);
    for (int stage = 0; stage < job_.parallel.pp; ++stage)
        graphs_.push_back(build_graph(job_, stage));
    // `off` is the ideal: nothing holds up anything else
    for (RankGraph& graph : graphs_)
        graph.one_queue = !slowdown_->identity() && max_connections(job_, cluster_.gpu.arch) == 1;
    placement_ = place(job_, collectives_.cluster(), graphs_, options_.fold);
    check_simulation_size(job_, cluster_, graphs_, placement_);
    const CostModels models{kernels_,
                            collectives_,
                            host_,
                            cluster_,
                            job_.kernels.high_priority_groups,
                            job_.kernels.tp_user_buffers};
    for (const CostClass& c : placement_.cost_classes)
        annotated_.push_back(annotate(graphs_[static_cast<std::size_t>(c.stage)], c, models));
}

std::vector<bool> Simulation::ranks_to_record() const {
    std::vector<bool> record(placement_.ranks.size(), placement_.folded);
    if (placement_.folded)
        return record;
    // the critical rank is known afterwards only: the first rank of every stage stands in for it
    std::vector<bool> stage_seen(graphs_.size(), false);
    for (std::size_t i = 0; i < placement_.ranks.size(); ++i) {
        const SimulatedRank& rank = placement_.ranks[i];
        const auto stage = static_cast<std::size_t>(rank.stage);
        const bool asked =
            options_.keep_timeline && (options_.timeline_ranks == TimelineRanks::all ||
                                       std::ranges::count(options_.listed_ranks, rank.rank) > 0);
        record[i] = asked || !stage_seen[stage];
        stage_seen[stage] = true;
    }
    return record;
}

void Simulation::fill_throughput(Result& r) const {
    const double step = r.step.time, gpus = job_.parallel.world_size;
    const double tokens = static_cast<double>(job_.batch.global) * job_.model.seq_len;
    Throughput& t = r.throughput;
    t.tokens_per_s = tokens / step;
    t.tokens_per_s_per_gpu = t.tokens_per_s / gpus;
    t.model_flops_per_gpu = model_flops(job_, true) / step / gpus;
    t.hardware_flops_per_gpu = hardware_flops(job_, true) / step / gpus;
    const FlopsPerSecond peak = peak_flops(cluster_.gpu, job_.precision.compute);
    if (peak > 0) {
        t.mfu = t.model_flops_per_gpu / peak;
        t.hfu = t.hardware_flops_per_gpu / peak;
    }
}

void Simulation::fill_breakdown(Result& r, const StepBreakdown& b) const {
    const auto seconds = [&](TimeCategory c) { return to_seconds(b[c]); };
    r.breakdown = {.compute = seconds(TimeCategory::compute),
                   .recompute = seconds(TimeCategory::recompute),
                   .interference = seconds(TimeCategory::interference),
                   .tp_comm = seconds(TimeCategory::tp_comm),
                   .pp_comm = seconds(TimeCategory::pp_comm),
                   .dp_comm = seconds(TimeCategory::dp_comm),
                   .cp_comm = seconds(TimeCategory::cp_comm),
                   .ep_comm = seconds(TimeCategory::ep_comm),
                   .bubble = seconds(TimeCategory::bubble),
                   .optimizer = seconds(TimeCategory::optimizer),
                   .host = seconds(TimeCategory::host),
                   .data = seconds(TimeCategory::data),
                   .other = seconds(TimeCategory::other)};
    r.bubble_share = r.breakdown.bubble / r.step.time;
    for (const CommunicationSum& c : b.communication) {
        Communication& out = r.communication.emplace_back();
        out.group = to_string(c.group);
        out.kind = c.kind;
        out.algorithm = c.cost.algorithm;
        out.protocol = c.cost.protocol;
        out.channels = c.cost.channels;
        out.count = c.count;
        out.bytes_per_call = c.bytes / static_cast<double>(c.count);
        out.time = to_seconds(c.time);
        out.exposed = to_seconds(c.exposed);
        out.busbw = c.cost.bus_bandwidth;
    }
    for (std::size_t i = 0; i < b.contributors.size() && i < kContributors; ++i)
        r.top.push_back({b.contributors[i].name, to_seconds(b.contributors[i].time)});
    r.provenance = {b.provenance[0], b.provenance[1], b.provenance[2], b.provenance[3]};
}

Result Simulation::result() const {
    Result r;
    r.job = job_;
    r.cluster = cluster_;
    r.step.time = to_seconds(timeline_.end);
    fill_interval(r.step, cluster_.gpu);
    fill_throughput(r);
    std::size_t critical = critical_rank(timeline_);
    if (timeline_.ranks[critical].size() == 0) // unfolded: the recorded rank of the same stage
        for (std::size_t i = 0; i < timeline_.ranks.size(); ++i)
            if (timeline_.ranks[i].size() > 0 &&
                placement_.ranks[i].stage == placement_.ranks[critical].stage) {
                critical = i;
                break;
            }
    r.critical_rank = placement_.ranks[critical].rank;
    fill_breakdown(r, break_down(timeline_.ranks[critical], annotated_[placement_.ranks[critical].costs],
                                 timeline_.end));
    r.interference = describe_interference(options_.interference, *slowdown_);
    r.interference.share_from_data =
        share_from_data(*slowdown_, limits_of(cluster_.gpu), timeline_.ranks[critical],
                        annotated_[placement_.ranks[critical].costs]);
    std::vector<Bytes> activations(static_cast<std::size_t>(job_.parallel.pp), 0);
    for (std::size_t i = 0; i < placement_.ranks.size(); ++i) {
        Bytes& peak = activations[static_cast<std::size_t>(placement_.ranks[i].stage)];
        peak = std::max(peak, static_cast<Bytes>(timeline_.summaries[i].peak_activations));
    }
    r.memory = judge_memory(job_, cluster_.gpu, activations);
    r.simulation = {timeline_.ops, job_.parallel.world_size, static_cast<int>(placement_.ranks.size()), 0};
    r.warnings = job_.warnings;
    warn_of_cluster(job_, cluster_, r.warnings);
    r.warnings.insert(r.warnings.end(), collectives_.warnings().begin(), collectives_.warnings().end());
    if (!placement_.folded && options_.fold)
        r.warnings.push_back(
            "the ranks of a stage are not placed alike on the nodes: every rank was simulated on its own");
    return r;
}

Trace Simulation::trace() const {
    TimelineSource source{job_, placement_, annotated_, timeline_, {}};
    if (options_.timeline_ranks == TimelineRanks::listed)
        source.ranks = options_.listed_ranks;
    if (options_.timeline_ranks == TimelineRanks::all)
        for (int rank = 0; rank < job_.parallel.world_size; ++rank)
            source.ranks.push_back(rank);
    const std::uint64_t events = count_trace_events(source);
    if (options_.most_timeline_events > 0 && events > options_.most_timeline_events)
        throw InputError("--timeline",
                         fmt::format("{} events are more than viewers of JSON can hold ({})", events,
                                     options_.most_timeline_events),
                         "write .etr, show fewer ranks with --timeline-ranks, or insist with --force");
    const nlohmann::ordered_json meta = {{"tool", "echosim"},
                                         {"kind", "simulated"},
                                         {"job", job_.name},
                                         {"cluster", cluster_.name},
                                         {"gpu", cluster_.gpu.name},
                                         {"world_size", job_.parallel.world_size},
                                         {"step_time_s", to_seconds(timeline_.end)}};
    return trace_of(source, meta.dump());
}

} // namespace

RunOutput run(const Job& job, const Cluster& cluster, const RunOptions& options) {
    refuse_what_is_not_modelled(job);
    return Simulation(job, cluster, options).run();
}

} // namespace echosim
