// SPDX-License-Identifier: Apache-2.0
#include "comm_models/fabric.h"

#include "simulator/core/error.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace echosim {
namespace {

constexpr BytesPerSecond kNoNic = 1.25e9; // a network that no NIC is described for: 10 Gb/s
constexpr double kLowestCapacity = 1;     // bytes/s; a link that is listed carries something
constexpr BytesPerSecond kNoLimit = 1e15; // memory whose rate is not known

BytesPerSecond port_rate(const Cluster& cluster) {
    const Nics& nics = cluster.node.nics;
    const double efficiency = cluster.fabric.efficiency > 0 ? cluster.fabric.efficiency : 1.0;
    if (nics.count <= 0 || nics.bandwidth <= 0)
        return kNoNic * efficiency;
    return nics.bandwidth * nics.count / ports_of(cluster.node) * efficiency;
}

std::string_view direction(bool out) {
    return out ? "out of" : "into";
}

} // namespace

std::size_t FabricLinks::KeyHash::operator()(const Key& key) const {
    std::uint64_t hash = static_cast<std::uint64_t>(key.owner) * 0x9E3779B97F4A7C15U;
    hash ^= static_cast<std::uint64_t>(key.choice) * 0xC2B2AE3D27D4EB4FU;
    hash ^= (static_cast<std::uint64_t>(key.kind) << 5U | static_cast<std::uint64_t>(key.level) << 1U |
             static_cast<std::uint64_t>(key.out)) *
            0x165667B19E3779F9U;
    return static_cast<std::size_t>(hash ^ (hash >> 29U));
}

FabricLinks::FabricLinks(const Cluster& cluster, int gpus, const NodePlacement& placement)
    : cluster_(cluster), placement_(placement), tree_(cluster), per_host_(std::max(1, cluster.node.gpus)),
      port_rate_(port_rate(cluster)) {
    placement_.nodes = std::max(placement_.nodes, nodes_for(cluster_, gpus));
}

Link FabricLinks::make(const Key& key) const {
    const Node& node = cluster_.node;
    const Seconds half = node.nics.latency / 2;
    const auto level = [&](int i) -> const FatTreeLevel& {
        return tree_.levels()[std::min(static_cast<std::size_t>(i), tree_.levels().size() - 1)];
    };
    const auto switches = [&] { // all uplinks of a group, or one of them
        const bool together = cluster_.fabric.routing == Routing::adaptive;
        const double share = together ? 1.0 : static_cast<double>(level(key.level).choices);
        return std::max(kLowestCapacity, level(key.level).capacity * port_rate_ / share);
    };
    switch (key.kind) {
    case LinkKind::nvlink:
        return {key.kind, std::max(kLowestCapacity, node.nvlink.bandwidth), 0};
    case LinkKind::pcie:
        return {key.kind, pcie_bandwidth(node.pcie), 0};
    case LinkKind::hbm:
        return {key.kind, cluster_.gpu.memory_bandwidth > 0 ? cluster_.gpu.memory_bandwidth : kNoLimit, 0};
    case LinkKind::nic:
        return {key.kind, port_rate_, half + (key.out && !tree_.levels().empty() ? level(0).hop : 0)};
    case LinkKind::uplink:
        return {key.kind, switches(), level(key.level + 1).hop};
    case LinkKind::downlink:
        return {key.kind, switches(), level(key.level).hop};
    case LinkKind::wan:
        return {key.kind, std::max(kLowestCapacity, cluster_.sites.bandwidth), cluster_.sites.rtt / 4};
    }
    return {};
}

LinkId FabricLinks::id_of(const Key& key) {
    const auto [it, added] = known_.try_emplace(key, static_cast<LinkId>(links_.size()));
    if (added) {
        links_.push_back(make(key));
        keys_.push_back(key);
    }
    return it->second;
}

LinkId FabricLinks::nvlink(int gpu, bool out) {
    return id_of({.kind = LinkKind::nvlink, .out = out, .owner = gpu});
}

LinkId FabricLinks::hbm(int gpu) {
    return id_of({.kind = LinkKind::hbm, .owner = gpu});
}

LinkId FabricLinks::nic(int gpu, bool out) {
    const int port = port_of(cluster_.node, gpu % per_host_);
    return id_of(
        {.kind = LinkKind::nic, .out = out, .owner = std::int64_t{gpu / per_host_} * tree_.ports() + port});
}

bool FabricLinks::beside(int a, int b) const {
    const bool nvlink = cluster_.node.nvlink.bandwidth > 0;
    const int gpus = per_host_ * (nvlink ? std::max(1, cluster_.nvlink_domain_nodes) : 1);
    return a / gpus == b / gpus;
}

void FabricLinks::within_node(int from, int to, std::vector<LinkId>& links) {
    if (from == to)
        return;
    const bool nvlink = nvlink_joins(cluster_, from % per_host_, to % per_host_) ||
                        (from / per_host_ != to / per_host_ && beside(from, to));
    const LinkKind kind = nvlink ? LinkKind::nvlink : LinkKind::pcie;
    links.push_back(id_of({.kind = kind, .out = true, .owner = from}));
    links.push_back(id_of({.kind = kind, .out = false, .owner = to}));
}

