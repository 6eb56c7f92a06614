// SPDX-License-Identifier: Apache-2.0
// SimAI's topology file (astra-sim-alibabacloud/inputs/topo), a graph in text:
//
//     216 8 16 72 768 A100        nodes, GPUs of a server, NVSwitches, other switches, links, GPU
//     128 129 130 ...             numbers of the switches, NVSwitches first; the GPUs are 0 to 127
//     0 128 2400Gbps 0.000025ms 0 from, to, bandwidth of one direction, latency, error rate
//
// A GPU's links to NVSwitches are its NVLink; its links to other switches are its NICs; the switches that
// they lead to are the leaves, those above a level each.
#include "simulator/catalogue/network_facts.h"
#include "simulator/catalogue/topology_text.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace echosim {
namespace {

constexpr int kMaxNodes = 1 << 22;
constexpr double kLeastOversubscription = 0.1; // that a cluster file takes
constexpr double kMostOversubscription = 1000.0;
constexpr const char* kHeader = "nodes, GPUs of a server, NVSwitches, other switches, links, GPU: "
                                "\"216 8 16 72 768 A100\"";

struct TopologyLink {
    int from = 0;
    int to = 0;
    double bandwidth = 0; // bytes/s
    double latency = 0;   // seconds
    int line = 0;
};

struct Topology {
    int nodes = 0;
    int gpus_per_server = 0;
    int nvswitches = 0;
    int switches = 0;
    int link_count = 0;
    std::string gpu;
    std::vector<TopologyLink> links;
    int gpus() const { return nodes - nvswitches - switches; }
    bool is_gpu(int node) const { return node < gpus(); }
    bool is_nvswitch(int node) const { return node >= gpus() && node < gpus() + nvswitches; }
};

[[noreturn]] void refuse(const std::string& name, int line, std::string message, std::string hint = {}) {
    throw InputError(fmt::format("{}:{}", name, line), std::move(message), std::move(hint));
}

// All of the word in decimal; nullopt when it is anything else.
std::optional<int> whole(std::string_view word) {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string_view::npos)
        return std::nullopt;
    return leading_int(word);
}

Topology read_header(LineReader& lines, const std::string& name) {
    std::string_view line;
    while (lines.next(line) && trimmed(line).empty()) {
    }
    const auto words = words_of(line);
    if (words.size() < 6)
        refuse(name, lines.number(), fmt::format("{} fields in the header", words.size()), kHeader);
    std::array<int, 5> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto value = whole(words[i]);
        if (!value || *value > kMaxNodes)
            refuse(name, lines.number(),
                   fmt::format("field {} of the header is \"{}\"; a number up to {}", i + 1,
                               words[i].substr(0, 64), kMaxNodes),
                   kHeader);
        numbers[i] = *value;
    }
    Topology topology{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], std::string(words[5]), {}};
    const int gpus = topology.gpus();
    if (gpus < 1 || topology.gpus_per_server < 1 || topology.gpus_per_server > kMaxGpusOfNode ||
        gpus % std::max(1, topology.gpus_per_server) != 0)
        refuse(name, lines.number(),
               fmt::format("{} nodes less {} NVSwitches and {} switches are {} GPUs in servers of {}: not "
                           "whole servers of 1 to {}",
                           topology.nodes, topology.nvswitches, topology.switches, gpus,
                           topology.gpus_per_server, kMaxGpusOfNode),
               kHeader);
    return topology;
}

void read_switch_numbers(LineReader& lines, const Topology& topology, const std::string& name) {
    std::string_view line;
    if (!lines.next(line))
        refuse(name, lines.number(), "the file ends behind the header", "line 2 lists the switches");
    const auto words = words_of(line);
    const int expected = topology.nvswitches + topology.switches;
    if (words.size() != static_cast<std::size_t>(expected))
        refuse(name, lines.number(), fmt::format("{} switches; the header says {}", words.size(), expected));
    for (std::size_t i = 0; i < words.size(); ++i)
        if (whole(words[i]) != topology.gpus() + static_cast<int>(i))
            refuse(name, lines.number(),
                   fmt::format("switch {} is \"{}\"; the switches are numbered from {}, behind the GPUs",
                               i + 1, words[i].substr(0, 64), topology.gpus()));
}

