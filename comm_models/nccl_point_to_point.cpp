// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_timing.h"

#include <algorithm>
#include <cmath>

// Point-to-point transfers: all-to-all and its relatives as groups of sends, send/recv of one pair. us, GB/s.
namespace echosim::nccl {
namespace {

constexpr double kPerUs = 1000.0;

double network_start(const GroupSystem& s, const GroupTiming& t) {
    if (s.nodes < 2)
        return 0;
    return t.fabric.start + t.fabric.hop[2] + t.hop_extra;
}

double send_recv(double bytes, const GroupSystem& s, const GroupTiming& t) {
    double rate = t.link.pair.bandwidth * t.intra_scale;
    if (s.nodes > 1)
        rate = s.nic_rate / s.local;
    return t.link.pair.start + network_start(s, t) + bytes / (rate * kPerUs);
}

// V/B of the slower of NVLink and NIC, with half a knee of extra volume while the message is small; the copy
// of a rank's own part costs the share `own` of a message, and the protocols' ramp ends at `ramp_end` bytes a
// peer. PXN: what goes to another node over the NIC of a neighbour crosses NVLink too.
double all_to_all(double bytes, const GroupSystem& s, const GroupTiming& t) {
    const double n = s.ranks;
    const double m = s.local;
    const AllToAllLink& link = t.link.all_to_all;
    const double remote = s.nodes > 1 ? bytes * (n - m) / n : 0;
    double near = bytes * (m - 1 + link.own) / n;
    if (s.nvlink)
        near += remote * (m - 1) / m;
    const double near_time = near / (link.bandwidth * t.intra_scale * kPerUs);
    const double far_time = remote > 0 ? remote / (s.nic_rate / m * kPerUs) : 0;
    const double volume = near_time > far_time ? near : remote;
    const double knee = 1 + 0.5 * link.knee / (volume + link.knee);
    const double ramp = link.ramp * std::min(1.0, bytes / n / link.ramp_end);
    // Peers of other nodes are served eight at a time by each channel's work batch.
    const double batches = s.nodes > 1 ? std::ceil((n - m) / 8) - 1 : 0;
    return link.start + ramp + network_start(s, t) + 0.5 * batches + std::max(near_time, far_time) * knee;
}

} // namespace

double point_to_point_time(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    const double bytes = static_cast<double>(c.bytes);
    if (c.kind == CollectiveKind::send_recv)
        return send_recv(bytes, s, t);
    return all_to_all(bytes, s, t);
}

} // namespace echosim::nccl
