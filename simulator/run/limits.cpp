// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/limits.h"

#include "simulator/core/error.h"

#include <fmt/format.h>

namespace echosim {
namespace {

constexpr double kMostInstances = 30e6;             // 16 bytes each
constexpr std::size_t kMostSimulatedRanks = 32'768; // 40 KiB of engine state each
constexpr double kMostRecordedOps = 40e6;           // 46 bytes each
constexpr double kMostOps = 100e6;                  // some 10 s

// Forward, backward and their memory blocks for each layer, twice the forward's with full recomputation; a
// dozen blocks of transfers, batch, embedding and head a chunk.
double block_instances(const Job& job) {
    const bool full = job.recompute.granularity == RecomputeGranularity::full;
    const double layers = static_cast<double>(job.model.layers) * (full ? 6 : 4);
    return job.batch.num_microbatches * (layers + 12.0 * job.parallel.pp * job.parallel.vpp);
}

void need_network(const Job& job, const Cluster& cluster) {
    if (job.parallel.world_size <= nvlink_domain_gpus(cluster) ||
        job.parallel.world_size <= cluster.node.gpus)
        return;
    const std::string gpus = fmt::format("{} GPUs need {} nodes", job.parallel.world_size,
                                         nodes_for(cluster, job.parallel.world_size));
    if (cluster.fabric.kind == FabricKind::none)
        throw InputError(cluster.name + ": fabric.kind",
                         gpus + ", and the cluster has no network (\"none\")");
    if (cluster.node.nics.count == 0 || cluster.node.nics.bandwidth <= 0)
        throw InputError(cluster.name + ": node.nics", gpus + ", and the nodes have no NICs");
}

} // namespace

void check_job_size(const Job& job, const Cluster& cluster) {
    need_network(job, cluster);
    const double instances = block_instances(job);
    if (instances > kMostInstances)
        throw InputError(
            job.name,
            fmt::format("{} micro-batches of {} layers on {} pipeline stages make {:.0f} million blocks, "
                        "more than one run holds ({:.0f} million)",
                        job.batch.num_microbatches, job.model.layers, job.parallel.pp, instances / 1e6,
                        kMostInstances / 1e6),
            "use a larger --micro-batch-size or a smaller --global-batch-size");
}

void check_simulation_size(const Job& job, const Cluster& cluster, const std::vector<RankGraph>& graphs,
                           const Placement& placement) {
    double ops = 0;
    for (const SimulatedRank& rank : placement.ranks)
        ops += static_cast<double>(count_ops(graphs[static_cast<std::size_t>(rank.stage)]));
    const double most = placement.folded ? kMostRecordedOps : kMostOps;
    const bool many_ranks = placement.ranks.size() > kMostSimulatedRanks;
    if (!placement.folded && (many_ranks || ops > most))
        throw InputError(job.name,
                         fmt::format("the ranks of a stage are not placed alike on nodes of {} GPUs; one by "
                                     "one, {} ranks with {:.0f} "
                                     "million ops are too many (at most {} ranks, {:.0f} million ops)",
                                     cluster.node.gpus, placement.ranks.size(), ops / 1e6,
                                     kMostSimulatedRanks, most / 1e6),
                         "choose a tensor-parallel size that divides the GPUs of a node");
    if (ops > most)
        throw InputError(
            job.name,
            fmt::format("the step has {:.0f} million ops on {} simulated ranks; one run holds {:.0f} million",
                        ops / 1e6, placement.ranks.size(), most / 1e6),
            "use a larger --micro-batch-size or fewer layers a stage");
}

} // namespace echosim
