// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_channels.h"

#include <algorithm>
#include <cmath>

// CTAs, threads and chunks (src/enqueue.cc, src/graph/tuning.cc, src/transport/nvls.cc). Bytes.
//
//   CTAs      while S < CTAs x threads x threshold: one CTA less, then half the threads; threshold a thread
//             LL, LL128 8 (ring LL x n), Simple 64, CollNet 512 x heads
//   from 2.22 CTAs <= traffic / 32 KiB, traffic = S (x 2 all-reduce) (x 4 LL)
//   chunk     one of 8 steps of the buffer (Simple 4 MiB, LL 512 KiB, LL128 4.69 MiB); ring Simple 4 steps;
//   LL
//             half a step, LL128 15/16; NVLS, NVLSTree, tree LL128 and PAT shrink it for small messages
namespace echosim::nccl {
namespace {

constexpr double kKiB = 1024;
constexpr double kCell = 32 * kKiB;
constexpr double kLlBuffer = 512.0 * 8 * 8 * 16;
constexpr double kLl128Buffer = 120.0 * 640 * 8 * 8;
constexpr double kLlPerChannel = 16 * kKiB;
constexpr int kLlByChannels = 229;
constexpr double kMostParts = 32; // of a transfer within a node, in steps

bool has_heads(Algorithm a) {
    return a == Algorithm::nvls || a == Algorithm::nvls_tree;
}
bool is_collnet(Algorithm a) {
    return a == Algorithm::collnet_direct || a == Algorithm::collnet_chain;
}

int most_threads(Algorithm algorithm, Protocol protocol, const GroupSystem& s) {
    if (algorithm != Algorithm::ring && algorithm != Algorithm::tree)
        return 640;
    if (protocol == Protocol::ll128)
        return s.ll128_threads > 0 ? s.ll128_threads : 640;
    if (s.threads > 0)
        return s.threads;
    const bool slow = algorithm == Algorithm::ring && protocol == Protocol::simple &&
                      s.ring.intra * s.ring.channels <= 12; // PCIe Gen3 x16
    return slow ? 256 : 512;
}

double threshold(Algorithm algorithm, Protocol protocol, const GroupSystem& s) {
    if (is_collnet(algorithm))
        return 512.0 * std::max(1, s.collnet_chain.channels);
    if (protocol == Protocol::simple)
        return 64;
    return protocol == Protocol::ll && algorithm == Algorithm::ring ? 8.0 * s.ranks : 8;
}

// CTAs and threads of rings, trees, PAT and CollNet.
void shrink(const Collective& c, Algorithm algorithm, Protocol protocol, const GroupSystem& s,
            Layout& layout) {
    const double bytes = static_cast<double>(c.bytes);
    const double least = threshold(algorithm, protocol, s);
    const double needed = std::floor(bytes / (layout.threads * least));
    layout.channels = static_cast<int>(std::clamp(needed, 1.0, static_cast<double>(layout.channels)));
    while (bytes < layout.channels * layout.threads * least && layout.threads % 128 == 0)
        layout.threads /= 2;
    if (!tuning_table(s.version).continuous_bytes)
        return;
    double traffic = bytes * (protocol == Protocol::ll ? 4 : 1);
    if (c.kind == CollectiveKind::all_reduce)
        traffic *= 2;
    const double cells = std::max(1.0, std::ceil(traffic / kCell));
    layout.channels = static_cast<int>(std::min<double>(layout.channels, cells));
}

// The largest chunk of NVLS (128 KiB) and NVLSTree (512 KiB) that the message has enough loops of.
double heads_chunk(double bytes, Algorithm algorithm, const GroupSystem& s) {
    const double loop = 1.0 * s.nvls_ctas * s.nvls.channels;
    if (algorithm == Algorithm::nvls) {
        if (bytes < 2 * loop * 32 * kKiB)
            return 16 * kKiB;
        if (bytes < 8 * loop * 64 * kKiB)
            return 32 * kKiB;
        return bytes < 64 * loop * 128 * kKiB ? 64 * kKiB : 128 * kKiB;
    }
    double chunk = 512 * kKiB;
    for (const double loops : {32.0, 16.0, 4.0, 1.0})
        if (bytes < loops * loop * chunk)
            chunk /= 2;
        else
            break;
    return chunk;
}

double tree_ll128_chunk(double bytes, double chunk, const GroupSystem& s, int channels) {
    const double local = std::max(1, s.local);
    const double steps = 1 + std::log2(static_cast<double>(s.nodes)) + 0.1 * local;
    while (bytes / (channels * chunk) < steps * 64 / local && chunk > 128 * kKiB)
        chunk /= 2;
    while (bytes / (channels * chunk) < steps * 16 / local && chunk > 32 * kKiB)
        chunk /= 2;
    return chunk;
}

double chunk_of(const Collective& c, Algorithm algorithm, Protocol protocol, const GroupSystem& s,
                const Layout& layout) {
    const double bytes = static_cast<double>(c.bytes);
    if (has_heads(algorithm))
        return heads_chunk(bytes, algorithm, s);
    if (protocol == Protocol::ll)
        return kLlBuffer / 8 / 2;
    if (protocol == Protocol::ll128) {
        const double chunk = kLl128Buffer / 8 * 15 / 16;
        return algorithm == Algorithm::tree ? tree_ll128_chunk(bytes, chunk, s, layout.channels) : chunk;
    }
    double chunk = s.buffer / 8;
    if (algorithm == Algorithm::ring &&
        (c.kind == CollectiveKind::all_reduce || c.kind == CollectiveKind::all_gather ||
         c.kind == CollectiveKind::reduce_scatter))
        return 4 * chunk;
    if (algorithm == Algorithm::pat) {
        const double loops = c.kind == CollectiveKind::all_gather ? 32 : 16;
        while (chunk * layout.channels * loops > bytes && chunk > 64 * kKiB)
            chunk /= 2;
    }
    return chunk;
}

double message_of(const Collective& c, const GroupSystem& s) {
    return static_cast<double>(c.bytes) / (c.kind == CollectiveKind::send_recv ? 1 : s.ranks);
}

// Channels that a message starts with: the more peers share the pool, the fewer.
int first_channels(const GroupSystem& s) {
    int channels = std::max(1, s.p2p_per_peer);
    while (1.0 * channels * s.ranks > s.p2p_pool && channels > 1)
        channels /= 2;
    return channels;
}

// Each peer gets parts of at least a fraction of a step and at most some steps, over as few channels as that
// takes, and the more the fewer peers share the pool (src/enqueue.cc).
Layout point_to_point(const Collective& c, const GroupSystem& s) {
    const bool pair = c.kind == CollectiveKind::send_recv;
    const double step = s.nodes > 1 ? s.p2p_net_chunk : (s.nvlink ? 512 : 128) * kKiB;
    const double least = s.nodes > 1 ? step / 2 : step / 8;
    const double most = s.nodes > 1 ? step : kMostParts * step;
    const double message = message_of(c, s);
    int channels = first_channels(s);
    double part = std::max(least, message / channels);
    while (part > most && channels <= s.p2p_per_peer / 2) {
        channels *= 2;
        part = std::max(least, message / channels);
    }
    const double used = std::clamp(std::ceil(message / part), 1.0, static_cast<double>(channels));
    const double peers = pair ? 1 : s.ranks - 1.0;
    Layout layout;
    layout.channels = static_cast<int>(std::min<double>(std::max(1, s.p2p_pool), used * peers));
    layout.threads = 640;
    layout.chunk = step;
    if (s.nodes > 1 && message < 8 * step)
        layout.chunk = message < step ? step / 4 : step / 2;
    return layout;
}

} // namespace

Protocol point_to_point_protocol(const Collective& c, const GroupSystem& s) {
    if (s.amd)
        return Protocol::simple;
    int channels = std::max(1, s.p2p_per_peer);
    if (c.kind !=
        CollectiveKind::send_recv) // one node of B200: 64 KiB of eight peers from 2.29, 16 KiB before
        channels = s.version >= kLlByChannels ? first_channels(s) : 1;
    return message_of(c, s) <= channels * kLlPerChannel ? Protocol::ll : Protocol::simple;
}

int registered_channels(const Collective& c, Algorithm algorithm, const GroupSystem& s) {
    if (c.buffers != Buffers::registered)
        return 0;
    const bool blackwell = s.arch == 3;
    const bool gather = c.kind == CollectiveKind::all_gather;
    const bool scatter = c.kind == CollectiveKind::reduce_scatter;
    if (algorithm == Algorithm::nvls && s.nodes > 1)
        return gather ? 6 : scatter ? 7 : 10; // with SHARP
    if (algorithm == Algorithm::nvls) {
        const int budget = gather ? 32 : scatter ? (blackwell ? 48 : 40) : (blackwell ? 64 : 32);
        return std::max(1, (budget + s.nvls.channels - 1) / s.nvls.channels);
    }
    if (s.nodes > 1 && s.group.max_ranks_per_node == 1 && is_collnet(algorithm))
        return 1;
    // One GPU a node: the NIC reads and writes the buffers itself.
    if (s.nodes > 1 && s.group.max_ranks_per_node == 1 && algorithm == Algorithm::ring && (gather || scatter))
        return std::min(gather ? 1 : 4, s.ring_ctas);
    return 0;
}

Layout layout_of(const Collective& c, Algorithm algorithm, Protocol protocol, const GroupSystem& s) {
    if (algorithm == Algorithm::direct && c.kind == CollectiveKind::all_reduce) // AMD's mesh
        return {std::clamp(static_cast<int>(static_cast<double>(c.bytes) / kCell), 1, s.ring_ctas), 512,
                kCell};
    if (algorithm == Algorithm::direct)
        return point_to_point(c, s);
    Layout layout;
    layout.threads = most_threads(algorithm, protocol, s);
    layout.channels = std::max(1, has_heads(algorithm) ? s.nvls_ctas : s.ring_ctas);
    if (!has_heads(algorithm))
        shrink(c, algorithm, protocol, s, layout);
    layout.chunk = chunk_of(c, algorithm, protocol, s, layout);
    if (const int registered = registered_channels(c, algorithm, s); registered > 0)
        layout.channels = registered;
    return layout;
}

} // namespace echosim::nccl
