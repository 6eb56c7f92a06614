// SPDX-License-Identifier: Apache-2.0
#include "simulator/cli/summary_tables.h"

#include "simulator/cli/text_table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::size_t kStageRows = 8;
constexpr std::size_t kContributorRows = 5;
constexpr std::size_t kCommunicationRows = 8;
constexpr auto kRight = TextTable::Align::right;

std::string gib(Bytes bytes) {
    return fmt::format("{:.1f}", static_cast<double>(bytes) / 1073741824.0);
}

std::string more_rows(const TextStyle& style, std::size_t shown, std::size_t all, const std::string& which) {
    if (shown == all)
        return "";
    return style.dim(fmt::format("  {} of {}, {}; -v prints all", shown, all, which)) + "\n";
}

// Stages to print: all, or those with the highest peaks in the order of the pipeline.
std::vector<StageMemory> chosen_stages(const Memory& memory, bool all) {
    std::vector<StageMemory> stages = memory.stages;
    if (all || stages.size() <= kStageRows)
        return stages;
    std::stable_sort(stages.begin(), stages.end(),
                     [](const auto& a, const auto& b) { return a.peak > b.peak; });
    stages.resize(kStageRows);
    std::sort(stages.begin(), stages.end(), [](const auto& a, const auto& b) { return a.stage < b.stage; });
    return stages;
}

std::string verdict(const Memory& memory, const TextStyle& style) {
    if (memory.fits)
        return style.good(fmt::format("fits: {} of {} at the peak, {} headroom", format_bytes(memory.peak),
                                      format_bytes(memory.capacity),
                                      format_bytes(memory.capacity - memory.peak)));
    const Bytes excess = memory.peak > memory.capacity ? memory.peak - memory.capacity : 0;
    return style.bad(fmt::format("does not fit: {} at the peak, {} more than the {} of the GPU",
                                 format_bytes(memory.peak), format_bytes(excess),
                                 format_bytes(memory.capacity)));
}

std::string headroom(const StageMemory& stage, Bytes capacity) {
    return stage.peak <= capacity ? gib(capacity - stage.peak) : "-" + gib(stage.peak - capacity);
}

// Rows by time, longest first.
std::vector<Communication> by_time(std::vector<Communication> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
    return rows;
}

} // namespace

std::string memory_text(const Result& result, const SummaryOptions& options) {
    const Memory& memory = result.memory;
    std::string out = "\n" + options.style.bold("Memory") + "  " + verdict(memory, options.style) + "\n";
    if (!memory.fits && !memory.nearest_fit.empty())
        out += "  " + wrap("nearest change that fits: " + memory.nearest_fit, options.style.width, 4) + "\n";
    TextTable table({{"stage", kRight},
                     {"peak GiB", kRight},
                     {"headroom", kRight},
                     {"weights", kRight},
                     {"gradients", kRight},
                     {"optimizer", kRight},
                     {"activations", kRight},
                     {"in flight", kRight},
                     {"buffers", kRight},
                     {"overhead", kRight}});
    const auto stages = chosen_stages(memory, options.all_rows);
    for (const StageMemory& s : stages)
        table.add({std::to_string(s.stage), gib(s.peak), headroom(s, memory.capacity), gib(s.weights),
                   gib(s.gradients), gib(s.optimizer), gib(s.activations), std::to_string(s.in_flight),
                   gib(s.buffers), gib(s.overhead)});
    if (table.empty())
        return out;
    return out + table.text(options.style, 0) +
           more_rows(options.style, stages.size(), memory.stages.size(), "highest peaks");
}

std::string contributors_text(const Result& result, const SummaryOptions& options) {
    if (result.top.empty())
        return "";
    std::size_t width = 0;
    const std::size_t rows =
        options.all_rows ? result.top.size() : std::min(result.top.size(), kContributorRows);
    for (std::size_t i = 0; i < rows; ++i)
        width = std::max(width, result.top[i].name.size());
    width = std::min<std::size_t>(width, 60);
    std::string out = "\n" + options.style.bold("Largest contributors") + "\n";
    for (std::size_t i = 0; i < rows; ++i) {
        const double share = result.step.time > 0 ? result.top[i].time / result.step.time * 100 : 0;
        out += fmt::format("  {:<{}.{}}  {:>9}  {:>5.1f} %\n", result.top[i].name, width, width,
                           format_time(result.top[i].time), share);
    }
    return out;
}

std::string communication_text(const Result& result, const SummaryOptions& options) {
    if (result.communication.empty())
        return "";
    const std::vector<Communication> rows = by_time(result.communication);
    const std::size_t shown = options.all_rows ? rows.size() : std::min(rows.size(), kCommunicationRows);
    TextTable table({{"group"},
                     {"kind"},
                     {"algorithm"},
                     {"protocol"},
                     {"channels", kRight},
                     {"calls", kRight},
                     {"bytes/call", kRight},
                     {"time", kRight},
                     {"exposed", kRight},
                     {"busbw", kRight}});
    for (std::size_t i = 0; i < shown; ++i) {
        const Communication& c = rows[i];
        table.add({c.group, std::string(to_string(c.kind)), std::string(to_string(c.algorithm)),
                   std::string(to_string(c.protocol)), std::to_string(c.channels), with_separators(c.count),
                   format_bytes(static_cast<Bytes>(std::llround(c.bytes_per_call))), format_time(c.time),
                   format_time(c.exposed), format_bandwidth(c.busbw)});
    }
    return "\n" + options.style.bold("Communication") + "  " +
           options.style.dim("sums over the step, critical rank") + "\n" + table.text(options.style, 0) +
           more_rows(options.style, shown, rows.size(), "longest");
}

} // namespace echosim
