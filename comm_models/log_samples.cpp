// SPDX-License-Identifier: Apache-2.0
#include "comm_models/log_samples.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <limits>

namespace echosim::nccl {
namespace {

constexpr double kWarmUpFactor = 1.5;
constexpr double kRowsOfATable = 20; // weight 1

std::optional<double> time_of(const NcclTestsRow& row) {
    return row.out_of_place_us ? row.out_of_place_us : row.in_place_us;
}

std::string place_of(const NcclTestsTable& table, const std::string& name) {
    return fmt::format("{}:{}", name, table.line);
}

int ranks_of(const NcclTestsTable& table, const std::string& place, const LogSettings& settings,
             std::vector<std::string>& notes) {
    if (settings.gpus == 0)
        return table.ranks;
    if (table.ranks != 0 && table.ranks != settings.gpus)
        notes.push_back(fmt::format("{}: --gpus {} is taken, although the table is that of {} ranks", place,
                                    settings.gpus, table.ranks));
    return settings.gpus;
}

std::string version_of(const NcclTestsTable& table, const std::string& place, const LogSettings& settings,
                       std::vector<std::string>& notes) {
    if (!settings.nccl.empty())
        return settings.nccl;
    const LogVersion found = version_of_log(table, settings.cluster);
    if (!found.assumed.empty())
        notes.push_back(fmt::format("{}: no NCCL version; {} (--nccl states it)", place, found.assumed));
    return found.nccl;
}

// Ranks in order, as many on each node as the list of hosts says, else as nodes hold.
std::vector<int> placed(int ranks, int nodes, const Cluster& cluster) {
    const int per_node = nodes > 0 && ranks % nodes == 0 ? ranks / nodes : cluster.node.gpus;
    std::vector<int> list(static_cast<std::size_t>(ranks));
    for (int i = 0; i < ranks; ++i)
        list[static_cast<std::size_t>(i)] = i / per_node * cluster.node.gpus + i % per_node;
    return list;
}

// Why a table cannot be used; empty otherwise.
std::string unusable(const NcclTestsTable& table, int ranks, const Cluster& cluster) {
    if (table.rows.empty())
        return "no row is left";
    if (ranks == 0)
        return "the number of ranks is not known: give --gpus N";
    if (ranks == 1)
        return "one rank communicates with nobody (nccl-tests was built without MPI?)";
    if (!table.kind)
        return "neither the text nor the columns tell which collective it is";
    if (table.nodes > 0 && ranks > table.nodes * cluster.node.gpus)
        return fmt::format("{} ranks on {} hosts, but a node of the cluster has {} GPUs", ranks, table.nodes,
                           cluster.node.gpus);
    return {};
}

void check_gpu(const NcclTestsTable& table, const std::string& place, const Cluster& cluster) {
    if (!table.gpu.empty() && !names_gpu(table.gpu, cluster.gpu.name))
        throw InputError(place,
                         fmt::format("the log is of \"{}\", the cluster has {}", table.gpu, cluster.gpu.name),
                         "give --cluster of that GPU; one cluster's entry must not hold another GPU's times");
}

} // namespace

DType element_type(std::string_view name) {
    if (name == "half" || name == "float16")
        return DType::fp16;
    if (name == "bfloat16")
        return DType::bf16;
    if (name == "float" || name == "float32")
        return DType::fp32;
    if (name.find('8') != std::string_view::npos)
        return name[0] == 'f' ? DType::fp8 : DType::int8;
    return name.find("64") != std::string_view::npos || name == "double" ? DType::int64 : DType::int32;
}

std::string_view likely_nccl(Arch arch) {
    switch (arch) {
    case Arch::volta:
        return "2.8";
    case Arch::ampere:
        return "2.10";
    case Arch::blackwell:
        return "2.26";
    case Arch::hopper:
        return "2.21";
    case Arch::ada:
    case Arch::cdna2:
    case Arch::cdna3:
    case Arch::cdna4:
        break;
    }
    return "2.18";
}

LogVersion version_of_log(const NcclTestsTable& table, const Cluster& cluster) {
    if (!table.nccl.empty())
        return {table.nccl, {}};
    if (!cluster.nccl.empty())
        return {cluster.nccl, {}};
    const std::string likely(likely_nccl(cluster.gpu.arch));
    if (!table.root_column && table.kind == CollectiveKind::all_reduce && cluster.gpu.arch <= Arch::ampere)
        return {likely,
                fmt::format("{} is assumed, because nccl-tests of this form is older than 2022", likely)};
    return {{}, "the newest is assumed"};
}

bool names_gpu(std::string_view printed, std::string_view catalogue_name) {
    std::string text;
    for (const char c : printed)
        text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string_view model = catalogue_name.substr(0, catalogue_name.find('-'));
    if (model == "rtx" && catalogue_name.size() > 4)
        model = catalogue_name.substr(4);
    return text.find(model) != std::string::npos;
}

std::vector<bool> warm_up_rows(const std::vector<NcclTestsRow>& rows) {
    std::vector<std::size_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return rows[i].bytes; });
    std::vector<bool> marked(rows.size(), false);
    double least = std::numeric_limits<double>::infinity(); // of the larger sizes
    double here = least;                                    // of this size
    Bytes size = 0;
    for (const std::size_t i : order) {
        if (rows[i].bytes != size) {
            least = std::min(least, here);
            size = rows[i].bytes;
        }
        const auto us = time_of(rows[i]);
        if (!us)
            continue;
        marked[i] = *us > kWarmUpFactor * least;
        here = std::min(here, *us);
    }
    return marked;
}

