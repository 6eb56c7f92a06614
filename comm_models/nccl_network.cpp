// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_timing.h"

#include <algorithm>
#include <cmath>

// Time of one collective alone: pipelined rings, trees and NVLS as closed forms (docs/models.md).
// Microseconds and GB/s (1 GB/s = 1000 bytes/us).
namespace echosim::nccl {
namespace {

constexpr double kPerUs = 1000.0;            // bytes/us of 1 GB/s
constexpr double kChunk = 2.0 * 1024 * 1024; // ring Simple: 4 of the 8 steps of a 4 MiB buffer
constexpr double kSlices = 2;
constexpr double kTreeStep = 0.45; // of a ring step: a tree passes messages on without the ring's hand-over
constexpr double kCopyPerCta = 40; // GB/s of local copy that one CTA reaches

int log2_floor(int n) {
    return n > 1 ? std::ilogb(static_cast<double>(n)) : 0;
}

double steps_of(CollectiveKind kind, int ranks) {
    return kind == CollectiveKind::all_reduce ? 2.0 * (ranks - 1) : ranks - 1.0;
}

// Share of the steps of a ring that cross the network.
double network_steps(CollectiveKind kind, const GroupSystem& s) {
    if (s.nodes < 2)
        return 0;
    return kind == CollectiveKind::all_reduce ? 2.0 * (s.nodes - 1) : s.nodes - 1.0;
}

double hop(const GroupTiming& t, Protocol protocol) {
    return t.fabric.hop[static_cast<std::size_t>(protocol)] +
           t.link.hop_offset[static_cast<std::size_t>(protocol)] + t.hop_extra;
}
// A network hop of LL grows with the message: the proxy posts it in ever more pieces (some 2 us a doubling
// above 4 KiB in the tables of 2 and 16 GPUs).
double low_latency_hop(const GroupTiming& t, Protocol protocol, double message) {
    const double growth = protocol == Protocol::ll ? t.fabric.ll_growth * std::log2(1 + message / 4096) : 0;
    return hop(t, protocol) + growth;
}
double network_start(const GroupSystem& s, const GroupTiming& t) {
    return s.nodes > 1 ? t.fabric.start : 0;
}

// Flags take half of an LL message and 1/16 of an LL128 one; with a single NIC LL128 reaches three quarters
// of it (two H200 on RoCE).
double network_rate(Protocol protocol, const GroupSystem& s, const GroupTiming& t) {
    if (protocol == Protocol::simple)
        return s.nic_rate;
    if (protocol == Protocol::ll128)
        return (s.local == 1 ? 0.75 : 15.0 / 16) * s.nic_rate;
    const double rate = std::min(0.5 * s.nic_rate, t.fabric.ll_rate_per_nic * s.nics);
    return t.link.ll_network > 0 ? std::min(rate, t.link.ll_network) : rate;
}

double low_latency_rate(Protocol protocol, const GroupSystem& s, const GroupTiming& t) {
    const bool ll = protocol == Protocol::ll;
    double rate = (ll ? t.link.ll.bandwidth : t.link.ll128.bandwidth) * t.intra_scale;
    if (ll && t.link.ll_per_rank > 0)
        rate = std::min(rate, t.link.ll_per_rank * s.ranks);
    return s.nodes > 1 ? std::min(rate, network_rate(protocol, s, t)) : rate;
}

double low_latency_ring(const Collective& c, Protocol protocol, const GroupSystem& s, const GroupTiming& t) {
    const LowLatencyLink& link = protocol == Protocol::ll ? t.link.ll : t.link.ll128;
    const double steps = steps_of(c.kind, s.ranks);
    const double far = network_steps(c.kind, s);
    const double rate = low_latency_rate(protocol, s, t);
    const double bytes = static_cast<double>(c.bytes);
    return link.start + network_start(s, t) + (steps - far) * link.step +
           far * low_latency_hop(t, protocol, bytes / s.ranks) + bytes * steps / s.ranks / (rate * kPerUs);
}

// A ring of n stations holds n x 2 slices in flight; a slot takes the slowest hop, or the circulation time of
// a slice over the slices in flight.
struct Ring {
    double near_hops, far_hops, near_latency, far_latency, near_rate, far_rate, slot;

