// SPDX-License-Identifier: Apache-2.0
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "tracer/interference_bench/measure.h"
#include "tracer/interference_bench/nccl_comm.h"
#include "tracer/interference_bench/stand_in.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>

namespace echosim {
namespace {

void print(std::FILE* to, const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), to);
    std::fflush(to);
}

// The facts of the first GPU; of the default where there is none.
GpuFacts facts_if_any() {
    try {
        visible_gpus();
        return facts_of(0);
    } catch (const DeviceError&) {
        return {};
    }
}

// Signals wait while the file is written: it is there whole, or not at all.
void write(const std::string& path, const std::string& text) {
    if (path.empty() || path == "-") {
        print(stdout, text);
        return;
    }
    sigset_t held, before;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, &before);
    write_file_atomically(path, text);
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

// Settings of NCCL without which the HBM traffic or a captured launch would not be what the samples say; the
// user's own come first.
void settle_nccl() {
    const char* algo = std::getenv("NCCL_ALGO");
    if (hbm_per_bus_byte(algo) > 2)
        ::setenv("NCCL_NVLS_ENABLE", "0", 0);
    ::setenv("NCCL_GRAPH_REGISTER", "0", 0);
}

std::vector<std::string> comments_of(const Measured& measured, const NcclLibrary& nccl, int gpus) {
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "asking for the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "asking for CUDA's version");
    std::vector<std::string> comments = {"echosim-interference-bench: docs/formats.md, interference samples",
                                         fmt::format("{} GPUs, CUDA {}.{}, driver for CUDA {}.{}, NCCL {}",
                                                     gpus, runtime / 1000, runtime % 1000 / 10, driver / 1000,
                                                     driver % 1000 / 10,
                                                     nccl.version().empty() ? "not found" : nccl.version())};
    comments.insert(comments.end(), measured.notes.begin(), measured.notes.end());
    return comments;
}

int run_bench(const BenchOptions& options) {
    settle_nccl();
    const int found = visible_gpus();
    const int gpus = options.gpus > 0 ? std::min(options.gpus, found) : found;
    const NcclLibrary nccl;
    const GpuFacts gpu = facts_of(0);
    const bool use_nccl = gpus > 1 && nccl.available() && !options.stand_in;
    const BenchPlan plan = make_plan(options, gpu, use_nccl ? gpus : 1);
    const auto say = [&](const std::string& line) {
        if (!options.quiet)
            print(stderr, line + "\n");
    };
    say(fmt::format("{} pairs on {}, beside {}; about {:.1f} minutes", plan.pairs.size(), gpu.name,
                    use_nccl ? fmt::format("NCCL {} on {} GPUs", nccl.version(), gpus) : "the stand-in",
                    expected_duration(plan, options, gpu) / 60));
    std::unique_ptr<CommSource> comms;
    if (use_nccl)
        comms = std::make_unique<NcclSource>(nccl, gpus, gpu);
    else
        comms = std::make_unique<StandInSource>(gpu, clock_step());
    const Measured measured = measure(plan, options, gpu, *comms, say);
    write(options.output, samples_csv(measured.samples, gpu, comments_of(measured, nccl, gpus)));
    return 0;
}

int run(std::span<const char* const> arguments) {
    const BenchOptions options = parse_bench_options(arguments);
    if (options.help) {
        print(stdout, bench_help());
        return 0;
    }
    if (options.list) {
        print(stdout, kernel_list(facts_if_any()));
        return 0;
    }
    if (options.dry_run) {
        const GpuFacts gpu;
        print(stdout, describe(make_plan(options, gpu, std::max(1, options.gpus)), options, gpu));
        return 0;
    }
    return run_bench(options);
}

} // namespace
} // namespace echosim

int main(int argc, char** argv) {
    try {
        return echosim::run({argv + 1, static_cast<std::size_t>(std::max(0, argc - 1))});
    } catch (const echosim::InputError& error) {
        echosim::print(stderr, fmt::format("echosim-interference-bench: {}\n", error.what()));
        return 2;
    } catch (const std::exception& error) {
        echosim::print(stderr, fmt::format("echosim-interference-bench: {}\n", error.what()));
        return 1;
    }
}
