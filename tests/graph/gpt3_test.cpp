// SPDX-License-Identifier: Apache-2.0
#include "simulator/workload/flops.h"
#include "simulator/workload/tensor_sizes.h"
#include "tests/graph/built_step.h"

#include <gtest/gtest.h>
#include <map>

// Golden figures of GPT-3 175B on 1,024 GPUs: L 96, h 12288, s 2048, b 1, t 8, p 8 (12 layers a stage), D 16,
// M 96, sequence parallel, distributed optimizer.
namespace echosim {
namespace {

using test::for_each_op;
using test::gpt3_job;

struct Calls {
    int gathers = 0, scatters = 0, reduces = 0, other = 0;
    bool operator==(const Calls&) const = default;
};

// TP collectives of one micro-batch on one stage, whose bytes are 2 s b h = 50,331,648.
Calls tp_calls(const RankGraph& graph, Phase phase, int microbatch) {
    Calls calls;
    for_each_op(graph, [&](const Instance& at, const Op& op) {
        if (at.microbatch != microbatch || op.kind != OpKind::collective || op.phase != phase)
            return;
        const auto& work = std::get<CollectiveWork>(graph.works[op.work]);
        if (graph.communicators[work.slot] != GroupKind::tp)
            return;
        if (work.bytes != 2ULL * 2048 * 12288)
            ++calls.other;
        else if (work.kind == CollectiveKind::all_gather)
            ++calls.gathers;
        else if (work.kind == CollectiveKind::reduce_scatter)
            ++calls.scatters;
        else
            ++calls.reduces;
    });
    return calls;
}

TEST(Gpt3Graph, TensorParallelCallsOfAMicroBatch) {
    const Job job = gpt3_job();
    ASSERT_EQ(job.batch.num_microbatches, 96);
    const RankGraph middle = build_graph(job, 3);
    // a layer: forward 2 AG + 2 RS, backward 4 AG (two of inputs gathered again) + 2 RS
    EXPECT_EQ(tp_calls(middle, Phase::forward, 5), (Calls{24, 24, 0, 0}));
    EXPECT_EQ(tp_calls(middle, Phase::backward, 5), (Calls{48, 24, 0, 0}));
    // the embedding adds the RS of its sum forward and the AG of its gradient backward
    const RankGraph first = build_graph(job, 0);
    EXPECT_EQ(tp_calls(first, Phase::forward, 5), (Calls{24, 25, 0, 0}));
    EXPECT_EQ(tp_calls(first, Phase::backward, 5), (Calls{49, 24, 0, 0}));
    // the head: AG of its input, and three small all-reduces of the cross entropy; AG + RS backward
    const RankGraph last = build_graph(job, 7);
    EXPECT_EQ(tp_calls(last, Phase::forward, 5), (Calls{25, 24, 0, 3}));
    EXPECT_EQ(tp_calls(last, Phase::backward, 5), (Calls{49, 25, 0, 0}));
}

struct DpTraffic {
    double scatter_bytes = 0, gather_bytes = 0;
    int scatters = 0, gathers = 0;
};
DpTraffic dp_traffic(const RankGraph& graph) {
    DpTraffic sum;
    for_each_op(graph, [&](const Instance&, const Op& op) {
        if (op.kind != OpKind::collective)
            return;
        const auto& work = std::get<CollectiveWork>(graph.works[op.work]);
        if (graph.communicators[work.slot] != GroupKind::dp_cp)
            return;
        if (work.kind == CollectiveKind::reduce_scatter) {
            sum.scatter_bytes += static_cast<double>(work.bytes);
            ++sum.scatters;
        } else if (work.kind == CollectiveKind::all_gather) {
            sum.gather_bytes += static_cast<double>(work.bytes);
            ++sum.gathers;
        }
    });
    return sum;
}

TEST(Gpt3Graph, DataParallelBytes) {
    // stage 3: P = 12 * 226,576,896 = 2,718,922,752; RS 4 P = 10.876 GB (plus padding), AG 2 P = 5.438 GB
    const double parameters = 12.0 * 226'576'896;
    for (const char* overlap :
         {"", "--overlap-grad-reduce", "--overlap-grad-reduce --overlap-param-gather"}) {
        const DpTraffic inner = dp_traffic(build_graph(gpt3_job(overlap), 3));
        EXPECT_GE(inner.scatter_bytes, 4 * parameters) << overlap;
        EXPECT_LT(inner.scatter_bytes, 4 * parameters * 1.0001) << overlap;
        EXPECT_GE(inner.gather_bytes, 2 * parameters) << overlap;
        EXPECT_LT(inner.gather_bytes, 2 * parameters * 1.0001) << overlap;
        EXPECT_EQ(inner.scatters, 1);
        EXPECT_EQ(inner.gathers, 1);
    }
    // stage 0 has one bucket a 40e6 elements: 12 * 3 + 2 (positions with the first projection, word
    // embedding)
    const Job job = gpt3_job("--overlap-grad-reduce --overlap-param-gather");
    const DpTraffic first = dp_traffic(build_graph(job, 0));
    EXPECT_EQ(first.scatters, 38);
    EXPECT_EQ(first.gathers, 38);
    EXPECT_NEAR(first.scatter_bytes / (4.0 * static_cast<double>(rank_parameters(job, 0))), 1, 1e-4);
}

TEST(Gpt3Graph, PipelineMessages) {
    const Job job = gpt3_job();
    // (stage, peer, forward, send) -> messages
    std::map<std::tuple<int, int, bool, bool>, int> count;
    for (int stage = 0; stage < 8; ++stage) {
        const RankGraph graph = build_graph(job, stage);
        for_each_op(graph, [&](const Instance&, const Op& op) {
            if (op.kind != OpKind::p2p)
                return;
            for (const TransferPart& part : std::get<TransferWork>(graph.works[op.work]).parts) {
                const Channel& channel = graph.channels[part.channel];
                EXPECT_EQ(part.bytes, 2ULL * 2048 * 12288 / 8); // 2 T h / t = 6.29 MB
                EXPECT_EQ(part.send, channel.send);
                ++count[{stage, channel.peer_stage, channel.forward, channel.send}];
            }
        });
    }
    ASSERT_EQ(count.size(), 4U * 7); // each of 7 pairs: two directions, two ends
    for (const auto& [key, messages] : count) {
        const auto [stage, peer, forward, send] = key;
        EXPECT_EQ(messages, 96);
        EXPECT_EQ(peer - stage, forward == send ? 1 : -1);
        EXPECT_TRUE(count.contains({peer, stage, forward, !send}));
    }
}

// 2 m n k of the GEMMs; attention 4 b s^2 a d forward, halved by the mask, backward twice that.
double flops_of(const Work& work) {
    if (const auto* g = std::get_if<GemmShape>(&work))
        return 2 * g->m * g->n * g->k * g->batch;
    if (const auto* a = std::get_if<AttentionShape>(&work))
        return 4 * a->batch * a->seq_q * a->seq_kv * a->heads * a->head_dim * (a->causal ? 0.5 : 1) *
               (a->backward ? 2 : 1);
    return 0;
}

struct GraphFlops {
    double model = 0, recomputed = 0;
};
GraphFlops graph_flops(const Job& job) {
    GraphFlops sum;
    for (int stage = 0; stage < job.parallel.pp; ++stage) {
        const RankGraph graph = build_graph(job, stage);
        for_each_op(graph, [&](const Instance&, const Op& op) {
            if (op.work != kNone)
                (op.phase == Phase::recompute ? sum.recomputed : sum.model) += flops_of(graph.works[op.work]);
        });
    }
    const double copies = static_cast<double>(job.parallel.tp) * job.parallel.dp;
    return {sum.model * copies, sum.recomputed * copies};
}

TEST(Gpt3Graph, FlopsAgreeWithTheClosedForm) {
    const Job job = gpt3_job();
    const GraphFlops plain = graph_flops(job);
    EXPECT_NEAR(plain.model / model_flops(job, true), 1, 1e-9);
    EXPECT_EQ(plain.recomputed, 0);
}

TEST(Gpt3Graph, FullRecomputationRepeatsTheForwardOfTheLayers) {
    const Job job =
        gpt3_job("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    const GraphFlops flops = graph_flops(job);
    EXPECT_NEAR(flops.model / model_flops(job, true), 1, 1e-9);
    EXPECT_NEAR((flops.model + flops.recomputed) / hardware_flops(job, true), 1, 1e-9);
    // all but the head is repeated: a little under 4 / 3
    EXPECT_GT((flops.model + flops.recomputed) / flops.model, 1.32);
    EXPECT_LT((flops.model + flops.recomputed) / flops.model, 4.0 / 3);
}

TEST(Gpt3Graph, UnfusedAttentionComputesTheWholeSquare) {
    Job job = gpt3_job();
    job.kernels.attention = AttentionImpl::unfused;
    EXPECT_NEAR(graph_flops(job).model / model_flops(job, false), 1, 1e-9);
    job.recompute.granularity = RecomputeGranularity::selective;
    const GraphFlops selective = graph_flops(job);
    EXPECT_NEAR((selective.model + selective.recomputed) / hardware_flops(job, false), 1, 1e-9);
}

TEST(GraphFlops, GatedGroupedQueriesAndPlacementOfLayers) {
    for (const char* flags :
         {"--swiglu --group-query-attention --num-query-groups 4 --tensor-model-parallel-size 2 "
          "--global-batch-size 16",
          "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --global-batch-size 8 "
          "--untie-embeddings-and-output-weights",
          "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 --global-batch-size "
          "16"}) {
        Job job = test::small_job(std::string(flags) + " --use-flash-attn");
        EXPECT_NEAR(graph_flops(job).model / model_flops(job, true), 1, 1e-9) << flags;
    }
}

} // namespace
} // namespace echosim