TopologyLink read_link(std::string_view line, int number, const Topology& topology, const std::string& name) {
    const auto words = words_of(line);
    if (words.size() != 5)
        refuse(name, number, fmt::format("{} fields of a link; 5", words.size()),
               "from, to, bandwidth, latency, error rate: \"0 128 2400Gbps 0.000025ms 0\"");
    TopologyLink link{.line = number};
    for (int end = 0; end < 2; ++end) {
        const auto node = whole(words[static_cast<std::size_t>(end)]);
        if (!node || *node >= topology.nodes)
            refuse(name, number,
                   fmt::format("{} is \"{}\"; a node from 0 to {}", end == 0 ? "from" : "to",
                               words[static_cast<std::size_t>(end)].substr(0, 64), topology.nodes - 1));
        (end == 0 ? link.from : link.to) = *node;
    }
    try {
        link.bandwidth = parse_bandwidth(words[2]);
        link.latency = parse_time(words[3]);
    } catch (const InputError& error) {
        refuse(name, number, error.problems().front().message);
    }
    if (!(link.bandwidth > 0) || link.bandwidth > 1e15 || !(link.latency >= 0) || link.latency > 1)
        refuse(name, number,
               fmt::format("bandwidth {}, latency {}; above 0, and 0 to 1 s", words[2].substr(0, 32),
                           words[3].substr(0, 32)));
    return link;
}

Topology read_text(std::string_view text, const std::string& name) {
    LineReader lines(text);
    Topology topology = read_header(lines, name);
    read_switch_numbers(lines, topology, name);
    for (std::string_view line; lines.next(line);)
        if (!trimmed(line).empty())
            topology.links.push_back(read_link(line, lines.number(), topology, name));
    if (topology.links.size() != static_cast<std::size_t>(topology.link_count))
        refuse(name, lines.number(),
               fmt::format("{} links; the header says {}", topology.links.size(), topology.link_count),
               "is the file whole?");
    return topology;
}

// What the links of one kind of one GPU are, and the same for all GPUs.
struct Ports {
    int count = 0;
    double bandwidth = 0; // of all together
    double latency = 0;
    int line = 0;
};

// The links of GPU 0 of the kind; refuses when another GPU has others.
Ports ports_of(const Topology& topology, bool nvswitch, const std::string& name) {
    std::vector<Ports> all(static_cast<std::size_t>(topology.gpus()));
    for (const TopologyLink& link : topology.links) {
        const bool from_gpu = topology.is_gpu(link.from);
        if (from_gpu == topology.is_gpu(link.to)) {
            if (from_gpu)
                refuse(name, link.line, "a link from GPU to GPU; GPUs are joined by switches",
                       "a topology of SimAI has an NVSwitch in each server");
            continue;
        }
        if (topology.is_nvswitch(from_gpu ? link.to : link.from) != nvswitch)
            continue;
        Ports& ports = all[static_cast<std::size_t>(from_gpu ? link.from : link.to)];
        ++ports.count;
        ports.bandwidth += link.bandwidth;
        ports.latency = link.latency;
        ports.line = link.line;
    }
    for (std::size_t gpu = 1; gpu < all.size(); ++gpu)
        if (all[gpu].count != all[0].count || all[gpu].bandwidth != all[0].bandwidth)
            refuse(name, std::max(all[gpu].line, 1),
                   fmt::format("GPU {} has {} links to {} of {} together, GPU 0 has {} of {}", gpu,
                               all[gpu].count, nvswitch ? "NVSwitches" : "switches",
                               format_bandwidth(all[gpu].bandwidth), all[0].count,
                               format_bandwidth(all[0].bandwidth)),
                   "a cluster has identical nodes");
    return all.front();
}

// Levels of switches above the GPUs: number of each switch's level, and the rates of its links.
struct Tier {
    std::set<int> switches;
    double down = 0; // bytes/s of all its links to the tier below
    double up = 0;
    int down_links = 0;
    double latency = 0; // of a link from below
};

std::vector<Tier> tiers_of(const Topology& topology) {
    std::map<int, std::size_t> tier_of; // switch -> tier
    std::vector<Tier> tiers;
    const auto below = [&](int node, std::size_t tier) {
        if (tier == 0)
            return topology.is_gpu(node);
        const auto found = tier_of.find(node);
        return found != tier_of.end() && found->second == tier - 1;
    };
    const auto fresh = [&](int node, std::size_t tier) {
        const auto found = tier_of.find(node);
        return !topology.is_gpu(node) && !topology.is_nvswitch(node) &&
               (found == tier_of.end() || found->second == tier);
    };
    for (bool more = true; more && tiers.size() < 8;) {
        const std::size_t tier = tiers.size();
        Tier found;
        for (const TopologyLink& link : topology.links) {
            const bool upwards = below(link.from, tier) && fresh(link.to, tier);
            const bool downwards = below(link.to, tier) && fresh(link.from, tier);
            if (!upwards && !downwards)
                continue;
            const int upper = upwards ? link.to : link.from;
            tier_of.emplace(upper, tier);
            found.switches.insert(upper);
            found.down += link.bandwidth;
            ++found.down_links;
            found.latency = link.latency;
        }
        more = !found.switches.empty();
        if (more) {
            if (tier > 0)
                tiers.back().up = found.down;
            tiers.push_back(found);
        }
    }
    return tiers;
}

