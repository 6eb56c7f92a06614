// SPDX-License-Identifier: Apache-2.0
#include "simulator/catalogue/cluster.h"
#include "simulator/catalogue/gpu_reader.h"
#include "simulator/catalogue/unit_text.h"
#include "simulator/core/json.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace echosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "echosim.cluster/1";
constexpr double kMaxBandwidth = 1e15;
constexpr std::array<std::string_view, 3> kFreeKeys = {"storage", "power", "price"};
constexpr std::array<FabricKind, 9> kKinds = {
    FabricKind::none, FabricKind::infiniband, FabricKind::roce,     FabricKind::omnipath, FabricKind::efa,
    FabricKind::tcpx, FabricKind::tcpxo,      FabricKind::ethernet, FabricKind::slingshot};

// The file and the problems that the readers below share.
struct Reading {
    const std::string& file;
    std::vector<Problem>& problems;
    ObjectReader object(const Json& json, const std::string& path) const {
        return {json, file, path, problems};
    }
};

int default_pcie_gen(Arch arch) {
    switch (arch) {
    case Arch::volta:
        return 3;
    case Arch::ampere:
    case Arch::ada:
    case Arch::cdna2:
        return 4;
    case Arch::hopper:
    case Arch::blackwell:
    case Arch::cdna3:
    case Arch::cdna4:
        break;
    }
    return 5;
}

void read_gpu_entry(const Reading& in, const Json& json, Gpu& gpu) {
    if (!json.is_string()) {
        gpu = read_gpu(json, in.file, "gpu", in.problems);
        return;
    }
    try {
        gpu = find_gpu(json.get_ref<const std::string&>());
    } catch (const InputError& error) {
        Problem problem = error.problems().front();
        problem.where = in.file + ": gpu";
        in.problems.push_back(problem);
    }
}

void read_nvlink(const Reading& in, const Json& json, const Gpu& gpu, NvLink& nvlink) {
    const std::size_t problems_before = in.problems.size();
    ObjectReader reader = in.object(json, "node.nvlink");
    reader.read_quantity({.key = "bandwidth", .required = true, .max = kMaxBandwidth}, Quantity::bandwidth,
                         nvlink.bandwidth);
    if (nvlink.bandwidth > 0 && gpu.nvlink_link_bandwidth > 0)
        nvlink.links = static_cast<int>(std::lround(nvlink.bandwidth / gpu.nvlink_link_bandwidth));
    reader.read({.key = "links", .max = 1024}, nvlink.links);
    reader.read({.key = "switch"}, nvlink.nvswitch);
    reader.read({.key = "peers", .max = 255}, nvlink.peers);
    reader.finish();
    if (in.problems.size() == problems_before && nvlink.bandwidth > 0 && nvlink.links == 0)
        reader.fail("links", "0 links cannot carry a bandwidth: give the number of links of a GPU");
}

void read_pcie(const Reading& in, const Json& json, Pcie& pcie) {
    ObjectReader reader = in.object(json, "node.pcie");
    reader.read({.key = "gen", .min = 1, .max = 7}, pcie.gen);
    reader.read({.key = "width", .min = 1, .max = 32}, pcie.width);
    reader.finish();
}

void read_nics(const Reading& in, const Json& json, Nics& nics) {
    const std::size_t problems_before = in.problems.size();
    nics.gpus_per_nic = 0; // not given: as many as share one
    ObjectReader reader = in.object(json, "node.nics");
    reader.read({.key = "count", .required = true, .max = 256}, nics.count);
    reader.read_quantity({.key = "bandwidth", .max = kMaxBandwidth}, Quantity::bandwidth, nics.bandwidth);
    reader.read_quantity({.key = "latency", .max = 1}, Quantity::time, nics.latency);
    reader.read({.key = "gpus_per_nic", .min = 1, .max = 256}, nics.gpus_per_nic);
    reader.finish();
    if (in.problems.size() == problems_before && nics.count > 0 && nics.bandwidth == 0)
        reader.fail("bandwidth", fmt::format("{} NICs need a bandwidth above 0", nics.count));
}

// GPUs that share a NIC, at most.
int shared_by(const Node& node) {
    return node.nics.count > 0 ? std::max(1, (node.gpus + node.nics.count - 1) / node.nics.count) : 1;
}

