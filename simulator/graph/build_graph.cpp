// SPDX-License-Identifier: Apache-2.0
#include "simulator/graph/build_graph.h"

#include "simulator/core/error.h"
#include "simulator/graph/block_builder.h"
#include "simulator/graph/layer_blocks.h"
#include "simulator/graph/step_blocks.h"
#include "simulator/graph/transfer_blocks.h"
#include "simulator/workload/schedule.h"
#include "simulator/workload/tensor_sizes.h"

#include <algorithm>
#include <map>

namespace echosim {
namespace {

std::vector<StreamInfo> streams() {
    return {{"compute", GroupKind::world, false},
            {"tp", GroupKind::tp, true},
            {"dp", GroupKind::dp_cp, true},
            {"pp", GroupKind::pp, true},
            {"pp send forward", GroupKind::pp, true},
            {"pp recv forward", GroupKind::pp, true},
            {"pp send backward", GroupKind::pp, true},
            {"pp recv backward", GroupKind::pp, true},
            {"embd", GroupKind::embd, true},
            {"world", GroupKind::world, true}};
}

// Assembles the program of one stage; blocks are made when they are first needed.
class StageBuilder {
  public:
    StageBuilder(const Job& job, int stage)
        : job_(job), layout_(job.parallel), stage_(stage), saved_(saved_activations(job)),
          transfers_(graph_, job) {
        graph_.stage = stage;
        graph_.streams = streams();
        graph_.communicators = {GroupKind::tp, GroupKind::dp_cp, GroupKind::embd, GroupKind::mp,
                                GroupKind::world};
        make_layer_blocks();
    }

    RankGraph build() {
        const PipelineSchedule schedule =
            make_schedule(layout_, job_.kernels.overlap_p2p, job_.batch.num_microbatches, stage_);
        emit(zero_gradients(graph_, job_, rank_parameters(job_, stage_)));
        start_parameter_gathers();
        for (const ScheduleStep& step : schedule.steps) {
            switch (step.kind) {
            case ScheduleStep::Kind::forward:
                forward(step.microbatch, step.chunk);
                break;
            case ScheduleStep::Kind::backward:
                backward(step.microbatch, step.chunk);
                break;
            case ScheduleStep::Kind::exchange:
                emit(transfers_.exchange(step), step.microbatch, step.chunk);
                break;
            }
        }
        start_late_reductions();
        emit(finish_step(graph_, job_, stage_));
        return std::move(graph_);
    }

  private:
    bool first_chunk(int chunk) const { return stage_ == 0 && chunk == 0; }
    bool last_chunk(int chunk) const { return stage_ == layout_.pp - 1 && chunk == layout_.vpp - 1; }
    int layers(int chunk) const {
        return layout_.layers_per_stage[static_cast<std::size_t>(stage_)][static_cast<std::size_t>(chunk)];
    }
    int first_layer(int chunk) const;
    void emit(BlockId block, int microbatch = -1, int chunk = -1, int layer = -1) {
        graph_.program.push_back({block, microbatch, chunk, layer});
    }
    void make_layer_blocks();
    void forward(int microbatch, int chunk);
    void backward(int microbatch, int chunk);
    void backward_unit(int microbatch, int chunk, int begin, int end, bool recompute);
    std::uint32_t gather_port(int chunk, std::size_t bucket) const;
    void start_parameter_gathers();
    void wait_for_parameters(int chunk, int layer);
    void reduce_after(int chunk, int layer);
    void start_late_reductions();
    BlockId memory_block(const std::string& name, std::int64_t bytes);
    void change_memory(const std::string& name, Bytes bytes, bool allocate, int microbatch, int chunk);
    bool reduces_in_backward() const {
        return job_.data_parallel.overlap_grad_reduce &&
               (stage_ == 0 || layout_.vpp > 1 || !job_.data_parallel.align_grad_reduce);
    }
    bool replicated() const { return layout_.dp * layout_.cp > 1; }

