// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_timing.h"

#include <algorithm>
#include <cmath>

// Time of one collective alone within a node or NVLink domain: rings, trees, NVLS. Pairs stand in
// nccl_point_to_point.cpp, groups of several nodes in nccl_network.cpp. Microseconds, GB/s (1 GB/s = 1000
// bytes/us), bytes. The constants are those of LinkProfile; fits and errors: docs/models.md.
//
// n ranks, S bytes, C CTAs. A collective runs k steps: 2(n-1) for all_reduce, n-1 for the others; of every
// rank's share S/n a CTA handles k + 1 chunks (the first is only sent, the last only received), n of n for
// broadcast and reduce: volume W = S (k+1)/n or S.
//
// LL. A CTA's 512 threads hold 8 bytes each, so S = 4096 n fills one CTA's threads once.
// From there NCCL adds CTAs and the time stays; when all C are full, each thread handles a second line a
// step.
//   T = start + (k+1) step + w min(S, 4096 n)/first_pass + spread min(1, S/(3 x 4096 n))
//       + k second_pass [S > 4096 n C] + W/S max(0, S - 4096 n C)/bandwidth
// w = 1/2 for reduce_scatter, whose first step reads only what it sends. The bracket is a ramp over a quarter
// of the size. NCCL before 2.14 keeps to one rate a rank: T = start + (k+1) step + W/min(bandwidth, r n).
// LL over PCIe: half of Simple's rate, and no more than the CTAs give; LL128: T = start + (k+1) step + W/B.
//
// Ring Simple: blocks of min(2 MiB, S/(C n)) a rank in two slices s; a last block that is not full
// follows the full ones in the pipeline and counts by its bytes,
//   p = max(s/b + slot, (hop + s/b)/2), b = B/C
//   T = start + max(1, S/(2 MiB C n)) k 2p + (1/2 for reduce_scatter) hop + s/(30 GB/s) + (S/n)/copy
// The last two: a receiver still reads its last slice; the last local operation of each block, at a rate of
// its own for every kind. all_gather out of place also copies the rank's part once through the memory;
// nccl-tests logs in and out of place show no difference for all_reduce (T035, T050, T054 of nccl_tests.json)
// and 8 to 14 % for all_gather of two GPUs (T043).
//
// NVLS: a CTA loops over one chunk of each of its H heads; scatter, reduce and gather are two loops
// deep: T = start + slot (max(1, L) + 2) + (L + 2 min(1, L)) max(H chunk/cta_rate, C H chunk/(0.8 NVLink)),
// L = S/(C H chunk) loops.
//
// NCCL 2.29 starts kernels 0.6 us faster (three releases on the same B200 nodes).
namespace echosim::nccl {
namespace {

constexpr double kPerUs = 1000.0;            // bytes/us of 1 GB/s
constexpr double kChunk = 2.0 * 1024 * 1024; // ring Simple: 4 of the 8 steps of a 4 MiB buffer
constexpr double kSlices = 2;
constexpr double kFullCta = 4096;          // bytes of LL that the threads of a CTA hold
constexpr double kSpreadCtas = 3;          // CTAs at which `spread` is complete
constexpr double kSecondPassRamp = 4;      // 1 / share of the size over which second lines appear
constexpr double kScatterPass = 0.5;       // of the first pass in a reduce_scatter
constexpr double kScatterDrain = 0.5;      // of the last hop in a reduce_scatter
constexpr double kLocalPerCta = 30;        // GB/s at which a CTA reads its own buffers
constexpr double kOlderStart = 0.6;        // us
constexpr int kFasterStart = 229;          // NCCL 2.29
constexpr double kTreeStep = 0.45;         // of a ring step: a tree passes messages on without the hand-over
constexpr double kNvlsOneWay = 1.3;        // rate of all_gather and reduce_scatter, which move one direction
constexpr double kNvlsLink = 0.8;          // of the NVLink rate that NVLS reaches
constexpr double kMemoryCopy = 0.45;       // of the memory rate for a copy: it reads and writes
constexpr double kBytesPerCta = 64 * 1024; // of an operation that shares the CTAs with others
constexpr double kCachedMost = 1024.0 * 1024; // bytes up to which host caches hold the buffers of PCIe rings

// What every form needs of one call. `bytes` is of one of the operations of the group call.
struct Node {
    const Collective& call;
    const GroupSystem& system;
    const GroupTiming& timing;
    double bytes, ranks, ctas;

