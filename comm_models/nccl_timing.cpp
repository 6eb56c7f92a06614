// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_timing.h"

#include <algorithm>
#include <cmath>

// Time of one collective alone: pipelined rings, trees and NVLS as closed forms (docs/models.md). Microseconds and
// GB/s (1 GB/s = 1000 bytes/us).
namespace echosim::nccl {
namespace {

constexpr double kPerUs = 1000.0;            // bytes/us of 1 GB/s
constexpr double kChunk = 2.0 * 1024 * 1024; // ring Simple: 4 of the 8 steps of a 4 MiB buffer
constexpr double kSlices = 2;
constexpr double kCopyPerCta = 40;           // GB/s of local copy that one CTA reaches

int log2_floor(int n) { return n > 1 ? std::ilogb(static_cast<double>(n)) : 0; }

double steps_of(CollectiveKind kind, int ranks) {
    return kind == CollectiveKind::all_reduce ? 2.0 * (ranks - 1) : ranks - 1.0;
}

// Rate of `ranks` GPUs over PCIe relative to the fitted pair (PCIe Gen4 x16).
double pcie_scale(const Cluster& cluster, int ranks) {
    const Pcie& pcie = cluster.node.pcie;
    const double width = pcie.gen > 0 ? std::exp2(pcie.gen - 4) * pcie.width / 16.0 : 1;
    if (ranks <= 2) return width;
    return width * (ranks <= 4 ? 0.27 : 0.1);
}

// Share of the steps of a ring that cross the network.
double network_steps(CollectiveKind kind, const GroupSystem& s) {
    if (s.nodes < 2) return 0;
    return kind == CollectiveKind::all_reduce ? 2.0 * (s.nodes - 1) : s.nodes - 1.0;
}

double hop(const GroupTiming& t, Protocol protocol) {
    return t.fabric.hop[static_cast<std::size_t>(protocol)] * t.link.network_scale + t.hop_extra;
}
double network_start(const GroupSystem& s, const GroupTiming& t) {
    return s.nodes > 1 ? t.fabric.start * t.link.network_scale : 0;
}

double low_latency_ring(const Collective& c, Protocol protocol, const GroupSystem& s, const GroupTiming& t) {
    const LowLatencyLink& link = protocol == Protocol::ll ? t.link.ll : t.link.ll128;
    const double steps = steps_of(c.kind, s.ranks);
    const double far = network_steps(c.kind, s);
    double rate = link.bandwidth * t.intra_scale;
    if (s.nodes > 1) {
        const double share = protocol == Protocol::ll ? 0.5 : 15.0 / 16;
        rate = std::min(rate, s.nic_rate * share);
        if (protocol == Protocol::ll) rate = std::min(rate, t.fabric.ll_rate_per_nic * s.ring.channels);
    }
    const double volume = static_cast<double>(c.bytes) * steps / s.ranks;
    return link.start + network_start(s, t) + (steps - far) * link.step + far * hop(t, protocol) +
           volume / (rate * kPerUs);
}

// A ring of n stations holds n x 2 slices in flight; a slot takes the slowest hop, or the circulation time of a
// slice over the slices in flight.
struct Ring {
    double near_hops, far_hops, near_latency, far_latency, near_rate, far_rate, slot;

