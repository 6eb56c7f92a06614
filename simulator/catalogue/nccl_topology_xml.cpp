// SPDX-License-Identifier: Apache-2.0
// The topology file of NCCL: a tree system > cpu > pci > pci ... with gpu > nvlink and nic > net at its
// leaves. NCCL writes it (NCCL_TOPO_DUMP_FILE); clouds ship hand-written ones (NCCL_TOPO_FILE) that may hold
// no more than pci elements, of which NCCL completes the rest on the machine. Attributes and their meaning:
// the XML reader and writer of NCCL 2.18 to 2.30 (src/graph/xml.cc, topo.cc). link_speed is in GT/s a lane,
// net speed in Mb/s, a nvlink count in links; classes are those of PCI: 0x03 display, 0x12 accelerator,
// 0x0200 Ethernet, 0x0207 InfiniBand, 0x0680 bridge (an NVSwitch).
#include "simulator/catalogue/nccl_topology_tree.h"
#include "simulator/catalogue/topology_gpus.h"
#include "simulator/catalogue/topology_text.h"
#include "simulator/core/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace echosim {
namespace {

bool is_display(const PciElement& pci) {
    return pci.pci_class.starts_with("0x03") || pci.pci_class.starts_with("0x12");
}

bool is_network(const PciElement& pci) {
    return pci.pci_class.starts_with("0x0207") || pci.pci_class.starts_with("0x0200");
}

// Amazon's EFA, Google's gVNIC and HPE's Cassini are told by vendor or name; else the class of the device.
FabricKind kind_of(const SeenNic& nic, const PciElement* pci) {
    const std::string_view name = nic.name;
    if ((pci != nullptr && pci->vendor == "0x1d0f") || name.starts_with("rdmap") || name.starts_with("efa"))
        return FabricKind::efa;
    if (name.starts_with("hfi1"))
        return FabricKind::omnipath;
    if (name.starts_with("cxi") || name.starts_with("hsn"))
        return FabricKind::slingshot;
    if (pci != nullptr && pci->pci_class.starts_with("0x0207"))
        return FabricKind::infiniband;
    if (name.starts_with("bnxt_re") || name.starts_with("irdma") || name.starts_with("mlx5_bond"))
        return FabricKind::roce;
    if (name.starts_with("mlx5"))
        return pci != nullptr && pci->pci_class.starts_with("0x0200") ? FabricKind::roce : FabricKind::none;
    return name.empty() ? FabricKind::none : FabricKind::ethernet;
}

// Switches between a device and the CPU.
std::set<int> ancestors(const Machine& machine, int index) {
    std::set<int> found;
    for (int at = machine.pcis[static_cast<std::size_t>(index)].parent; at >= 0;
         at = machine.pcis[static_cast<std::size_t>(at)].parent)
        found.insert(at);
    return found;
}

void note_cpus(const Machine& machine, TopologyFacts& facts) {
    const CpuElement& cpu = machine.cpus.front();
    std::set<std::string> hosts;
    std::set<std::pair<std::string, std::string>> numa;
    for (const CpuElement& c : machine.cpus) {
        hosts.insert(c.host);
        numa.insert({c.host, c.numa});
    }
    const int nodes = static_cast<int>(hosts.size());
    const int per_host = std::max(1, static_cast<int>(numa.size()) / nodes);
    const bool arm = cpu.arch == "arm64";
    if (nodes > 1)
        facts.domain_nodes.note(nodes, cpu.line);
    if (per_host <= 2 || arm) // more of them are parts of two sockets
        facts.sockets.note(per_host, cpu.line);
    const auto name = [&]() -> std::string {
        if (arm)
            return "nvidia-grace";
        if (cpu.vendor == "GenuineIntel" && cpu.family == 6) {
            static const std::map<int, std::string> models = {
                {63, "intel-haswell"},        {79, "intel-broadwell"},        {85, "intel-skylake"},
                {106, "intel-ice-lake"},      {143, "intel-sapphire-rapids"}, {207, "intel-emerald-rapids"},
                {173, "intel-granite-rapids"}};
            const auto found = models.find(cpu.model);
            return found == models.end() ? "" : found->second;
        }
        if (cpu.vendor != "AuthenticAMD")
            return "";
        // CPUID family 0x17 is printed by NCCL as 143 (0xf + 0x8 << 4), 0x19 as 175, 0x1a as 191
        if (cpu.family == 143 || cpu.family == 23)
            return "amd-rome";
        if (cpu.family == 175 || cpu.family == 25)
            return cpu.model >= 16 ? "amd-genoa" : "amd-milan";
        return cpu.family == 191 || cpu.family == 26 ? "amd-turin" : "";
    }();
    if (!name.empty())
        facts.cpu.note(name, cpu.line);
}

// The value that most GPUs have; the others are named in a warning.
template <class T, class Of>
T common(const std::vector<const GpuElement*>& gpus, const char* what, TopologyFacts& facts, Of of) {
    std::map<T, int> counts;
    for (const GpuElement* gpu : gpus)
        ++counts[of(*gpu)];
    const auto most = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
        return a.second < b.second || (a.second == b.second && a.first < b.first);
    });
    for (const GpuElement* gpu : gpus)
        if (of(*gpu) != most->first)
            facts.warnings.push_back(fmt::format("line {}: a GPU with {} {}, where most have {}: {} is taken",
                                                 gpu->line, of(*gpu), what, most->first, most->first));
    return most->first;
}

