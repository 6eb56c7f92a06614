// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_tuner.h"

#include <algorithm>
#include <cmath>

// NCCL's tuner (src/graph/tuning.cc, enqueue.cc): for each algorithm and protocol a latency and a bandwidth,
// the smallest latency + bytes / bandwidth wins. Microseconds and GB/s.
namespace echosim::nccl {
namespace {

enum : std::size_t { kLl = 0, kLl128 = 1, kSimple = 2 };

std::size_t nodes_index(int nodes) {
    return nodes >= 3 ? 2 : static_cast<std::size_t>(nodes - 1);
}
int log2_floor(int n) {
    int result = 0;
    while ((n >>= 1) > 0)
        ++result;
    return result;
}
bool is_gather_scatter(CollectiveKind kind) {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
}

double steps_of(CollectiveKind kind, int ranks) {
    if (kind == CollectiveKind::all_reduce)
        return 2.0 * (ranks - 1);
    return is_gather_scatter(kind) ? ranks - 1.0 : ranks;
}

// Everything that the formulas of one communicator and collective share.
struct Context {
    const GroupSystem& s;
    const TuningTable& t;
    CollectiveKind kind;
    double nic_latency;
    std::size_t column; // N = 1, 2, more
    double steps, n;
    const LatencyTable& local;

