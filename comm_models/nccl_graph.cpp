// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_graph.h"

#include <algorithm>
#include <cmath>
#include <span>

// The search of NCCL (src/graph/search.cc, topo.cc) in closed form for symmetric systems: of the listed
// speeds w take the one that maximises channels x w under the capacity of NVLink and NICs. Rates in GB/s as
// NCCL counts them: NVLink per link V100/A100 20, H100 20.6, B200 40.1; PCIe x16 12, 24, 48, 96 for Gen3 to
// Gen6; NIC Mb/s / 8000.
namespace echosim::nccl {
namespace {

constexpr double kIntra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kIntraHopper[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kIntraBlackwell[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr double kInter[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12};
constexpr double kInterHopper[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12};
constexpr double kInterBlackwell[] = {96, 86,   80, 48, 45.1, 42, 40,  30,  24,  22,
                                      20, 17.5, 15, 12, 6,    3,  2.4, 1.2, .24, .12};
constexpr double kNvLinkUnit[] = {20, 20, 20.6, 40.1};

std::span<const double> speeds(const GroupSystem& s) {
    if (s.nodes > 1) {
        if (s.arch == 3)
            return kInterBlackwell;
        return s.arch == 2 ? std::span<const double>(kInterHopper) : std::span<const double>(kInter);
    }
    if (s.arch == 3)
        return kIntraBlackwell;
    return s.arch == 2 ? std::span<const double>(kIntraHopper) : std::span<const double>(kIntra);
}

double pcie_rate(const Pcie& pcie) {
    if (pcie.gen <= 0)
        return 24;
    return pcie.width * 60.0 * std::exp2(pcie.gen - 3) / 80.0;
}

double socket_rate(const std::string& cpu) {
    if (cpu.find("emerald") != std::string::npos)
        return 40;
    if (cpu.find("sapphire") != std::string::npos)
        return 22;
    if (cpu.find("amd") != std::string::npos)
        return 16;
    if (cpu.find("grace") != std::string::npos || cpu.find("arm") != std::string::npos)
        return 6;
    if (cpu.find("broadwell") != std::string::npos)
        return 6;
    return 10;
}

// The hybrid cube mesh of the DGX-1V gives a pair 1 of 6 links (the first neighbour), a quad 4; a full mesh
// of AMD parts one of seven links a peer; switches and full meshes of four GPUs all.
double link_share(const Cluster& cluster, int local) {
    if (cluster.node.nvlink.nvswitch || local < 2)
        return 1;
    if (cluster.gpu.arch == Arch::volta && cluster.node.gpus > 4) {
        if (local == 2)
            return 1.0 / 6;
        return local <= 4 ? 4.0 / 6 : 1;
    }
    const int peers = std::max(1, cluster.node.gpus - 1);
    const bool bridges = cluster.gpu.arch < Arch::cdna2 && cluster.node.gpus > 4;
    return bridges ? 1 : std::min(1.0, static_cast<double>(local - 1) / peers);
}

SearchGraph search(const GroupSystem& s) {
    const double most = s.nodes > 1 ? (s.local > 1 ? std::min(s.path, s.nic) : s.nic) : s.path;
    const double intra_factor = s.nodes > 1 ? (s.local - 1.0) / s.local : 1.0;
    SearchGraph best;
    double last = 0;
    for (const double w : speeds(s)) {
        last = w;
        if (w > most + 1e-9)
            continue;
        double count = intra_factor > 0 ? std::floor(s.total / (w * intra_factor) + 1e-9) : 1e9;
        if (s.nodes > 1)
            count = std::min(count, s.nics * std::floor(s.nic / w + 1e-9));
        count = std::min(count, s.nodes > 1 ? 32.0 : 16.0);
        if (count * w > best.channels * best.intra + 1e-9)
            best = {static_cast<int>(count), w, w};
    }
    if (best.channels == 0)
        best = {1, last, last};
    const double w = best.intra;
    const bool keep = w < 25 || (s.arch >= 2 && w < 50 && best.channels > 4) || best.channels > 16;
    if (!keep)
        best = {best.channels * 2, w / 2, w / 2};
    return best;
}

// Each head puts w on every link of a GPU and 2w on its own: w <= total / (heads + 1); between nodes the
// NIC's rate.
SearchGraph search_nvls(const GroupSystem& s) {
    if (s.arch < 2 || !s.nvswitch || s.local < 2)
        return {};
    const int heads = std::min(32, s.local);
    double w = 0;
    const std::span<const double> list =
        s.arch == 3 ? std::span<const double>(kIntraBlackwell) : std::span<const double>(kIntraHopper);
    for (const double speed : list)
        if (speed <= s.total / (heads + 1) && speed > w)
            w = speed;
    if (w <= 0)
        w = s.total / (heads + 1);
    return {heads, w,
            s.nodes > 1 ? std::min(48.0, s.nic * std::max(1.0, std::floor(1.0 * s.nics / heads))) : w};
}

} // namespace

GroupSystem group_system(const Cluster& cluster, const GroupGeometry& group, const Settings& settings,
                         const ModelConstants& constants) {
    GroupSystem s;
    const int version = settings.version;
    const FabricProfile& fabric = fabric_profile(constants, cluster.fabric.kind);
    s.group = group;
    s.ranks = group.ranks;
    s.nodes = group.nodes;
    s.local = std::max(1, group.min_ranks_per_node);
    s.arch = tuning_arch(cluster.gpu.arch);
    s.version = version;
    s.nvlink = group.nvlink && cluster.node.nvlink.bandwidth > 0;
    s.nvswitch = s.nvlink && cluster.node.nvlink.nvswitch;
    s.amd_cpu = cluster.node.cpu.find("amd") != std::string::npos;
    s.link_share = s.nvlink ? link_share(cluster, group.max_ranks_per_node) : 1;
    const double pcie = pcie_rate(cluster.node.pcie);
    if (s.nvlink) {
        const double unit = kNvLinkUnit[s.arch];
        const double links = cluster.node.nvlink.links > 0 ? cluster.node.nvlink.links
                                                           : std::round(cluster.node.nvlink.bandwidth / 25e9);
        s.total = std::max(unit, std::floor(unit * links * s.link_share + 1e-9));
        if (s.link_share >= 1)
            s.total = std::max(unit, unit * links);
        s.path = s.nvswitch ? s.total : std::min(s.total, 2 * unit);
    } else {
        s.path = group.max_ranks_per_node > 2 ? std::min(pcie, socket_rate(cluster.node.cpu)) : pcie;
        s.path /= s.amd_cpu ? 1.0 : 1.2;
        s.total = pcie;
    }
    const Nics& nics = cluster.node.nics;
    s.nics = std::max(1, group.nics_per_node);
    const double nic = nics.bandwidth > 0 ? nics.bandwidth * 1e-9 : 1.25;
    s.nic = cluster.node.pcie.gen > 0 ? std::min(nic, pcie) : nic;
    const TuningTable& table = tuning_table(version);
    s.ll128 = (s.nvlink || s.local == 1) && (s.nodes == 1 || fabric.ll128);
    // The sibling groups of the other GPUs of a node run at the same time (8 data-parallel groups under TP8),
    // so a group owns the share of the NICs that its GPUs are of the node.
    const double share = 1.0 * std::max(1, nics.count) * s.local / std::max(1, cluster.node.gpus);
    const double efficiency = cluster.fabric.efficiency > 0 ? cluster.fabric.efficiency : fabric.efficiency;
    s.nic_rate = std::min(share, 1.0 * s.nics) * s.nic * efficiency;
    if (s.ranks < 2)
        return s;
    s.ring = search(s);
    s.nvls = search_nvls(s);
    s.ring_ctas = 2 * s.ring.channels;
    if (s.arch >= 2 && s.nodes > 1 && s.ring.intra > 45 && s.ring_ctas < 16)
        s.ring_ctas *= 2;
    s.ring_ctas = std::min(s.ring_ctas, table.max_channels);
    s.nvls_ctas = s.arch == 3 ? table.nvls_channels_blackwell : 16;
    return s;
}

} // namespace echosim::nccl
