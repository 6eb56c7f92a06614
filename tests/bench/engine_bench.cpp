// SPDX-License-Identifier: Apache-2.0
#include "interference/prior.h"
#include "tests/graph/built_step.h"

#include <benchmark/benchmark.h>

// The engine alone: graphs are built and annotated before. items = ops.
namespace echosim {
namespace {

// The identity with a rate for every op: the time-ordered mode and nothing else.
class RateOne final : public SlowdownModel {
  public:
    bool identity() const override { return false; }
    void rates(std::span<const Running>, std::span<double> rate) const override {
        std::fill(rate.begin(), rate.end(), 1.0);
    }
};

const test::BuiltStep& gpt3_folded() {
    static const test::BuiltStep step = test::build_step(
        test::gpt3_job("--overlap-grad-reduce --overlap-param-gather"), find_cluster("dgx-h100"));
    return step;
}
const test::BuiltStep& small_unfolded() {
    static const test::BuiltStep step = test::build_step(
        test::small_job("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel "
                        "--global-batch-size 32 --use-distributed-optimizer --overlap-grad-reduce",
                        16),
        find_cluster("dgx-h100"), false);
    return step;
}

// Bytes of the annotated graphs: what stands for all ops of the step.
double graph_bytes(const test::BuiltStep& step) {
    std::size_t bytes = 0;
    for (const RankGraph& graph : step.graphs) {
        bytes += graph.program.size() * sizeof(Instance) + graph.works.size() * sizeof(Work);
        for (const Block& block : graph.blocks)
            bytes += block.ops.size() * (sizeof(Op) + sizeof(OpCost)) + block.deps.size() * sizeof(Dep);
    }
    return static_cast<double>(bytes);
}

struct Mode {
    bool record = false;
    bool contention = false;
};

void run_engine(benchmark::State& state, const test::BuiltStep& step, const SlowdownModel& slowdown,
                Mode mode = {}) {
    std::int64_t ops = 0;
    for (auto _ : state) {
        const Timeline timeline =
            simulate({.placement = step.placement,
                      .graphs = step.annotated,
                      .slowdown = slowdown,
                      .record = std::vector<bool>(step.placement.ranks.size(), mode.record),
                      .contention = mode.contention});
        ops = timeline.ops;
        benchmark::DoNotOptimize(timeline.end);
    }
    state.SetItemsProcessed(state.iterations() * ops);
    state.counters["ops"] = static_cast<double>(ops);
    state.counters["graph_bytes_per_op"] = graph_bytes(step) / static_cast<double>(ops);
}

void BM_Engine_gpt3_propagation(benchmark::State& state) {
    run_engine(state, gpt3_folded(), NoSlowdown{});
}
void BM_Engine_gpt3_propagation_recorded(benchmark::State& state) {
    run_engine(state, gpt3_folded(), NoSlowdown{}, {.record = true});
}
void BM_Engine_gpt3_time_ordered(benchmark::State& state) {
    run_engine(state, gpt3_folded(), RateOne{});
}
void BM_Engine_gpt3_slowdown(benchmark::State& state) {
    run_engine(state, gpt3_folded(), ConstantSlowdown(1.2));
}
void BM_Engine_gpt3_prior(benchmark::State& state) {
    run_engine(state, gpt3_folded(), PriorSlowdown(limits_of(find_cluster("dgx-h100").gpu)));
}
void BM_Engine_gpt3_contention(benchmark::State& state) {
    run_engine(state, gpt3_folded(), NoSlowdown{}, {.contention = true});
}
void BM_Engine_small_unfolded_propagation(benchmark::State& state) {
    run_engine(state, small_unfolded(), NoSlowdown{});
}
void BM_Engine_small_unfolded_slowdown(benchmark::State& state) {
    run_engine(state, small_unfolded(), ConstantSlowdown(1.2));
}
void BM_Engine_small_unfolded_contention(benchmark::State& state) {
    run_engine(state, small_unfolded(), NoSlowdown{}, {.contention = true});
}
BENCHMARK(BM_Engine_gpt3_propagation)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Engine_gpt3_propagation_recorded)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Engine_gpt3_time_ordered)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Engine_gpt3_slowdown)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Engine_gpt3_prior)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Engine_gpt3_contention)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Engine_small_unfolded_propagation)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Engine_small_unfolded_slowdown)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Engine_small_unfolded_contention)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace echosim