    double ll_cap() const {
        const std::size_t row = s.nodes == 1 ? s.arch : (s.amd_cpu ? 1 : 0);
        return t.ll_cap[row][column];
    }
    double speed(const SearchGraph& graph) const { return s.nodes <= 2 ? graph.intra : graph.inter; }
};

double ring_bandwidth(const Context& c, std::size_t protocol) {
    const double count = c.s.ring.channels;
    const double bus = count * c.speed(c.s.ring);
    double rate = bus;
    if (protocol == kLl)
        rate = std::min(c.ll_cap(), c.t.ring_ll_share * bus);
    if (protocol == kLl128) {
        rate = std::min(0.92 * bus, count * c.t.ring_ll128_cap[c.s.arch][c.column]);
        if (c.s.nodes > 1 && c.s.local < 2)
            rate *= c.t.ring_ll128_one_gpu_factor;
    }
    return rate * c.n / c.steps;
}

double ring_latency(const Context& c, std::size_t protocol) {
    const double post = c.s.nodes > 1 ? (c.s.amd_cpu ? 2.0 : 1.0) * (protocol == kSimple ? 3 : 1) : 0;
    const double local = c.local.ring[protocol];
    if (c.kind != CollectiveKind::all_reduce && !is_gather_scatter(c.kind)) {
        const double hop = c.s.nodes > 1 ? c.t.net.ring[protocol] + c.nic_latency : local;
        return c.t.base.ring[protocol] + hop;
    }
    const int lost = c.t.inter_steps_count_all_nodes ? 0 : 1;
    double inter_steps = c.kind == CollectiveKind::all_reduce ? 2.0 * (c.s.nodes - lost) : c.s.nodes - 1.0;
    if (c.s.nodes == 1)
        inter_steps = 0;
    inter_steps = std::min(inter_steps, c.steps);
    const bool tree_latency = c.s.local == 1 && c.t.one_gpu_ring_uses_tree_latency;
    const double inter = (tree_latency ? c.t.net.tree[protocol] : c.t.net.ring[protocol]) + c.nic_latency;
    return c.t.base.ring[protocol] + (c.steps - inter_steps) * std::max(local, post) + inter_steps * inter;
}

double tree_bandwidth(const Context& c, std::size_t protocol) {
    const double count = c.s.ring.channels;
    const double tree =
        std::min(0.92 * count * c.speed(c.s.ring), count * c.t.tree_simple_cap[c.s.arch][c.column]);
    if (protocol == kLl)
        return 0.5 * std::min(tree / 3.8, c.ll_cap());
    if (protocol == kLl128)
        return 0.5 * std::min(tree * (c.s.nodes == 1 ? 7.0 / 9 : 15.0 / 16),
                              count * c.t.tree_ll128_cap[c.s.arch][c.column]);
    return 0.5 * tree;
}

double tree_latency(const Context& c, std::size_t protocol) {
    const double inter = c.t.net.tree[protocol] + c.nic_latency;
    return c.t.base.tree[protocol] +
           2 * ((c.s.local - 1) * c.local.tree[protocol] + log2_floor(c.s.nodes) * inter);
}

TunerEntry nvls_entry(const Context& c, bool tree) {
    const double heads = c.s.nvls.channels;
    const bool reduce = c.kind == CollectiveKind::all_reduce;
    TunerEntry entry{tree ? Algorithm::nvls_tree : Algorithm::nvls, Protocol::simple, 0, 0};
    entry.latency = c.local.nvls;
    if (tree)
        entry.latency = c.local.nvls_tree + 2 * log2_floor(c.s.nodes) * (c.t.net.nvls_tree + c.nic_latency);
    if (c.t.nvls_by_ratio) {
        const double ratio = tree ? 0.7 * c.s.nodes / (2.0 * (c.s.nodes - 1)) : 5.0 / 6;
        entry.bandwidth = heads * c.speed(c.s.nvls) * ratio;
        return entry;
    }
    const double intra = c.s.nvls.intra * c.t.nvls_efficiency[c.s.arch] * (heads - 1) / heads *
                         (reduce ? 2.0 : (c.s.local - 1.0) / c.s.local);
    double rate = intra;
    if (tree) {
        const double inter = c.s.nvls.inter * (c.s.nodes <= 2 ? 2 : 1);
        rate = std::min({intra, inter, c.t.nvls_tree_cap[c.s.arch][c.column]});
    }
    entry.bandwidth = heads * rate * c.n / c.steps;
    return entry;
}

TunerEntry pat_entry(const Context& c) {
    const double rate = c.s.ring.channels * c.speed(c.s.ring) * c.t.pat_factor;
    const double latency =
        c.t.base.pat + log2_floor(c.s.nodes) * ((c.t.net.pat + c.nic_latency) / 3.5) + 2.8 * c.n;
    return {Algorithm::pat, Protocol::simple, latency, rate};
}

} // namespace

std::vector<TunerEntry> tuner_entries(const GroupSystem& s, CollectiveKind kind, double nic_latency) {
    std::vector<TunerEntry> result;
    if (s.ranks < 2 || kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_recv ||
        kind == CollectiveKind::gather || kind == CollectiveKind::scatter)
        return result;
    const TuningTable& table = tuning_table(s.version);
    const bool linked = s.nvlink || s.local == 1;
    const Context c{s,
                    table,
                    kind,
                    nic_latency,
                    nodes_index(s.nodes),
                    steps_of(kind, s.ranks),
                    static_cast<double>(s.ranks),
                    linked ? table.nvlink : table.pci};
    const bool reduce_all = kind == CollectiveKind::all_reduce;
    for (const std::size_t p : {kLl, kLl128, kSimple}) {
        if (p == kLl128 && !s.ll128)
            continue;
        const auto protocol = static_cast<Protocol>(p);
        if (reduce_all)
            result.push_back({Algorithm::tree, protocol, tree_latency(c, p), tree_bandwidth(c, p)});
        result.push_back({Algorithm::ring, protocol, ring_latency(c, p), ring_bandwidth(c, p)});
    }
    if (s.nvls.channels >= 2) {
        const bool gather = is_gather_scatter(kind) && table.nvls_gather;
        if (s.nodes == 1 && (reduce_all || gather))
            result.push_back(nvls_entry(c, false));
        if (s.nodes > 1 && reduce_all)
            result.push_back(nvls_entry(c, true));
    }
    if (is_gather_scatter(kind) && s.nodes > 1 && s.group.max_ranks_per_node == 1 && table.pat_factor > 0)
        result.push_back(pat_entry(c));
    return result;
}

double tuner_time(const TunerEntry& entry, const GroupSystem& s, CollectiveKind kind, double bytes) {
    double bandwidth = entry.bandwidth;
    double latency = entry.latency;
    if (entry.algorithm == Algorithm::tree && kind == CollectiveKind::all_reduce && bytes >= 64) {
        const int index = std::ilogb(bytes / 64);
        if (index < 24)
            bandwidth *= tuning_table(s.version).tree_correction[static_cast<std::size_t>(entry.protocol)]
                                                                [static_cast<std::size_t>(index)];
    }
    if (entry.algorithm == Algorithm::ring && entry.protocol == Protocol::simple && s.nodes > 1 &&
        kind == CollectiveKind::all_reduce && bytes / (1.0 * s.ring_ctas * s.ranks) >= 64)
        latency *= s.arch == 0 ? 1.9 : 1.4;
    return latency + bytes / (1000 * bandwidth);
}

const TunerEntry& choose(const std::vector<TunerEntry>& entries, const GroupSystem& s, CollectiveKind kind,
                         double bytes) {
    const TunerEntry* best = &entries.front();
    double least = tuner_time(*best, s, kind, bytes);
    for (const TunerEntry& entry : entries) {
        const double time = tuner_time(entry, s, kind, bytes);
        if (time < least) {
            least = time;
            best = &entry;
        }
    }
    return *best;
}

int channels_used(const TunerEntry& entry, const GroupSystem& s, CollectiveKind kind, double bytes) {
    if (entry.algorithm == Algorithm::nvls || entry.algorithm == Algorithm::nvls_tree)
        return s.nvls_ctas;
    const bool ll = entry.protocol == Protocol::ll;
    const bool ll128 = entry.protocol == Protocol::ll128;
    double threshold = ll || ll128 ? 8 : 64;
    if (ll && entry.algorithm == Algorithm::ring)
        threshold *= s.ranks;
    const double threads = ll128 ? 640 : 512;
    double most = std::clamp(std::ceil(bytes / (threads * threshold)), 1.0, static_cast<double>(s.ring_ctas));
    // Work is laid out in cells of at least 32 KiB of traffic a channel.
    double traffic = bytes * (ll ? 4 : 1);
    if (kind == CollectiveKind::all_reduce)
        traffic *= 2;
    most = std::min(most, std::max(1.0, std::ceil(traffic / 32768)));
    return static_cast<int>(most);
}

} // namespace echosim::nccl