    const Job& job_;
    const ParallelLayout& layout_;
    int stage_;
    RankGraph graph_;
    SavedActivations saved_;
    TransferBlocks transfers_;
    BlockId layer_forward_, layer_backward_, layer_recompute_, attention_recompute_, embedding_forward_,
        embedding_backward_, head_forward_, head_backward_, load_batch_;
    std::map<std::int64_t, BlockId> memory_blocks_;
    std::vector<std::vector<GradientBucket>> buckets_; // [chunk]
    std::vector<std::vector<BlockId>> gathers_;        // [chunk][bucket]
    std::vector<std::size_t> next_wait_; // [chunk]: buckets whose parameters forward has waited for
};

void StageBuilder::make_layer_blocks() {
    layer_forward_ = layer_forward(graph_, job_, Phase::forward);
    layer_backward_ = layer_backward(graph_, job_);
    if (job_.recompute.granularity == RecomputeGranularity::full)
        layer_recompute_ = layer_forward(graph_, job_, Phase::recompute);
    if (job_.recompute.granularity == RecomputeGranularity::selective)
        attention_recompute_ = attention_recompute(graph_, job_);
    load_batch_ = load_batch(graph_, job_);
    if (stage_ == 0) {
        embedding_forward_ = embedding_forward(graph_, job_);
        embedding_backward_ = embedding_backward(graph_, job_);
    }
    if (stage_ == layout_.pp - 1) {
        head_forward_ = head_forward(graph_, job_);
        head_backward_ = head_backward(graph_, job_);
    }
    for (int chunk = 0; chunk < layout_.vpp; ++chunk)
        buckets_.push_back(gradient_buckets(job_, stage_, chunk));
    next_wait_.assign(static_cast<std::size_t>(layout_.vpp), 0);
}

// Layers before this chunk: virtual stages go round robin, chunk c of stage i is virtual stage c p + i.
int StageBuilder::first_layer(int chunk) const {
    int before = 0;
    for (int c = 0; c <= chunk; ++c)
        for (int s = 0; s < layout_.pp; ++s)
            if (c < chunk || s < stage_)
                before += layout_.layers_per_stage[static_cast<std::size_t>(s)][static_cast<std::size_t>(c)];
    return before;
}

// Activations that a forward leaves until its backward, taken when the block starts and given back when it
// ends.
void StageBuilder::change_memory(const std::string& name, Bytes bytes, bool allocate, int microbatch,
                                 int chunk) {
    if (bytes == 0)
        return;
    const auto change = allocate ? static_cast<std::int64_t>(bytes) : -static_cast<std::int64_t>(bytes);
    const auto [it, added] = memory_blocks_.try_emplace(change);
    if (added)
        it->second = memory_block(name, change);
    emit(it->second, microbatch, chunk);
}

BlockId StageBuilder::memory_block(const std::string& name, std::int64_t bytes) {
    BlockBuilder b(graph_, name, Phase::other);
    b.host(name, 0);
    b.allocate(MemoryKind::activations, bytes);
    return b.finish();
}

std::uint32_t StageBuilder::gather_port(int chunk, std::size_t bucket) const {
    std::size_t port = transfers_.ports() + bucket;
    for (int c = 0; c < chunk; ++c)
        port += buckets_[static_cast<std::size_t>(c)].size();
    return static_cast<std::uint32_t>(port);
}

// The all-gather of a chunk's first bucket starts the step; bucket i + 1 starts when forward waits for bucket
// i.
void StageBuilder::start_parameter_gathers() {
    gathers_.resize(static_cast<std::size_t>(layout_.vpp));
    if (!job_.data_parallel.overlap_param_gather || !job_.data_parallel.distributed_optimizer ||
        !replicated())
        return;
    for (int chunk = 0; chunk < layout_.vpp; ++chunk) {
        const auto& buckets = buckets_[static_cast<std::size_t>(chunk)];
        for (std::size_t i = 0; i < buckets.size();
             ++i) // forward uses the buckets in the reverse of backward's order
            gathers_[static_cast<std::size_t>(chunk)].push_back(
                gather_parameters(graph_, job_, buckets[buckets.size() - 1 - i], gather_port(chunk, i)));
    }
    emit(gathers_[0][0], -1, 0);
    if (layout_.vpp > 1)
        emit(gathers_[1][0], -1, 1);
}

// Before forward of `layer` (index in the chunk) of the first micro-batch.
void StageBuilder::wait_for_parameters(int chunk, int layer) {
    const auto c = static_cast<std::size_t>(chunk);
    if (gathers_[c].empty())
        return;
    const auto& buckets = buckets_[c];
    std::size_t& next = next_wait_[c];
    while (next < buckets.size()) {
        const GradientBucket& bucket = buckets[buckets.size() - 1 - next];
        if (bucket.ready_after_layer > layer)
            return;
        emit(wait_for(graph_, "wait parameters", gather_port(chunk, next)), 0, chunk);
        ++next;
        if (next < buckets.size())
            emit(gathers_[c][next], 0, chunk);
        else if (chunk > 0 && chunk + 1 < layout_.vpp)
            emit(gathers_[c + 1][0], 0, chunk + 1);
    }
}

void StageBuilder::forward(int microbatch, int chunk) {
    const bool full = job_.recompute.granularity == RecomputeGranularity::full;
    const int count = layers(chunk), unit = std::max(1, job_.recompute.num_layers);
    const int keeps = full ? layers_without_recompute(job_, count) : count;
    if (first_chunk(chunk) || last_chunk(chunk))
        emit(load_batch_, microbatch, chunk);
    if (first_chunk(chunk)) {
        if (microbatch == 0)
            wait_for_parameters(chunk, -1);
        emit(embedding_forward_, microbatch, chunk);
        change_memory("keep embedding", saved_.embedding, true, microbatch, chunk);
    } else {
        emit(transfers_.wait_for_input(true, microbatch, chunk), microbatch, chunk);
    }
    for (int layer = 0; layer < count; ++layer) {
        if (microbatch == 0)
            wait_for_parameters(chunk, layer);
        const bool kept = !full || layer >= count - keeps;
        const bool block = job_.recompute.method == RecomputeMethod::block;
        if (kept)
            change_memory("keep activations", full ? saved_.layer_full : saved_.layer, true, microbatch,
                          chunk);
        else if (block || layer % unit == 0)
            change_memory("keep input", saved_.unit_input, true, microbatch, chunk);
        emit(layer_forward_, microbatch, chunk, first_layer(chunk) + layer);
    }
    if (last_chunk(chunk)) {
        if (microbatch == 0)
            wait_for_parameters(chunk, count);
        change_memory("keep head", saved_.head, true, microbatch, chunk);
        emit(head_forward_, microbatch, chunk);
    }
}

// Backward of layers [begin, end), after running their forward again when their activations were not kept.
void StageBuilder::backward_unit(int microbatch, int chunk, int begin, int end, bool recompute) {
    const int base = first_layer(chunk);
    const bool selective = job_.recompute.granularity == RecomputeGranularity::selective;
    const Bytes kept =
        job_.recompute.granularity == RecomputeGranularity::full ? saved_.layer_full : saved_.layer;
    if (recompute)
        for (int layer = begin; layer < end; ++layer) {
            change_memory("recomputed activations", saved_.layer_full, true, microbatch, chunk);
            emit(layer_recompute_, microbatch, chunk, base + layer);
        }
    for (int layer = end - 1; layer >= begin; --layer) {
        if (selective) {
            change_memory("recomputed attention", saved_.layer_full - saved_.layer, true, microbatch, chunk);
            emit(attention_recompute_, microbatch, chunk, base + layer);
        }
        emit(layer_backward_, microbatch, chunk, base + layer);
        if (selective)
            change_memory("release attention", saved_.layer_full - saved_.layer, false, microbatch, chunk);
        change_memory("release activations", recompute ? saved_.layer_full : kept, false, microbatch, chunk);
        if (microbatch == job_.batch.num_microbatches - 1)
            reduce_after(chunk, layer);
    }
    if (recompute)
        change_memory("release input", saved_.unit_input, false, microbatch, chunk);
}

void StageBuilder::backward(int microbatch, int chunk) {
    const bool full = job_.recompute.granularity == RecomputeGranularity::full;
    const int count = layers(chunk);
    const int keeps = full ? layers_without_recompute(job_, count) : count;
    const int unit =
        job_.recompute.method == RecomputeMethod::block ? 1 : std::max(1, job_.recompute.num_layers);
    if (last_chunk(chunk)) {
        emit(head_backward_, microbatch, chunk);
        change_memory("release head", saved_.head, false, microbatch, chunk);
        if (microbatch == job_.batch.num_microbatches - 1)
            reduce_after(chunk, count);
    } else {
        emit(transfers_.wait_for_input(false, microbatch, chunk), microbatch, chunk);
    }
    if (keeps > 0)
        backward_unit(microbatch, chunk, count - keeps, count, false);
    const int recomputed = count - keeps;
    for (int begin = (recomputed - 1) / unit * unit; recomputed > 0 && begin >= 0; begin -= unit)
        backward_unit(microbatch, chunk, begin, std::min(begin + unit, recomputed), true);
    if (first_chunk(chunk)) {
        emit(embedding_backward_, microbatch, chunk);
        change_memory("release embedding", saved_.embedding, false, microbatch, chunk);
        if (microbatch == job_.batch.num_microbatches - 1)
            reduce_after(chunk, -1);
    }
}

// Buckets that backward of `layer` completes, in the last micro-batch.
void StageBuilder::reduce_after(int chunk, int layer) {
    if (!reduces_in_backward() || !replicated())
        return;
    for (const GradientBucket& bucket : buckets_[static_cast<std::size_t>(chunk)])
        if (bucket.ready_after_layer == layer)
            emit(reduce_gradients(graph_, job_, bucket), job_.batch.num_microbatches - 1, chunk);
}

// Without overlap, and on later stages with aligned reduction: after the last backward.
void StageBuilder::start_late_reductions() {
    if (reduces_in_backward() || !replicated())
        return;
    for (int chunk = layout_.vpp - 1; chunk >= 0; --chunk)
        for (const GradientBucket& bucket : buckets_[static_cast<std::size_t>(chunk)])
            emit(reduce_gradients(graph_, job_, bucket), -1, chunk);
}

} // namespace

RankGraph build_graph(const Job& job, int pipeline_rank) {
    ECHOSIM_CHECK(pipeline_rank >= 0 && pipeline_rank < job.parallel.pp, "pipeline rank out of range");
    return StageBuilder(job, pipeline_rank).build();
}

} // namespace echosim
