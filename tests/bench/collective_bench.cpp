// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_model.h"

#include <benchmark/benchmark.h>

namespace echosim {
namespace {

GroupGeometry group_of(const Cluster& cluster, int ranks, int stride = 1) {
    std::vector<int> members(static_cast<std::size_t>(ranks));
    for (int i = 0; i < ranks; ++i)
        members[static_cast<std::size_t>(i)] = i * stride;
    return geometry_of(members, cluster);
}

// Sizes from 1 KiB to 1 GiB: every algorithm and protocol that the group takes.
void BM_Collective_estimate(benchmark::State& state) {
    const Cluster cluster = find_cluster("dgx-h100");
    const auto model = std::make_unique<NcclModel>(cluster);
    const GroupGeometry group = group_of(cluster, static_cast<int>(state.range(0)));
    Bytes bytes = 1024;
    for (auto _ : state) {
        bytes = bytes < 1_GiB ? bytes * 2 : 1024;
        benchmark::DoNotOptimize(
            model->estimate({CollectiveKind::all_reduce, bytes, DType::bf16, true}, group));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Collective_estimate)->Arg(8)->Arg(128)->Arg(10000);

// One kind, size and shape of group each; the label is what NCCL runs there.
struct Case {
    const char* cluster;
    int ranks, stride;
    CollectiveKind kind;
    Bytes bytes;
};
const Case kCases[] = {
    {"dgx-h100", 8, 1, CollectiveKind::all_reduce, 64 * 1024},
    {"dgx-h100", 8, 1, CollectiveKind::all_reduce, 64 * 1024 * 1024},
    {"dgx-h100", 8, 1, CollectiveKind::all_gather, 64 * 1024 * 1024},
    {"dgx-h100", 8, 1, CollectiveKind::all_to_all, 64 * 1024 * 1024},
    {"dgx-h100", 128, 1, CollectiveKind::all_reduce, 64 * 1024},
    {"dgx-h100", 128, 1, CollectiveKind::all_reduce, 1024 * 1024 * 1024},
    {"dgx-h100", 16, 8, CollectiveKind::reduce_scatter, 1024 * 1024},
    {"dgx-h100", 64, 1, CollectiveKind::all_to_all, 64 * 1024 * 1024},
    {"dgx-h100", 2, 8, CollectiveKind::send_recv, 64 * 1024 * 1024},
    {"mi300x-8x", 8, 1, CollectiveKind::all_reduce, 1024 * 1024},
};

void BM_Collective_estimate_of_one_algorithm(benchmark::State& state) {
    const Case& c = kCases[state.range(0)];
    const Cluster cluster = find_cluster(c.cluster);
    const auto model = std::make_unique<NcclModel>(cluster);
    const GroupGeometry group = group_of(cluster, c.ranks, c.stride);
    const Collective call{.kind = c.kind, .bytes = c.bytes};
    for (auto _ : state)
        benchmark::DoNotOptimize(model->estimate(call, group));
    const CommCost cost = model->estimate(call, group);
    state.SetLabel(std::string(to_string(c.kind)) + " x" + std::to_string(c.ranks) + " " +
                   std::string(to_string(cost.algorithm)) + " " + std::string(to_string(cost.protocol)));
}
BENCHMARK(BM_Collective_estimate_of_one_algorithm)->DenseRange(0, std::size(kCases) - 1);

// The first estimate for a group makes its plan.
void BM_Collective_first_estimate_of_a_group(benchmark::State& state) {
    const Cluster cluster = find_cluster("dgx-h100");
    const GroupGeometry group = group_of(cluster, static_cast<int>(state.range(0)));
    for (auto _ : state) {
        state.PauseTiming();
        const auto model = std::make_unique<NcclModel>(cluster);
        state.ResumeTiming();
        benchmark::DoNotOptimize(model->estimate({.bytes = 1_GiB}, group));
    }
}
BENCHMARK(BM_Collective_first_estimate_of_a_group)->Arg(8)->Arg(1024);

void BM_Collective_model_of_a_cluster(benchmark::State& state) {
    const Cluster cluster = find_cluster("dgx-h100");
    for (auto _ : state)
        benchmark::DoNotOptimize(std::make_unique<NcclModel>(cluster));
}
BENCHMARK(BM_Collective_model_of_a_cluster);

} // namespace
} // namespace echosim
