// SPDX-License-Identifier: Apache-2.0
// From what a file says to a whole cluster. What it does not say comes from the catalogue's cluster of the
// same GPU (CPU, PCIe, NICs) and of the same kind of network (switches, latency), each marked as assumed.
#include "simulator/catalogue/topology_assembly.h"

#include "simulator/catalogue/topology_gpus.h"
#include "simulator/core/suggest.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace echosim {
namespace {

// Latency of a NIC and its network where no catalogue cluster has this kind (TCPX hop 40-50 us,
// TCPXO 25-30 us; sockets and Omni-Path: typical values).
Seconds assumed_latency(FabricKind kind) {
    switch (kind) {
    case FabricKind::tcpx:
        return 45_us;
    case FabricKind::tcpxo:
        return 27_us;
    case FabricKind::ethernet:
        return 20_us;
    default:
        return 1.2_us;
    }
}

class Assembly {
  public:
    Assembly(TopologyKind kind, TopologyFacts facts, std::string name)
        : facts_(std::move(facts)), name_(std::move(name)) {
        result_.kind = kind;
        result_.warnings = facts_.warnings;
    }

    ImportedCluster cluster(const std::string& gpu) {
        Cluster& cluster = result_.cluster;
        cluster.name = std::filesystem::path(name_).stem().string();
        choose_gpu(gpu);
        node();
        nvlink();
        nics();
        fabric();
        versions();
        cluster.source = source();
        sort_origins();
        return std::move(result_);
    }

  private:
    void read(std::string key, int line) {
        result_.origins.push_back({std::move(key), fmt::format("{}:{}", name_, line), false});
    }
    void assume(std::string key, std::string reason) {
        result_.origins.push_back({std::move(key), std::move(reason), true});
    }
    // Takes what the file says, else the value of the catalogue's cluster.
    template <class T> void take(const std::string& key, const Seen<T>& seen, T& value, const T& otherwise) {
        value = seen ? seen.value : otherwise;
        if (seen)
            read(key, seen.line);
        else
            assume(key, "as in " + like_.name);
    }

    void choose_gpu(const std::string& named);
    void node();
    void nvlink();
    void nics();
    std::vector<SeenNic> network_nics();
    FabricKind fabric_kind(const std::vector<SeenNic>& nics, bool network);
    struct UsualNics {
        int count = 0;
        BytesPerSecond bandwidth = 0;
        std::string reason;
    };
    UsualNics usual_nics(FabricKind kind) const;
    void fabric();
    void versions();
    std::string source() const;
    void sort_origins();

