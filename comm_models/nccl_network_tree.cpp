// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_network.h"

#include <algorithm>
#include <cmath>

// Trees, NVLS over several nodes, CollNet and PAT. Microseconds, GB/s, bytes.
//
// Double binary tree, a chain inside each node: d = floor(log2 N),
//   T = start + 2((m-1) near hop + d a) + 2 d C c/B + S / min(link m/(2(m-1)), B/u)
// u = 1 for two nodes, 2 for more: a node is interior in one tree (one parent, two children) and a leaf in
// the other. C is 512 KiB, 92 KiB of LL128; LL is cut through. NVLSTree: the multicast stage of one node at
// 93 % of its rate, pipelined with the same tree over its heads. CollNet: each NIC sends and receives its
// share once, the switches reduce. PAT: log2(N) rounds over the network, work linear in n on each rank.
namespace echosim::nccl::network {
namespace {

constexpr double kNearLl = 0.75; // us of a hop of the chain inside a node, fitted with the hops between nodes
constexpr double kNearSimple = 0.45; // of a ring's hop: no hand-over between two buffers of the same CTA
constexpr double kChunkSimple = 512 * 1024;
constexpr double kChunkLl128 = 92 * 1024;
constexpr double kSharpDirect = 31; // us of the reduction in the switches, from the tuner
constexpr double kSharpChain = 30;
constexpr double kPatRounds = 1.5; // rounds that overlap
constexpr double kPatRank = 2.8;   // us of local work for each rank, from the tuner
constexpr double kPatRate = 0.85;  // of the NIC
constexpr double kOneWay = 1.3;    // a gather uses one direction of the multicast only

double near_hop(Protocol protocol, const Group& g) {
    if (protocol == Protocol::simple)
        return kNearSimple * g.timing.link.simple.hop;
    return protocol == Protocol::ll ? kNearLl : kNearLl128;
}

double per_nic(const Group& g) {
    return g.nodes > 2 ? 2 : 1;
}

// Up and down the tree, and across sites as often as the tree over the sites is deep.
double tree_delay(Protocol protocol, double message, const Group& g) {
    const double sites = std::ceil(std::log2(std::max(1, g.system.group.sites)));
    return 2 * (g.depth() * hop(protocol, message, g) + sites * 0.5 * g.timing.round_trip);
}

// Chunk sizes of NVLSTree, largest first, and the multiple of CTAs x heads x chunk bytes from which each is
// used (src/enqueue.cc).
struct ChunkRule {
    double chunk, from;
};
constexpr ChunkRule kNvlsTreeChunks[] = {{262144, 32}, {131072, 16}, {65536, 4}, {32768, 0}};

double nvls_rate(double bytes, double chunk, const Group& g) {
    const NvlsLink& link = g.timing.link.nvls;
    const double scale = g.timing.intra_scale * g.timing.nvls_scale;
    const double grow = std::clamp(std::log2(std::max(bytes, 1.0) / (1024 * kMiB)) / 2, 0.0, 1.0);
    const double cap = (link.cap + (link.cap_large - link.cap) * grow) * scale;
    const double rate = std::min(cap, scale / (1 / link.bandwidth + link.chunk_cost * 65536 / chunk));
    return kThroughTree * rate * (g.reduces_all() ? 1 : kOneWay);
}

TimeTerms nvls_with_chunk(double bytes, double chunk, double network, const Group& g) {
    const double rate = std::min(nvls_rate(bytes, chunk, g), network);
    TimeTerms t;
    t.transfer = bytes / (rate * kPerUs);
    t.fill = 2 * std::min(bytes, 1.0 * g.system.nvls_ctas * g.system.nvls.channels * chunk) / (rate * kPerUs);
    return t;
}

// A message just below a switch of the chunk size costs no more than one just above it.
TimeTerms nvls_body(double network, const Group& g) {
    const double loop = 1.0 * g.system.nvls_ctas * g.system.nvls.channels;
    TimeTerms least;
    least.transfer = 1e300;
    for (const ChunkRule& rule : kNvlsTreeChunks) {
        const double from = rule.from * loop * rule.chunk;
        const TimeTerms t = nvls_with_chunk(std::max(g.bytes, from), rule.chunk, network, g);
        if (t.total() < least.total())
            least = t;
        if (g.bytes >= from)
            break;
    }
    return least;
}

} // namespace

TimeTerms tree(Protocol protocol, const Group& g) {
    const bool simple = protocol == Protocol::simple;
    const LowLatencyLink& low = protocol == Protocol::ll ? g.timing.link.ll : g.timing.link.ll128;
    double within = (simple ? g.timing.link.simple.bandwidth : low.bandwidth) * g.timing.intra_scale;
    if (protocol == Protocol::ll && g.timing.link.ll_per_rank > 0)
        within = std::min(within, g.timing.link.ll_per_rank * g.ranks);
    if (g.local > 1)
        within *= g.local / (2 * (g.local - 1)) * (simple ? kThroughTree : 1);
    const double network = rate(protocol, g);
    TimeTerms t;
    t.start = start(protocol, g);
    t.near = 2 * (g.local - 1) * near_hop(protocol, g);
    t.far = tree_delay(protocol, g.bytes, g);
    t.transfer = g.bytes / (std::min(within, network / per_nic(g)) * kPerUs);
    if (protocol != Protocol::ll) {
        const double chunk = std::min(simple ? kChunkSimple : kChunkLl128, g.bytes / g.ctas);
        t.fill = 2 * g.depth() * chunk * g.ctas / (network * kPerUs);
    }
    return t;
}

TimeTerms nvls_tree(const Group& g) {
    TimeTerms t = nvls_body(rate(Protocol::simple, g) / per_nic(g), g);
    t.start = g.timing.link.nvls.start + g.timing.fabric.start;
    t.far = tree_delay(Protocol::simple, 0, g);
    return t;
}

TimeTerms collnet(Algorithm algorithm, const Group& g) {
    const double network = kThroughTree * rate(Protocol::simple, g);
    TimeTerms t;
    if (algorithm == Algorithm::nvls) {
        t = nvls_body(network, g);
        t.start = g.timing.link.nvls.start + g.timing.fabric.start;
        t.far = kSharpDirect;
        return t;
    }
    const bool direct = algorithm == Algorithm::collnet_direct;
    double within = kThroughTree * g.timing.link.simple.bandwidth * g.timing.intra_scale;
    if (g.local > 1)
        within *= g.local / ((g.reduces_all() ? 2 : 1) * (g.local - 1));
    const double share = g.reduces_all() ? 1 : (g.nodes - 1) / g.nodes;
    t.start = start(Protocol::simple, g);
    t.near = (g.local - 1) * (direct ? 0.8 : 2 * near_hop(Protocol::simple, g));
    t.far = direct ? kSharpDirect : kSharpChain;
    t.transfer = std::max(g.bytes * share / (network * kPerUs), g.bytes / (within * kPerUs));
    return t;
}

TimeTerms pat(const Group& g) {
    TimeTerms t;
    t.start = start(Protocol::simple, g);
    t.near = kPatRank * g.ranks;
    t.far = g.depth() * hop(Protocol::ll128, 0, g) / kPatRounds;
    t.transfer = g.bytes * (g.ranks - 1) / g.ranks / (kPatRate * rate(Protocol::simple, g) * kPerUs);
    return t;
}

} // namespace echosim::nccl::network
