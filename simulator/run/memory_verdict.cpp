// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/memory_verdict.h"

#include "simulator/workload/tensor_sizes.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace echosim {
namespace {

Bytes estimated_peak(const Job& job) {
    Bytes peak = 0;
    for (int stage = 0; stage < job.parallel.pp; ++stage)
        peak = std::max(peak, estimate_memory(job, stage).peak());
    return peak;
}

const std::string kSelective = "--recompute-granularity selective";

struct Change {
    std::string flags;
    std::function<bool(Job&)> apply; // false: changes nothing
};

bool use_distributed_optimizer(Job& job) {
    return !std::exchange(job.data_parallel.distributed_optimizer, true) && job.parallel.dp > 1;
}
bool use_sequence_parallel(Job& job) {
    return !std::exchange(job.parallel.sequence_parallel, job.parallel.tp > 1) && job.parallel.tp > 1;
}
bool recompute_attention(Job& job) {
    if (job.recompute.granularity != RecomputeGranularity::none)
        return false;
    job.recompute.granularity = RecomputeGranularity::selective;
    job.recompute.modules = {"core_attn"};
    return true;
}
bool recompute_all(Job& job) {
    if (job.recompute.granularity == RecomputeGranularity::full)
        return false;
    job.recompute = {};
    job.recompute.granularity = RecomputeGranularity::full;
    return true;
}
bool micro_batch_one(Job& job) {
    if (job.batch.micro == 1)
        return false;
    job.batch.num_microbatches *= job.batch.micro;
    job.batch.micro = 1;
    return true;
}

// Cheapest first; later ones are tried on top of the earlier ones that helped.
std::string nearest_change(const Job& job, Bytes capacity) {
    const std::vector<Change> changes = {
        {"--use-distributed-optimizer", use_distributed_optimizer},
        {"--sequence-parallel", use_sequence_parallel},
        {kSelective, recompute_attention},
        {"--micro-batch-size 1", micro_batch_one},
        {"--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", recompute_all}};
    for (const Change& change : changes) {
        Job changed = job;
        if (change.apply(changed) && estimated_peak(changed) <= capacity)
            return change.flags;
    }
    Job changed = job;
    std::vector<std::string> kept;
    for (const Change& change : changes) {
        const Bytes before = estimated_peak(changed);
        Job next = changed;
        if (!change.apply(next) || estimated_peak(next) >= before)
            continue;
        changed = next;
        if (changed.recompute.granularity == RecomputeGranularity::full)
            std::erase(kept, kSelective);
        kept.push_back(change.flags);
        if (estimated_peak(changed) <= capacity)
            return fmt::format("{}", fmt::join(kept, " "));
    }
    return "none of the memory options is enough: more GPUs (--tensor-model-parallel-size or "
           "--pipeline-model-parallel-size)";
}

} // namespace

Memory judge_memory(const Job& job, const Gpu& gpu, const std::vector<Bytes>& activations) {
    Memory memory;
    memory.capacity = gpu.memory;
    for (int stage = 0; stage < job.parallel.pp; ++stage) {
        const MemoryEstimate e = estimate_memory(job, stage);
        StageMemory s;
        s.stage = stage;
        s.weights = e.weights;
        s.gradients = e.gradients;
        s.optimizer = e.optimizer;
        s.activations = activations[static_cast<std::size_t>(stage)];
        s.buffers = e.buffers;
        s.overhead = e.overhead;
        s.in_flight = e.in_flight;
        s.peak = s.weights + s.gradients + s.optimizer + s.activations + s.buffers + s.overhead;
        memory.peak = std::max(memory.peak, s.peak);
        memory.stages.push_back(s);
    }
    memory.fits = memory.peak <= memory.capacity;
    if (!memory.fits)
        memory.nearest_fit = nearest_change(job, memory.capacity);
    return memory;
}

} // namespace echosim