    double per_slice(double slice) const {
        const double near = slice / (near_rate * kPerUs);
        const double far = far_hops > 0 ? slice / (far_rate * kPerUs) : 0;
        const double hops = near_hops + far_hops;
        double slowest = near_hops > 0 ? near + slot : 0;
        if (far_hops > 0)
            slowest = std::max(slowest, far + slot);
        const double round = near_hops * (near_latency + near) + far_hops * (far_latency + far);
        return std::max(slowest, round / (hops * kSlices));
    }
    double drain(double slice) const {
        if (far_hops > 0)
            return far_latency + slice / (near_rate * kPerUs); // a message is cut through, not stored
        return near_latency + slice / (near_rate * kPerUs);
    }
};

Ring ring_of(const GroupSystem& s, const GroupTiming& t, double ctas) {
    Ring ring{};
    ring.far_hops = s.nodes > 1 ? s.nodes : 0;
    ring.near_hops = s.ranks - ring.far_hops;
    ring.near_latency = t.link.simple.hop;
    ring.near_rate = t.link.simple.bandwidth * t.intra_scale / ctas;
    // Between nodes there are fewer CTAs than a node alone has; each reaches up to half more than its share
    // there.
    if (s.nodes > 1 && s.nvlink) {
        const double full = s.arch == 3 ? 32 : 24;
        ring.near_rate *= std::min(1.0, 1.5 * ctas / full);
    }
    ring.slot = t.link.simple.slot;
    if (s.nodes < 2)
        return ring;
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
    if (rest > 0 || full == 0)
        time += steps * kSlices * ring.per_slice(rest / kSlices);
    const double drain = ring.drain((full > 0 ? kChunk : rest) / kSlices);
    double copy = 0;
    if (!c.in_place) {
        const bool reduce = c.kind == CollectiveKind::all_reduce;
        double rate = t.link.simple.copy_reduce;
        if (!reduce)
            rate = std::min(t.link.simple.copy_gather, kCopyPerCta * ctas);
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
        const double rate = low_latency_rate(protocol, s, t);
        return link.start + network_start(s, t) + near * link.step + far * hop(t, protocol) +
               bytes / (rate * kPerUs);
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

// Double binary tree over the nodes with a chain inside each: up and down, u = 1 of the NIC's rate for two
// nodes and 2 for more (an interior node has one parent and two children in one tree and is a leaf of the
// other).
double tree(const Collective& c, Protocol protocol, const GroupSystem& s, const GroupTiming& t) {
    const bool simple = protocol == Protocol::simple;
    const bool ll = protocol == Protocol::ll;
    const LowLatencyLink& low = ll ? t.link.ll : t.link.ll128;
    const double near_step = kTreeStep * (simple ? t.link.simple.hop : low.step);
    double rate = (simple ? t.link.simple.bandwidth : low.bandwidth) * t.intra_scale;
    if (ll && t.link.ll_per_rank > 0)
        rate = std::min(rate, t.link.ll_per_rank * s.ranks);
    if (s.local > 1)
        rate *= s.local / (2.0 * (s.local - 1));
    const double depth = log2_floor(s.nodes);
    const double far_hop = low_latency_hop(t, protocol, static_cast<double>(c.bytes));
    double fill = 0;
    if (s.nodes > 1) {
        const double far = network_rate(protocol, s, t);
        rate = std::min(rate, far / (s.nodes > 2 ? 2 : 1));
        const double chunk = simple ? 512.0 * 1024 : 32.0 * 1024;
        const double piece = std::min(chunk, static_cast<double>(c.bytes) / s.ring_ctas);
        if (!ll)
            fill = 2 * depth * piece * s.ring_ctas / (far * kPerUs);
    }
    return (simple ? t.link.simple.start : low.start) + network_start(s, t) +
           2 * ((s.local - 1) * near_step + depth * far_hop) + fill +
           static_cast<double>(c.bytes) / (rate * kPerUs);
}

// Chunk sizes of NVLS and NVLSTree, largest first, and the multiple of CTAs x heads x chunk bytes from which
// each is used (src/enqueue.cc).
struct ChunkRule {
    double chunk, from;
};
constexpr ChunkRule kNvlsChunks[] = {{131072, 64}, {65536, 8}, {32768, 2}, {16384, 0}};
constexpr ChunkRule kNvlsTreeChunks[] = {{262144, 32}, {131072, 16}, {65536, 4}, {32768, 0}};

// One loop over CTAs x heads chunks fills the pipeline; smaller chunks cost more each.
double nvls_with_chunk(double bytes, double chunk, const Collective& c, bool between_nodes,
                       const GroupSystem& s, const GroupTiming& t) {
    const NvlsLink& link = t.link.nvls;
    const double scale = t.intra_scale * t.nvls_scale;
    const double grow = std::clamp(std::log2(std::max(bytes, 1.0) / (1024.0 * 1024 * 1024)) / 2, 0.0, 1.0);
    const double cap = (link.cap + (link.cap_large - link.cap) * grow) * scale;
    double rate = std::min(cap, scale / (1 / link.bandwidth + link.chunk_cost * 65536 / chunk));
    if (c.kind != CollectiveKind::all_reduce)
        rate *= 1.3; // one direction only
    double loop = std::min(bytes, 1.0 * s.nvls_ctas * s.nvls.channels * chunk);
    double time = link.start + network_start(s, t);
    if (between_nodes) {
        time += 2 * log2_floor(s.nodes) * hop(t, Protocol::simple);
        // The stages between nodes lengthen the fill and take 7 % of the rate (16 GPUs on RoCE and EFA).
        rate = std::min(0.93 * rate, s.nic_rate / (s.nodes > 2 ? 2 : 1));
        loop *= 2;
    }
    return time + (bytes + loop) / (rate * kPerUs);
}

// A message just below a switch of the chunk size costs no more than one just above it.
double nvls(const Collective& c, bool between_nodes, const GroupSystem& s, const GroupTiming& t) {
    const double bytes = static_cast<double>(c.bytes);
    const double loops = 1.0 * s.nvls_ctas * s.nvls.channels;
    double limit = 1e300;
    for (const ChunkRule& rule : between_nodes ? kNvlsTreeChunks : kNvlsChunks) {
        const double from = rule.from * loops * rule.chunk;
        if (bytes >= from)
            return std::min(limit, nvls_with_chunk(bytes, rule.chunk, c, between_nodes, s, t));
        limit = std::min(limit, nvls_with_chunk(from, rule.chunk, c, between_nodes, s, t));
    }
    return limit;
}

// Bruck-like: log2(n) rounds over the network with work linear in n on each rank.
double pat(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    const double rounds = log2_floor(s.nodes);
    const double share = (s.ranks - 1.0) / s.ranks;
    return t.link.simple.start + network_start(s, t) + rounds * hop(t, Protocol::ll128) / 1.5 +
           2.8 * s.ranks + static_cast<double>(c.bytes) * share / (0.85 * s.nic_rate * kPerUs);
}

double body_time(const Collective& c, const Choice& choice, const GroupSystem& s, const GroupTiming& t) {
    switch (choice.algorithm) {
    case Algorithm::tree:
        return tree(c, choice.protocol, s, t);
    case Algorithm::nvls:
        return nvls(c, false, s, t);
    case Algorithm::nvls_tree:
        return nvls(c, true, s, t);
    case Algorithm::pat:
        return pat(c, s, t);
    case Algorithm::direct:
        return point_to_point_time(c, s, t);
    case Algorithm::ring:
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
        break;
    }
    if (c.kind == CollectiveKind::broadcast || c.kind == CollectiveKind::reduce)
        return chain(c, choice.protocol, s, t);
    if (choice.protocol == Protocol::simple)
        return simple_ring(c, s, t);
    return low_latency_ring(c, choice.protocol, s, t);
}

} // namespace

TimeTerms network_time(const Collective& c, const Choice& choice, const GroupSystem& s,
                       const GroupTiming& t) {
    return {.transfer = body_time(c, choice, s, t)};
}

} // namespace echosim::nccl