void add_samples(const NcclTestsTable& table, const std::string& name, const LogSettings& settings,
                 CalibrationData& data, LogSamples& result) {
    const std::string place = place_of(table, name);
    for (const std::string& warning : table.warnings)
        result.notes.push_back(place + ": " + warning);
    const int ranks = ranks_of(table, place, settings, result.notes);
    if (const std::string reason = unusable(table, ranks, settings.cluster); !reason.empty()) {
        result.notes.push_back(fmt::format("{}: not used: {}", place, reason));
        return;
    }
    check_gpu(table, place, settings.cluster);
    Cluster cluster = settings.cluster;
    cluster.nccl = version_of(table, place, settings, result.notes);
    if (table.nodes == 0 && ranks > cluster.node.gpus)
        result.notes.push_back(
            fmt::format("{}: no list of hosts; {} ranks are taken to fill nodes of {} GPUs", place, ranks,
                        cluster.node.gpus));
    const GroupGeometry group = geometry_of(placed(ranks, table.nodes, cluster), cluster);
    const std::vector<bool> outliers = warm_up_rows(table.rows);
    const std::size_t before = data.samples.size();
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const NcclTestsRow& row = table.rows[i];
        const auto us = time_of(row);
        if (!us || row.bytes == 0)
            continue;
        if (outliers[i]) {
            result.outliers.push_back(fmt::format("{}:{}: {} in {:g} us, more than larger messages take",
                                                  name, row.line, format_bytes(row.bytes), *us));
            continue;
        }
        CollectiveSample sample;
        sample.cluster = data.clusters.size();
        sample.collective = {.kind = *table.kind,
                             .bytes = row.bytes,
                             .dtype = element_type(row.dtype),
                             .in_place = !row.out_of_place_us};
        sample.group = group;
        sample.us = *us;
        data.samples.push_back(sample);
    }
    const auto rows = static_cast<double>(data.samples.size() - before);
    for (std::size_t i = before; i < data.samples.size(); ++i)
        data.samples[i].weight = kRowsOfATable / std::max(kRowsOfATable / 4, rows);
    data.clusters.push_back(std::move(cluster));
    result.names.push_back(place);
    ++result.tables;
}

} // namespace echosim::nccl