    double per_slice(double slice) const {
        const double near = slice / (near_rate * kPerUs);
        const double far = far_hops > 0 ? slice / (far_rate * kPerUs) : 0;
        const double hops = near_hops + far_hops;
        double slowest = near_hops > 0 ? near + slot : 0;
        if (far_hops > 0) slowest = std::max(slowest, far + slot);
        const double round = near_hops * (near_latency + near) + far_hops * (far_latency + far);
        return std::max(slowest, round / (hops * kSlices));
    }
    double drain(double slice) const {
        if (far_hops > 0) return far_latency + slice / (far_rate * kPerUs);
        return near_latency + slice / (near_rate * kPerUs);
    }
};

Ring ring_of(const GroupSystem& s, const GroupTiming& t, double ctas) {
    Ring ring{};
    ring.far_hops = s.nodes > 1 ? s.nodes : 0;
    ring.near_hops = s.ranks - ring.far_hops;
    ring.near_latency = t.link.simple.hop;
    ring.near_rate = t.link.simple.bandwidth * t.intra_scale / ctas;
    ring.slot = t.link.simple.slot;
    if (s.nodes < 2) return ring;
    ring.far_latency = hop(t, Protocol::simple);
    ring.far_rate = s.nic_rate / ctas;
    // A connection never has more than its 8 buffer steps (4 MiB) under way in a round trip.
    ring.far_rate = std::min(ring.far_rate, 4.0 * 1024 * 1024 / (2 * ring.far_latency * kPerUs));
    return ring;
}

double simple_ring(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    const double bytes = static_cast<double>(c.bytes);
    const double ctas = s.ring_ctas;
    const Ring ring = ring_of(s, t, ctas);
    const double steps = steps_of(c.kind, s.ranks);
    const double shard = bytes / ctas / s.ranks;
    const double full = std::floor(shard / kChunk);
    const double rest = shard - full * kChunk;
    double time = full * steps * kSlices * ring.per_slice(kChunk / kSlices);
    if (rest > 0 || full == 0) time += steps * kSlices * ring.per_slice(rest / kSlices);
    const double drain = ring.drain((full > 0 ? kChunk : rest) / kSlices);
    double copy = 0;
    if (!c.in_place) {
        const bool reduce = c.kind == CollectiveKind::all_reduce;
        double rate = reduce ? t.link.simple.copy_reduce : t.link.simple.copy_gather;
        rate = std::min(rate, kCopyPerCta * ctas);
        copy = bytes / s.ranks / (rate * kPerUs);
    }
    return t.link.simple.start + network_start(s, t) + time + drain + copy;
}

// Broadcast and reduce: chunks flow once along the ring.
double chain(const Collective& c, Protocol protocol, const GroupSystem& s, const GroupTiming& t) {
    const double far = s.nodes > 1 ? s.nodes - 1.0 : 0;
    const double near = s.ranks - 1.0 - far;
    const double bytes = static_cast<double>(c.bytes);
    if (protocol != Protocol::simple) {
        const LowLatencyLink& link = protocol == Protocol::ll ? t.link.ll : t.link.ll128;
        double rate = link.bandwidth * t.intra_scale;
        if (far > 0) rate = std::min(rate, s.nic_rate * (protocol == Protocol::ll ? 0.5 : 0.9));
        return link.start + network_start(s, t) + near * link.step + far * hop(t, protocol) + bytes / (rate * kPerUs);
    }
    const double ctas = s.ring_ctas;
    const Ring ring = ring_of(s, t, ctas);
    const double slice = std::min(kChunk / kSlices / 2, bytes / ctas);
    double rate = ring.near_rate * ctas;
    double fill = near * (ring.near_latency + slice / (ring.near_rate * kPerUs));
    if (far > 0) {
        rate = near > 0 ? std::min(rate, ring.far_rate * ctas) : ring.far_rate * ctas;
        fill += far * (ring.far_latency + slice / (ring.far_rate * kPerUs));
    }
    return t.link.simple.start + network_start(s, t) + fill + bytes / (rate * kPerUs);
}

// Double binary tree over the nodes with a chain inside each: up and down, u = 1 of the NIC's rate for two nodes and
// 2 for more (an interior node has one parent and two children in one tree and is a leaf of the other).
double tree(const Collective& c, Protocol protocol, const GroupSystem& s, const GroupTiming& t) {
    const auto p = static_cast<std::size_t>(protocol);
    const bool simple = protocol == Protocol::simple;
    const LowLatencyLink& low = protocol == Protocol::ll ? t.link.ll : t.link.ll128;
    const double start = simple ? t.link.simple.start : low.start;
    const double near_step = simple ? t.link.simple.hop : low.step;
    double near_rate = (simple ? t.link.simple.bandwidth : low.bandwidth) * t.intra_scale;
    if (s.local > 1) near_rate *= s.local / (2.0 * (s.local - 1));
    const double depth = log2_floor(s.nodes);
    const double used = s.nodes > 2 ? 2 : 1;
    double far_rate = 1e12;
    if (s.nodes > 1) {
        far_rate = s.nic_rate / used;
        if (protocol == Protocol::ll128) far_rate *= 15.0 / 16;
        if (protocol == Protocol::ll)
            far_rate = std::min(far_rate / 2, t.fabric.ll_rate_per_nic * s.ring.channels / used);
    }
    const double rate = s.local > 1 ? std::min(near_rate, far_rate) : far_rate;
    const double bytes = static_cast<double>(c.bytes);
    double fill = 0;
    if (protocol != Protocol::ll) {
        const double most = simple ? 512.0 * 1024 : 128.0 * 1024;
        const double piece = std::min(most, bytes / s.ring_ctas) * s.ring_ctas;
        fill = 2 * ((s.local - 1) * piece / (near_rate * 2 * kPerUs) + depth * piece / (far_rate * used * kPerUs));
    }
    return start + network_start(s, t) + (s.nodes > 1 ? t.link.tree_start[p] : 0) +
           2 * ((s.local - 1) * near_step + depth * hop(t, protocol)) + fill + bytes / (rate * kPerUs);
}

double nvls_chunk(const GroupSystem& s, bool between_nodes, double bytes) {
    const double loops = 1.0 * s.nvls_ctas * s.nvls.channels;
    if (between_nodes) {
        for (const auto& [chunk, threshold] : {std::pair{256.0, 32.0}, {128.0, 16.0}, {64.0, 4.0}})
            if (bytes >= threshold * loops * chunk * 1024) return chunk * 1024;
        return 32.0 * 1024;
    }
    double chunk = 131072;
    if (chunk > 65536 && bytes < 64 * loops * chunk) chunk = 65536;
    if (chunk > 32768 && bytes < 8 * loops * chunk) chunk = 32768;
    if (chunk > 16384 && bytes < 2 * loops * chunk) chunk = 16384;
    return chunk;
}

// One loop over CTAs x heads chunks fills the pipeline; smaller chunks cost more each.
double nvls(const Collective& c, bool between_nodes, const GroupSystem& s, const GroupTiming& t) {
    const double bytes = static_cast<double>(c.bytes);
    const NvlsLink& link = t.link.nvls;
    const double chunk = nvls_chunk(s, between_nodes, bytes);
    const double scale = t.intra_scale * t.nvls_scale;
    const double grow = std::clamp(std::log2(std::max(bytes, 1.0) / (1024.0 * 1024 * 1024)) / 2, 0.0, 1.0);
    const double cap = (link.cap + (link.cap_large - link.cap) * grow) * scale;
    double rate = std::min(cap, scale / (1 / link.bandwidth + link.chunk_cost * 65536 / chunk));
    if (c.kind != CollectiveKind::all_reduce) rate *= 1.3;  // one direction only
    const double loop = std::min(bytes, 1.0 * s.nvls_ctas * s.nvls.channels * chunk);
    double time = link.start + network_start(s, t);
    if (between_nodes) {
        time += 2 * log2_floor(s.nodes) * hop(t, Protocol::simple);
        rate = std::min(rate, s.nic_rate / (s.nodes > 2 ? 2 : 1));
    }
    return time + (bytes + loop) / (rate * kPerUs);
}

// Bruck-like: log2(n) rounds over the network with work linear in n on each rank.
double pat(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    const double rounds = log2_floor(s.nodes);
    const double share = (s.ranks - 1.0) / s.ranks;
    return t.link.simple.start + network_start(s, t) + rounds * hop(t, Protocol::ll128) / 1.5 + 2.8 * s.ranks +
           static_cast<double>(c.bytes) * share / (0.85 * s.nic_rate * kPerUs);
}

} // namespace

GroupTiming group_timing(const Cluster& cluster, const GroupSystem& s) {
    GroupTiming t;
    t.link = link_profile(cluster, s.version, s.nvlink);
    t.fabric = fabric_profile(cluster.fabric.kind);
    const double nvlink = cluster.node.nvlink.bandwidth * 1e-9;
    if (s.nvlink) {
        t.intra_scale = nvlink * s.link_share / t.link.nvlink;
        t.nvls_scale = 9.0 / 8 * s.local / (s.local + 1.0);
    } else {
        // PCIe: a pair reaches most of the link; larger rings cross root ports and sockets.
        t.intra_scale = pcie_scale(cluster, s.group.max_ranks_per_node);
    }
    double levels = 0;
    for (const FabricLevel& level : cluster.fabric.levels) levels += 2 * level.hop_latency * 1e6;
    t.hop_extra = 0;
    if (s.nodes > 1 && !cluster.fabric.levels.empty()) t.hop_extra = std::max(0.0, levels - 1);
    const bool known = std::any_of(t.link.gpus.begin(), t.link.gpus.end(), [&](const std::string& name) {
        return cluster.gpu.name.compare(0, name.size(), name) == 0;
    });
    const bool same_links = !s.nvlink || (std::abs(nvlink / t.link.nvlink - 1) < 0.05 && s.nvswitch);
    const bool fabric = s.nodes == 1 || t.fabric.fitted;
    if (known && same_links && fabric && t.link.fitted) t.provenance = Provenance::fitted;
    else if (s.nvlink && s.nvswitch && fabric) t.provenance = Provenance::catalogue;
    return t;
}

double body_time(const Collective& c, const Choice& choice, const GroupSystem& s, const GroupTiming& t) {
    switch (choice.algorithm) {
    case Algorithm::tree: return tree(c, choice.protocol, s, t);
    case Algorithm::nvls: return nvls(c, false, s, t);
    case Algorithm::nvls_tree: return nvls(c, true, s, t);
    case Algorithm::pat: return pat(c, s, t);
    case Algorithm::direct: return point_to_point_time(c, s, t);
    case Algorithm::ring:
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain: break;
    }
    if (c.kind == CollectiveKind::broadcast || c.kind == CollectiveKind::reduce)
        return chain(c, choice.protocol, s, t);
    if (choice.protocol == Protocol::simple) return simple_ring(c, s, t);
    return low_latency_ring(c, choice.protocol, s, t);
}

} // namespace echosim::nccl
