// SPDX-License-Identifier: Apache-2.0
#include "comm_models/nccl_tuner.h"

#include "comm_models/rccl_tuner.h"

#include <algorithm>
#include <cmath>

// NCCL's tuner (src/graph/tuning.cc, enqueue.cc): for each algorithm and protocol a latency and a bandwidth,
// the smallest latency x operations + bytes / bandwidth wins. Microseconds and GB/s. With c channels of w
// GB/s, n ranks on N nodes of m, k = 2(n-1) steps of an all-reduce, n-1 of a gather or scatter, n of others:
//
//   ring           min(c w (x .92 LL128, x .5 LL), cap) n/k     base + k steps, 2(N-1) or N-1 of them far
//   tree           half of min(.92 c w, c cap)                  base + 2((m-1) near + log2 N far)
//   NVLS(Tree)     c min(intra, inter, cap) n/k                 near (+ far; 2 log2 N far)
//   CollNetDirect  c w / gpus_per_nic_correction / 2            2(near + .4 (m-1)) + far
//   CollNetChain   c w / 2                                      2 (m-1) near + far
//   PAT            .75 c w                                      base + log2 N far / 3.5 + 2.8 n
namespace echosim::nccl {
namespace {

enum : std::size_t { kLl = 0, kLl128 = 1, kSimple = 2 };
constexpr double kOperationsPerBatch = 10; // that one batch of work of a kernel holds

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
bool reduces(CollectiveKind kind) {
    return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
           kind == CollectiveKind::reduce;
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

    // A hop within a node; old versions count LL more where the group spans several nodes.
    double near(double latency, std::size_t protocol) const {
        return latency * (protocol == kLl && s.nodes > 1 ? t.ll_near_factor : 1);
    }

    double ll_cap() const {
        const std::size_t row = s.nodes == 1 ? s.arch : (s.amd_cpu ? 1 : 0);
        return t.ll_cap[row][column];
    }
    double speed(const SearchGraph& graph) const { return s.nodes <= 2 ? graph.intra : graph.inter; }
    // The flush after a Simple message costs the NIC's latency once more.
    double far(double table, std::size_t protocol) const {
        const bool tree = s.group.max_ranks_per_node == 1 && t.one_gpu_uses_tree_latency;
        return (tree ? t.net.tree[protocol] : table) + nic_latency * (protocol == kSimple ? 2 : 1);
    }
};

double ring_bandwidth(const Context& c, std::size_t protocol) {
    const double count = c.s.ring.channels;
    const double bus = count * c.speed(c.s.ring);
    double rate = bus;
    if (protocol == kLl) {
        const bool one_way =
            c.s.nodes == 1 && c.kind != CollectiveKind::all_reduce && c.kind != CollectiveKind::reduce;
        rate = std::min(c.ll_cap(), (one_way ? c.t.ring_ll_share_one_way : c.t.ring_ll_share) * bus);
    }
    if (protocol == kLl128) {
        const double share = c.s.nodes > 1 && c.s.ranks < 2 * c.s.nodes ? c.t.ring_ll128_one_gpu_share : 0.92;
        rate = std::min(share * bus, count * c.t.ring_ll128_cap[c.s.arch][c.column]);
    }
    return rate * c.n / c.steps;
}

double ring_latency(const Context& c, std::size_t protocol) {
    const double post = c.s.nodes > 1 ? c.s.post * (protocol == kSimple ? 3 : 1) : 0;
    const double local = c.near(c.local.ring[protocol], protocol);
    if (c.kind != CollectiveKind::all_reduce && !is_gather_scatter(c.kind))
        return c.t.base.ring[protocol] + (c.s.nodes > 1 ? c.t.net.ring[protocol] : local);
    double inter_steps = c.s.nodes - 1.0;
    if (c.kind == CollectiveKind::all_reduce)
        inter_steps = 2.0 * (c.t.inter_steps_count_all_nodes ? c.s.nodes : c.s.nodes - 1);
    if (c.s.nodes == 1)
        inter_steps = 0;
    return c.t.base.ring[protocol] + (c.steps - inter_steps) * std::max(local, post) +
           inter_steps * c.far(c.t.net.ring[protocol], protocol);
}

double tree_bandwidth(const Context& c, std::size_t protocol) {
    const double count = c.s.tree.channels;
    double rate = std::min(0.92 * count * c.speed(c.s.tree), count * c.t.tree_simple_cap[c.s.arch][c.column]);
    if (protocol == kLl)
        rate = std::min(rate / 3.8, c.ll_cap());
    if (protocol == kLl128)
        rate = std::min(rate * (c.s.nodes == 1 ? 7.0 / 9 : 15.0 / 16),
                        count * c.t.tree_ll128_cap[c.s.arch][c.column]);
    // With one GPU a node the tree is a plain one: the same GPU has both of its ends.
    return 0.5 * rate * (c.s.group.max_ranks_per_node == 1 ? 0.85 : 1);
}

double tree_latency(const Context& c, std::size_t protocol) {
    const double inter = c.far(c.t.net.tree[protocol], protocol);
    return c.t.base.tree[protocol] +
           2 * ((c.s.local - 1) * c.near(c.local.tree[protocol], protocol) + log2_floor(c.s.nodes) * inter);
}

// 2.28 and later: the graph's rate with an efficiency, one of the c heads' share being its own.
double nvls_bandwidth(const Context& c, bool tree) {
    const double heads = c.s.nvls.channels;
    const bool reduce = c.kind == CollectiveKind::all_reduce;
    double rate = c.s.nvls.intra * c.t.nvls_efficiency[c.s.arch] * (heads - 1) / heads *
                  (reduce ? 2.0 : (c.s.local - 1.0) / c.s.local);
    if (c.s.nodes > 1)
        rate = std::min(rate, c.s.nvls.inter * (tree && c.s.nodes <= 2 ? 2 : 1));
    if (tree)
        rate = std::min(rate, c.t.nvls_tree_cap[c.s.arch][c.column]);
    return heads * rate * (reduce ? c.n / c.steps : 1);
}

// Before: a ratio of the graph's rate.
double nvls_bandwidth_by_ratio(const Context& c, bool tree) {
    const SearchGraph& g = c.s.nvls;
    if (tree) {
        const double rate = std::min(g.intra, c.s.nodes <= 2 ? g.inter : g.inter / 2);
        if (c.t.nvls_tree_ratio > 0)
            return g.channels * rate * c.t.nvls_tree_ratio;
        return g.channels * c.speed(g) * c.t.nvls_tree_node_ratio * c.s.nodes / (2.0 * (c.s.nodes - 1));
    }
    if (is_gather_scatter(c.kind) && c.t.nvls_gather_by_peers)
        return g.channels * std::min(g.intra * (c.s.local - 1.0) / c.s.local, 0.9 * g.inter);
    return g.channels * std::min(g.intra, g.inter) * c.t.nvls_ratio;
}

TunerEntry nvls_entry(const Context& c, bool tree) {
    TunerEntry entry{tree ? Algorithm::nvls_tree : Algorithm::nvls, Protocol::simple, 0, 0};
    if (tree)
        entry.latency = c.t.base.nvls_tree + c.local.nvls_tree +
                        2 * log2_floor(c.s.nodes) * c.far(c.t.net.nvls_tree, kSimple);
    else
        entry.latency = c.t.base.nvls + c.local.nvls + (c.s.nodes > 1 ? c.far(c.t.net.nvls, kSimple) : 0);
    entry.bandwidth = c.t.nvls_by_efficiency ? nvls_bandwidth(c, tree) : nvls_bandwidth_by_ratio(c, tree);
    return entry;
}

// SHARP reduces in the network: one head for each NIC.
TunerEntry collnet_direct_entry(const Context& c) {
    const SearchGraph& g = c.s.collnet_direct;
    const double m = c.s.local;
    const double latency = c.t.base.collnet_direct +
                           2 * (std::min(1.0, m - 1) * c.local.collnet_direct + 0.4 * (m - 1)) +
                           c.far(c.t.net.collnet_direct, kSimple);
    double rate = 0;
    if (is_gather_scatter(c.kind)) {
        const double share = (m - 1) / 7;
        rate = c.t.collnet_gather_net_share > 0
                   ? m * std::min(g.intra, c.t.collnet_gather_net_share * g.inter)
                   : m * g.intra * (0.85 * share + 0.95 * (1 - share));
    } else {
        const double gpus_per_head = m / g.channels;
        rate = 0.5 * g.channels * g.intra / (gpus_per_head - (gpus_per_head - 1) / 2);
        if (c.s.arch >= 2)
            rate *= 0.85;
    }
    return {Algorithm::collnet_direct, Protocol::simple, latency, rate};
}

TunerEntry collnet_chain_entry(const Context& c) {
    const SearchGraph& g = c.s.collnet_chain;
    return {Algorithm::collnet_chain, Protocol::simple,
            c.t.base.collnet_chain + 2 * (c.s.local - 1) * c.local.collnet_chain +
                c.far(c.t.net.collnet_chain, kSimple),
            0.5 * g.channels * g.intra};
}

TunerEntry pat_entry(const Context& c) {
    const double rate = c.s.ring.channels * c.speed(c.s.ring) * c.t.pat_factor;
    const double latency =
        c.t.base.pat + log2_floor(c.s.nodes) * (c.far(c.t.net.pat, kSimple) / 3.5) + 2.8 * c.n;
    return {Algorithm::pat, Protocol::simple, latency, rate};
}

void add_rings_and_trees(const Context& c, std::vector<TunerEntry>& result) {
    const bool reduce_all = c.kind == CollectiveKind::all_reduce;
    for (const std::size_t p : {kLl, kLl128, kSimple}) {
        if (p == kLl128 && !c.s.ll128 && !c.s.ll128_asked[static_cast<std::size_t>(c.kind)])
            continue;
        const auto protocol = static_cast<Protocol>(p);
        if (reduce_all)
            result.push_back({Algorithm::tree, protocol, tree_latency(c, p), tree_bandwidth(c, p)});
        result.push_back({Algorithm::ring, protocol, ring_latency(c, p), ring_bandwidth(c, p)});
    }
}

// Gathers over the network need one head for each GPU.
void add_switches(const Context& c, std::vector<TunerEntry>& result) {
    const GroupSystem& s = c.s;
    const bool reduce_all = c.kind == CollectiveKind::all_reduce;
    const bool gather = is_gather_scatter(c.kind);
    const bool one_nic_each = s.collnet && s.group.max_ranks_per_node <= s.collnet_chain.channels;
    if (s.nvls.channels >= 2) {
        const bool here = s.nodes == 1 || (s.collnet && (reduce_all || one_nic_each));
        if (here && (reduce_all || (gather && c.t.nvls_gather)))
            result.push_back(nvls_entry(c, false));
        if (s.nodes > 1 && reduce_all)
            result.push_back(nvls_entry(c, true));
    }
    if (s.collnet_direct.channels > 0 && (reduce_all || (gather && c.t.collnet_gather && one_nic_each)))
        result.push_back(collnet_direct_entry(c));
    if (s.collnet_chain.channels > 0 && reduce_all)
        result.push_back(collnet_chain_entry(c));
    if (gather && s.pat && s.nodes > 1 && s.group.max_ranks_per_node == 1 && c.t.pat_factor > 0)
        result.push_back(pat_entry(c));
}

// The settings strike out what they do not name; what is left of nothing is the ring.
void keep_allowed(const GroupSystem& s, CollectiveKind kind, std::vector<TunerEntry>& entries) {
    const auto k = static_cast<std::size_t>(kind);
    const auto named = [](unsigned bits, auto value) {
        return (bits >> static_cast<unsigned>(value) & 1U) != 0;
    };
    std::vector<TunerEntry> kept;
    for (const TunerEntry& e : entries)
        if (named(s.algorithms[k], e.algorithm) && named(s.protocols[k], e.protocol) && e.bandwidth > 0)
            kept.push_back(e);
    if (kept.empty())
        for (const TunerEntry& e : entries)
            if (e.algorithm == Algorithm::ring && named(s.protocols[k], e.protocol))
                kept.push_back(e);
    if (!kept.empty())
        entries = kept;
}

} // namespace

std::vector<TunerEntry> tuner_entries(const GroupSystem& s, CollectiveKind kind, double nic_latency) {
    std::vector<TunerEntry> result;
    if (s.ranks < 2 || kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_recv ||
        kind == CollectiveKind::gather || kind == CollectiveKind::scatter)
        return result;
    if (s.amd)
        return rccl_entries(s, kind, nic_latency);
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
    add_rings_and_trees(c, result);
    add_switches(c, result);
    keep_allowed(s, kind, result);
    return result;
}

double tuner_time(const TunerEntry& entry, const GroupSystem& s, const Collective& collective) {
    if (s.amd)
        return rccl_tuner_time(entry, s, collective);
    const TuningTable& table = tuning_table(s.version);
    const double bytes = static_cast<double>(collective.bytes);
    double bandwidth = entry.bandwidth;
    double latency = entry.latency;
    const bool ring = entry.algorithm == Algorithm::ring;
    const bool corrected =
        entry.algorithm == Algorithm::tree ||
        (entry.algorithm == Algorithm::nvls_tree && table.nvls_tree_corrected && s.arch == 3 && !s.arm_cpu);
    if (corrected && collective.kind == CollectiveKind::all_reduce && bytes >= 64) {
        const int index = std::ilogb(bytes / 64);
        if (index < table.tree_correction_entries)
            bandwidth *= table.tree_correction[static_cast<std::size_t>(entry.protocol)]
                                              [static_cast<std::size_t>(index)];
    }
    // The plateau of rings over several nodes.
    if (ring && entry.protocol == Protocol::simple && s.nodes > 1 &&
        collective.kind == CollectiveKind::all_reduce && bytes / (1.0 * s.ring_ctas * s.ranks) >= 64)
        latency *= s.arch == 0 ? 1.9 : 1.4;
    const double operations = std::max(1, collective.calls);
    const double times = ring ? operations : std::ceil(operations / kOperationsPerBatch);
    return latency * times + bytes / (1000 * bandwidth);
}

bool allowed(const TunerEntry& entry, const GroupSystem& s, const Collective& c) {
    if (!reduces(c.kind))
        return true;
    const bool eight_bit = size_of(c.dtype) <= 1;
    const bool fp8 = c.dtype == DType::fp8 || c.dtype == DType::fp4;
    if (entry.algorithm == Algorithm::nvls || entry.algorithm == Algorithm::nvls_tree)
        return !eight_bit;
    return !(entry.algorithm == Algorithm::ring && fp8 && s.ranks > 8);
}

namespace {

const TunerEntry* fastest(const std::vector<TunerEntry>& entries, const GroupSystem& s, const Collective& c,
                          bool any) {
    const TunerEntry* best = nullptr;
    double least = 0;
    for (const TunerEntry& entry : entries) {
        if (!any && !allowed(entry, s, c))
            continue;
        const double time = tuner_time(entry, s, c);
        if (best == nullptr || time < least) {
            least = time;
            best = &entry;
        }
    }
    return best;
}

} // namespace

const TunerEntry& choose(const std::vector<TunerEntry>& entries, const GroupSystem& s, const Collective& c) {
    if (s.amd)
        return rccl_choose(entries, s, c);
    const TunerEntry* best = fastest(entries, s, c, false);
    if (best == nullptr)
        best = fastest(entries, s, c, true);
    if (c.buffers == Buffers::registered && is_gather_scatter(c.kind) && best->protocol == Protocol::simple)
        for (const TunerEntry& entry : entries)
            if (entry.algorithm == Algorithm::nvls && allowed(entry, s, c))
                return entry;
    return *best;
}

} // namespace echosim::nccl
