// SPDX-License-Identifier: Apache-2.0
// The tree of topo.cc (ncclTopoPrint), from CPUs to GPUs and NICs, with the bandwidth of each link in GB/s:
//
//   === System : maxBw 48.0 totalBw 370.8 ===
//   CPU/0 (1/1/3)                             architecture / vendor / model
//   + PCI[48.0] - PCI/97000 (1000c0301000100b)
//                 + PCI[48.0] - GPU/9B000 (0)
//                               + NVL[370.8] - NVS/0
//                 + PCI[48.0] - NIC/9D000
//                               + NET[50.0] - NET/0 (0/f8a3/1/50.000000)
//   ==========================================
//
// From 2.20 on names begin with the number of the node in its NVLink domain (GPU/0-9B000). NCCL counts
// NVLinks with 20 to 22 GB/s (Volta, Ampere), 20.6 (Hopper), 40.1 (Blackwell), PCIe x16 with 12 GB/s in
// generation 3 and the double in each that follows; architecture 1 is x86, 3 is Arm; vendor 1 is Intel, 2
// AMD.
#include "simulator/catalogue/nccl_log_system.h"

#include "simulator/catalogue/topology_text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace echosim {
namespace {

struct LinkUnit {
    double rate;
    int links;
    int sm;
};

// Rate of a link as one NCCL version counts it, and how many the products have.
constexpr LinkUnit kLinkUnits[] = {{40.1, 18, 100}, {40.0, 18, 100}, {20.6, 18, 90}, {20.0, 18, 90},
                                   {20.6, 8, 90},   {20.0, 12, 80},  {21.0, 12, 80}, {22.0, 12, 80},
                                   {20.0, 8, 80},   {21.0, 8, 80},   {22.0, 8, 80},  {20.0, 6, 70},
                                   {21.0, 6, 70},   {22.0, 6, 70}};

std::optional<LinkUnit> unit_of(double rate) {
    for (const LinkUnit& unit : kLinkUnits)
        if (std::abs(unit.rate * unit.links - rate) < 0.06)
            return unit;
    return std::nullopt;
}

// "GPU/0-9B000 (0)" -> node "0", kind "GPU"; without a node in older versions.
struct NodeName {
    std::string kind, node, whole;
};
NodeName name_of(std::string_view text) {
    const std::string_view whole = text.substr(0, text.find(' '));
    const std::size_t slash = whole.find('/');
    if (slash == std::string_view::npos)
        return {};
    const std::string_view id = whole.substr(slash + 1);
    const std::size_t dash = id.find('-');
    return {std::string(whole.substr(0, slash)),
            dash == std::string_view::npos ? std::string() : std::string(id.substr(0, dash)),
            std::string(whole)};
}

} // namespace

void LogSystems::take(std::string_view thread, std::string_view message, int line) {
    if (message.starts_with("=== System")) {
        Tree& begun = open_[std::string(thread)];
        begun = {};
        begun.system.line = line;
        return;
    }
    const auto found = open_.find(thread);
    if (found == open_.end())
        return;
    if (message.starts_with("=====")) {
        close(found->second);
        open_.erase(found);
        return;
    }
    Tree& tree = found->second;
    const std::size_t plus = message.find_first_not_of(' ');
    if (plus == std::string_view::npos || message[plus] != '+')
        return top(tree, trimmed(message));
    while (!tree.above.empty() && tree.above.back().first >= plus)
        tree.above.pop_back();
    const std::string_view rest = message.substr(plus + 1);
    const std::size_t dash = rest.find(" - ");
    if (dash == std::string_view::npos)
        return;
    const std::string_view node = rest.substr(dash + 3);
    branch(tree, trimmed(rest.substr(0, dash)), node, line);
    if (node.starts_with("PCI/"))
        tree.above.emplace_back(plus, name_of(node).whole);
}

void LogSystems::top(Tree& tree, std::string_view node) {
    tree.above.clear();
    if (!node.starts_with("CPU/"))
        return;
    ++tree.cpus[name_of(node).node];
    const std::size_t bracket = node.find('(');
    if (bracket != std::string_view::npos && tree.system.cpu.empty())
        tree.system.cpu = node.substr(bracket + 1, node.find(')') - bracket - 1);
}