// From a GPU to a port of its host, or back: over the GPU next to the port where NVLink leads there.
FabricLinks::Hop FabricLinks::leave(int gpu, int port, bool out, std::vector<LinkId>& links) {
    const Node& node = cluster_.node;
    const int local = gpu % per_host_;
    if (port < 0 || port == port_of(node, local))
        return {gpu, port_of(node, local)};
    const int proxy = gpu_next_to(node, port);
    if (!nvlink_joins(cluster_, local, proxy))
        return {gpu, port};
    const int next_to = gpu - local + proxy;
    within_node(out ? gpu : next_to, out ? next_to : gpu, links);
    return {next_to, port};
}

void FabricLinks::path(int from, int to, int rail, std::vector<LinkId>& links) {
    if (beside(from, to))
        return within_node(from, to, links);
    // several NICs of one GPU are one port
    const int nics = std::max(tree_.ports(), cluster_.node.nics.count);
    const int port = rail < 0 ? -1 : rail * tree_.ports() / nics;
    std::vector<LinkId> arrival;
    const Hop out = leave(from, port, true, links);
    const Hop in = leave(to, port, false, arrival);
    const int source = from / per_host_, target = to / per_host_;
    links.push_back(id_of({.kind = LinkKind::pcie, .out = true, .owner = out.gpu}));
    links.push_back(id_of(
        {.kind = LinkKind::nic, .out = true, .owner = std::int64_t{source} * tree_.ports() + out.port}));
    across(port_at(source, out.port), port_at(target, in.port), links);
    links.push_back(id_of(
        {.kind = LinkKind::nic, .out = false, .owner = std::int64_t{target} * tree_.ports() + in.port}));
    links.push_back(id_of({.kind = LinkKind::pcie, .out = false, .owner = in.gpu}));
    links.insert(links.end(), arrival.begin(), arrival.end());
}

// The network between two ports.
void FabricLinks::across(const Port& from, const Port& to, std::vector<LinkId>& links) {
    if (site_of(cluster_, placement_, from.place) == site_of(cluster_, placement_, to.place))
        return climb(from, to, tree_.climb(from, to), links);
    std::vector<LinkId> there;
    climb(from, to, static_cast<int>(tree_.levels().size()), there);
    const auto middle = there.begin() + static_cast<std::ptrdiff_t>(there.size() / 2);
    links.insert(links.end(), there.begin(), middle);
    links.push_back(id_of({.kind = LinkKind::wan, .out = true, .owner = from.place}));
    links.push_back(id_of({.kind = LinkKind::wan, .out = false, .owner = to.place}));
    links.insert(links.end(), middle, there.end());
}

void FabricLinks::climb(const Port& from, const Port& to, int levels, std::vector<LinkId>& links) {
    const auto choice = [&](int level) -> std::int64_t {
        switch (cluster_.fabric.routing) {
        case Routing::fixed:
            return tree_.fixed_choice(level, to);
        case Routing::ecmp:
            return tree_.hashed_choice(level, from, to);
        case Routing::adaptive:
            break;
        }
        return 0;
    };
    for (int level = 0; level < levels; ++level)
        links.push_back(id_of({.kind = LinkKind::uplink,
                               .level = level,
                               .owner = tree_.group(level, from),
                               .choice = choice(level)}));
    for (int level = levels - 1; level >= 0; --level)
        links.push_back(id_of({.kind = LinkKind::downlink,
                               .out = false,
                               .level = level,
                               .owner = tree_.group(level, to),
                               .choice = choice(level)}));
}

std::string FabricLinks::describe(LinkId id) const {
    const Key& key = keys_[id];
    switch (key.kind) {
    case LinkKind::nvlink:
        return fmt::format("NVLink {} GPU {}", direction(key.out), key.owner);
    case LinkKind::pcie:
        return fmt::format("PCIe {} GPU {}", direction(key.out), key.owner);
    case LinkKind::hbm:
        return fmt::format("memory of GPU {}", key.owner);
    case LinkKind::nic:
        return fmt::format("NIC {} {} node {}", key.owner % tree_.ports(), direction(key.out),
                           key.owner / tree_.ports());
    case LinkKind::wan:
        return fmt::format("network between sites {} node {}", direction(key.out), key.owner);
    case LinkKind::uplink:
    case LinkKind::downlink:
        break;
    }
    const std::string_view name = key.kind == LinkKind::uplink ? "uplink" : "downlink";
    const std::string which = cluster_.fabric.routing == Routing::adaptive
                                  ? fmt::format("{}s", name)
                                  : fmt::format("{} {}", name, key.choice);
    if (key.level > 0)
        return fmt::format("{} of group {} of level {}", which, key.owner, key.level + 1);
    if (!tree_.rails())
        return fmt::format("{} of leaf {}", which, key.owner);
    return fmt::format("{} of leaf {} of rail {}", which, key.owner / tree_.ports(),
                       key.owner % tree_.ports());
}

} // namespace echosim
