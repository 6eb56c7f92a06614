// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_graph.h"

#include "comm_models/rccl_tables.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
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
    const int bridged = bridge_peers(cluster);
    const int peers = bridged > 0 ? bridged : std::max(1, cluster.node.gpus - 1);
    return std::min(1.0, static_cast<double>(local - 1) / peers);
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
            s.nodes > 1
                ? std::min(s.arch == 3 ? 96.0 : 48.0, s.nic * std::max(1.0, std::floor(1.0 * s.nics / heads)))
                : w};
}

// CollNet has one head for each NIC, at most nine; each takes the NIC's rate.
SearchGraph search_collnet(const GroupSystem& s) {
    if (!s.collnet)
        return {};
    const double w = std::min(s.ring.intra, s.nic);
    return {std::clamp(s.nics, 1, std::min(9, s.local)), w, w};
}

// Rates of links as NCCL counts them, and what the machine has.
void add_links(const Cluster& cluster, const GroupGeometry& group, GroupSystem& s) {
    s.nvlink = group.nvlink && cluster.node.nvlink.bandwidth > 0;
    s.nvswitch = s.nvlink && cluster.node.nvlink.nvswitch;
    s.amd_cpu = cluster.node.cpu.find("amd") != std::string::npos;
    s.arm_cpu = cluster.node.cpu.find("grace") != std::string::npos;
    s.link_share = s.nvlink ? link_share(cluster, group.max_ranks_per_node) : 1;
    const double pcie = pcie_bandwidth(cluster.node.pcie) * 1e-9;
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
}

// The sibling groups of the other GPUs of a node run at the same time (8 data-parallel groups under TP8), so
// a group owns the share of the NICs that its GPUs are of the node.
void add_network_rate(const Cluster& cluster, const FabricProfile& fabric, GroupSystem& s) {
    const double share =
        1.0 * std::max(1, cluster.node.nics.count) * s.local / std::max(1, cluster.node.gpus);
    const double efficiency = cluster.fabric.efficiency > 0 ? cluster.fabric.efficiency : fabric.efficiency;
    s.own_nics = std::min(share, 1.0 * s.nics);
    s.nic_rate = s.own_nics * s.nic * efficiency;
}

// LL128 needs stores of 128 bytes that arrive whole: NVLink within the node, and a NIC that is no farther
// than PCIe bridges (from Hopper on also behind a neighbour; behind the CPU's chip-to-chip link from 2.27).
bool has_ll128(const Settings& settings, const TuningTable& table, const FabricProfile& fabric,
               const GroupSystem& s) {
    if (!s.nvlink && s.local > 1)
        return false;
    if (s.nodes == 1)
        return true;
    return fabric.ll128 && (!s.arm_cpu || (table.ll128_over_c2c && settings.ll128_over_c2c));
}

void add_settings(const Settings& settings, GroupSystem& s) {
    s.algorithms = settings.algorithms;
    s.protocols = settings.protocols;
    s.ll128_asked = settings.ll128_asked;
    s.threads = settings.threads;
    s.ll128_threads = settings.ll128_threads;
    s.pxn = settings.pxn;
    s.pat = settings.pat.value_or(true);
    if (settings.buffer > 0)
        s.buffer = settings.buffer;
    s.post = settings.net_overhead.value_or(s.amd_cpu ? 2.0 : 1.0);
    const TuningTable& table = tuning_table(s.version);
    if (settings.p2p_net_chunk > 0)
        s.p2p_net_chunk = settings.p2p_net_chunk;
    else if (s.arm_cpu && s.arch == 3)
        s.p2p_net_chunk = table.p2p_chunk_arm_blackwell;
}