void LogSystems::branch(Tree& tree, std::string_view link, std::string_view node, int line) {
    const double rate = number_after(link, "[").value_or(0);
    const NodeName name = name_of(node);
    LogSystem& system = tree.system;
    const bool nvlink = link.starts_with("NVL") || link.starts_with("XGMI");
    if (nvlink && !system.nvlink_rates.empty() && (name.kind == "NVS" || name.kind == "GPU")) {
        system.nvlink_rates.back() += rate;
        system.nvswitch = system.nvswitch || name.kind == "NVS";
        if (system.nvlink_rates.size() == 1 && name.kind == "GPU")
            tree.peers.insert(name.whole);
    } else if (name.kind == "GPU" && (link.starts_with("PCI") || link.starts_with("C2C"))) {
        ++tree.gpus[name.node];
        system.nvlink_rates.push_back(0);
        system.c2c = system.c2c || link.starts_with("C2C");
        if (link.starts_with("PCI") && system.pcie_rate == 0)
            system.pcie_rate = rate;
        for (const auto& [indent, above] : tree.above)
            tree.above_gpus.insert(above);
    } else if (name.kind == "NET") {
        SeenNic nic{.name = name.whole, .line = line};
        const std::size_t precise = node.rfind('/'); // "(0/guid/1/50.000000)"
        nic.bandwidth = leading_number(node.substr(precise + 1)).value_or(rate) * 1e9;
        system.nics.push_back(std::move(nic));
        std::set<std::string> above;
        for (const auto& [indent, pci] : tree.above)
            above.insert(pci);
        tree.above_nics.push_back(std::move(above));
    }
}

void LogSystems::close(Tree& tree) {
    LogSystem& system = tree.system;
    for (const auto& [node, count] : tree.gpus)
        system.gpus = std::max(system.gpus, count);
    for (const auto& [node, count] : tree.cpus)
        system.cpus = std::max(system.cpus, count);
    system.nodes = std::max(1, static_cast<int>(tree.gpus.size()));
    system.nvlink_peers = static_cast<int>(tree.peers.size());
    for (std::size_t i = 0; i < system.nics.size(); ++i)
        system.nics[i].near_gpu =
            std::any_of(tree.above_nics[i].begin(), tree.above_nics[i].end(),
                        [&](const std::string& pci) { return tree.above_gpus.count(pci) != 0; });
    if (system.gpus > best_.gpus)
        best_ = std::move(system);
}

void LogSystems::close_all() {
    for (auto& [thread, tree] : open_) {
        tree.system.nics.clear(); // the rest of them is missing
        tree.above_nics.clear();
        close(tree);
    }
    open_.clear();
}

void note_system(const LogSystem& system, TopologyFacts& facts) {
    if (system.nodes > 1)
        facts.domain_nodes.note(system.nodes, system.line);
    if (system.c2c)
        facts.superchip.note(true, system.line);
    const double rate = *std::max_element(system.nvlink_rates.begin(), system.nvlink_rates.end());
    if (*std::min_element(system.nvlink_rates.begin(), system.nvlink_rates.end()) < rate)
        facts.warnings.push_back(
            fmt::format("line {}: GPUs have NVLinks of different rates: the largest, {} GB/s, is taken",
                        system.line, rate));
    if (const auto unit = unit_of(rate)) {
        facts.nvlinks.note(unit->links, system.line);
        facts.sm.note(unit->sm, system.line);
    } else if (rate == 0 && (system.gpus > 1)) {
        facts.nvlinks.note(0, system.line);
    }
    if (rate > 0)
        facts.nvswitch.note(system.nvswitch, system.line);
    facts.nvlink_peers = system.nvswitch ? 0 : system.nvlink_peers;
    for (int gen = 3; gen <= 6; ++gen) // x16
        if (!system.c2c && std::abs(system.pcie_rate - 12.0 * (1 << (gen - 3))) < 0.06)
            facts.pcie.note({gen, 16}, system.line);
    const bool arm = system.cpu.starts_with("3/");
    if (system.cpus > 0 && (system.cpus <= 2 || arm)) // more of them are parts of two sockets
        facts.sockets.note(system.cpus, system.line);
    if (arm)
        facts.cpu.note("nvidia-grace", system.line);
    else if (system.cpu.starts_with("1/2/"))
        facts.cpu.note("amd", system.line);
    for (const auto& [printed, cpu] :
         {std::pair{"1/1/1", "intel-broadwell"}, std::pair{"1/1/2", "intel-skylake"},
          std::pair{"1/1/3", "intel-sapphire-rapids"}, std::pair{"1/1/4", "intel-emerald-rapids"}})
        if (system.cpu == printed)
            facts.cpu.note(cpu, system.line);
}

} // namespace echosim
