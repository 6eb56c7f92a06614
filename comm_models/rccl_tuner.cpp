// SPDX-License-Identifier: Apache-2.0
#include "comm_models/rccl_tuner.h"

#include "comm_models/rccl_tables.h"

#include <algorithm>
#include <cmath>
#include <optional>

// time = latency + S / (c w ratio correction[log2(S / 64)] n / k), ring; half the rate for trees. us, GB/s.
// Source: ROCm/rccl src/graph/tuning.cc, src/rccl_wrap.cc; the sizes of the direct exchanges are those of the
// measured table of eight MI300X.
namespace echosim::nccl {
namespace {

bool is_gather_scatter(CollectiveKind kind) {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
}

double steps_of(CollectiveKind kind, double n) {
    if (kind == CollectiveKind::all_reduce)
        return 2 * (n - 1);
    return is_gather_scatter(kind) ? n - 1 : n;
}

double ring_latency(const RcclModel& m, const GroupSystem& s, CollectiveKind kind, std::size_t p,
                    double nic) {
    const double base = rccl_base_latency(Algorithm::ring)[p];
    const double far = m.ring_far[p] + nic;
    if (kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce)
        return base + (s.nodes > 1 ? m.ring_far[p] : m.ring_near[p]);
    const double times = kind == CollectiveKind::all_reduce ? 2 : 1;
    const double far_steps = times * (s.nodes - 1.0);
    const double post = s.nodes > 1 ? s.post * (p == 2 ? 3 : 1) : 0;
    return base + (times * (s.ranks - 1.0) - far_steps) * std::max(m.ring_near[p], post) + far_steps * far;
}

double tree_latency(const RcclModel& m, const GroupSystem& s, std::size_t p, double nic) {
    const double depth = std::floor(std::log2(static_cast<double>(s.nodes)));
    return rccl_base_latency(Algorithm::tree)[p] +
           2 * ((s.local - 1) * m.tree_near[p] + depth * (m.tree_far[p] + nic));
}

void keep_allowed(const GroupSystem& s, CollectiveKind kind, std::vector<TunerEntry>& entries) {
    const auto k = static_cast<std::size_t>(kind);
    std::vector<TunerEntry> kept;
    for (const TunerEntry& e : entries)
        if ((s.algorithms[k] >> static_cast<unsigned>(e.algorithm) & 1U) != 0 &&
            (s.protocols[k] >> static_cast<unsigned>(e.protocol) & 1U) != 0)
            kept.push_back(e);
    if (!kept.empty())
        entries = kept;
}

} // namespace

std::vector<TunerEntry> rccl_entries(const GroupSystem& s, CollectiveKind kind, double nic_latency) {
    const RcclModel& m = rccl_model(s.rccl_model);
    const double n = s.ranks;
    const double bus = s.ring.channels * (s.nodes <= 2 ? s.ring.intra : s.ring.inter);
    const std::size_t column = s.nodes <= 2 ? 0 : 1;
    std::vector<TunerEntry> entries;
    for (const std::size_t p : {0U, 1U, 2U}) {
        if (p == 1 && !m.ll128 && !s.ll128_asked[static_cast<std::size_t>(kind)])
            continue;
        const auto protocol = static_cast<Protocol>(p);
        const double nic = nic_latency * (p == 2 ? 2 : 1);
        entries.push_back({Algorithm::ring, protocol, ring_latency(m, s, kind, p, nic),
                           bus * m.ring_ratio[column][p] * n / steps_of(kind, n)});
        const bool tree = kind == CollectiveKind::all_reduce && !(p == 2 && s.nodes == 1 && s.mesh);
        if (tree && m.tree_ratio[column][p] > 0)
            entries.push_back(
                {Algorithm::tree, protocol, tree_latency(m, s, p, nic), 0.5 * bus * m.tree_ratio[column][p]});
    }
    if (s.mesh && s.nodes == 1 && (kind == CollectiveKind::all_reduce || is_gather_scatter(kind)))
        entries.push_back(
            {Algorithm::direct, Protocol::simple, rccl_timing().direct_start, bus * n / (n - 1)});
    keep_allowed(s, kind, entries);
    return entries;
}

double rccl_tuner_time(const TunerEntry& e, const GroupSystem& s, const Collective& c) {
    const RcclModel& m = rccl_model(s.rccl_model);
    const double bytes = static_cast<double>(c.bytes);
    double rate = e.bandwidth;
    if (e.algorithm != Algorithm::direct && bytes >= 64) {
        const auto& table = e.algorithm == Algorithm::tree ? m.tree_correction : m.ring_correction;
        const int index = std::ilogb(bytes / 64);
        if (index < 27)
            rate *= table[static_cast<std::size_t>(e.protocol)][static_cast<std::size_t>(index)];
    }
    const double operations = e.algorithm == Algorithm::ring ? std::max(1, c.calls) : 1;
    return e.latency * operations + bytes / (1000 * std::max(rate, 1e-3));
}

const TunerEntry& rccl_choose(const std::vector<TunerEntry>& entries, const GroupSystem& s,
                              const Collective& c) {
    const double bytes = static_cast<double>(c.bytes);
    const RcclTiming& t = rccl_timing();
    const bool direct = c.kind != CollectiveKind::all_reduce || (bytes >= t.mesh_from && bytes <= t.mesh_to);
    const RcclModel::Range& range = rccl_model(s.rccl_model).ranges[static_cast<std::size_t>(c.kind)];
    std::optional<Protocol> asked;
    if (s.nodes > 1 && range.ll128 > 0) {
        const double size = is_gather_scatter(c.kind) ? bytes / s.ranks : bytes;
        const double most = range.ll128 + range.growth * std::log2(static_cast<double>(s.nodes));
        asked = size <= range.ll ? Protocol::ll : size <= most ? Protocol::ll128 : Protocol::simple;
    }
    const TunerEntry* best = nullptr;
    double least = 0;
    for (const bool any : {false, true}) {
        for (const TunerEntry& e : entries) {
            if (e.algorithm == Algorithm::direct && direct)
                return e;
            const bool fits = e.algorithm != Algorithm::direct && (!asked || *asked == e.protocol);
            const double time = rccl_tuner_time(e, s, c);
            if ((any || fits) && (best == nullptr || time < least)) {
                least = time;
                best = &e;
            }
        }
        if (best != nullptr)
            break;
    }
    return *best;
}

} // namespace echosim::nccl
