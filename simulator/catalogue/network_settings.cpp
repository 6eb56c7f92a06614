// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/network_settings.h"

#include "simulator/catalogue/topology_text.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr std::size_t kMaxHead = 1U << 16U;

// A file that is none of ours: what its first telling line holds, what that is, what to give instead.
struct Foreign {
    std::string_view mark; // beginning of a line, or of a key of a JSON object
    const char* what;
    const char* instead; // nullptr: made from what the file says of the GPU
};

constexpr const char* kNetwork = "echosim show cluster --from NETWORK reads the topology file that SimAI ran "
                                 "with, or ASTRA-sim's network .yml";
constexpr const char* kPackets =
    "a setting of SimAI's packet simulator (ns-3); echosim has no packets and takes "
    "the topology file";
constexpr const char* kAlgorithms =
    "a setting of ASTRA-sim's system layer: how it splits and schedules collectives; echosim models those of "
    "NCCL";
constexpr const char* kOldNetwork =
    "a key of ASTRA-sim 1's network description, whose units changed from version to version";

constexpr std::array<Foreign, 15> kLines{{
    {"ENABLE_QCN", kPackets, kNetwork},
    {"USE_DYNAMIC_PFC_THRESHOLD", kPackets, kNetwork},
    {"PACKET_PAYLOAD_SIZE", kPackets, kNetwork},
    {"CC_MODE", kPackets, kNetwork},
    {"SIMULATOR_STOP_TIME", kPackets, kNetwork},
    {"allreduce,:",
     "a measured bus bandwidth for SimAI's analytical mode; echosim computes bandwidths from the "
     "cluster",
     "measured tables: echosim calibrate collectives with logs of nccl-tests, then --calibration"},
    {"busbw:",
     "a measured bus bandwidth for SimAI's analytical mode; echosim computes bandwidths from the cluster",
     "measured tables: echosim calibrate collectives with logs of nccl-tests, then --calibration"},
    {"train_iter:",
     "the head of AIOB's kernel times of one layer (microseconds), of which AICB makes a workload",
     "give the workload that AICB writes with them (HYBRID_TRANSFORMER_FWD_IN_BCKWD ..., .txt)"},
    {"\"scheduling-policy\"", kAlgorithms, nullptr},
    {"\"all-reduce-implementation\"", kAlgorithms, nullptr},
    {"\"all-reduce-implementation-custom\"", kAlgorithms, nullptr},
    {"\"preferred-dataset-splits\"", kAlgorithms, nullptr},
    {"\"logical-dims\"", "only the shape of ASTRA-sim's groups for ns-3: no bandwidths, no latencies",
     "give a network .yml with topology, npus_count, bandwidth and latency to echosim show cluster --from"},
    {"\"topology-name\"", kOldNetwork,
     "write it as .yml with topology, npus_count, bandwidth (GB/s) and latency (ns), one entry a dimension"},
    {"\"memory-type\"", "a setting of ASTRA-sim's remote memory; echosim has none",
     "the memory of a GPU is gpu.memory of the cluster: --set gpu.memory=80GiB"},
}};

constexpr Foreign kBenchmarks = {
    "the header",
    "that of AICB's list of benchmarks: each row is a model and its parallel sizes, no operation",
    "give the workload that AICB generates for a row (.csv, .txt), or its model to echosim simulate"};

// Column names of AICB's list of benchmarks.
bool is_benchmark_list(std::string_view line) {
    return line.find("Parameter_size") != std::string_view::npos &&
           line.find("Num_of_layers") != std::string_view::npos;
}

// Strips what may stand in front of the first key of a JSON object.
std::string_view first_key(std::string_view line) {
    std::string_view rest = trimmed(line);
    while (rest.starts_with('{'))
        rest = trimmed(rest.substr(1));
    return rest;
}

bool begins_with(std::string_view line, std::string_view mark) {
    if (!line.starts_with(mark))
        return false;
    const char next = line.size() > mark.size() ? line[mark.size()] : ' ';
    return mark.ends_with(':') || next == ' ' || next == '\t' || next == ':';
}

// What an ASTRA-sim system file says of the GPU, as options.
std::string gpu_options(std::string_view text) {
    std::string options;
    if (const auto rate = number_after(text, "\"local-mem-bw\":"))
        options += fmt::format(" --set gpu.hbm_bandwidth={}GB/s (its local-mem-bw)", *rate);
    if (const auto rate = number_after(text, "\"peak-perf\":"))
        options += fmt::format(" --set gpu.bf16_flops={}TFLOPS (its peak-perf)", *rate);
    return options;
}

Problem answer(std::string_view text, std::string at, const Foreign& foreign) {
    std::string_view shown = foreign.mark;
    if (shown.ends_with(':'))
        shown.remove_suffix(1);
    std::string instead =
        foreign.instead != nullptr
            ? foreign.instead
            : "give ASTRA-sim's network .yml: echosim show cluster --from NETWORK.yml" + gpu_options(text);
    return {std::move(at), fmt::format("{} is {}", shown, foreign.what), std::move(instead)};
}

} // namespace

std::optional<Problem> foreign_setting(std::string_view text, const std::string& name) {
    text = text.substr(0, kMaxHead);
    LineReader lines(text);
    int read = 0;
    for (std::string_view line; read < 32 && lines.next(line);) {
        const std::string_view rest = first_key(line.substr(0, 4096));
        if (rest.empty())
            continue;
        ++read;
        const std::string at = fmt::format("{}:{}", name, lines.number());
        if (is_benchmark_list(line.substr(0, 4096)))
            return answer(text, at, kBenchmarks);
        for (const Foreign& foreign : kLines)
            if (begins_with(rest, foreign.mark))
                return answer(text, at, foreign);
    }
    return std::nullopt;
}

} // namespace echosim
