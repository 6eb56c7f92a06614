// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/schedule.h"

#include "simulator/core/error.h"

#include <algorithm>

// Source: Megatron-LM d98e8a64, core/pipeline_parallel/schedules.py. i = pipeline rank, p = stages, v =
// chunks a rank, M = micro-batches, q = micro-batches in a row per chunk.
//   1F1B:        warm-up forwards W = min(M, p - i - 1)
//   interleaved: W = min(M v, 2 (p - i - 1) + (v - 1) q), counted in virtual micro-batches
// Non-interleaved transfers are always batched groups followed by a device synchronisation; so are those of
// the interleaved schedule without overlap. With overlap each transfer runs alone on the stream of its
// direction.
namespace echosim {
namespace {

using Kind = ScheduleStep::Kind;

class ScheduleBuilder {
  public:
    ScheduleBuilder(int stages, bool batched) : stages_(stages), batched_(batched) {}

    void compute(Kind kind, int microbatch, int chunk) {
        schedule_.steps.push_back({.kind = kind, .microbatch = microbatch, .chunk = chunk, .transfers = {}});
        in_flight_ += kind == Kind::forward ? 1 : -1;
        schedule_.max_in_flight = std::max(schedule_.max_in_flight, in_flight_);
    }
    void exchange(std::vector<TransferCall> transfers) {
        if (transfers.empty()) {
            return;
        }
        schedule_.steps.push_back({.kind = Kind::exchange,
                                   .microbatch = transfers.front().microbatch,
                                   .chunk = transfers.front().chunk,
                                   .transfers = std::move(transfers),
                                   .batched = batched_,
                                   .host_sync = batched_});
    }
    PipelineSchedule finish(int warmup) {
        schedule_.warmup = warmup;
        return std::move(schedule_);
    }
    int next(int stage) const { return (stage + 1) % stages_; }
    int previous(int stage) const { return (stage + stages_ - 1) % stages_; }

  private:
    int stages_;
    bool batched_;
    int in_flight_ = 0;
    PipelineSchedule schedule_;
};

PipelineSchedule no_pipeline(int num_microbatches) {
    ScheduleBuilder builder(1, false);
    for (int m = 0; m < num_microbatches; ++m) {
        builder.compute(Kind::forward, m, 0);
        builder.compute(Kind::backward, m, 0);
    }
    return builder.finish(0);
}

class OneForwardOneBackward {
  public:
    OneForwardOneBackward(int stages, int num_microbatches, int stage)
        : builder_(stages, true), last_stage_(stages - 1), count_(num_microbatches), stage_(stage) {}

    PipelineSchedule make() {
        const int warmup = std::min(count_, last_stage_ - stage_);
        for (int m = 0; m < warmup; ++m) {
            exchange({{Transfer::recv_forward, m}});
            builder_.compute(Kind::forward, m, 0);
            exchange({{Transfer::send_forward, m}});
        }
        if (warmup < count_) {
            exchange({{Transfer::recv_forward, warmup}});
        }
        for (int m = 0; m < count_ - warmup; ++m) {
            builder_.compute(Kind::forward, m + warmup, 0);
            exchange({{Transfer::send_forward, m + warmup}, {Transfer::recv_backward, m}});
            builder_.compute(Kind::backward, m, 0);
            if (m + 1 < count_ - warmup) {
                exchange({{Transfer::send_backward, m}, {Transfer::recv_forward, m + 1 + warmup}});
            } else {
                exchange({{Transfer::send_backward, m}});
            }
        }
        for (int m = count_ - warmup; m < count_; ++m) {
            exchange({{Transfer::recv_backward, m}});
            builder_.compute(Kind::backward, m, 0);
            exchange({{Transfer::send_backward, m}});
        }
        return builder_.finish(warmup);
    }

  private:
    struct Call {
        Transfer what;
        int microbatch;
    };
    // Drops the transfers that this stage does not have: nothing before the first stage, nothing after the
    // last.
    void exchange(std::initializer_list<Call> calls) {
        std::vector<TransferCall> transfers;
        for (const Call& call : calls) {
            const bool upstream = call.what == Transfer::recv_forward || call.what == Transfer::send_backward;
            if (stage_ == (upstream ? 0 : last_stage_)) {
                continue;
            }
            transfers.push_back({.what = call.what,
                                 .microbatch = call.microbatch,
                                 .chunk = 0,
                                 .peer = upstream ? stage_ - 1 : stage_ + 1});
        }
        builder_.exchange(std::move(transfers));
    }

    ScheduleBuilder builder_;
    int last_stage_;
    int count_;
    int stage_;
};

class Interleaved {
  public:
    Interleaved(const ParallelLayout& layout, bool overlap_p2p, int num_microbatches, int stage)
        : builder_(layout.pp, !overlap_p2p), p_(layout.pp), v_(layout.vpp), stage_(stage),
          overlap_(overlap_p2p) {
        const int group = layout.microbatch_group > 0 ? layout.microbatch_group : layout.pp;
        for (int start = 0; start < num_microbatches; start += group) {
            const int end = std::min(start + group, num_microbatches);
            for (int chunk = 0; chunk < v_; ++chunk) {
                for (int m = start; m < end; ++m) {
                    order_.push_back({m, chunk});
                }
            }
        }
        total_ = static_cast<int>(order_.size());
        warmup_ = std::min(total_, 2 * (p_ - stage - 1) + (v_ - 1) * group);
    }

