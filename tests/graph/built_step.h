// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/nccl_model.h"
#include "interference/slowdown.h"
#include "simulator/engine/engine.h"
#include "simulator/graph/annotate.h"
#include "simulator/graph/build_graph.h"
#include "simulator/graph/rank_class.h"
#include "simulator/kernels/host_cost.h"
#include "simulator/kernels/kernel_time.h"
#include "tests/workload/job_texts.h"

#include <vector>

// Jobs as the program builds them, up to the timeline.
namespace echosim::test {

// GPT-3 175B on 1,024 GPUs, t 8, p 8, D 16, sequence parallel, distributed optimizer, 96 micro-batches.
inline Job gpt3_job(const std::string& more = "") {
    return resolve_job(
        source_of("--num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 "
                  "--max-position-embeddings 2048 --vocab-size 51200 --make-vocab-size-divisible-by 128 "
                  "--micro-batch-size 1 --global-batch-size 1536 --bf16 --use-flash-attn "
                  "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 8 --sequence-parallel "
                  "--use-distributed-optimizer " +
                      more,
                  1024),
        {});
}

struct BuiltStep {
    Job job;
    std::vector<RankGraph> graphs;
    Placement placement;
    std::vector<AnnotatedGraph> annotated;
};

inline BuiltStep build_step(const Job& job, const Cluster& cluster, bool fold = true) {
    BuiltStep step;
    step.job = job;
    for (int stage = 0; stage < job.parallel.pp; ++stage)
        step.graphs.push_back(build_graph(job, stage));
    step.placement = place(job, cluster, step.graphs, fold);
    const KernelTimes kernels = KernelTimes::for_gpu(cluster.gpu, job.kernels.software);
    const auto collectives = std::make_unique<NcclModel>(cluster);
    const HostCosts host = host_costs(job.kernels.software);
    for (const CostClass& c : step.placement.cost_classes)
        step.annotated.push_back(annotate(step.graphs[static_cast<std::size_t>(c.stage)], c,
                                          {kernels, *collectives, host, cluster}));
    return step;
}

// Every rank recorded.
inline Timeline simulate_step(const BuiltStep& step, const SlowdownModel& slowdown = NoSlowdown{}) {
    return simulate({.placement = step.placement,
                     .graphs = step.annotated,
                     .slowdown = slowdown,
                     .record = std::vector<bool>(step.placement.ranks.size(), true)});
}

template <class Visit> void for_each_op(const RankGraph& graph, Visit visit) {
    for (const Instance& at : graph.program)
        for (const Op& op : graph.blocks[at.block.value].ops)
            visit(at, op);
}

} // namespace echosim::test
