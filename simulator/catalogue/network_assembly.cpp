// SPDX-License-Identifier: Apache-2.0
// From a network description to a whole cluster. Such files say bandwidths and shapes, nothing of the GPU
// (SimAI: its name), the host and the kind of network.
#include "simulator/catalogue/network_facts.h"
#include "simulator/core/error.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

constexpr std::string_view kUsualGpu = "h100-sxm";

// How people write GPUs, and the catalogue's name; longer ones first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kGpuWords{
    {{"gb300", "gb300"},
     {"gb200", "gb200"},
     {"gh200", "gh200"},
     {"h100", "h100-sxm"},
     {"h200", "h200-sxm"},
     {"h800", "h800-sxm"},
     {"h20", "h20"},
     {"a100", "a100-sxm-80gb"},
     {"a800", "a800-sxm-80gb"},
     {"b200", "b200-sxm"},
     {"b300", "b300-sxm"},
     {"v100", "v100-sxm2-32gb"}}};

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

// The catalogue's GPU that a text names, or nothing.
std::string_view gpu_word(std::string_view text) {
    const std::string plain = lower(text);
    for (const auto& [word, name] : kGpuWords)
        if (plain.find(word) != std::string::npos)
            return name;
    return {};
}

class NetworkAssembly {
  public:
    NetworkAssembly(TopologyKind kind, const NetworkFacts& facts, std::string name)
        : facts_(facts), name_(std::move(name)) {
        result_.kind = kind;
        result_.nodes = facts.nodes;
        result_.warnings = facts.warnings;
    }

    ImportedCluster cluster(const std::string& gpu) {
        result_.cluster.name = std::filesystem::path(name_).stem().string();
        choose_gpu(gpu);
        node();
        nvlink();
        nics();
        fabric();
        result_.cluster.source = source();
        return std::move(result_);
    }

  private:
    void read(std::string key, int line, const std::string& how = {}) {
        result_.origins.push_back({std::move(key),
                                   fmt::format("{}:{}{}", name_, line, how.empty() ? "" : " (" + how + ")"),
                                   false});
    }
    void assume(std::string key, std::string reason) {
        result_.origins.push_back({std::move(key), std::move(reason), true});
    }

    void choose_gpu(const std::string& named);
    void node();
    void nvlink();
    void nics();
    void fabric();
    std::string source() const;

    const NetworkFacts& facts_;
    std::string name_;
    ImportedCluster result_;
    Cluster like_; // the catalogue's cluster with this GPU
};

void NetworkAssembly::choose_gpu(const std::string& named) {
    const std::string_view in_file = facts_.gpu ? gpu_word(facts_.gpu.value) : std::string_view{};
    const std::string_view in_name = gpu_word(std::filesystem::path(name_).filename().string());
    Gpu& gpu = result_.cluster.gpu;
    if (!named.empty()) {
        gpu = find_gpu(named);
        assume("gpu", "as named");
    } else if (!in_file.empty()) {
        gpu = find_gpu(in_file);
        read("gpu", facts_.gpu.line, facts_.gpu.value);
    } else {
        gpu = find_gpu(in_name.empty() ? kUsualGpu : in_name);
        assume("gpu", in_name.empty() ? "the file names no GPU that the catalogue has; --set cluster.gpu=NAME"
                                      : "from the name of the file; --set cluster.gpu=NAME for another");
    }
    like_ = all_clusters().front();
    const auto same = [&](const Cluster& cluster) { return cluster.gpu.name == gpu.name; };
    const auto related = [&](const Cluster& cluster) { return cluster.gpu.arch == gpu.arch; };
    const auto& all = all_clusters();
    auto found = std::find_if(all.begin(), all.end(), same);
    if (found == all.end())
        found = std::find_if(all.begin(), all.end(), related);
    if (found != all.end())
        like_ = *found;
}

void NetworkAssembly::node() {
    Node& node = result_.cluster.node;
    node.gpus = facts_.gpus.value;
    read("node.gpus", facts_.gpus.line);
    node.sockets = std::min(like_.node.sockets, node.gpus);
    node.cpu = like_.node.cpu;
    node.pcie = like_.node.pcie;
    for (const char* key : {"node.sockets", "node.cpu"})
        assume(key, "as in " + like_.name);
}

