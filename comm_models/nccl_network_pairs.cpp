// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_network.h"

#include <algorithm>
#include <cmath>

// Transfers between pairs over the network: send/recv, all-to-all, gather, scatter.
// Microseconds, GB/s, bytes.
//
// One pair: T = start + a + S / min(NIC, channels x r): two channels of some 17 GB/s reach 35 of the 48 GB/s
// of a 400 Gb/s NIC (H100, presets/nccl_fabrics.json).
// All pairs: T = start + ramp + a + max(V_near/B_near, V_far/B_far) (1 + v/(2(V+v))) + batches,
//   V_far = S (n-m)/n over one GPU's share of the NICs, V_near = S (m-1+own)/n + what PXN takes over NVLink
//   to the neighbour on the destination's rail, S (n-m)/n (m-1)/m. The root of a gather or scatter carries
//   the same volumes. Other sizes for each pair: the rank with the most bytes decides.
namespace echosim::nccl::network {
namespace {

constexpr double kLlPerChannel = 16 * 1024; // bytes of one transfer that still go by LL
constexpr double kBatch = 0.5;              // us for each further eight peers of other nodes

double channels_per_peer(const Group& g) {
    return std::max(1, g.system.p2p_per_peer);
}

// One GPU's share of the network, as far as its channels fill it. `node` is the rate of the GPUs that the
// node with the fewest holds: where nodes differ, each GPU still has its own share.
double far_rate(double node, double peers, const Group& g) {
    const double channels = std::min(std::max(1.0, 1.0 * g.system.p2p_pool), channels_per_peer(g) * peers);
    const double round_trip = std::max(g.timing.round_trip, 2 * hop(Protocol::simple, 0, g));
    const double window = channels * g.system.buffer / (round_trip * kPerUs);
    return std::min({node / g.system.local, channels * g.cta_rate, window});
}

TimeTerms one_pair(const Group& g) {
    const bool low = g.bytes <= channels_per_peer(g) * kLlPerChannel;
    TimeTerms t;
    t.start = g.timing.link.pair.start + g.timing.fabric.start;
    t.far = hop(low ? Protocol::ll : Protocol::simple, low ? g.bytes : 0, g) + 0.5 * g.timing.round_trip;
    double rate = far_rate(g.timing.far_rate, 1, g);
    if (g.local > 1) // as nccl-tests sends, most ranks have their neighbour on the same node
        rate = std::min(rate, g.timing.link.pair.bandwidth * g.timing.intra_scale);
    t.transfer = g.bytes / (rate * kPerUs);
    return t;
}

} // namespace

TimeTerms pairs(const Group& g) {
    if (g.call.kind == CollectiveKind::send_recv)
        return one_pair(g);
    const AllToAllLink& link = g.timing.link.all_to_all;
    const double bytes =
        std::max(g.bytes, static_cast<double>(g.call.largest_rank_bytes) / std::max(1, g.call.calls));
    const double peers = g.ranks - g.local;
    const double remote = bytes * peers / g.ranks;
    double near = bytes * (g.local - 1 + link.own) / g.ranks;
    if (g.system.nvlink && g.system.pxn)
        near += remote * (g.local - 1) / g.local;
    const double near_rate = link.bandwidth * g.timing.intra_scale;
    const double network = far_rate(g.timing.all_pairs_rate, peers, g);
    const double near_time = near / (near_rate * kPerUs);
    const double far_time = remote / (network * kPerUs);
    // The knee is a time of the slower resource.
    const double volume = near_time > far_time ? near : remote;
    const double knee = near_time > far_time ? link.knee : link.knee * network / near_rate;
    TimeTerms t;
    t.start = link.start + g.timing.fabric.start + link.ramp * std::min(1.0, bytes / g.ranks / link.ramp_end);
    t.far = hop(Protocol::simple, 0, g) + 0.5 * g.timing.round_trip +
            kBatch * std::max(0.0, std::ceil(peers / 8) - 1);
    t.transfer = std::max(near_time, far_time);
    t.fill = t.transfer * 0.5 * knee / (volume + knee);
    return t;
}

} // namespace echosim::nccl::network
