// SPDX-License-Identifier: Apache-2.0
#include "validation/collective_rows.h"

#include "comm_models/log_samples.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "validation/row_fields.h"
#include "validation/step_rows.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostBytes = 1e15;
constexpr double kRowsOfATable = 20; // weight 1

bool is_amd(Arch arch) {
    return arch == Arch::cdna2 || arch == Arch::cdna3 || arch == Arch::cdna4;
}

double usual_nic_gbits(Arch arch) {
    if (arch == Arch::volta)
        return 100;
    return arch == Arch::ampere || arch == Arch::ada ? 200 : 400;
}

std::optional<FabricKind> fabric_from(const std::string& text) {
    if (text == "ib")
        return FabricKind::infiniband;
    constexpr FabricKind kKinds[] = {FabricKind::none,     FabricKind::infiniband, FabricKind::roce,
                                     FabricKind::omnipath, FabricKind::efa,        FabricKind::tcpx,
                                     FabricKind::tcpxo,    FabricKind::ethernet,   FabricKind::slingshot};
    for (const FabricKind kind : kKinds)
        if (text == to_string(kind))
            return kind;
    return std::nullopt;
}

std::optional<CollectiveKind> kind_from(const std::string& text) {
    if (text == "alltoall")
        return CollectiveKind::all_to_all;
    if (text == "sendrecv")
        return CollectiveKind::send_recv;
    return collective_from(text);
}

void check_values(RowFields& f) {
    f.require_counts({"gpus", "nodes"});
    for (const char* key : {"gpus_per_node", "nvlink_domain_gpus"})
        if (f.has(key))
            f.require_counts({key});
    f.require_range("gpus", 2, 1e7);
    f.require_range("gpus_per_node", 1, 1e4);
    f.require_range("nvlink_domain_gpus", 1, 1e5);
    f.require_range("nics_per_node", f.count("nodes", 1) > 1 ? 1 : 0, 1e3);
    f.require_range("nic_gbits", f.count("nodes", 1) > 1 ? 0.01 : 0, 1e6);
    if (!f.has("collective"))
        f.refuse("collective is not stated");
}

void set_fabric(RowFields& f, CollectiveTable& table) {
    const bool network = table.nodes > 1;
    const std::string text = f.text("fabric");
    const auto kind = fabric_from(text);
    table.cluster.fabric.kind = kind.value_or(network ? FabricKind::infiniband : FabricKind::none);
    if (network && text.empty())
        table.notes.emplace_back("fabric is not stated: InfiniBand");
    if (network && !text.empty() && !kind)
        f.refuse(fmt::format("fabric \"{}\" is not known", text));
    table.cluster.fabric.routing = default_routing(table.cluster.fabric.kind);
}

void set_nics(RowFields& f, CollectiveTable& table) {
    Cluster& c = table.cluster;
    if (table.nodes == 1 && !f.has("nics_per_node")) {
        c.node.nics.count = 0;
        return;
    }
    c.node.nics.count = f.count("nics_per_node", c.node.gpus);
    if (table.nodes > 1 && !f.has("nics_per_node"))
        table.notes.emplace_back("nics_per_node is not stated: one a GPU");
    const double gbits = f.number("nic_gbits", usual_nic_gbits(c.gpu.arch));
    if (table.nodes > 1 && !f.has("nic_gbits"))
        table.notes.push_back(fmt::format("nic_gbits is not stated: {:g}", gbits));
    c.node.nics.bandwidth = gbits * 0.125e9;
    c.node.nics.gpus_per_nic = std::max(1, c.node.gpus / std::max(1, c.node.nics.count));
}

void set_nvlink(RowFields& f, CollectiveTable& table) {
    Cluster& c = table.cluster;
    const int domain = f.count("nvlink_domain_gpus", c.node.gpus);
    const double rate = c.gpu.nvlink_links * c.gpu.nvlink_link_bandwidth;
    if (rate > 0 && (domain > 1 || c.node.gpus == 1))
        c.node.nvlink = {rate, c.gpu.nvlink_links, !is_amd(c.gpu.arch)};
    c.nvlink_domain_nodes = c.node.nvlink.bandwidth > 0 ? std::max(1, domain / c.node.gpus) : 1;
}