// Whether the GPUs of the first server hang on leaves of their own.
bool on_rails(const Topology& topology) {
    std::map<int, std::set<int>> gpus_of; // leaf -> GPUs of the first server
    std::set<int> own;
    for (const TopologyLink& link : topology.links) {
        const int gpu = std::min(link.from, link.to);
        const int other = std::max(link.from, link.to);
        if (gpu < topology.gpus_per_server && !topology.is_gpu(other) && !topology.is_nvswitch(other))
            gpus_of[other].insert(gpu);
    }
    return topology.gpus_per_server > 1 && std::all_of(gpus_of.begin(), gpus_of.end(), [](const auto& leaf) {
               return leaf.second.size() == 1;
           });
}

void note_levels(const Topology& topology, const Ports& nic, NetworkFacts& facts) {
    const std::vector<Tier> tiers = tiers_of(topology);
    const double port_rate = nic.bandwidth / nic.count;
    std::vector<FabricLevel> levels;
    double groups = 0; // of the tier below that one switch joins
    for (std::size_t i = 0; i < tiers.size(); ++i) {
        const Tier& tier = tiers[i];
        const auto count = static_cast<double>(tier.switches.size());
        const double told = tier.up > 0 ? tier.down / tier.up : 1.0;
        const double ratio = std::clamp(told, kLeastOversubscription, kMostOversubscription);
        if (ratio != told)
            facts.warnings.push_back(fmt::format("the switches of level {} have {} down and {} up: an "
                                                 "oversubscription of {:.4g}, taken as {}",
                                                 i + 1, format_bandwidth(tier.down),
                                                 format_bandwidth(tier.up), told, ratio));
        // ports down: those to GPUs at a leaf; above, the groups that one switch joins
        const double down = i == 0 ? tier.down / count / port_rate
                                   : std::max(1.0, groups / (facts.rails ? facts.gpus.value : 1));
        const double radix = std::clamp(std::round(down + down / ratio), 2.0, 65536.0);
        levels.push_back({static_cast<int>(radix), ratio, i == 0 ? 0 : 2 * tier.latency});
        groups = i == 0 ? count : std::max(1.0, count / std::max(1.0, down));
    }
    facts.levels.note(levels, nic.line);
}

} // namespace

bool is_simai_topology(std::string_view text) {
    LineReader lines(text);
    std::string_view line;
    while (lines.next(line) && trimmed(line).empty()) {
    }
    const auto words = words_of(line.substr(0, 256));
    if (words.size() < 6 || words.size() > 7)
        return false;
    for (std::size_t i = 0; i < 5; ++i)
        if (!whole(words[i]))
            return false;
    return !whole(words[5]);
}

NetworkFacts read_simai_topology(std::string_view text, const std::string& name) {
    const Topology topology = read_text(text, name);
    NetworkFacts facts;
    facts.gpu.note(topology.gpu, 1);
    facts.gpus.note(topology.gpus_per_server, 1);
    facts.nodes = topology.gpus() / topology.gpus_per_server;
    const Ports nvlink = ports_of(topology, true, name);
    if (nvlink.count > 0) {
        facts.nvlink.note(nvlink.bandwidth, nvlink.line);
        facts.nvlink_how = fmt::format("{} of {}", nvlink.count == 1 ? "to one NVSwitch" : "to NVSwitches",
                                       format_bandwidth(nvlink.bandwidth));
        facts.nvswitch = true;
    }
    const Ports nic = ports_of(topology, false, name);
    if (nic.count > 0) {
        facts.nics.note(nic.count * topology.gpus_per_server, nic.line);
        facts.nic_rate.note(nic.bandwidth / nic.count, nic.line);
        facts.nic_latency.note(2 * nic.latency, nic.line); // up to the leaf and down
        facts.rails = on_rails(topology);
        facts.fabric = FabricKind::roce;
        facts.fabric_reason = "what SimAI simulates";
        note_levels(topology, nic, facts);
    }
    return facts;
}

} // namespace echosim
