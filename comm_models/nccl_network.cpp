// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_network.h"

#include <algorithm>
#include <cmath>

// Time of one collective alone over several nodes: rings, trees (nccl_network_tree.cpp) and transfers between
// pairs (nccl_network_pairs.cpp). Microseconds, GB/s (1 GB/s = 1000 bytes/us), bytes.
//
// n ranks on N nodes, m = n/N on each; c CTAs; B the rate of one node's NICs that is left for the group:
//   B = NICs x nominal rate x efficiency x share of the fabric, and for hops of round trip R at most
//       c x window / R, as a connection has no more than its buffer (4 MiB) under way.
// One CTA moves r GB/s between memory and the buffers of a connection, which one NVLink channel shows too:
//   r = 1.07 x (rate of a node's ring) / (CTAs of a node's ring).
// Hops between nodes take a (fabric profile, by protocol and generation of hosts), those within a node as in
// nccl_timing.cpp.
//
// Ring, Simple: a loop moves chunks of C = min(2 MiB, S/(c n)) in two slices x = C/2;
//   per slice  p = max(x c/B, x/b + slot, ((n-N)(a_near + x/b) + N(a + x c/B + x/r)) / (2n))
//   T = start + loops x steps x 2p + (1 + 0.32 (loops x passes - 1)) (a + C/r) + copy
// with steps = 2(n-1) and two passes for an all-reduce, n-1 and one else: each pass ends by draining its last
// chunk through one CTA, of which other channels hide two thirds. Groups of two ranks see it at each step.
//
// Ring, LL and LL128: T = start + steps x (mean hop + C/r on the N hops of LL128) + bytes / rate.
// Fitted to the logs named in presets/nccl_fabrics.json.
namespace echosim::nccl {
namespace network {
namespace {

constexpr double kSlices = 2;
constexpr double kCtaShare = 1.07;      // of a node's ring per CTA
constexpr double kCtaWithoutLinks = 10; // GB/s of one CTA where GPUs have no NVLink
constexpr double kDrainSeen = 0.32;     // of the drain of a pass that other channels do not hide
constexpr double kMoreOfNode = 1.5;     // times its share in one node that a CTA reaches when there are fewer
constexpr double kCopyPerCta = 60;      // GB/s of local copy that one CTA reaches
constexpr double kLl128Chunk = 600 * 1024 * kLl128Data; // bytes: one step of a buffer of 4.69 MiB
constexpr double kLl128Cta = 1.14 / kCtaShare;          // r of LL128 relative to Simple
constexpr double kLlMessage = 4096;                     // bytes from which a hop of LL grows
constexpr PerProtocol kStart{6.0, 29.5, 7.7};           // us

double ctas_of_node(const GroupSystem& s) {
    return s.arch == 3 ? 32 : 24;
}

double steps_of(const Group& g) {
    return g.reduces_all() ? 2 * (g.ranks - 1) : g.ranks - 1;
}

// GB/s of a ring's hops within a node, all CTAs together.
double near_rate(const Group& g) {
    const double rate = g.timing.link.simple.bandwidth * g.timing.intra_scale;
    if (!g.system.nvlink)
        return rate;
    return rate * std::min(1.0, kMoreOfNode * g.ctas / ctas_of_node(g.system));
}

double copy_time(const Group& g) {
    if (g.call.in_place)
        return 0;
    const SimpleLink& link = g.timing.link.simple;
    const double rate = g.reduces_all() ? link.copy_reduce : std::min(link.copy_gather, kCopyPerCta * g.ctas);
    return g.bytes / g.ranks / (rate * kPerUs);
}

// Half a round trip for each time that a ring or chain leaves a site, spread over its hops between nodes.
double mean_site_delay(const Group& g) {
    const int sites = g.system.group.sites;
    return sites > 1 ? 0.5 * g.timing.round_trip * std::min(1.0, sites / g.nodes) : 0;
}

TimeTerms simple_ring(const Group& g) {
    const SimpleLink& link = g.timing.link.simple;
    const double near_hops = g.ranks - g.nodes;
    const double delay = hop(Protocol::simple, 0, g) + mean_site_delay(g);
    const double shard = g.bytes / g.ctas / g.ranks;
    const double chunk = std::min(shard, g.system.buffer / 2);
    const double loops = shard / chunk;
    const double slice = chunk / kSlices;
    const double near = near_hops > 0 ? slice * g.ctas / (near_rate(g) * kPerUs) : 0;
    const double far = slice * g.ctas / (rate(Protocol::simple, g) * kPerUs);
    const double cta = slice / (g.cta_rate * kPerUs);
    const double slowest = std::max(near_hops > 0 ? near + link.slot : 0, far);
    const double near_round = near_hops * (link.hop + near);
    const double far_round = g.nodes * (delay + far + cta);
    const double slot = std::max(slowest, (near_round + far_round) / (g.ranks * kSlices));
    const double slots = loops * steps_of(g) * kSlices;
    const double moving = std::max(near, far);
    const double waiting = slots * (slot - moving);
    const double passes = g.reduces_all() ? 2 : 1;
    TimeTerms t;
    t.start = start(Protocol::simple, g);
    t.transfer = slots * moving;
    t.near = waiting * near_round / (near_round + far_round);
    t.far = waiting - t.near;
    t.fill = (1 + kDrainSeen * (loops * passes - 1)) * (delay + chunk / (g.cta_rate * kPerUs));
    t.copy = copy_time(g);
    return t;
}

TimeTerms low_latency_ring(Protocol protocol, const Group& g) {
    const bool ll = protocol == Protocol::ll;
    const LowLatencyLink& link = ll ? g.timing.link.ll : g.timing.link.ll128;
    const double steps = steps_of(g);
    const double share = g.bytes / g.ranks;
    const double turns = steps / g.ranks;
    double within = link.bandwidth * g.timing.intra_scale;
    if (ll && g.timing.link.ll_per_rank > 0)
        within = std::min(within, g.timing.link.ll_per_rank * g.ranks);
    const double network = rate(protocol, g);
    const double slowest = g.local > 1 ? std::min(network, within) : network;
    TimeTerms t;
    t.start = start(protocol, g);
    t.transfer = steps * share / (slowest * kPerUs);
    const double delay = hop(protocol, share, g) + mean_site_delay(g);
    if (ll) {
        // The last step needs no answer, so only N-1 of the hops between nodes follow one another.
        const double far = g.reduces_all() ? 2 * (g.nodes - 1) : g.nodes - 1;
        t.near = (steps - far) * link.step;
        t.far = far * delay;
        return t;
    }
    const double chunk = std::min(kLl128Chunk, share / g.ctas);
    const double loops = share / g.ctas / chunk;
    t.near = loops * turns * (g.ranks - g.nodes) * kNearLl128;
    t.far = loops * turns * g.nodes * delay;
    t.fill = loops * turns * g.nodes * chunk / (kLl128Cta * g.cta_rate * kPerUs);
    return t;
}

TimeTerms one_call(const Collective& c, const Choice& choice, const Group& g) {
    switch (choice.algorithm) {
    case Algorithm::tree:
        return tree(choice.protocol, g);
    case Algorithm::nvls_tree:
        return nvls_tree(g);
    case Algorithm::nvls:
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
        return collnet(choice.algorithm, g);
    case Algorithm::pat:
        return pat(g);
    case Algorithm::direct:
        return pairs(g);
    case Algorithm::ring:
        break;
    }
    if (c.kind == CollectiveKind::broadcast || c.kind == CollectiveKind::reduce)
        return chain(choice.protocol, g);
    return ring(choice.protocol, g);
}

} // namespace

double Group::depth() const {
    return nodes > 1 ? std::floor(std::log2(nodes) + 1e-9) : 0;
}

Group group_of(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    Group g{c, s, t};
    g.bytes = static_cast<double>(c.bytes) / std::max(1, c.calls);
    g.ranks = s.ranks;
    g.nodes = s.nodes;
    g.local = std::max(1.0, std::round(1.0 * s.ranks / s.nodes));
    g.ctas = std::max(1, s.ring_ctas);
    g.cta_rate = kCtaWithoutLinks;
    if (t.link.nvlink > 0)
        g.cta_rate = kCtaShare * t.link.simple.bandwidth * t.intra_scale / ctas_of_node(s);
    return g;
}

double start(Protocol protocol, const Group& g) {
    return kStart[static_cast<std::size_t>(protocol)] + g.timing.fabric.start;
}

double hop(Protocol protocol, double message, const Group& g) {
    const FabricProfile& f = g.timing.fabric;
    const double growth = protocol == Protocol::ll ? f.ll_growth * std::log2(1 + message / kLlMessage) : 0;
    const double more = protocol == Protocol::ll ? 0 : f.hop[static_cast<std::size_t>(protocol)];
    return (f.hop[0] + more) * f.hop_factor[g.system.arch] + g.timing.hop_extra + growth;
}

double rate(Protocol protocol, const Group& g) {
    const double round_trip = std::max(g.timing.round_trip, 2 * hop(Protocol::simple, 0, g));
    const double all = std::min(g.timing.far_rate, g.ctas * g.system.buffer / (round_trip * kPerUs));
    if (protocol == Protocol::simple)
        return all;
    if (protocol == Protocol::ll128)
        return kLl128Data * all;
    return std::min(0.5 * all, g.timing.fabric.ll_rate_per_nic * g.system.nics);
}

TimeTerms ring(Protocol protocol, const Group& g) {
    return protocol == Protocol::simple ? simple_ring(g) : low_latency_ring(protocol, g);
}

// Broadcast and reduce: pieces flow once along the ring.
TimeTerms chain(Protocol protocol, const Group& g) {
    const double far_hops = g.nodes - 1;
    const double near_hops = g.ranks - g.nodes;
    const bool simple = protocol == Protocol::simple;
    const SimpleLink& link = g.timing.link.simple;
    const LowLatencyLink& low = protocol == Protocol::ll ? g.timing.link.ll : g.timing.link.ll128;
    const double within = simple ? near_rate(g) : low.bandwidth * g.timing.intra_scale;
    double slowest = std::min(rate(protocol, g), g.cta_rate * g.ctas);
    if (near_hops > 0)
        slowest = std::min(slowest, within);
    const double crossings = g.system.group.sites > 1 ? g.system.group.sites - 1.0 : 0;
    TimeTerms t;
    t.start = start(protocol, g);
    t.near = near_hops * (simple ? link.hop : protocol == Protocol::ll ? low.step : kNearLl128);
    t.far = far_hops * hop(protocol, 0, g) + crossings * 0.5 * g.timing.round_trip;
    t.transfer = g.bytes / (slowest * kPerUs);
    if (simple) {
        const double piece = std::min(g.system.buffer / 8, g.bytes / g.ctas) * g.ctas;
        t.fill = near_hops * piece / (within * kPerUs) + far_hops * piece / (slowest * kPerUs);
    }
    return t;
}

} // namespace network

void add_network(const Cluster& cluster, const GroupSystem& s, const ModelConstants& constants,
                 GroupTiming& t) {
    t.fabric = fabric_profile(constants, cluster.fabric.kind);
    const EarlierFabric& earlier = t.fabric.earlier;
    const bool early = s.version < earlier.before;
    const double given = cluster.fabric.efficiency;
    const double nics = s.nic_rate / (s.nic * (given > 0 ? given : t.fabric.efficiency));
    double each = s.nic * (given > 0 ? given : efficiency_of(t.fabric, s.nic));
    if (early) {
        for (std::size_t p = 0; p < t.fabric.hop.size(); ++p)
            if (earlier.hop[p] > 0)
                t.fabric.hop[p] = earlier.hop[p];
        if (earlier.ll_rate_per_nic > 0)
            t.fabric.ll_rate_per_nic = earlier.ll_rate_per_nic;
        if (earlier.nic_rate > 0 && given <= 0)
            each = std::min(each, earlier.nic_rate);
    }
    t.far_rate = nics * each * s.group.ring_share;
    t.all_pairs_rate = nics * each * s.group.all_pairs_share;
    if (s.group.sites > 1 && cluster.sites.bandwidth > 0) {
        const double share = 1.0 * s.local / std::max(1, cluster.node.gpus);
        t.far_rate = std::min(t.far_rate, share * cluster.sites.bandwidth * 1e-9);
        t.all_pairs_rate = std::min(t.all_pairs_rate, share * cluster.sites.bandwidth * 1e-9);
    }
    t.round_trip = s.group.sites > 1 ? cluster.sites.rtt * 1e6 : 0;
    // The profile holds one switch of half a microsecond each way.
    double switches = 0;
    const auto levels = static_cast<int>(cluster.fabric.levels.size());
    const int climbed = s.group.switch_levels > 0 ? std::min(s.group.switch_levels, levels) : levels;
    for (int level = 0; level < climbed; ++level)
        switches += 2 * cluster.fabric.levels[static_cast<std::size_t>(level)].hop_latency * 1e6;
    t.hop_extra = std::max(0.0, switches - 1);
    // A group of one GPU a node never uses the links within it, but its kernels are those of its GPU.
    if (s.local == 1 && !s.nvlink) {
        const LinkProfile& own = link_profile(constants, cluster, s.version, true);
        if (fits(own, cluster.gpu.name)) {
            t.link = own;
            t.intra_scale = 1;
        }
    }
}

TimeTerms network_time(const Collective& c, const Choice& choice, const GroupSystem& s,
                       const GroupTiming& t) {
    const network::Group g = network::group_of(c, s, t);
    TimeTerms terms = network::one_call(c, choice, g);
    if (c.calls < 2)
        return terms;
    // Operations of one group run one after the other on the CTAs that each uses, small ones side by side.
    const double used = std::clamp(g.bytes / 65536, 1.0, g.ctas);
    const double turns = 1 + (c.calls - 1.0) * used / g.ctas;
    terms.near *= turns;
    terms.far *= turns;
    terms.fill *= turns;
    terms.transfer *= c.calls;
    terms.copy *= c.calls;
    return terms;
}

} // namespace echosim::nccl