// AMD's parts: rates that RCCL reaches over the links instead of a search, scaled with the data sheet's link
// (MI300X: 64 GB/s, MI355X 76.8, MI250X 50).
void add_amd(const Cluster& cluster, GroupSystem& s) {
    const RcclGpu& gpu = rccl_gpu(cluster.gpu.arch);
    s.rccl_model = gpu.model;
    s.mesh = gpu.mesh && s.nvlink;
    s.nvswitch = false;
    if (s.nvlink) {
        s.path = gpu.link;
        s.total = gpu.total;
    }
    const double rate = s.mesh ? std::min(gpu.total, gpu.link * std::max(1, s.local - 1)) : s.total;
    s.ring = {gpu.channels / 2, rate / (gpu.channels / 2), rate / (gpu.channels / 2)};
    if (s.nodes > 1)
        s.ring.inter = std::min(s.ring.inter, s.nics * s.nic / s.ring.channels);
    if (s.nodes > 1 && cluster.fabric.efficiency <= 0)
        s.nic_rate = s.own_nics * s.nic * rccl_timing().nic_share;
}

// First the maximum, then the minimum, as NCCL copies channels last.
int clamped(int channels, const Settings& settings) {
    if (settings.max_channels > 0)
        channels = std::min(channels, settings.max_channels);
    return std::max(channels, settings.min_channels);
}

// Every channel of the search is used twice.
void add_channels(const Settings& settings, const TuningTable& table, GroupSystem& s) {
    s.ring_ctas = 2 * s.ring.channels;
    if (s.arch >= 2 && s.nodes > 1 && s.ring.intra > 45 && s.ring_ctas < 16)
        s.ring_ctas *= 2;
    s.ring_ctas = clamped(std::min(s.ring_ctas, table.max_channels), settings);
    s.nvls_ctas = static_cast<int>(table.nvls_channels[s.arch][s.nodes > 1 ? 1 : 0]);
    s.nvls_ctas = settings.nvls_channels > 0 ? settings.nvls_channels : clamped(s.nvls_ctas, settings);
}

int power_of_two(int n) {
    int result = 1;
    while (result < n)
        result *= 2;
    return result;
}

// NVLink gives a peer two channels for each link, PCIe two, the network two (from 2.30 one for each 14 GB/s);
// the pool is what the collectives have. Both are rounded up to powers of two; with peers over the network
// the fewest count for all (src/transport/p2p.cc, src/graph/paths.cc).
void add_point_to_point(const Settings& settings, const TuningTable& table, GroupSystem& s) {
    int pool = s.ring_ctas;
    if (settings.p2p_max_channels > 0)
        pool = std::min(pool, settings.p2p_max_channels);
    pool = std::max(pool, settings.p2p_min_channels);
    int per_peer = 2;
    if (s.nvlink)
        per_peer = std::min(pool, 2 * std::max(1, static_cast<int>(s.path / kNvLinkUnit[s.arch] + 1e-9)));
    if (s.nodes > 1) {
        const int nics = std::max(1, s.nics / s.local);
        int network = std::max(2, nics);
        if (settings.p2p_channels_per_net_peer > 0)
            network = settings.p2p_channels_per_net_peer;
        else if (table.p2p_channel_rate > 0)
            network = static_cast<int>(std::ceil(s.nic * nics / table.p2p_channel_rate));
        per_peer = s.local > 1 ? std::min(per_peer, network) : network;
    }
    s.p2p_pool = power_of_two(pool);
    s.p2p_per_peer = std::min(s.p2p_pool, power_of_two(per_peer));
}

// A CTA moves at most half more than its share of what the default number of them reaches within a node: 14
// GB/s on A100, 22 on H100, 33 on B200.
constexpr double kCtaRate[] = {12, 14, 22, 33};

void limit_by_ctas(int default_ring, int default_nvls, GroupSystem& s) {
    if (s.ring_ctas < default_ring)
        s.ring_cta_share = std::min(1.0, s.ring_ctas * kCtaRate[s.arch] / (s.ring.channels * s.ring.intra));
    if (s.nvls_ctas < default_nvls)
        s.nvls_cta_share = std::min(1.0, 1.5 * s.nvls_ctas / default_nvls);
}