    PipelineSchedule make() {
        std::vector<TransferCall> first;
        if (stage_ > 0) {
            first.push_back(call(Transfer::recv_forward, forward_at(0)));
        }
        builder_.exchange(std::move(first));
        for (int k = 0; k < warmup_; ++k) {
            warmup_step(k);
        }
        for (int k = 0; k < total_ - warmup_; ++k) {
            steady_step(k);
        }
        if (warmup_ == total_) {
            builder_.exchange(first_gradient());
        }
        for (int k = total_ - warmup_; k < total_; ++k) {
            compute(Kind::backward, backward_at(k));
            builder_.exchange(after_backward(k));
        }
        return builder_.finish(warmup_);
    }

  private:
    struct Work {
        int microbatch;
        int chunk;
    };

    Work forward_at(int k) const { return order_[static_cast<std::size_t>(k)]; }
    Work backward_at(int k) const {
        const Work work = forward_at(k);
        return {work.microbatch, v_ - 1 - work.chunk};
    }
    void compute(Kind kind, Work work) { builder_.compute(kind, work.microbatch, work.chunk); }
    TransferCall call(Transfer what, Work work) const {
        const bool upstream = what == Transfer::recv_forward || what == Transfer::send_backward;
        return {.what = what,
                .microbatch = work.microbatch,
                .chunk = work.chunk,
                .peer = upstream ? builder_.previous(stage_) : builder_.next(stage_)};
    }

    // What goes out and comes in after forward k: the activation of k, and the input of k + 1. The first
    // stage takes instead what the last stage made p - 1 steps earlier, which is the input of the next chunk.
    std::vector<TransferCall> after_forward(int k) const {
        std::vector<TransferCall> transfers;
        const Work work = forward_at(k);
        if (stage_ != p_ - 1 || work.chunk != v_ - 1) {
            transfers.push_back(call(Transfer::send_forward, work));
        }
        if (k == total_ - 1) {
            return transfers;
        }
        if (stage_ != 0) {
            transfers.push_back(call(Transfer::recv_forward, forward_at(k + 1)));
        } else if (k >= p_ - 1) {
            const Work made = forward_at(k - (p_ - 1));
            if (made.chunk != v_ - 1) {
                transfers.push_back(call(Transfer::recv_forward, {made.microbatch, made.chunk + 1}));
            }
        }
        return transfers;
    }

    // The mirror image: the last stage leads.
    std::vector<TransferCall> after_backward(int k) const {
        std::vector<TransferCall> transfers;
        const Work work = backward_at(k);
        if (stage_ != 0 || work.chunk != 0) {
            transfers.push_back(call(Transfer::send_backward, work));
        }
        if (k == total_ - 1) {
            return transfers;
        }
        if (stage_ != p_ - 1) {
            transfers.push_back(call(Transfer::recv_backward, backward_at(k + 1)));
        } else if (k >= p_ - 1) {
            const Work made = backward_at(k - (p_ - 1));
            if (made.chunk != 0) {
                transfers.push_back(call(Transfer::recv_backward, {made.microbatch, made.chunk - 1}));
            }
        }
        return transfers;
    }

    std::vector<TransferCall> first_gradient() const {
        std::vector<TransferCall> transfers;
        if (stage_ != p_ - 1) {
            transfers.push_back(call(Transfer::recv_backward, backward_at(0)));
        }
        return transfers;
    }

    // The last warm-up step also posts the receive of the first gradient, in the same group when batched.
    void warmup_step(int k) {
        compute(Kind::forward, forward_at(k));
        std::vector<TransferCall> transfers = after_forward(k);
        if (k == warmup_ - 1 && warmup_ < total_) {
            const std::vector<TransferCall> gradient = first_gradient();
            transfers.insert(transfers.end(), gradient.begin(), gradient.end());
        }
        builder_.exchange(std::move(transfers));
    }

    void steady_step(int k) {
        const int forward = k + warmup_;
        compute(Kind::forward, forward_at(forward));
        std::vector<TransferCall> transfers = after_forward(forward);
        if (overlap_) {
            builder_.exchange(std::move(transfers));
            transfers.clear();
        }
        compute(Kind::backward, backward_at(k));
        const std::vector<TransferCall> gradients = after_backward(k);
        transfers.insert(transfers.end(), gradients.begin(), gradients.end());
        builder_.exchange(std::move(transfers));
    }

    ScheduleBuilder builder_;
    int p_;
    int v_;
    int stage_;
    bool overlap_;
    std::vector<Work> order_;
    int total_ = 0;
    int warmup_ = 0;
};

} // namespace

PipelineSchedule make_schedule(const ParallelLayout& layout, bool overlap_p2p, int num_microbatches,
                               int pipeline_rank) {
    ECHOSIM_CHECK(pipeline_rank >= 0 && pipeline_rank < layout.pp, "pipeline rank outside the pipeline");
    if (layout.pp == 1) {
        return no_pipeline(num_microbatches);
    }
    if (layout.vpp <= 1) {
        return OneForwardOneBackward(layout.pp, num_microbatches, pipeline_rank).make();
    }
    return Interleaved(layout, overlap_p2p, num_microbatches, pipeline_rank).make();
}

double ideal_bubble(const ParallelLayout& layout, int num_microbatches) {
    return static_cast<double>(layout.pp - 1) /
           (static_cast<double>(num_microbatches) * static_cast<double>(std::max(layout.vpp, 1)));
}

} // namespace echosim
