// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_timing.h"

#include <algorithm>
#include <cmath>

// Point-to-point transfers within a node: all-to-all and its relatives as groups of sends, send/recv of one
// pair. us, GB/s, bytes.
//
// S bytes of one rank over n ranks, m = S/n for each peer, V = S (n-1+own)/n; `own`: the copy of a rank's own
// part takes CTAs from the transfers. Each channel moves one buffer step of 512 KiB at a time; a first step
// is written before it can be read, so it does not overlap (32 channels: 16 MiB).
//   T = start + peers log2 n + ramp min(1, m/e) + V/B + min(S, 32 steps)/one_step
// Messages up to e go by LL. e is 64 KiB from NCCL 2.29 on (16 KiB for each channel of a peer), 16 KiB
// before, with 0.28 of the ramp and 0.95 of the rate; there messages of one step at most pass peer by peer:
//   T >= start + peers log2 n + ramp + n min(m, one step)/unpiped
// (B200 tables of NCCL 2.27.5, 2.28.9 and 2.29.2, A100 of 2.27.3.)
// Over PCIe the link is all that counts: T = start + peers log2 n + max(V/B, 2 V(min(m, 32 KiB))/B) with the
// ring's B and own = 0; LL sends every byte twice.
namespace echosim::nccl {
namespace {

constexpr double kPerUs = 1000.0;
constexpr double kStep = 512 * 1024;  // bytes of a buffer step
constexpr double kChannels = 32;      // of all peers together
constexpr int kChannelwiseLl = 229;   // NCCL 2.29
constexpr double kLlMost = 64 * 1024; // bytes to one peer by LL
constexpr double kOlderLlMost = 16 * 1024;
constexpr double kPcieLlMost = 32 * 1024;
constexpr double kOlderRamp = 0.28; // relative to 2.29
constexpr double kOlderRate = 0.95;
constexpr double kOlderStart = 0.6; // us

double older_start(const GroupSystem& s) {
    return s.version < kChannelwiseLl ? kOlderStart : 0;
}

TimeTerms send_recv(double bytes, const GroupSystem& s, const GroupTiming& t) {
    TimeTerms terms;
    terms.start = t.link.pair.start + older_start(s);
    terms.transfer = bytes / (t.link.pair.bandwidth * t.intra_scale * kPerUs);
    return terms;
}

TimeTerms pcie_pairs(double bytes, const GroupSystem& s, const GroupTiming& t) {
    const double peers = s.ranks - 1;
    const double share = bytes / s.ranks;
    const double rate = t.link.simple.bandwidth * t.intra_scale * kPerUs;
    TimeTerms terms;
    terms.start = t.link.all_to_all.start + older_start(s) + t.link.all_to_all.peers * std::log2(s.ranks);
    terms.transfer = share * peers / rate;
    terms.fill = std::max(0.0, 2 * std::min(share, kPcieLlMost) * peers / rate - terms.transfer);
    return terms;
}

TimeTerms all_pairs(double bytes, const GroupSystem& s, const GroupTiming& t) {
    const AllToAllLink& link = t.link.all_to_all;
    const bool older = s.version < kChannelwiseLl;
    const double n = s.ranks;
    const double share = bytes / n;
    const double ramp =
        link.ramp * (older ? kOlderRamp : 1) * std::min(1.0, share / (older ? kOlderLlMost : kLlMost));
    const double rate = link.bandwidth * t.intra_scale * (older ? kOlderRate : 1) * kPerUs;
    TimeTerms terms;
    terms.start = link.start + older_start(s) + link.peers * std::log2(n);
    terms.near = ramp;
    terms.transfer = share * (n - 1 + link.own) / rate;
    if (link.one_step > 0)
        terms.fill = std::min(bytes, kChannels * kStep) / (link.one_step * t.intra_scale * kPerUs);
    if (older && link.unpiped > 0) {
        const double unpiped = n * std::min(share, kStep) / (link.unpiped * t.intra_scale * kPerUs);
        terms.fill = std::max(terms.fill, unpiped - terms.transfer);
    }
    return terms;
}

} // namespace

TimeTerms point_to_point_time(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    const double bytes = static_cast<double>(std::max(c.bytes, c.largest_rank_bytes));
    if (c.kind == CollectiveKind::send_recv)
        return send_recv(bytes, s, t);
    return s.nvlink ? all_pairs(bytes, s, t) : pcie_pairs(bytes, s, t);
}

} // namespace echosim::nccl
