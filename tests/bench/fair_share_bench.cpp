// SPDX-License-Identifier: Apache-2.0
#include "comm_models/fabric.h"
#include "simulator/core/fair_share.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <random>

// 1,000 transfers at once on 128 nodes of 8 H100: a quarter within a node, the others to a random node, half
// of these on the rail of the sender. Each fills the narrowest of its links alone. One change = one transfer
// ends, another one starts, and the rates are solved again.
namespace echosim {
namespace {

constexpr std::size_t kFlows = 1000;
constexpr int kGpus = 1024;

struct System {
    std::vector<double> capacity;
    std::vector<std::vector<FairShare::Demand>> flows;
    double links_per_flow = 0;
};

std::vector<FairShare::Demand> random_flow(FabricLinks& fabric, std::mt19937& random) {
    const int from = static_cast<int>(random() % kGpus);
    const auto dice = random() % 8;
    const int node = dice < 2 ? from / 8 : static_cast<int>(random() % (kGpus / 8));
    const int gpu = dice < 5 && dice >= 2 ? from % 8 : static_cast<int>(random() % 8);
    std::vector<LinkId> links;
    fabric.path(from, node * 8 + gpu, -1, links);
    double alone = 1e300;
    for (const LinkId link : links)
        alone = std::min(alone, fabric.link(link).capacity);
    std::vector<FairShare::Demand> demands;
    for (const LinkId link : links)
        demands.push_back({link, alone});
    return demands;
}

System system_of(Routing routing, double oversubscription) {
    Cluster cluster = find_cluster("dgx-h100");
    cluster.fabric.routing = routing;
    cluster.fabric.levels = {{64, oversubscription, 0.3e-6}, {64, 1, 0.3e-6}};
    FabricLinks fabric(cluster, kGpus);
    std::mt19937 random(1);
    System system;
    std::size_t links = 0;
    for (std::size_t i = 0; i < 4 * kFlows; ++i) {
        system.flows.push_back(random_flow(fabric, random));
        links += system.flows.back().size();
    }
    for (LinkId link = 0; link < fabric.size(); ++link)
        system.capacity.push_back(fabric.link(link).capacity);
    system.links_per_flow = static_cast<double>(links) / static_cast<double>(system.flows.size());
    return system;
}

void BM_FairShare_change(benchmark::State& state, Routing routing, double oversubscription) {
    const System system = system_of(routing, oversubscription);
    FairShare share;
    for (const double capacity : system.capacity)
        share.add_resource(capacity);
    std::vector<FairShare::FlowId> ids;
    for (std::size_t i = 0; i < kFlows; ++i)
        ids.push_back(share.add_flow(system.flows[i]));
    share.solve();
    std::size_t next = kFlows, oldest = 0;
    double changed = 0;
    for (auto _ : state) {
        share.remove_flow(ids[oldest]);
        ids[oldest] = share.add_flow(system.flows[next]);
        const auto rates = share.solve();
        changed += static_cast<double>(rates.size());
        benchmark::DoNotOptimize(rates.data());
        oldest = (oldest + 1) % kFlows;
        next = (next + 1) % system.flows.size();
    }
    state.counters["links_per_flow"] = system.links_per_flow;
    state.counters["changed"] = benchmark::Counter(changed, benchmark::Counter::kAvgIterations);
}

void BM_FairShare_from_scratch(benchmark::State& state) {
    const System system = system_of(Routing::fixed, 1);
    for (auto _ : state) {
        FairShare share;
        for (const double capacity : system.capacity)
            share.add_resource(capacity);
        for (std::size_t i = 0; i < kFlows; ++i)
            share.add_flow(system.flows[i]);
        benchmark::DoNotOptimize(share.solve().data());
    }
}

BENCHMARK_CAPTURE(BM_FairShare_change, adaptive, Routing::adaptive, 1.0)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_FairShare_change, adaptive_4_to_1, Routing::adaptive, 4.0)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_FairShare_change, fixed, Routing::fixed, 1.0)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_FairShare_change, fixed_4_to_1, Routing::fixed, 4.0)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_FairShare_from_scratch)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace echosim
