// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/cluster.h"

#include "embedded/catalogue_data.h"
#include "simulator/catalogue/topology_source.h"
#include "simulator/core/error.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Cluster> read_catalogue() {
    const std::string file = "clusters.json";
    const Json json = parse_json(embedded::kClusters, file);
    std::vector<Cluster> clusters;
    for (const Json& entry : json.at("clusters"))
        clusters.push_back(cluster_from_json(entry, file));
    return clusters;
}

bool names_a_file(std::string_view text) {
    if (text.find('/') != std::string_view::npos || text.ends_with(".json"))
        return true;
    std::error_code error;
    return std::filesystem::is_regular_file(std::filesystem::path(text), error);
}

} // namespace

std::string_view to_string(FabricKind kind) {
    switch (kind) {
    case FabricKind::none:
        return "none";
    case FabricKind::infiniband:
        return "infiniband";
    case FabricKind::roce:
        return "roce";
    case FabricKind::omnipath:
        return "omnipath";
    case FabricKind::efa:
        return "efa";
    case FabricKind::tcpx:
        return "tcpx";
    case FabricKind::tcpxo:
        return "tcpxo";
    case FabricKind::ethernet:
        return "ethernet";
    case FabricKind::slingshot:
        return "slingshot";
    }
    return "?";
}

std::string_view to_string(Routing routing) {
    switch (routing) {
    case Routing::adaptive:
        return "adaptive";
    case Routing::fixed:
        return "fixed";
    case Routing::ecmp:
        return "ecmp";
    }
    return "?";
}

Routing default_routing(FabricKind kind) {
    return kind == FabricKind::roce || kind == FabricKind::ethernet ? Routing::ecmp : Routing::adaptive;
}

BytesPerSecond pcie_bandwidth(const Pcie& pcie) {
    return pcie.gen > 0 ? pcie.width / 16.0 * 12_GBps * std::exp2(pcie.gen - 3) : 24_GBps;
}

// Dimensionless, of the nominal NIC rate. EFA, TCPX and TCPXO from nccl-tests of 16 GPUs (p4de 41.8 of 50
// GB/s, a3-mega 188.7 of 200 GB/s); InfiniBand and RoCE from 64-GPU tables; the others are assumed.
double default_efficiency(FabricKind kind) {
    switch (kind) {
    case FabricKind::none:
        return 1.0;
    case FabricKind::infiniband:
        return 0.92;
    case FabricKind::roce:
        return 0.92;
    case FabricKind::omnipath:
    case FabricKind::efa:
    case FabricKind::tcpx:
        return 0.85;
    case FabricKind::tcpxo:
        return 0.94;
    case FabricKind::ethernet:
        return 0.80;
    case FabricKind::slingshot:
        return 0.90;
    }
    return 1.0;
}

int nodes_for(const Cluster& cluster, int gpus) {
    return (gpus + cluster.node.gpus - 1) / cluster.node.gpus;
}

int nvlink_domain_gpus(const Cluster& cluster) {
    return cluster.node.nvlink.bandwidth > 0 ? cluster.node.gpus * cluster.nvlink_domain_nodes : 1;
}

const std::vector<Cluster>& all_clusters() {
    static const std::vector<Cluster> clusters = read_catalogue();
    return clusters;
}

namespace {

// A network of another simulator, which people give in place of a cluster file.
void refuse_topology(const std::string& path) {
    constexpr std::size_t head = 4096; // enough: it is told by its first keys or line
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
        return;
    std::ifstream file(path, std::ios::binary);
    std::string text(head, '\0');
    file.read(text.data(), static_cast<std::streamsize>(head));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.find_first_not_of(" \t\r\n") == std::string::npos ||
        text[text.find_first_not_of(" \t\r\n")] == '{')
        return;
    if (const auto kind = topology_kind(text))
        throw InputError(
            path, fmt::format("is a file of another kind ({}), no cluster file", to_string(*kind)),
            fmt::format("echosim show cluster --from {} -o mine.json makes its cluster file", path));
}

} // namespace

Cluster find_cluster(std::string_view name_or_path) {
    std::vector<std::string> names;
    for (const Cluster& cluster : all_clusters()) {
        if (cluster.name == name_or_path)
            return cluster;
        names.push_back(cluster.name);
    }
    if (names_a_file(name_or_path)) {
        const std::string path(name_or_path);
        refuse_topology(path);
        return cluster_from_json(read_json_file(path), path);
    }
    throw InputError("--cluster",
                     fmt::format("unknown cluster \"{}\"{}", name_or_path, did_you_mean(names, name_or_path)),
                     "known clusters: " + join(names) + "; or give the name of a JSON file");
}

} // namespace echosim