int links_of(const GpuElement& gpu) {
    int links = 0;
    for (const auto& [target, count] : gpu.links)
        links += count;
    return links;
}

void note_gpu_elements(const Machine& machine, TopologyFacts& facts) {
    std::vector<const GpuElement*> gpus;
    std::map<std::string, int> per_host;
    for (const PciElement& pci : machine.pcis)
        for (const GpuElement& gpu : pci.gpus) {
            gpus.push_back(&gpu);
            ++per_host[pci.host];
            note_device_id(pci.device, pci.line, facts);
            note_product(gpu.gcn, gpu.line, facts);
        }
    if (gpus.empty())
        return;
    int most = 0;
    for (const auto& [host, count] : per_host)
        most = std::max(most, count);
    const int line = gpus.front()->line;
    facts.gpus.note(most, line);
    if (const int sm =
            common<int>(gpus, "compute capability", facts, [](const GpuElement& g) { return g.sm; });
        sm > 0 && gpus.front()->gcn.empty())
        facts.sm.note(sm, line);
    const int links = common<int>(gpus, "NVLinks", facts, links_of);
    // hand-written files leave the links to NCCL; a dump without them has none
    const bool dumped = std::any_of(machine.pcis.begin(), machine.pcis.end(), [](const PciElement& pci) {
        return !pci.gpus.empty() && !pci.device.empty();
    });
    if (links > 0 || dumped)
        facts.nvlinks.note(links, line);
    for (const GpuElement* gpu : gpus)
        if (links > 0 && links_of(*gpu) == links) {
            facts.nvswitch.note(gpu->to_switch, gpu->line);
            facts.nvlink_peers = gpu->to_switch ? 0 : static_cast<int>(gpu->links.size());
            break;
        }
    if (std::any_of(gpus.begin(), gpus.end(), [](const GpuElement* g) { return g->c2c; }))
        facts.superchip.note(true, line);
}

// PCIe generation by GT/s of a lane: 2.5, 5, 8, 16, 32, 64.
int generation(std::string_view speed) {
    const double rate = leading_number(speed).value_or(0);
    int gen = 0;
    for (const double limit : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0})
        gen += rate >= limit ? 1 : 0;
    return gen;
}

void note_pcie(const Machine& machine, TopologyFacts& facts) {
    const bool elements = static_cast<bool>(facts.gpus);
    int count = 0;
    for (const PciElement& pci : machine.pcis) {
        if (elements ? pci.gpus.empty() : !is_display(pci))
            continue;
        ++count;
        const Pcie link{generation(pci.speed), leading_int(pci.width).value_or(0)};
        if (link.gen == 0 || link.width == 0 || facts.superchip.value)
            continue;
        if (facts.pcie && (facts.pcie.value.gen != link.gen || facts.pcie.value.width != link.width))
            facts.warnings.push_back(fmt::format(
                "line {}: a GPU on PCIe {} x{}, where the first one has {} x{}: the latter is taken",
                pci.line, link.gen, link.width, facts.pcie.value.gen, facts.pcie.value.width));
        facts.pcie.note(link, pci.line);
    }
    if (!elements && count > 0)
        for (const PciElement& pci : machine.pcis)
            if (is_display(pci)) {
                note_device_id(pci.device, pci.line, facts);
                facts.gpus.note(count, pci.line);
            }
}

void note_nics(const Machine& machine, TopologyFacts& facts) {
    std::set<int> above_gpus;
    bool elements = !machine.loose_nics.empty();
    for (std::size_t i = 0; i < machine.pcis.size(); ++i) {
        const PciElement& pci = machine.pcis[i];
        if (!pci.gpus.empty() || is_display(pci))
            above_gpus.merge(ancestors(machine, static_cast<int>(i)));
        elements = elements || !pci.nics.empty();
    }
    for (std::size_t i = 0; i < machine.pcis.size(); ++i) {
        const PciElement& pci = machine.pcis[i];
        if (!machine.cpus.empty() && pci.host != machine.cpus.front().host)
            continue; // the nodes of a domain are alike
        std::vector<SeenNic> nics = pci.nics;
        if (!elements && is_network(pci))
            nics.push_back({.line = pci.line});
        const std::set<int> above = ancestors(machine, static_cast<int>(i));
        for (SeenNic& nic : nics) {
            nic.kind = kind_of(nic, &pci);
            nic.near_gpu = std::any_of(above.begin(), above.end(),
                                       [&](int switch_) { return above_gpus.count(switch_) != 0; });
            facts.nics.push_back(std::move(nic));
        }
    }
    for (SeenNic nic : machine.loose_nics) {
        nic.kind = kind_of(nic, nullptr);
        facts.nics.push_back(std::move(nic));
    }
}

} // namespace

TopologyFacts read_nccl_topology_xml(std::string_view text, const std::string& name) {
    const Machine machine = parse_nccl_topology(text, name);
    TopologyFacts facts;
    note_cpus(machine, facts);
    note_gpu_elements(machine, facts);
    note_pcie(machine, facts);
    note_nics(machine, facts);
    if (!facts.gpus)
        throw InputError(fmt::format("{}:{}", name, machine.cpus.front().line), "no GPU in the topology",
                         "expected elements gpu, or pci of class 0x030200");
    return facts;
}

} // namespace echosim