void NetworkAssembly::nvlink() {
    NvLink& nvlink = result_.cluster.node.nvlink;
    const BytesPerSecond rate = result_.cluster.gpu.nvlink_link_bandwidth;
    if (!facts_.nvlink) {
        assume("node.nvlink.bandwidth", "the file shows no links within a node");
        assume("node.pcie", "as in " + like_.name);
        return;
    }
    nvlink.bandwidth = facts_.nvlink.value;
    read("node.nvlink.bandwidth", facts_.nvlink.line, facts_.nvlink_how);
    nvlink.links = rate > 0 ? static_cast<int>(std::lround(nvlink.bandwidth / rate)) : 1;
    nvlink.links = std::clamp(nvlink.links, 1, 1024);
    assume("node.nvlink.links", rate > 0 ? fmt::format("the bandwidth in links of {} of {}",
                                                       format_bandwidth(rate), result_.cluster.gpu.name)
                                         : result_.cluster.gpu.name + " has no NVLink in the catalogue");
    nvlink.nvswitch = facts_.nvswitch;
    read("node.nvlink.switch", facts_.nvlink.line);
    if (facts_.nvlink_peers > 0) {
        nvlink.peers = facts_.nvlink_peers;
        read("node.nvlink.peers", facts_.nvlink.line);
    }
    assume("node.pcie", "as in " + like_.name);
}

void NetworkAssembly::nics() {
    Node& node = result_.cluster.node;
    if (!facts_.nics) {
        assume("node.nics.count", "the file shows no network between nodes: one node only, unless you set "
                                  "node.nics.bandwidth, node.nics.count and fabric.kind");
        return;
    }
    node.nics.count = facts_.nics.value;
    read("node.nics.count", facts_.nics.line);
    node.nics.bandwidth = facts_.nic_rate.value;
    read("node.nics.bandwidth", facts_.nic_rate.line);
    node.nics.latency = facts_.nic_latency.value;
    read("node.nics.latency", facts_.nic_latency.line, "from GPU to GPU");
    node.nics.gpus_per_nic = std::max(1, (node.gpus + node.nics.count - 1) / node.nics.count);
    assume("node.nics.gpus_per_nic", "GPUs of the node over its NICs");
}

void NetworkAssembly::fabric() {
    Cluster& cluster = result_.cluster;
    Fabric& fabric = cluster.fabric;
    fabric.kind = FabricKind::none;
    if (!facts_.nics) {
        assume("fabric.kind", "the file shows no network between nodes");
    } else if (facts_.fabric != FabricKind::none) {
        fabric.kind = facts_.fabric;
        assume("fabric.kind", facts_.fabric_reason);
    } else {
        fabric.kind = like_.fabric.kind != FabricKind::none ? like_.fabric.kind : FabricKind::infiniband;
        assume("fabric.kind", "as in " + like_.name);
    }
    fabric.routing = default_routing(fabric.kind);
    if (!facts_.nics)
        return;
    fabric.levels = facts_.levels.value;
    read("fabric.levels", facts_.levels.line);
    fabric.rail_optimised = facts_.rails;
    read("fabric.rail_optimised", facts_.levels.line);
}

std::string NetworkAssembly::source() const {
    std::vector<std::string> assumed;
    for (const ValueOrigin& origin : result_.origins)
        if (origin.assumed)
            assumed.push_back(origin.key);
    return fmt::format("read from {} ({}, {} node{} of {} GPUs); assumed: {}",
                       std::filesystem::path(name_).filename().string(), to_string(result_.kind),
                       facts_.nodes, facts_.nodes == 1 ? "" : "s", result_.cluster.node.gpus, join(assumed));
}

} // namespace

ImportedCluster assemble_network(TopologyKind kind, const NetworkFacts& facts, const std::string& name,
                                 const std::string& gpu) {
    return NetworkAssembly(kind, facts, name).cluster(gpu);
}

} // namespace echosim
