// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/schedule.h"
#include "simulator/workload/tensor_sizes.h"

#include <algorithm>

// Peak memory of one pipeline rank (symbols as in tensor_sizes.cpp, P parameters of the rank):
//   weights      e P                                  e = 2 (bf16, fp16) or 4 (fp32)
//   gradients    4 or 2 bytes an element of the padded buckets
//   optimizer    12 P / n (fp32 master, two moments; 8 P / n when the weights are fp32 already), n = D c / I
//   with the
//                distributed optimizer, 1 without: 18 P and (6 + 12 I / (D c)) P together for bf16
//   activations  largest sum, over the schedule, of what the micro-batches in flight keep, plus the layers
//   that a
//                recomputed unit brings back while its backward runs
//   buffers      at that moment: what the loss or the backward of one layer needs beside it, the tensors
//   received
//                from the neighbours, the gathered input under sequence parallelism, GEMM workspaces
//   overhead     what is not in PyTorch's allocated memory: CUDA context, NCCL buffers, fragmentation
namespace echosim {
namespace {

// Context and loaded kernels of PyTorch with Transformer Engine: 0.5 to 0.8 GB.
constexpr Bytes kCudaContext = 614_MiB;
// Channel buffers of a communicator (NCCL: 4 MiB Simple, 4.7 MiB LL128, 0.5 MiB LL a channel and peer; 8
// channels, two peers).
constexpr Bytes kNcclPerCommunicator = 147_MiB;
// 32 MiB each on Hopper and later: cuBLAS for the forward thread, for the backward thread, and Transformer
// Engine's own. Ampere takes less (8, 8 and 4 MiB, unless CUBLAS_WORKSPACE_CONFIG says otherwise).
constexpr Bytes kGemmWorkspace = 96_MiB;
// Share of the allocated memory that the caching allocator holds without use: 3 to 8 %.
constexpr double kFragmentation = 0.04;

Bytes whole(double value) {
    return static_cast<Bytes>(value + 0.5);
}

struct ModelState {
    double weights = 0, gradients = 0, optimizer = 0;
};

ModelState model_state(const Job& job, int pipeline_rank) {
    const double element = std::max(size_of(job.precision.compute), 2.0);
    const double parameters = static_cast<double>(rank_parameters(job, pipeline_rank));
    const bool fp32 = element > 2;
    double padded = 0;
    for (int chunk = 0; chunk < job.parallel.vpp; ++chunk) {
        for (const GradientBucket& bucket : gradient_buckets(job, pipeline_rank, chunk)) {
            padded += static_cast<double>(bucket.elements);
        }
    }
    double shards = 1;
    if (job.data_parallel.distributed_optimizer) {
        shards =
            static_cast<double>(job.parallel.dp) * job.parallel.cp / job.data_parallel.optimizer_instances;
    }
    return {.weights = element * parameters,
            .gradients = (job.precision.grads_in_fp32 || fp32 ? 4 : 2) * padded,
            .optimizer = (fp32 ? 8 : 12) * parameters / shards};
}

// Activations and temporaries of one chunk.
struct ChunkLoad {
    double kept = 0; // by a micro-batch between forward and backward, without the head
    double head = 0;
    double recomputed = 0;     // brought back while one unit runs backward
    double head_temporary = 0; // beside the softmax: logits or their gradient in the compute type; with the
                               // fused cross entropy, which does not work in place, also an fp32 copy
    double layer_temporary = 0;
};

// Backward of a layer: gradients of FC1's output and of the activation, of the scores and their softmax when
// unfused, of the residual stream, and one weight gradient when it is not accumulated in place.
double layer_temporary(const Job& job) {
    const ModelShape& model = job.model;
    const double element = std::max(size_of(job.precision.compute), 2.0);
    const double tokens = static_cast<double>(model.seq_len) * job.batch.micro / job.parallel.cp;
    const double tp = job.parallel.tp;
    const double mlp = tokens * model.ffn_hidden / tp * (model.gated() ? 3 : 2);
    const double scores = job.kernels.attention == AttentionImpl::unfused
                              ? 2 * tokens * model.seq_len * model.heads / tp
                              : 2.0 * tokens * model.heads * model.head_dim / tp;
    const double weight =
        job.kernels.gradient_accumulation_fusion
            ? 0
            : static_cast<double>(model.hidden) * model.ffn_hidden / tp * (model.gated() ? 2 : 1);
    return element * (std::max(mlp, scores) + 2 * tokens * model.hidden + weight);
}

double recomputed_at_once(const Job& job, const SavedActivations& saved, int layers) {
    const double full = static_cast<double>(saved.layer_full);
    switch (job.recompute.granularity) {
    case RecomputeGranularity::none:
        return 0;
    case RecomputeGranularity::selective:
        return full - static_cast<double>(saved.layer);
    case RecomputeGranularity::full:
        break;
    }
    const int unit = job.recompute.method == RecomputeMethod::uniform ? job.recompute.num_layers : 1;
    return full * std::min(unit, layers - layers_without_recompute(job, layers));
}

ChunkLoad chunk_load(const Job& job, int pipeline_rank, int chunk) {
    const SavedActivations saved = saved_activations(job);
    const int layers =
        job.parallel
            .layers_per_stage[static_cast<std::size_t>(pipeline_rank)][static_cast<std::size_t>(chunk)];
    const int whole_layers = layers_without_recompute(job, layers);
    ChunkLoad load;
    load.kept = static_cast<double>(saved.layer_full) * whole_layers +
                static_cast<double>(saved.layer) * (layers - whole_layers);
    load.recomputed = recomputed_at_once(job, saved, layers);
    load.layer_temporary = layers > 0 ? layer_temporary(job) : 0;
    if (pipeline_rank == 0 && chunk == 0) {
        load.kept += static_cast<double>(saved.embedding);
    }
    if (pipeline_rank == job.parallel.pp - 1 && chunk == job.parallel.vpp - 1) {
        const double element = std::max(size_of(job.precision.compute), 2.0);
        const double tokens = static_cast<double>(job.model.seq_len) * job.batch.micro / job.parallel.cp;
        load.head = static_cast<double>(saved.head);
        const double per_logit = element + (job.kernels.cross_entropy_fusion ? 4 : 0);
        load.head_temporary = per_logit * tokens * job.model.padded_vocab / job.parallel.tp;
    }
    return load;
}

struct ActivationPeak {
    double held = 0;
    double temporary = 0;
    int in_flight = 0;
    void offer(double bytes, double beside) {
        if (bytes + beside > held + temporary) {
            held = bytes;
            temporary = beside;
        }
    }
};

ActivationPeak activation_peak(const Job& job, int pipeline_rank) {
    std::vector<ChunkLoad> loads;
    for (int chunk = 0; chunk < job.parallel.vpp; ++chunk) {
        loads.push_back(chunk_load(job, pipeline_rank, chunk));
    }
    const PipelineSchedule schedule =
        make_schedule(job.parallel, job.kernels.overlap_p2p, job.batch.num_microbatches, pipeline_rank);
    ActivationPeak peak;
    peak.in_flight = schedule.max_in_flight;
    double held = 0;
    for (const ScheduleStep& step : schedule.steps) {
        const ChunkLoad& load = loads[static_cast<std::size_t>(step.chunk)];
        if (step.kind == ScheduleStep::Kind::forward) {
            held += load.kept + load.head;
            peak.offer(held, load.head_temporary);
        } else if (step.kind == ScheduleStep::Kind::backward) {
            peak.offer(held, load.head_temporary);
            peak.offer(held - load.head + load.recomputed, load.layer_temporary);
            held -= load.kept + load.head;
        }
    }
    return peak;
}

double communication_buffers(const Job& job) {
    const double element = std::max(size_of(job.precision.compute), 2.0);
    const ParallelLayout& parallel = job.parallel;
    const double hidden = element * job.model.seq_len * job.batch.micro / parallel.cp * job.model.hidden;
    const bool sharded = parallel.sequence_parallel && parallel.tp > 1;
    const double received = parallel.pp > 1 ? 2 * hidden / (sharded ? parallel.tp : 1) : 0;
    return received + (sharded ? hidden : 0);
}

int communicators(const ParallelLayout& parallel) {
    return 1 + (parallel.tp > 1 ? 1 : 0) + (parallel.cp > 1 ? 1 : 0) +
           (parallel.dp * parallel.cp > 1 ? 1 : 0) +
           (parallel.pp > 1 ? 3 : 0); // both pipeline directions and the embedding group
}

} // namespace

MemoryEstimate estimate_memory(const Job& job, int pipeline_rank) {
    const ModelState state = model_state(job, pipeline_rank);
    const ActivationPeak peak = activation_peak(job, pipeline_rank);
    MemoryEstimate estimate;
    estimate.weights = whole(state.weights);
    estimate.gradients = whole(state.gradients);
    estimate.optimizer = whole(state.optimizer);
    estimate.activations = whole(peak.held);
    estimate.buffers = whole(peak.temporary + communication_buffers(job)) + kGemmWorkspace;
    estimate.in_flight = peak.in_flight;
    const double allocated = static_cast<double>(estimate.peak());
    const Bytes nccl = kNcclPerCommunicator * static_cast<Bytes>(communicators(job.parallel));
    estimate.overhead =
        kCudaContext + (job.parallel.world_size > 1 ? nccl : 0) + whole(kFragmentation * allocated);
    return estimate;
}

} // namespace echosim
