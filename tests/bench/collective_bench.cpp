// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_model.h"

#include <benchmark/benchmark.h>
#include <numeric>

namespace echosim {
namespace {

void BM_Collective_estimate(benchmark::State& state) {
    const Cluster cluster = find_cluster("dgx-h100");
    const auto model = std::make_unique<NcclModel>(cluster);
    std::vector<int> ranks(static_cast<std::size_t>(state.range(0)));
    std::iota(ranks.begin(), ranks.end(), 0);
    const GroupGeometry group = geometry_of(ranks, cluster);
    Bytes bytes = 1024;
    for (auto _ : state) {
        bytes = bytes < 1_GiB ? bytes * 2 : 1024;
        benchmark::DoNotOptimize(
            model->estimate({CollectiveKind::all_reduce, bytes, DType::bf16, true}, group));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Collective_estimate)->Arg(8)->Arg(128);

void BM_Collective_model_of_a_cluster(benchmark::State& state) {
    const Cluster cluster = find_cluster("dgx-h100");
    for (auto _ : state)
        benchmark::DoNotOptimize(std::make_unique<NcclModel>(cluster));
}
BENCHMARK(BM_Collective_model_of_a_cluster);

} // namespace
} // namespace echosim