void set_nccl(RowFields& f, CollectiveTable& table) {
    table.cluster.nccl = f.text("nccl_version");
    if (table.cluster.nccl.empty()) {
        table.cluster.nccl = nccl::likely_nccl(table.cluster.gpu.arch);
        table.notes.push_back("nccl_version is not stated: " + table.cluster.nccl);
        return;
    }
    try {
        nccl::parse_version(table.cluster.nccl);
    } catch (const InputError&) {
        f.refuse(fmt::format("nccl_version \"{}\" is no version", table.cluster.nccl));
    }
}

void set_cluster(RowFields& f, const Gpu& gpu, CollectiveTable& table) {
    Cluster& c = table.cluster;
    const int on_a_node = table.gpus / table.nodes;
    c.name = "of table " + table.name;
    c.gpu = gpu;
    c.node.gpus = f.count("gpus_per_node", on_a_node);
    if (!f.has("gpus_per_node"))
        table.notes.push_back(fmt::format("gpus_per_node is not stated: {}", on_a_node));
    if (table.gpus % table.nodes != 0)
        f.refuse(fmt::format("gpus {} is not a multiple of nodes {}", table.gpus, table.nodes));
    if (on_a_node > c.node.gpus)
        f.refuse(fmt::format("gpus {} on {} nodes do not fit gpus_per_node {}", table.gpus, table.nodes,
                             c.node.gpus));
    c.node.cpu = "intel-sapphire-rapids";
    c.node.pcie = {pcie_gen(gpu.arch), 16};
    set_nvlink(f, table);
    set_fabric(f, table);
    set_nics(f, table);
    set_nccl(f, table);
}

GroupGeometry group_of(const CollectiveTable& table) {
    const int on_a_node = table.gpus / table.nodes;
    std::vector<int> ranks(static_cast<std::size_t>(table.gpus));
    for (int i = 0; i < table.gpus; ++i)
        ranks[static_cast<std::size_t>(i)] = i / on_a_node * table.cluster.node.gpus + i % on_a_node;
    return geometry_of(ranks, table.cluster);
}

std::string link_of(const CollectiveTable& table) {
    if (is_amd(table.cluster.gpu.arch))
        return "AMD";
    if (table.group.nodes == 1)
        return table.group.nvlink ? "NVLink" : "PCIe";
    switch (table.cluster.fabric.kind) {
    case FabricKind::infiniband:
    case FabricKind::roce:
        return "InfiniBand/RoCE";
    case FabricKind::efa:
        return "EFA";
    case FabricKind::tcpx:
    case FabricKind::tcpxo:
        return "TCPX(O)";
    default:
        return "other network";
    }
}

CollectiveTable read_table(RowFields& f) {
    CollectiveTable table;
    table.name = f.text("table", f.where());
    table.gpu = f.text("gpu", "not stated");
    table.collective = f.text("collective", "not stated");
    table.hardware = f.text("hardware");
    table.network = f.text("network");
    table.degraded = f.yes("degraded");
    table.gpus = f.count("gpus", 0);
    table.nodes = f.count("nodes", 1);
    table.link = "not stated";
    check_values(f);
    const auto kind = kind_from(table.collective);
    if (!kind)
        f.refuse(fmt::format("collective \"{}\" is not known", table.collective));
    table.kind = kind.value_or(table.kind);
    const Gpu* gpu = catalogue_gpu(f);
    if (table.gpus < 2 || table.nodes < 1)
        f.refuse("gpus or nodes is of the wrong type");
    if (f.unusable().empty())
        set_cluster(f, *gpu, table);
    table.skipped = f.unusable();
    if (!table.skipped.empty())
        return table;
    table.group = group_of(table);
    table.link = link_of(table);
    return table;
}

CollectiveRow read_row(RowFields& f, const std::unordered_map<std::string, std::size_t>& places) {
    CollectiveRow row;
    row.id = f.text("id", f.where());
    row.dtype = nccl::element_type(f.text("dtype", "float"));
    row.us = f.number("time_us", 0);
    const double bytes = f.number("bytes", 0);
    if (!f.has("bytes") || !f.has("time_us"))
        f.refuse(f.has("bytes") ? "the row has no out-of-place time" : "bytes is not stated");
    f.require_range("bytes", 1, kMostBytes);
    f.require_range("time_us", 1e-3, 1e10);
    if (std::floor(bytes) != bytes)
        f.refuse(fmt::format("bytes {} is not whole", bytes));
    const auto place = places.find(f.text("table"));
    if (place == places.end())
        f.refuse(fmt::format("table \"{}\" is not in the list of tables", f.text("table")));
    else
        row.table = place->second;
    row.skipped = f.unusable();
    if (row.skipped.empty())
        row.bytes = static_cast<Bytes>(bytes);
    return row;
}