void read_node(const Reading& in, const Json& json, const Gpu& gpu, Node& node) {
    ObjectReader reader = in.object(json, "node");
    reader.read({.key = "gpus", .required = true, .min = 1, .max = 256}, node.gpus);
    reader.read({.key = "sockets", .min = 1, .max = 64}, node.sockets);
    reader.read({.key = "cpu"}, node.cpu);
    if (const Json* nvlink = reader.object({.key = "nvlink", .required = true}))
        read_nvlink(in, *nvlink, gpu, node.nvlink);
    node.pcie.gen = default_pcie_gen(gpu.arch);
    if (const Json* pcie = reader.object({.key = "pcie"}))
        read_pcie(in, *pcie, node.pcie);
    if (const Json* nics = reader.object({.key = "nics"}))
        read_nics(in, *nics, node.nics);
    if (node.nics.gpus_per_nic == 0)
        node.nics.gpus_per_nic = shared_by(node);
    reader.finish();
}

void read_kind(ObjectReader& reader, FabricKind& kind) {
    std::string name;
    reader.read({.key = "kind", .required = true}, name);
    if (name.empty())
        return;
    std::vector<std::string> known;
    for (const FabricKind candidate : kKinds) {
        known.emplace_back(to_string(candidate));
        if (known.back() == name)
            kind = candidate;
    }
    if (std::find(known.begin(), known.end(), name) == known.end())
        reader.fail("kind", fmt::format("unknown network \"{}\"{}; known: {}", name,
                                        did_you_mean(known, name), join(known)));
}

void read_routing(ObjectReader& reader, Fabric& fabric) {
    fabric.routing = default_routing(fabric.kind);
    std::string name;
    reader.read({.key = "routing"}, name);
    if (name.empty())
        return;
    const std::vector<std::string> known = {"adaptive", "fixed", "ecmp"};
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
        reader.fail("routing", fmt::format("unknown routing \"{}\"{}; known: {}", name,
                                           did_you_mean(known, name), join(known)));
    else
        fabric.routing = static_cast<Routing>(found - known.begin());
}

void read_fabric(const Reading& in, const Json& json, Fabric& fabric) {
    ObjectReader reader = in.object(json, "fabric");
    read_kind(reader, fabric.kind);
    if (const Json* levels = reader.array({.key = "levels"})) {
        if (levels->size() > 8)
            reader.fail("levels", "more than 8 levels of switches");
        for (std::size_t i = 0; i < std::min<std::size_t>(levels->size(), 8); ++i) {
            FabricLevel level;
            ObjectReader entry = in.object((*levels)[i], fmt::format("fabric.levels.{}", i));
            entry.read({.key = "radix", .required = true, .min = 2, .max = 65536}, level.radix);
            entry.read({.key = "oversubscription", .min = 0.1, .max = 1000}, level.oversubscription);
            entry.read_quantity({.key = "hop_latency", .max = 1}, Quantity::time, level.hop_latency);
            entry.finish();
            fabric.levels.push_back(level);
        }
    }
    reader.read({.key = "rail_optimised"}, fabric.rail_optimised);
    reader.read({.key = "planes", .min = 1, .max = 64}, fabric.planes);
    read_routing(reader, fabric);
    reader.read({.key = "efficiency", .min = 0.01, .max = 1}, fabric.efficiency);
    reader.finish();
}

// Keys of the file that the simulation does not use yet: refused where ignoring them would change the answer.
void read_extras(ObjectReader& reader, std::string& extras) {
    Json kept = Json::object();
    if (const Json* overrides = reader.array({.key = "overrides"});
        overrides != nullptr && !overrides->empty())
        reader.fail("overrides", "single GPUs and NICs that differ from the rest are not supported yet");
    for (const std::string_view key : kFreeKeys)
        if (const Json* value = reader.object({.key = key}))
            kept[std::string(key)] = *value;
    if (!kept.empty())
        extras = kept.dump();
}

void read_sites(const Reading& in, const Json& json, Sites& sites) {
    const std::size_t problems_before = in.problems.size();
    ObjectReader reader = in.object(json, "sites");
    reader.read({.key = "count", .min = 1, .max = 1000}, sites.count);
    reader.read_quantity({.key = "bandwidth", .max = kMaxBandwidth}, Quantity::bandwidth, sites.bandwidth);
    reader.read_quantity({.key = "rtt", .max = 10}, Quantity::time, sites.rtt);
    reader.finish();
    if (in.problems.size() == problems_before && sites.count > 1 && sites.bandwidth == 0)
        reader.fail("bandwidth", fmt::format("{} sites need a bandwidth above 0", sites.count));
}

