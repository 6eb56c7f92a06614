// SPDX-License-Identifier: Apache-2.0
#include "comm_models/transports.h"

#include "comm_models/nccl_model.h"

#include <algorithm>
#include <cmath>

namespace echosim {
namespace {

using nccl::GroupSystem;
using nccl::GroupTiming;

constexpr double kPerUs = 1000;      // bytes/us of 1 GB/s
constexpr double kPeerToPeer = 0.88; // of the NVLink rate that one copy reaches (nvbandwidth: 396 of 450)
constexpr double kCopyEngine = 0.95; // of that, for batches of copies
constexpr double kFewBatchBytes = 512.0 * 1024 * 1024;

constexpr double kMulticast = 0.69; // of the NVLink rate, for symmetric memory through the switch
constexpr double kPeers = 0.8;      // and between peers

struct DeepEpKernel {
    double start, cap, per_sm, knee; // us, share of NVLink, GB/s of an SM, bytes
};
constexpr DeepEpKernel kDispatch{25.6, 288.0 / 450, 14.9, 6.6e6};
constexpr DeepEpKernel kCombine{40.0, 306.0 / 450, 17.8, 17.9e6};
constexpr int kDeepEpSms = 20;
constexpr double kDeepEpNetwork = 0.86;
constexpr int kPipelineSms = 16;

// What a transport takes: us, of which `latency` does not depend on bytes, and bytes of one GPU.
struct Taken {
    double us = 0;
    double latency = 0;
    int ctas = 0;
    double nvlink_bytes = 0;
    double nic_bytes = 0;
    double hbm_bytes = 0;
};

bool is_one_of(CollectiveKind kind, std::initializer_list<CollectiveKind> kinds) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

double nvlink_rate(const GroupTiming& t) {
    return t.link.nvlink * t.intra_scale;
}

std::optional<Taken> copy_engine(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    if (s.version < 228 || s.nodes > 1 ||
        !is_one_of(c.kind, {CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::gather,
                            CollectiveKind::scatter}))
        return std::nullopt;
    const double sent = static_cast<double>(c.bytes) * (s.ranks - 1) / s.ranks;
    Taken taken;
    taken.latency = 10;
    if (sent > kFewBatchBytes)
        taken.latency += 2 * std::floor((s.ranks - 1) / 8.0);
    taken.us = taken.latency + sent / (kCopyEngine * kPeerToPeer * nvlink_rate(t) * kPerUs);
    taken.nvlink_bytes = sent;
    taken.hbm_bytes = 2 * sent;
    return taken;
}

std::optional<Taken> user_buffers(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    if (s.nodes > 1 || !is_one_of(c.kind, {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}))
        return std::nullopt;
    const double steps = s.ranks - 1;
    const double bytes = static_cast<double>(c.bytes);
    Taken taken;
    taken.nvlink_bytes = bytes * steps / s.ranks;
    taken.hbm_bytes = 2 * taken.nvlink_bytes;
    if (c.transport == Transport::te_pipeline) {
        taken.ctas = c.sms > 0 ? c.sms : kPipelineSms;
        taken.latency = 4 * 6;
        const double rate = std::min(0.8 * nvlink_rate(t), 22.0 * taken.ctas);
        taken.us = taken.latency + taken.nvlink_bytes / (rate * kPerUs);
        return taken;
    }
    taken.ctas = 1;
    taken.latency = 5 + steps * 4;
    taken.us = taken.latency + taken.nvlink_bytes / (kPeerToPeer * nvlink_rate(t) * kPerUs);
    if (c.kind == CollectiveKind::reduce_scatter) {
        // the parts that arrived are summed at the end, at the rate of a copy
        const double sum = bytes + bytes / s.ranks;
        taken.us += sum / (t.link.simple.copy_gather * kPerUs);
        taken.hbm_bytes += sum;
    }
    return taken;
}

std::optional<Taken> deepep(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    if (!is_one_of(c.kind, {CollectiveKind::all_to_all, CollectiveKind::reduce_scatter}))
        return std::nullopt;
    const DeepEpKernel& kernel = c.kind == CollectiveKind::all_to_all ? kDispatch : kCombine;
    const double volume = static_cast<double>(std::max(c.bytes, c.largest_rank_bytes));
    Taken taken;
    taken.ctas = c.sms > 0 ? c.sms : kDeepEpSms;
    taken.latency = kernel.start;
    const double cap = kernel.cap * nvlink_rate(t), of_sms = kernel.per_sm * taken.ctas;
    const double rate = std::pow(std::pow(cap, -10) + std::pow(of_sms, -10), -0.1);
    double transfer = volume * (1 + 0.5 * kernel.knee / (volume + kernel.knee)) / (rate * kPerUs);
    if (s.nodes > 1) {
        taken.latency += t.fabric.hop[static_cast<std::size_t>(Protocol::simple)] + t.hop_extra;
        taken.nic_bytes = volume * (s.nodes - 1) / s.nodes;
        transfer = std::max(transfer, taken.nic_bytes / (kDeepEpNetwork * s.nic_rate / s.local * kPerUs));
    }
    taken.us = taken.latency + transfer;
    taken.nvlink_bytes = volume;
    taken.hbm_bytes = 2 * volume;
    return taken;
}

std::optional<Taken> symmetric(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    const auto choice = nccl::symmetric_kernel(c, s);
    if (!choice)
        return std::nullopt;
    const double flags =
        choice->low_latency ? 2.0 / 9 : 1; // twice the data; the rest of the 9 is not traffic
    Taken taken;
    const double link = (choice->multicast ? kMulticast : kPeers) * nvlink_rate(t);
    taken.us = std::max(choice->us, choice->base_us + choice->bus_bytes * flags / (link * kPerUs));
    taken.latency = choice->base_us;
    taken.ctas = choice->ctas;
    taken.nvlink_bytes = choice->bus_bytes * flags;
    taken.hbm_bytes = 2 * static_cast<double>(c.bytes);
    return taken;
}

std::optional<Taken> taken_by(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    switch (c.transport) {
    case Transport::copy_engine:
        return copy_engine(c, s, t);
    case Transport::te_ring_exchange:
    case Transport::te_pipeline:
        return user_buffers(c, s, t);
    case Transport::deepep:
        return deepep(c, s, t);
    case Transport::nccl:
        break;
    }
    return c.buffers == Buffers::symmetric ? symmetric(c, s, t) : std::nullopt;
}

} // namespace

std::optional<CommCost> transport_cost(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    if ((c.transport == Transport::nccl && c.buffers != Buffers::symmetric) || !s.nvlink || s.ranks < 2)
        return std::nullopt;
    const std::optional<Taken> taken = taken_by(c, s, t);
    if (!taken)
        return std::nullopt;
    CommCost cost;
    cost.time = taken->us * 1e-6;
    cost.latency = taken->latency * 1e-6;
    cost.algorithm = Algorithm::direct;
    cost.protocol = Protocol::simple;
    cost.channels = taken->ctas;
    cost.nvlink_bytes = taken->nvlink_bytes;
    cost.nic_bytes = cost.pcie_bytes = taken->nic_bytes;
    cost.hbm_bytes = taken->hbm_bytes;
    cost.bus_bandwidth = static_cast<double>(c.bytes) / cost.time * bus_factor(c.kind, s.ranks);
    const bool measured = c.transport == Transport::deepep && t.link.arch == 2 && s.nodes == 1;
    cost.provenance = measured ? Provenance::fitted : Provenance::assumed;
    return cost;
}

} // namespace echosim
