// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/step_blocks.h"

#include "simulator/graph/block_builder.h"

namespace echosim {
namespace {

double gradient_bytes(const Job& job) {
    return job.precision.grads_in_fp32 ? 4 : 2;
}
DType gradient_type(const Job& job) {
    return job.precision.grads_in_fp32 ? DType::fp32 : job.precision.compute;
}

CollectiveWork on(Slot slot, CollectiveKind kind, double bytes, DType dtype) {
    return {static_cast<std::uint32_t>(slot), kind, static_cast<Bytes>(bytes), dtype};
}

int replicas(const Job& job) {
    return job.parallel.dp * job.parallel.cp;
}

int group_size(const Job& job, Slot slot) {
    return slot == Slot::world ? job.parallel.world_size : job.parallel.tp * job.parallel.pp;
}

// A small all-reduce over mp or world whose result the host reads.
void all_reduce_and_read(BlockBuilder& b, const Job& job, std::string_view name, Slot slot) {
    const std::string read = "read " + std::string(name);
    if (group_size(job, slot) == 1) {
        b.host(read, 5_us, {Dep::tail(tail_of(Stream::compute))});
        return;
    }
    const auto op = b.collective(name, on(slot, CollectiveKind::all_reduce, 4, DType::fp32), Stream::world);
    b.host(read, 5_us, {Dep::op(op)});
}

// Gradients of norms are partial sums under sequence parallelism; a tied word embedding is on two stages.
void reduce_shared_gradients(BlockBuilder& b, const Job& job, const ChunkParameters& p,
                             bool shares_embedding) {
    b.wait("wait gradients", {Dep::tail(tail_of(Stream::dp))});
    if (job.parallel.sequence_parallel && p.norms > 0) {
        const auto op =
            b.collective("all-reduce norm grads (tp)",
                         on(Slot::tp, CollectiveKind::all_reduce,
                            gradient_bytes(job) * static_cast<double>(p.norms), gradient_type(job)),
                         Stream::tp);
        b.wait("wait norm grads", {Dep::op(op)});
    }
    if (shares_embedding) {
        const double weights =
            static_cast<double>(job.model.padded_vocab) / job.parallel.tp * job.model.hidden;
        const auto op = b.collective(
            "all-reduce embedding grad (embd)",
            on(Slot::embd, CollectiveKind::all_reduce, gradient_bytes(job) * weights, gradient_type(job)),
            Stream::embd);
        b.wait("wait embedding grad", {Dep::op(op)});
    }
}

ChunkParameters whole_rank(const Job& job, int pipeline_rank) {
    ChunkParameters sum;
    for (int chunk = 0; chunk < job.parallel.vpp; ++chunk) {
        const ChunkParameters p = chunk_parameters(job, pipeline_rank, chunk);
        sum.layers += p.layers;
        sum.embedding += p.embedding;
        sum.head += p.head;
        sum.norms += p.norms;
    }
    return sum;
}

} // namespace

BlockId reduce_gradients(RankGraph& graph, const Job& job, const GradientBucket& bucket) {
    BlockBuilder b(graph, "reduce gradients", Phase::gradient_sync);
    const double n = static_cast<double>(bucket.elements), bytes = gradient_bytes(job) * n;
    if (!job.data_parallel.average_in_collective)
        b.memory("scale gradients", KernelClass::elementwise, 2 * bytes);
    const bool sharded = job.data_parallel.distributed_optimizer;
    b.collective(sharded ? "reduce-scatter gradients (dp)" : "all-reduce gradients (dp)",
                 on(Slot::dp, sharded ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, bytes,
                    gradient_type(job)),
                 Stream::dp);
    return b.finish();
}

BlockId gather_parameters(RankGraph& graph, const Job& job, const GradientBucket& bucket,
                          std::uint32_t port) {
    BlockBuilder b(graph, "gather parameters", Phase::param_gather);
    const auto op = b.collective("all-gather parameters (dp)",
                                 on(Slot::dp, CollectiveKind::all_gather,
                                    2.0 * static_cast<double>(bucket.elements), job.precision.compute),
                                 Stream::dp);
    b.record(op, port);
    return b.finish();
}

BlockId wait_for(RankGraph& graph, const std::string& name, std::uint32_t port) {
    BlockBuilder b(graph, name, Phase::param_gather);
    b.wait(name, {Dep::port(port)});
    return b.finish();
}

BlockId zero_gradients(RankGraph& graph, const Job& job, std::int64_t parameters) {
    BlockBuilder b(graph, "zero gradients", Phase::optimizer);
    b.memory("zero gradients", KernelClass::memset, gradient_bytes(job) * static_cast<double>(parameters));
    return b.finish();
}

BlockId finish_step(RankGraph& graph, const Job& job, int pipeline_rank) {
    const ParallelLayout& layout = job.parallel;
    const ChunkParameters parameters = whole_rank(job, pipeline_rank);
    const bool ends = layout.pp > 1 && (pipeline_rank == 0 || pipeline_rank == layout.pp - 1);
    const bool sharded = job.data_parallel.distributed_optimizer;
    const double p =
        static_cast<double>(parameters.total()) /
        (sharded ? static_cast<double>(replicas(job)) / job.data_parallel.optimizer_instances : 1.0);
    BlockBuilder b(graph, "finish step", Phase::gradient_sync);
    reduce_shared_gradients(b, job, parameters, job.model.tied_embeddings && ends);
    b.set_phase(Phase::optimizer);
    const Slot statistics = sharded ? Slot::world : Slot::mp;
    if (job.precision.loss_scaling) {
        b.memory("unscale gradients", KernelClass::optimizer, 2 * gradient_bytes(job) * p);
        all_reduce_and_read(b, job, "all-reduce found inf", statistics);
    }
    if (job.clip_grad > 0) {
        b.memory("gradient norm", KernelClass::reduction, gradient_bytes(job) * p);
        all_reduce_and_read(b, job, "all-reduce gradient norm", statistics);
        b.memory("clip gradients", KernelClass::optimizer, 2 * gradient_bytes(job) * p);
    }
    b.memory("adam", KernelClass::optimizer, 28 * p);
    b.memory("copy to model parameters", KernelClass::copy, 6 * p);
    if (sharded && replicas(job) > 1 && !job.data_parallel.overlap_param_gather) {
        b.set_phase(Phase::param_gather);
        const auto op = b.collective("all-gather parameters (dp)",
                                     on(Slot::dp, CollectiveKind::all_gather,
                                        2.0 * static_cast<double>(parameters.total()), job.precision.compute),
                                     Stream::dp);
        b.wait("wait parameters", {Dep::op(op)});
        b.set_phase(Phase::optimizer);
    }
    all_reduce_and_read(b, job, "all-reduce update successful", Slot::mp);
    b.host("end of step", 0, {Dep::tail(tail_of(Stream::compute)), Dep::tail(tail_of(Stream::dp))});
    b.host_step("learning rate, logging");
    return b.finish();
}

} // namespace echosim