void read_observed(const Reading& in, const Json& list, std::vector<ObservedCommunicator>& observed) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string path = fmt::format("nccl_log.{}", i);
        ObjectReader reader = in.object(list[i], path);
        ObservedCommunicator comm;
        reader.read({.key = "ranks", .required = true, .min = 1, .max = 1 << 24}, comm.ranks);
        reader.read({.key = "nodes", .required = true, .min = 1, .max = 1 << 24}, comm.nodes);
        reader.read({.key = "collective_channels", .max = 64}, comm.collective_channels);
        reader.read({.key = "nvls_channels", .max = 64}, comm.nvls_channels);
        reader.read({.key = "p2p_channels", .max = 64}, comm.p2p_channels);
        reader.read({.key = "p2p_channels_per_peer", .max = 64}, comm.p2p_channels_per_peer);
        if (const Json* graphs = reader.array({.key = "graphs"}))
            for (std::size_t g = 0; g < graphs->size(); ++g) {
                ObjectReader entry = in.object((*graphs)[g], fmt::format("{}.graphs.{}", path, g));
                ObservedGraph graph;
                entry.read({.key = "pattern", .required = true}, graph.pattern);
                entry.read({.key = "channels", .required = true, .max = 64}, graph.channels);
                entry.read({.key = "intra", .max = 10000}, graph.intra);
                entry.read({.key = "inter", .max = 10000}, graph.inter);
                entry.finish();
                comm.graphs.push_back(graph);
            }
        reader.finish();
        observed.push_back(comm);
    }
}

bool is_version(const std::string& text) {
    const bool characters =
        std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) || c == '.'; });
    const auto dots = std::count(text.begin(), text.end(), '.');
    return characters && dots >= 1 && dots <= 2 && text.front() != '.' && text.back() != '.';
}

void check_whole(const Reading& in, const Cluster& cluster) {
    const auto fail = [&](const char* path, std::string message) {
        in.problems.push_back({in.file + ": " + path, std::move(message), {}});
    };
    if (cluster.nvlink_domain_nodes > 1 &&
        (cluster.node.nvlink.bandwidth == 0 || !cluster.node.nvlink.nvswitch))
        fail("nvlink_domain_nodes",
             fmt::format("{} nodes cannot share an NVLink domain without an NVLink switch",
                         cluster.nvlink_domain_nodes));
    const Node& node = cluster.node;
    if (node.nvlink.peers >= std::max(2, node.gpus))
        fail("node.nvlink.peers",
             fmt::format("a GPU cannot reach {} others of a node of {}", node.nvlink.peers, node.gpus));
    const int least = node.nics.count > 0 ? std::max(1, node.gpus / node.nics.count) : 0;
    if (least > 0 && node.nics.gpus_per_nic != least && node.nics.gpus_per_nic != shared_by(node))
        fail("node.nics.gpus_per_nic",
             fmt::format(
                 "{} GPUs a NIC contradict {} GPUs with {} NICs a node: {} fits; leave the key out, or "
                 "change node.nics.count",
                 node.nics.gpus_per_nic, node.gpus, node.nics.count, shared_by(node)));
    if (!cluster.nccl.empty() && !is_version(cluster.nccl))
        fail("nccl", fmt::format("\"{}\" is not a version; write for example 2.21 or 2.21.5", cluster.nccl));
}

Json levels_to_json(const Fabric& fabric) {
    Json levels = Json::array();
    for (const FabricLevel& level : fabric.levels)
        levels.push_back({{"radix", level.radix},
                          {"oversubscription", level.oversubscription},
                          {"hop_latency", exact_time(level.hop_latency)}});
    return levels;
}

Json fabric_to_json(const Fabric& fabric) {
    Json json = {{"kind", to_string(fabric.kind)},
                 {"levels", levels_to_json(fabric)},
                 {"rail_optimised", fabric.rail_optimised},
                 {"planes", fabric.planes},
                 {"routing", to_string(fabric.routing)}};
    if (fabric.efficiency > 0)
        json["efficiency"] = fabric.efficiency;
    return json;
}