void take_graph(const ObservedGraph& observed, SearchGraph& graph) {
    graph.channels = observed.channels > 0 ? observed.channels : graph.channels;
    graph.intra = observed.intra > 0 ? observed.intra : graph.intra;
    graph.inter = observed.inter > 0 ? observed.inter : observed.intra > 0 ? observed.intra : graph.inter;
}

void take_log(const ObservedCommunicator& seen, GroupSystem& s) {
    s.from_log = true;
    for (const ObservedGraph& graph : seen.graphs) {
        if (graph.pattern == "ring")
            take_graph(graph, s.ring);
        else if (graph.pattern == "tree")
            take_graph(graph, s.tree);
        else if (graph.pattern == "nvls" && s.nvls.channels > 0)
            take_graph(graph, s.nvls);
        else if (graph.pattern == "collnet" && s.collnet)
            take_graph(graph, s.collnet_direct);
    }
    if (seen.collective_channels > 0)
        s.ring_ctas = seen.collective_channels;
    if (seen.nvls_channels > 0)
        s.nvls_ctas = seen.nvls_channels;
    if (seen.p2p_channels > 0)
        s.p2p_pool = seen.p2p_channels;
    if (seen.p2p_channels_per_peer > 0)
        s.p2p_per_peer = seen.p2p_channels_per_peer;
}

} // namespace

const ObservedCommunicator* observed_communicator(const Cluster& cluster, const GroupGeometry& group) {
    const ObservedCommunicator* by_hosts = nullptr;
    for (const ObservedCommunicator& seen : cluster.observed) {
        if (seen.ranks != group.ranks)
            continue;
        if (seen.nodes == group.nodes)
            return &seen;
        if (seen.nodes == group.hosts)
            by_hosts = &seen;
    }
    return by_hosts;
}

std::string unmatched_log(const Cluster& cluster, const GroupGeometry& group) {
    if (observed_communicator(cluster, group) != nullptr)
        return {};
    for (const ObservedCommunicator& seen : cluster.observed)
        if (seen.ranks == group.ranks)
            return fmt::format(
                "nccl_log of the cluster has {} ranks on {} node{}, this group has them on {}: "
                "the log is not used",
                seen.ranks, seen.nodes, seen.nodes == 1 ? "" : "s", std::max(group.nodes, group.hosts));
    return {};
}

GroupSystem group_system(const Cluster& cluster, const GroupGeometry& group, const Settings& settings,
                         const ModelConstants& constants) {
    GroupSystem s;
    const FabricProfile& fabric = fabric_profile(constants, cluster.fabric.kind);
    const TuningTable& table = tuning_table(settings.version);
    s.group = group;
    s.ranks = group.ranks;
    s.nodes = group.nodes;
    s.local = std::max(1, group.min_ranks_per_node);
    s.arch = tuning_arch(cluster.gpu.arch);
    s.amd = cluster.gpu.arch >= Arch::cdna2;
    s.version = settings.version;
    add_links(cluster, group, s);
    add_settings(settings, s);
    add_network_rate(cluster, fabric, s);
    s.ll128 = has_ll128(settings, table, fabric, s);
    if (s.ranks < 2)
        return s;
    s.collnet = settings.collnet && s.nodes > 1;
    if (s.amd)
        add_amd(cluster, s);
    else
        s.ring = search(s);
    s.tree = s.ring;
    if (settings.nvls.value_or(true))
        s.nvls = search_nvls(s);
    s.collnet_direct = s.nvswitch ? search_collnet(s) : SearchGraph{};
    s.collnet_chain = search_collnet(s);
    add_channels(settings, table, s);
    add_point_to_point(settings, table, s);
    if (const ObservedCommunicator* seen = observed_communicator(cluster, group))
        take_log(*seen, s);
    GroupSystem unlimited = s;
    add_channels({}, table, unlimited);
    limit_by_ctas(unlimited.ring_ctas, unlimited.nvls_ctas, s);
    return s;
}

} // namespace echosim::nccl