std::string place_of(const std::string& path, const char* what, std::size_t index, const Json& json,
                     const char* key) {
    const std::string place = fmt::format("{}: {} {}", path, what, index);
    if (!json.is_object())
        return place;
    const auto id = json.find(key);
    return id != json.end() && id->is_string() ? fmt::format("{} ({})", place, id->get<std::string>())
                                               : place;
}

const Json& list_of(const Json& json, const char* key, const std::string& path) {
    const auto it = json.find(key);
    if (it == json.end() || !it->is_array())
        throw InputError(path, fmt::format("has no list \"{}\"", key),
                         "a file of measured collectives is {\"tables\": [...], \"rows\": [...]}");
    if (it->empty())
        throw InputError(path, fmt::format("the list \"{}\" is empty", key));
    return *it;
}

// Calls take(fields) for each object of the list until there are too many problems.
template <class Take>
void read_list(const Json& list, const std::string& path, const char* what, const char* key,
               std::vector<Problem>& problems, const Take& take) {
    for (std::size_t i = 0; i < list.size() && problems.size() < kMaxRowProblems; ++i) {
        const std::string place = place_of(path, what, i, list[i], key);
        if (!list[i].is_object()) {
            problems.push_back(
                {place, fmt::format("read a JSON {}; allowed: an object", list[i].type_name()), {}});
            continue;
        }
        RowFields fields(list[i], place, problems);
        take(fields);
    }
}

} // namespace

CollectiveTables read_collective_tables(const std::string& path) {
    const Json json = read_json_file(path);
    if (!json.is_object())
        throw InputError(path, fmt::format("read a JSON {}; allowed: an object with \"tables\" and \"rows\"",
                                           json.type_name()));
    CollectiveTables data;
    std::vector<Problem> problems;
    std::unordered_map<std::string, std::size_t> places;
    read_list(list_of(json, "tables", path), path, "table", "table", problems, [&](RowFields& f) {
        data.tables.push_back(read_table(f));
        if (!places.try_emplace(data.tables.back().name, data.tables.size() - 1).second)
            problems.push_back({f.where(), "there is another table of this name", {}});
    });
    read_list(list_of(json, "rows", path), path, "row", "id", problems, [&](RowFields& f) {
        CollectiveRow row = read_row(f, places);
        if (row.skipped.empty())
            row.skipped = data.tables[row.table].skipped;
        data.rows.push_back(std::move(row));
    });
    if (!problems.empty())
        throw InputError(std::move(problems));
    return data;
}

Collective collective_of(const CollectiveTable& table, const CollectiveRow& row) {
    return {.kind = table.kind, .bytes = row.bytes, .dtype = row.dtype, .in_place = false};
}

nccl::CalibrationData calibration_data(const CollectiveTables& data, const std::vector<bool>& use) {
    nccl::CalibrationData result;
    std::vector<std::size_t> place(data.tables.size(), 0);
    std::vector<double> rows(data.tables.size(), 0);
    const auto used = [&](std::size_t t) { return use[t] && !data.tables[t].degraded; };
    for (const CollectiveRow& row : data.rows)
        if (row.skipped.empty() && used(row.table) && rows[row.table]++ == 0) {
            place[row.table] = result.clusters.size();
            result.clusters.push_back(data.tables[row.table].cluster);
        }
    for (const CollectiveRow& row : data.rows) {
        if (!row.skipped.empty() || !used(row.table))
            continue;
        const CollectiveTable& table = data.tables[row.table];
        nccl::CollectiveSample sample;
        sample.cluster = place[row.table];
        sample.collective = collective_of(table, row);
        sample.group = table.group;
        sample.us = row.us;
        sample.weight = kRowsOfATable / std::max(kRowsOfATable / 4, rows[row.table]);
        result.samples.push_back(sample);
    }
    return result;
}

} // namespace echosim