    bool reduces_all() const { return call.kind == CollectiveKind::all_reduce; }
    bool scatters() const { return call.kind == CollectiveKind::reduce_scatter; }
    bool flows_once() const {
        return call.kind == CollectiveKind::broadcast || call.kind == CollectiveKind::reduce;
    }
    double steps() const { return reduces_all() ? 2 * (ranks - 1) : ranks - 1; }
    double volume() const { return flows_once() ? bytes : bytes * (steps() + 1) / ranks; }
    double older_start() const { return system.version < kFasterStart ? kOlderStart : 0; }
};

// Rate of `ranks` GPUs over PCIe relative to the fitted pair (PCIe Gen4 x16).
double pcie_scale(const Cluster& cluster, const LinkProfile& link, int ranks) {
    const Pcie& pcie = cluster.node.pcie;
    const double width = pcie.gen > 0 ? std::exp2(pcie.gen - 4) * pcie.width / 16.0 : 1;
    if (ranks <= 2)
        return width;
    return width * (ranks <= 4 ? link.pcie.few : link.pcie.many);
}

// Rings of more than two GPUs over PCIe pass through host memory; small ones stay in its caches.
double cache_gain(const Node& g) {
    if (g.system.nvlink || g.ranks <= 2)
        return 1;
    const double beyond = std::clamp(std::log2(std::max(1.0, g.bytes) / kCachedMost), 0.0, 1.0);
    return g.timing.link.pcie.cached * (1 - beyond) + beyond;
}

double low_latency_rate(const Node& g, Protocol protocol) {
    const LinkProfile& link = g.timing.link;
    if (protocol == Protocol::ll128)
        return link.ll128.bandwidth * g.timing.intra_scale;
    if (!g.system.nvlink) {
        const double gain = g.ranks > 2 ? link.pcie.cached : 1;
        return std::min(link.ll.bandwidth, 0.5 * gain * link.simple.bandwidth * g.timing.intra_scale);
    }
    const double rate = link.ll.bandwidth * g.timing.intra_scale;
    return link.ll_per_rank > 0 ? std::min(rate, link.ll_per_rank * g.ranks) : rate;
}

void add_lines(const Node& g, TimeTerms& t) {
    const LowLatencyLink& link = g.timing.link.ll;
    const double full = kFullCta * g.ranks;
    const double all_full = full * g.ctas;
    const double second = std::clamp(kSecondPassRamp * (g.bytes / all_full - 1), 0.0, 1.0);
    t.near +=
        link.spread * std::min(1.0, g.bytes / (kSpreadCtas * full)) + g.steps() * link.second_pass * second;
    t.fill = (g.scatters() ? kScatterPass : 1) * std::min(g.bytes, full) / (link.first_pass * kPerUs);
    t.transfer = g.volume() / g.bytes * std::max(0.0, g.bytes - all_full) /
                 (link.bandwidth * g.timing.intra_scale * kPerUs);
}

TimeTerms low_latency(const Node& g, Protocol protocol) {
    const LinkProfile& profile = g.timing.link;
    const LowLatencyLink& link = protocol == Protocol::ll ? profile.ll : profile.ll128;
    TimeTerms t;
    t.start = link.start + g.older_start();
    t.near = (g.steps() + 1) * link.step;
    if (protocol == Protocol::ll && link.first_pass > 0) {
        add_lines(g, t);
        return t;
    }
    const double kept = g.system.nvlink || g.flows_once() ? 0 : g.bytes / g.ranks;
    t.transfer = (g.volume() - kept) / (low_latency_rate(g, protocol) * kPerUs);
    return t;
}

struct Ring {
    double rate, hop, slot; // of one CTA
    double per_slice(double slice) const {
        const double moving = slice / (rate * kPerUs);
        return std::max(moving + slot, (hop + moving) / kSlices);
    }
};

Ring ring_of(const Node& g) {
    const SimpleLink& link = g.timing.link.simple;
    return {link.bandwidth * g.timing.intra_scale * cache_gain(g) / g.ctas, link.hop, link.slot};
}

// us of the last local operation on the rank's part.
double copy_time(const Node& g) {
    const SimpleLink& link = g.timing.link.simple;
    const double part = g.bytes / g.ranks / kPerUs;
    if (g.reduces_all())
        return part / link.copy_reduce;
    if (g.scatters())
        return part / link.copy_scatter;
    if (!g.call.in_place)
        return part / link.copy_gather;
    return part * std::max(0.0, 1 / link.copy_gather - 1 / g.timing.memory_copy);
}

TimeTerms simple_ring(const Node& g) {
    const Ring ring = ring_of(g);
    const double shard = g.bytes / g.ctas / g.ranks;
    const double last = std::min(shard, kChunk) / kSlices;
    const double slots = std::max(1.0, shard / kChunk) * ring.per_slice(last);
    TimeTerms t;
    t.start = g.timing.link.simple.start + g.older_start();
    t.transfer = g.steps() * shard / (ring.rate * kPerUs);
    t.near = std::max(0.0, g.steps() * kSlices * slots - t.transfer);
    t.fill = (g.scatters() ? kScatterDrain : 1) * ring.hop + last / (kLocalPerCta * kPerUs);
    t.copy = copy_time(g);
    return t;
}

// Broadcast and reduce: chunks flow once along the ring.
TimeTerms simple_chain(const Node& g) {
    const Ring ring = ring_of(g);
    const double slice = std::min(kChunk / kSlices / 2, g.bytes / g.ctas);
    TimeTerms t;
    t.start = g.timing.link.simple.start + g.older_start();
    t.near = (g.ranks - 1) * ring.hop;
    t.fill = (g.ranks - 1) * slice / (ring.rate * kPerUs);
    t.transfer = g.bytes / (ring.rate * g.ctas * kPerUs);
    return t;
}

// Two trees that are chains within a node, up and down: a GPU in the middle sends each byte twice.
TimeTerms tree(const Node& g, Protocol protocol) {
    const LinkProfile& link = g.timing.link;
    const bool simple = protocol == Protocol::simple;
    const LowLatencyLink& low = protocol == Protocol::ll ? link.ll : link.ll128;
    const double rate =
        simple ? link.simple.bandwidth * g.timing.intra_scale * cache_gain(g) : low_latency_rate(g, protocol);
    TimeTerms t;
    t.start = (simple ? link.simple.start : low.start) + g.older_start();
    t.near = 2 * (g.ranks - 1) * kTreeStep * (simple ? link.simple.hop : low.step);
    t.transfer = g.bytes * 2 * (g.ranks - 1) / g.ranks / (rate * kPerUs);
    return t;
}

// Chunk sizes of NVLS, largest first, and the number of loops of each from which it is used (src/enqueue.cc).
struct ChunkRule {
    double chunk, from;
};
constexpr ChunkRule kNvlsChunks[] = {{131072, 64}, {65536, 8}, {32768, 2}, {16384, 0}};

TimeTerms nvls_with_chunk(const Node& g, double bytes, double chunk) {
    const NvlsLink& link = g.timing.link.nvls;
    const double heads = g.system.nvls.channels;
    const double loop = g.system.nvls_ctas * heads * chunk;
    const double nvlink = kNvlsLink * g.timing.link.nvlink * g.timing.intra_scale;
    double moving = std::max(heads * chunk / (link.cta_rate * kPerUs), loop / (nvlink * kPerUs));
    if (!g.reduces_all())
        moving /= kNvlsOneWay;
    const double loops = bytes / loop;
    TimeTerms t;
    t.start = link.start + g.older_start();
    t.near = link.slot * std::max(1.0, loops);
    t.fill = 2 * (link.slot + std::min(1.0, loops) * moving);
    t.transfer = loops * moving;
    return t;
}

// A message just below a switch of the chunk size costs no more than one just above it.
TimeTerms nvls(const Node& g) {
    const double loop = static_cast<double>(g.system.nvls_ctas) * g.system.nvls.channels;
    TimeTerms best;
    bool limited = false;
    for (const ChunkRule& rule : kNvlsChunks) {
        const double from = rule.from * loop * rule.chunk;
        const TimeTerms t = nvls_with_chunk(g, std::max(from, g.bytes), rule.chunk);
        if (!limited || t.total() < best.total())
            best = t;
        if (g.bytes >= from)
            break;
        limited = true;
    }
    return best;
}

TimeTerms one_operation(const Node& g, const Choice& choice) {
    switch (choice.algorithm) {
    case Algorithm::tree:
        return tree(g, choice.protocol);
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
        if (g.system.nvls.channels > 0)
            return nvls(g);
        break;
    case Algorithm::ring:
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
    case Algorithm::pat:
    case Algorithm::direct:
        break;
    }
    if (choice.protocol != Protocol::simple)
        return low_latency(g, choice.protocol);
    return g.flows_once() ? simple_chain(g) : simple_ring(g);
}

} // namespace

GroupTiming group_timing(const Cluster& cluster, const GroupSystem& s, const ModelConstants& constants) {
    GroupTiming t;
    t.link = link_profile(constants, cluster, s.version, s.nvlink);
    t.fabric = fabric_profile(constants, cluster.fabric.kind);
    const double nvlink = cluster.node.nvlink.bandwidth * 1e-9;
    if (s.nvlink) {
        t.intra_scale = nvlink * s.link_share / t.link.nvlink;
        t.nvls_scale = 9.0 / 8 * s.local / (s.local + 1.0);
    } else {
        // PCIe: a pair reaches most of the link; larger rings cross root ports and sockets.
        t.intra_scale = pcie_scale(cluster, t.link, s.group.max_ranks_per_node);
    }
    t.memory_copy = kMemoryCopy * cluster.gpu.memory_bandwidth * 1e-9;
    if (t.memory_copy <= 0)
        t.memory_copy = t.link.simple.copy_gather;
    if (s.nodes > 1)
        add_network(cluster, s, constants, t);
    const bool known = fits(t.link, cluster.gpu.name);
    const bool same_links = !s.nvlink || (std::abs(nvlink / t.link.nvlink - 1) < 0.05 && s.nvswitch);
    const bool fabric = s.nodes == 1 || t.fabric.fitted;
    if (known && same_links && fabric && t.link.fitted)
        t.provenance = Provenance::fitted;
    else if (s.nvlink && s.nvswitch && fabric)
        t.provenance = Provenance::catalogue;
    return t;
}

TimeTerms node_time(const Collective& c, const Choice& choice, const GroupSystem& s, const GroupTiming& t) {
    if (choice.algorithm == Algorithm::direct)
        return point_to_point_time(c, s, t);
    const double bytes = static_cast<double>(c.bytes) / std::max(1, c.calls);
    const Node node{c,
                    s,
                    t,
                    std::max(1.0, bytes),
                    static_cast<double>(s.ranks),
                    static_cast<double>(std::max(1, s.ring_ctas))};
    TimeTerms terms = one_operation(node, choice);
    if (c.calls < 2)
        return terms;
    // The operations of one group share the launch; large ones follow one another, small ones run side by
    // side on the CTAs that others leave free.
    const double used = std::clamp(node.bytes / kBytesPerCta, 1.0, node.ctas);
    const double turns = 1 + (c.calls - 1.0) * used / node.ctas;
    terms.near *= turns;
    terms.fill *= turns;
    terms.transfer *= c.calls;
    terms.copy *= c.calls;
    return terms;
}

} // namespace echosim::nccl