Json observed_to_json(const std::vector<ObservedCommunicator>& observed) {
    Json list = Json::array();
    for (const ObservedCommunicator& comm : observed) {
        Json graphs = Json::array();
        for (const ObservedGraph& graph : comm.graphs)
            graphs.push_back({{"pattern", graph.pattern},
                              {"channels", graph.channels},
                              {"intra", graph.intra},
                              {"inter", graph.inter}});
        list.push_back({{"ranks", comm.ranks},
                        {"nodes", comm.nodes},
                        {"collective_channels", comm.collective_channels},
                        {"nvls_channels", comm.nvls_channels},
                        {"p2p_channels", comm.p2p_channels},
                        {"p2p_channels_per_peer", comm.p2p_channels_per_peer},
                        {"graphs", std::move(graphs)}});
    }
    return list;
}

Json node_to_json(const Node& node) {
    Json json;
    json["gpus"] = node.gpus;
    json["sockets"] = node.sockets;
    json["cpu"] = node.cpu;
    json["nvlink"] = {{"bandwidth", exact_bandwidth(node.nvlink.bandwidth)},
                      {"links", node.nvlink.links},
                      {"switch", node.nvlink.nvswitch}};
    if (node.nvlink.peers > 0)
        json["nvlink"]["peers"] = node.nvlink.peers;
    json["pcie"] = {{"gen", node.pcie.gen}, {"width", node.pcie.width}};
    json["nics"] = {{"count", node.nics.count},
                    {"bandwidth", exact_bit_rate(node.nics.bandwidth)},
                    {"latency", exact_time(node.nics.latency)},
                    {"gpus_per_nic", node.nics.gpus_per_nic}};
    return json;
}

} // namespace

Json cluster_to_json(const Cluster& cluster) {
    Json json;
    json["schema"] = kSchema;
    json["name"] = cluster.name;
    json["gpu"] = gpu_to_json(cluster.gpu);
    json["node"] = node_to_json(cluster.node);
    json["nvlink_domain_nodes"] = cluster.nvlink_domain_nodes;
    json["fabric"] = fabric_to_json(cluster.fabric);
    if (cluster.sites.count > 1)
        json["sites"] = {{"count", cluster.sites.count},
                         {"bandwidth", exact_bit_rate(cluster.sites.bandwidth)},
                         {"rtt", exact_time(cluster.sites.rtt)}};
    if (!cluster.observed.empty())
        json["nccl_log"] = observed_to_json(cluster.observed);
    if (!cluster.nccl.empty())
        json["nccl"] = cluster.nccl;
    if (!cluster.source.empty())
        json["source"] = cluster.source;
    if (!cluster.extras.empty())
        json.update(Json::parse(cluster.extras));
    return json;
}

Cluster cluster_from_json(const Json& json, const std::string& where) {
    Cluster cluster;
    cluster.fabric.kind = FabricKind::none;
    std::vector<Problem> problems;
    const Reading in{where, problems};
    ObjectReader reader = in.object(json, "");
    std::string schema(kSchema);
    reader.read({.key = "schema"}, schema);
    if (schema != kSchema)
        reader.fail("schema", fmt::format("found \"{}\", expected \"{}\"", schema, kSchema));
    reader.read({.key = "name", .required = true}, cluster.name);
    if (const Json* gpu = reader.any({.key = "gpu", .required = true}))
        read_gpu_entry(in, *gpu, cluster.gpu);
    if (const Json* node = reader.object({.key = "node", .required = true}))
        read_node(in, *node, cluster.gpu, cluster.node);
    reader.read({.key = "nvlink_domain_nodes", .min = 1, .max = 4096}, cluster.nvlink_domain_nodes);
    const Field fabric_field{.key = "fabric", .required = cluster.node.nics.count > 0};
    if (const Json* fabric = reader.object(fabric_field))
        read_fabric(in, *fabric, cluster.fabric);
    reader.read({.key = "nccl"}, cluster.nccl);
    reader.read({.key = "source"}, cluster.source);
    if (const Json* sites = reader.object({.key = "sites"}))
        read_sites(in, *sites, cluster.sites);
    if (const Json* observed = reader.array({.key = "nccl_log"}))
        read_observed(in, *observed, cluster.observed);
    read_extras(reader, cluster.extras);
    reader.finish();
    check_whole(in, cluster);
    if (!problems.empty())
        throw InputError(problems);
    return cluster;
}

} // namespace echosim
