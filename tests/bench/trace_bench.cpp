// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_json.h"
#include "traces/etr.h"
#include "traces/merge.h"

#include <benchmark/benchmark.h>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <unistd.h>

// Files of traces: time to write and to open them, bytes of an event. BM_Etr_open is the time until the
// viewer knows what there is.
namespace echosim {
namespace {

// Eight ranks of a thread and two streams, half of the events calls, a quarter kernels, a quarter
// communication.
Trace recorded(std::size_t events) {
    TraceBuilder builder;
    Event event{.duration = 4000, .provenance = Provenance::measured};
    for (int rank = 0; rank < 8; ++rank) {
        const auto row = builder.add_class(fmt::format("rank {}", rank), -1, {rank});
        const std::uint32_t host = builder.add_stream(row, StreamKind::host, "thread 1");
        const std::uint32_t compute = builder.add_stream(row, StreamKind::compute, "stream 7");
        const std::uint32_t comm = builder.add_stream(row, StreamKind::comm, "stream 20");
        for (std::size_t i = 0; i < events / 16; ++i) {
            event.start = static_cast<TimeNs>(i) * 5000;
            event.correlation = static_cast<std::uint32_t>(i + 1);
            event.kind = EventKind::api;
            event.ext = kNoRow;
            event.name = builder.name("cudaLaunchKernel");
            event.args = builder.name(R"({"cbid":211})");
            builder.add_event(host, event);
            event.start += 2000;
            event.kind = i % 2 == 0 ? EventKind::kernel : EventKind::comm;
            event.name = builder.name(i % 2 == 0 ? "gemm" : "ncclDevKernel_AllReduce");
            event.ext =
                i % 2 == 0
                    ? builder.add_launch({{static_cast<std::uint32_t>(i % 60 + 1), 1, 1}, {128, 1, 1}, 64, 0})
                    : builder.add_comm_op({.bytes = i % 97, .sequence = i});
            event.args = builder.name(fmt::format(R"({{"External id":{}}})", i % 5000));
            builder.add_event(i % 2 == 0 ? compute : comm, event);
        }
    }
    return builder.finish();
}

const Trace& trace_of(std::int64_t events) {
    static std::int64_t size = 0;
    static Trace trace;
    if (size != events) {
        trace = recorded(static_cast<std::size_t>(events));
        size = events;
    }
    return trace;
}

// A file that goes when the benchmark ends.
struct BenchFile {
    explicit BenchFile(const std::string& ending)
        : path(
              (std::filesystem::temp_directory_path() / fmt::format("echosim_bench_{}{}", ::getpid(), ending))
                  .string()) {}
    ~BenchFile() { std::filesystem::remove(path); }
    BenchFile(const BenchFile&) = delete;
    BenchFile& operator=(const BenchFile&) = delete;
    std::string path;
};

void count(benchmark::State& state, const std::string& path) {
    state.SetItemsProcessed(state.iterations() * state.range(0));
    state.counters["bytes_per_event"] =
        static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(state.range(0));
}

void BM_Etr_write(benchmark::State& state, EtrCodec codec) {
    const Trace& trace = trace_of(state.range(0));
    const BenchFile file(".etr");
    for (auto _ : state) {
        write_etr(trace, file.path, codec);
    }
    count(state, file.path);
}

void BM_Etr_open(benchmark::State& state) {
    const BenchFile file(".etr");
    write_etr(trace_of(state.range(0)), file.path);
    for (auto _ : state) {
        const EtrFile open(file.path);
        benchmark::DoNotOptimize(open.event_count());
    }
    count(state, file.path);
}

void BM_Etr_first_chunk(benchmark::State& state) {
    const BenchFile file(".etr");
    write_etr(trace_of(state.range(0)), file.path);
    for (auto _ : state) {
        const EtrFile open(file.path);
        for (const EtrSection& section : open.sections()) {
            if (section.kind == EtrSectionKind::events) {
                benchmark::DoNotOptimize(open.read_events(section).events.size());
                break;
            }
        }
    }
    count(state, file.path);
}

void BM_Etr_read(benchmark::State& state, EtrCodec codec) {
    const BenchFile file(".etr");
    write_etr(trace_of(state.range(0)), file.path, codec);
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_etr(file.path).event_count());
    }
    count(state, file.path);
}

void BM_Perfetto_write(benchmark::State& state) {
    const Trace& trace = trace_of(state.range(0));
    const BenchFile file(".json");
    for (auto _ : state) {
        write_perfetto(trace, file.path);
    }
    count(state, file.path);
}

void BM_Select_and_merge(benchmark::State& state) {
    const Trace& trace = trace_of(state.range(0));
    for (auto _ : state) {
        benchmark::DoNotOptimize(
            merge({select_ranks(trace, {0, 1, 2, 3}), select_ranks(trace, {4, 5, 6, 7})}).event_count());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

constexpr std::int64_t kSmall = 100'000;
constexpr std::int64_t kLarge = 10'000'000;
BENCHMARK_CAPTURE(BM_Etr_write, raw, EtrCodec::raw)->Arg(kSmall)->Arg(kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Etr_write, zstd, EtrCodec::zstd)
    ->Arg(kSmall)
    ->Arg(kLarge)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Etr_open)->Arg(kSmall)->Arg(kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Etr_first_chunk)->Arg(kSmall)->Arg(kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Etr_read, raw, EtrCodec::raw)->Arg(kSmall)->Arg(kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Etr_read, zstd, EtrCodec::zstd)->Arg(kSmall)->Arg(kLarge)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Perfetto_write)->Arg(kSmall)->Arg(kLarge / 10)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Select_and_merge)->Arg(kSmall)->Arg(kLarge)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace echosim
