// SPDX-License-Identifier: Apache-2.0
#include "traces/kineto.h"

#include <benchmark/benchmark.h>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <string>

// Reading of trace events: bytes a second of a synthetic file (operator, call, kernel, arrow) of that many
// MB. For the 600 MB of the goal: make_kineto FILE, then `echosim import FILE`.
namespace echosim {
namespace {

std::string step(int i) {
    return fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":9,"tid":9,"ts":{0}.125,"dur":8.5,"args":{{"External id":{0},"Input Dims":[[8192,4096],[4096,{1}]],"Input type":["c10::BFloat16","c10::BFloat16"],"Ev Idx":{0}}}}},
{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":{0}.5,"dur":4.25,"args":{{"External id":{0},"cbid":211,"correlation":{0}}}}},
{{"ph":"s","id":{0},"pid":9,"tid":9,"ts":{0}.5,"cat":"ac2g","name":"ac2g"}},
{{"ph":"X","cat":"kernel","name":"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_segment_k_off_kernel__5x_cublas","pid":0,"tid":7,"ts":{0}.75,"dur":0.125,"args":{{"External id":{0},"queued":0,"device":0,"context":1,"stream":7,"correlation":{0},"registers per thread":168,"shared memory":213248,"blocks per SM":7.757576,"warps per SM":93.090912,"grid":[{1},1,1],"block":[384,1,1],"est. achieved occupancy %":19}}}},
{{"ph":"f","id":{0},"pid":0,"tid":7,"ts":{0}.75,"cat":"ac2g","name":"ac2g","bp":"e"}},
)",
        i + 1, 128 << (i % 4));
}

void BM_ReadKineto(benchmark::State& state) {
    const std::string path = (std::filesystem::temp_directory_path() / "echosim_kineto_bench.json").string();
    const auto bytes = static_cast<std::size_t>(state.range(0)) * 1'000'000;
    std::string text = R"({"schemaVersion":1,"traceEvents":[)";
    for (int i = 0; text.size() < bytes; ++i) {
        text += step(i);
    }
    text += R"({"ph":"M","name":"process_name","pid":9,"args":{"name":"python"}}]})";
    std::ofstream(path, std::ios::binary) << text;
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_trace_events(path).trace.event_count());
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
    std::filesystem::remove(path);
}
BENCHMARK(BM_ReadKineto)->Name("ReadKineto/small")->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadKineto)->Name("ReadKineto/large")->Arg(64)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
} // namespace echosim
