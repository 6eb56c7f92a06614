// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/command.h"
#include "simulator/cli/job_input.h"
#include "simulator/cli/output.h"
#include "simulator/cli/summary.h"
#include "simulator/core/error.h"
#include "simulator/core/files.h"
#include "simulator/core/suggest.h"
#include "simulator/run/run.h"
#include "traces/chrome_json.h"
#include "traces/timeline_file.h"

#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

// Fills the timeline part of the options; everything about it that can be wrong is found before the work
// starts.
void read_timeline_options(const Invocation& invocation, RunOptions& options) {
    const auto file = invocation.value("--timeline");
    const auto ranks = invocation.value("--timeline-ranks");
    if (!file) {
        if (ranks)
            throw InputError("--timeline-ranks", "needs --timeline FILE");
        return;
    }
    check_timeline_path(*file);
    options.keep_timeline = true;
    const bool etr = file->ends_with(".etr");
    if (!etr && !invocation.has("--force"))
        options.most_timeline_events = PerfettoOptions{}.max_events;
    if (ranks == "all") {
        // .etr lists the ranks that each class stands for: nothing is lost
        options.timeline_ranks = etr ? TimelineRanks::representative : TimelineRanks::all;
    } else if (ranks && *ranks != "representative") {
        options.timeline_ranks = TimelineRanks::listed;
        options.listed_ranks = parse_rank_list(*ranks);
    }
    if (invocation.value("--output") == file)
        throw InputError("--timeline", "is the same file as --output");
    check_writable(*file);
}

void check_listed_ranks(const RunOptions& options, const Job& job) {
    if (options.listed_ranks.empty() || options.listed_ranks.back() < job.parallel.world_size)
        return;
    throw InputError("--timeline-ranks",
                     fmt::format("rank {} is not one of the job's, 0 to {}", options.listed_ranks.back(),
                                 job.parallel.world_size - 1));
}

RunOptions read_run_options(const Invocation& invocation, const Overrides& overrides,
                            const std::optional<EarlierRun>& earlier) {
    RunOptions options;
    if (earlier) {
        options.interference = earlier->interference;
        options.contention = earlier->contention;
    }
    options.contention = overrides.contention.value_or(options.contention);
    if (overrides.interference)
        options.interference = *overrides.interference;
    if (const auto file = invocation.value("--calibration")) {
        read_text_file(*file);
        options.calibration = *file;
    }
    read_timeline_options(invocation, options);
    return options;
}

std::vector<std::string> next_commands(const Invocation& invocation, const RunOutput& output) {
    const std::string job = invocation.arguments.empty() ? "-- ..." : invocation.arguments[0];
    std::vector<std::string> lines;
    if (const auto file = invocation.value("--timeline")) {
        const std::string_view viewer = file->ends_with(".json") || file->ends_with(".json.gz")
                                            ? "open it in https://ui.perfetto.dev"
                                            : "write .json.gz instead to open it in https://ui.perfetto.dev";
        lines.push_back(fmt::format("timeline {}: {} events; {}", *file,
                                    with_separators(static_cast<long long>(output.trace.event_count())),
                                    viewer));
    } else {
        lines.push_back("echosim simulate ... --timeline step.json.gz   for ui.perfetto.dev");
    }
    lines.push_back(fmt::format("echosim show job {}   every value with its origin", job));
    lines.push_back("echosim simulate ... -- --tensor-model-parallel-size 4   another layout");
    return lines;
}

nlohmann::ordered_json document_of(const Result& result, const RunOptions& options, bool with_wall_clock) {
    nlohmann::ordered_json document = result_to_json(result, with_wall_clock);
    // like the interference beside it: what an earlier result needs to be repeated
    document["simulation"]["contention"] = options.contention;
    return document;
}

} // namespace

int run_simulate(const Invocation& invocation, Console& console) {
    const auto start = std::chrono::steady_clock::now();
    const Overrides overrides = read_overrides(invocation.values("--set"));
    std::optional<EarlierRun> earlier;
    if (!invocation.arguments.empty())
        earlier = read_earlier_run(invocation.arguments[0]);
    const Cluster cluster = resolve_cluster(invocation, overrides, earlier);
    const Job job = resolve_job_argument(invocation, overrides, 0);
    const RunOptions options = read_run_options(invocation, overrides, earlier);
    check_listed_ranks(options, job);
    check_output(invocation);
    console.detail(fmt::format("{}: {} GPUs on {}, interference {}", job.name, job.parallel.world_size,
                               cluster.name, options.interference));

    RunOutput output = run(job, cluster, options);
    if (const auto file = invocation.value("--timeline")) {
        const HoldSignals held;
        write_timeline(output.trace, *file, {.force = invocation.has("--force")});
        console.detail(fmt::format("{} is written", *file));
    }
    output.result.simulation.wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const SummaryOptions summary{.style = console.style(),
                                 .all_rows = console.verbose(),
                                 .next_commands = next_commands(invocation, output)};
    write_output(invocation,
                 {.text = summary_text(output.result, summary),
                  .json = document_text(document_of(output.result, options, true)),
                  .file = document_text(document_of(output.result, options, false))},
                 console);
    console.detail(
        fmt::format("{} ops, {} of {} ranks simulated, {}", with_separators(output.result.simulation.ops),
                    output.result.simulation.ranks_simulated, output.result.simulation.ranks_represented,
                    format_time(output.result.simulation.wall)));
    return static_cast<int>(output.result.memory.fits ? ExitCode::ok : ExitCode::does_not_fit);
}

} // namespace echosim
