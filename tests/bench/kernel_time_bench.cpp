// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernels/kernel_time.h"

#include <benchmark/benchmark.h>

namespace echosim {
namespace {

KernelTimes h100() {
    return KernelTimes::for_gpu(find_gpu("h100-sxm"), "mcore-2025");
}

void BM_KernelTime_gemm(benchmark::State& state) {
    const KernelTimes times = h100();
    double n = 1024;
    for (auto _ : state) {
        n = n < 16384 ? n + 128 : 1024;
        benchmark::DoNotOptimize(times.gemm({.m = 2048, .n = n, .k = 12288}));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_KernelTime_gemm);

void BM_KernelTime_attention(benchmark::State& state) {
    const KernelTimes times = h100();
    double s = 1024;
    for (auto _ : state) {
        s = s < 16384 ? s + 128 : 1024;
        benchmark::DoNotOptimize(times.attention(
            {.batch = 1, .seq_q = s, .seq_kv = s, .heads = 12, .kv_heads = 12, .head_dim = 128}));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_KernelTime_attention);

void BM_KernelTime_preset(benchmark::State& state) {
    for (auto _ : state)
        benchmark::DoNotOptimize(h100());
}
BENCHMARK(BM_KernelTime_preset);

} // namespace
} // namespace echosim