    TopologyFacts facts_;
    std::string name_;
    ImportedCluster result_;
    Cluster like_; // the catalogue's cluster with this GPU
};

void Assembly::choose_gpu(const std::string& named) {
    Gpu& gpu = result_.cluster.gpu;
    if (!named.empty()) {
        gpu = find_gpu(named);
        assume("gpu", "as named");
    } else if (facts_.gpu) {
        gpu = facts_.gpu.value;
        read("gpu", facts_.gpu.line);
        if (!facts_.gpu_note.empty())
            result_.warnings.push_back(facts_.gpu_note);
    } else {
        const GpuGuess guess = guess_gpu(facts_);
        gpu = find_gpu(guess.name);
        assume("gpu", guess.reason);
    }
    like_ = all_clusters().front();
    bool found = false;
    for (const Cluster& cluster : all_clusters()) { // the same GPU, else one of its architecture
        if (cluster.gpu.name == gpu.name) {
            like_ = cluster;
            return;
        }
        if (!found && cluster.gpu.arch == gpu.arch) {
            like_ = cluster;
            found = true;
        }
    }
}

void Assembly::node() {
    Node& node = result_.cluster.node;
    if (facts_.gpus) {
        node.gpus = facts_.gpus.value;
        read("node.gpus", facts_.gpus.line);
    } else {
        node.gpus = std::max(facts_.gpus_at_least, like_.node.gpus);
        assume("node.gpus", fmt::format("as in {}: not all ranks wrote into the log, {} of a node show",
                                        like_.name, facts_.gpus_at_least));
    }
    take("node.sockets", facts_.sockets, node.sockets, std::min(like_.node.sockets, node.gpus));
    take("node.cpu", facts_.cpu, node.cpu, like_.node.cpu);
    take("node.pcie", facts_.pcie, node.pcie, like_.node.pcie);
}

void Assembly::nvlink() {
    Cluster& cluster = result_.cluster;
    NvLink& nvlink = cluster.node.nvlink;
    take("node.nvlink.links", facts_.nvlinks, nvlink.links, like_.node.nvlink.links);
    BytesPerSecond rate = cluster.gpu.nvlink_link_bandwidth;
    if (nvlink.links > 0 && rate == 0) {
        rate = 25_GBps;
        result_.warnings.push_back(
            fmt::format("the catalogue's {} has no NVLink, the file shows {} links: 25 GB/s each are assumed",
                        cluster.gpu.name, nvlink.links));
    }
    if (facts_.nvlinks && nvlink.links == 0 && cluster.gpu.nvlink_links > 0 && like_.node.nvlink.nvswitch &&
        cluster.node.gpus > 1)
        result_.warnings.push_back(fmt::format("a node of {} has NVLink, the file shows none: is the fabric "
                                               "manager running?",
                                               cluster.gpu.name));
    nvlink.bandwidth = nvlink.links * rate;
    if (nvlink.links > 0)
        assume("node.nvlink.bandwidth", fmt::format("{} links of {} each, data sheet of {}", nvlink.links,
                                                    format_bandwidth(rate), cluster.gpu.name));
    else
        take("node.nvlink.bandwidth", facts_.nvlinks ? Seen<double>{0, facts_.nvlinks.line} : Seen<double>{},
             nvlink.bandwidth, 0.0);
    take("node.nvlink.switch",
         facts_.nvlinks.value == 0 && facts_.nvlinks ? Seen<bool>{false, facts_.nvlinks.line}
                                                     : facts_.nvswitch,
         nvlink.nvswitch, like_.node.nvlink.nvswitch && nvlink.links > 0);
    if (!nvlink.nvswitch && nvlink.links > 0 && facts_.nvlink_peers > 0) {
        nvlink.peers = std::min(facts_.nvlink_peers, cluster.node.gpus - 1);
        read("node.nvlink.peers", facts_.nvlinks.line);
    }
    int& domain = cluster.nvlink_domain_nodes;
    const bool joined = nvlink.nvswitch && nvlink.links > 0;
    const int usual = joined && like_.gpu.name == cluster.gpu.name && like_.node.gpus == cluster.node.gpus
                          ? like_.nvlink_domain_nodes
                          : 1;
    if (joined && usual > facts_.domain_nodes.value) {
        domain = usual;
        assume("nvlink_domain_nodes",
               usual > 1 ? "a full rack as in " + like_.name : "NVLink ends at the node");
    } else {
        take("nvlink_domain_nodes", facts_.domain_nodes, domain, 1);
        if (!joined)
            domain = 1;
    }
}

// The NICs that carry collectives: those behind a PCIe switch with a GPU where there are such, of these the
// fastest; the others serve storage and management.
std::vector<SeenNic> Assembly::network_nics() {
    std::vector<SeenNic> nics = facts_.nics;
    const bool some_near =
        std::any_of(nics.begin(), nics.end(), [](const SeenNic& nic) { return nic.near_gpu; });
    BytesPerSecond fastest = 0;
    for (const SeenNic& nic : nics)
        if (nic.near_gpu || !some_near)
            fastest = std::max(fastest, nic.bandwidth);
    std::vector<std::string> left_out;
    const auto out = std::stable_partition(nics.begin(), nics.end(), [&](const SeenNic& nic) {
        return (nic.near_gpu || !some_near) && nic.bandwidth >= fastest;
    });
    for (auto nic = out; nic != nics.end(); ++nic)
        left_out.push_back(nic->name.empty() ? fmt::format("line {}", nic->line) : nic->name);
    nics.erase(out, nics.end());
    if (!left_out.empty())
        result_.warnings.push_back(
            fmt::format("left out as not for collectives (slower, or behind no PCIe switch with a GPU): {}",
                        join(left_out)));
    return nics;
}

FabricKind Assembly::fabric_kind(const std::vector<SeenNic>& nics, bool network) {
    if (facts_.fabric) {
        read("fabric.kind", facts_.fabric.line);
        return facts_.fabric.value;
    }
    for (const SeenNic& nic : nics)
        if (nic.kind != FabricKind::none) {
            read("fabric.kind", nic.line);
            return nic.kind;
        }
    if (!network) {
        assume("fabric.kind", "the file shows no network");
        return FabricKind::none;
    }
    assume("fabric.kind", fmt::format("as in {}: the file does not tell", like_.name));
    return like_.fabric.kind;
}

// NICs of a node where the file does not say: the catalogue's cluster with this GPU and this network; else
// Google's machines (a3-high 4 x 200 Gb/s, a3-mega 8 x 200 Gb/s); what NCCL counts for a socket of
// unknown speed (net_socket.cc: 10 Gb/s); the fastest cluster on this network; or the one with this GPU.
Assembly::UsualNics Assembly::usual_nics(FabricKind kind) const {
    if (kind == FabricKind::tcpx)
        return {4, 200_Gbps, "as in the machine type a3-high"};
    if (kind == FabricKind::tcpxo)
        return {8, 200_Gbps, "as in the machine type a3-mega"};
    if (kind == FabricKind::ethernet)
        return {1, 10_Gbps, "what NCCL counts for a socket of unknown speed"};
    const Cluster* like = &like_;
    for (const Cluster& cluster : all_clusters())
        if (cluster.fabric.kind == kind && cluster.gpu.name == result_.cluster.gpu.name)
            like = &cluster;
    if (like->fabric.kind != kind && kind != FabricKind::infiniband && kind != FabricKind::roce)
        for (const Cluster& cluster : all_clusters())
            if (cluster.fabric.kind == kind)
                like = &cluster;
    return {std::max(1, like->node.nics.count * result_.cluster.node.gpus / like->node.gpus),
            like->node.nics.bandwidth, "as in " + like->name};
}

void Assembly::nics() {
    const std::vector<SeenNic> seen = network_nics();
    Cluster& cluster = result_.cluster;
    Nics& nics = cluster.node.nics;
    const bool network = !seen.empty() || facts_.nic_count.value > 0 || facts_.fabric;
    cluster.fabric.kind = fabric_kind(seen, network);
    const UsualNics usual = usual_nics(cluster.fabric.kind);
    nics.count = static_cast<int>(seen.size());
    if (!seen.empty()) {
        read("node.nics.count", seen.front().line);
    } else if (facts_.nic_count.value > 0) {
        nics.count = facts_.nic_count.value;
        read("node.nics.count", facts_.nic_count.line);
    } else if (network) {
        nics.count = usual.count;
        assume("node.nics.count", usual.reason);
    } else {
        assume("node.nics.count", "the file shows no NIC: one node only, unless you set node.nics.bandwidth, "
                                  "node.nics.count and fabric.kind");
        return;
    }
    if (!seen.empty() && seen.front().bandwidth > 0) {
        nics.bandwidth = seen.front().bandwidth;
        read("node.nics.bandwidth", seen.front().line);
    } else {
        nics.bandwidth = usual.bandwidth;
        assume("node.nics.bandwidth", usual.reason);
    }
    nics.gpus_per_nic = std::max(1, (cluster.node.gpus + nics.count - 1) / nics.count);
    assume("node.nics.gpus_per_nic", "GPUs of the node over its NICs");
}

void Assembly::fabric() {
    Cluster& cluster = result_.cluster;
    cluster.fabric.routing = default_routing(cluster.fabric.kind);
    if (cluster.fabric.kind == FabricKind::none)
        return;
    const Cluster* like = nullptr; // the same kind of network, at best with the same GPU
    for (const Cluster& candidate : all_clusters())
        if (candidate.fabric.kind == cluster.fabric.kind &&
            (like == nullptr ||
             (candidate.gpu.name == cluster.gpu.name && like->gpu.name != cluster.gpu.name)))
            like = &candidate;
    const std::string reason = like != nullptr ? "as in " + like->name : "typical of this kind of network";
    cluster.node.nics.latency =
        like != nullptr ? like->node.nics.latency : assumed_latency(cluster.fabric.kind);
    assume("node.nics.latency", reason);
    const Fabric otherwise{.kind = cluster.fabric.kind,
                           .levels = {{64, 1.0, 0.6_us}, {64, 1.0, 0.6_us}},
                           .rail_optimised = cluster.node.nics.count >= cluster.node.gpus};
    const Fabric& fabric = like != nullptr ? like->fabric : otherwise;
    cluster.fabric.levels = fabric.levels;
    cluster.fabric.rail_optimised = fabric.rail_optimised;
    assume("fabric.levels", reason + "; no file of a node shows the switches");
    assume("fabric.rail_optimised", reason);
}

void Assembly::versions() {
    Cluster& cluster = result_.cluster;
    if (facts_.nccl) {
        cluster.nccl = facts_.nccl.value;
        read("nccl", facts_.nccl.line);
    }
    if (!facts_.observed)
        return;
    cluster.observed = facts_.observed.value;
    read("nccl_log", facts_.observed.line);
    for (ObservedCommunicator& observed : cluster.observed)
        if (observed.nodes == 0) {
            observed.nodes = (observed.ranks + cluster.node.gpus - 1) / cluster.node.gpus;
            result_.warnings.push_back(
                fmt::format("not all of the {} ranks of a communicator wrote into the log: {} full nodes are "
                            "assumed",
                            observed.ranks, observed.nodes));
        }
}

std::string Assembly::source() const {
    std::vector<std::string> assumed;
    for (const ValueOrigin& origin : result_.origins)
        if (origin.assumed)
            assumed.push_back(origin.key);
    return fmt::format("read from {} ({}); assumed: {}", std::filesystem::path(name_).filename().string(),
                       to_string(result_.kind), join(assumed));
}

// The order of the cluster file.
void Assembly::sort_origins() {
    static const std::vector<std::string> order = {"gpu",
                                                   "node.gpus",
                                                   "node.sockets",
                                                   "node.cpu",
                                                   "node.nvlink.bandwidth",
                                                   "node.nvlink.links",
                                                   "node.nvlink.switch",
                                                   "node.nvlink.peers",
                                                   "node.pcie",
                                                   "node.nics.count",
                                                   "node.nics.bandwidth",
                                                   "node.nics.latency",
                                                   "node.nics.gpus_per_nic",
                                                   "nvlink_domain_nodes",
                                                   "fabric.kind",
                                                   "fabric.levels",
                                                   "fabric.rail_optimised",
                                                   "nccl_log",
                                                   "nccl"};
    std::stable_sort(result_.origins.begin(), result_.origins.end(),
                     [](const ValueOrigin& a, const ValueOrigin& b) {
                         return std::find(order.begin(), order.end(), a.key) <
                                std::find(order.begin(), order.end(), b.key);
                     });
}

} // namespace

ImportedCluster assemble_cluster(TopologyKind kind, TopologyFacts facts, const std::string& name,
                                 const std::string& gpu) {
    return Assembly(kind, std::move(facts), name).cluster(gpu);
}

} // namespace echosim
