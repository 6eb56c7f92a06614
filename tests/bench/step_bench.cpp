// SPDX-License-Identifier: Apache-2.0
#include "simulator/run/run.h"
#include "tests/graph/built_step.h"

#include <benchmark/benchmark.h>

// The whole chain from a resolved job to its result.
namespace echosim {
namespace {

void run_job(benchmark::State& state, const Job& job, const RunOptions& options) {
    const Cluster cluster = find_cluster("dgx-h100");
    std::int64_t ops = 0;
    for (auto _ : state) {
        const RunOutput out = run(job, cluster, options);
        ops = out.result.simulation.ops;
        benchmark::DoNotOptimize(out.result.step.time);
    }
    state.SetItemsProcessed(state.iterations() * ops);
}

void BM_Step_gpt3(benchmark::State& state) {
    run_job(state, test::gpt3_job("--overlap-grad-reduce --overlap-param-gather"), {});
}
void BM_Step_gpt3_interference(benchmark::State& state) {
    RunOptions options;
    options.interference = "constant:1.2";
    run_job(state, test::gpt3_job("--overlap-grad-reduce --overlap-param-gather"), options);
}
void BM_Step_gpt3_timeline(benchmark::State& state) {
    RunOptions options;
    options.keep_timeline = true;
    run_job(state, test::gpt3_job("--overlap-grad-reduce --overlap-param-gather"), options);
}
void BM_Step_small(benchmark::State& state) {
    run_job(state, test::small_job("--tensor-model-parallel-size 2 --global-batch-size 16"), {});
}
void BM_Step_resolve_gpt3(benchmark::State& state) {
    for (auto _ : state)
        benchmark::DoNotOptimize(test::gpt3_job());
}
BENCHMARK(BM_Step_gpt3)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Step_gpt3_interference)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Step_gpt3_timeline)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Step_small)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Step_resolve_gpt3)->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace echosim
