// SPDX-License-Identifier: Apache-2.0
#include "comm_models/rccl_timing.h"

#include "comm_models/rccl_tables.h"

#include <algorithm>
#include <cmath>

// n ranks on N nodes, S bytes, k steps (2(n-1) all-reduce, n-1 gather and scatter), k_N of them between
// nodes; l the rate of one xGMI link, B of all; us, GB/s:
//
//   ring Simple   18 + (k - k_N) 3.3 + k_N hop + S k / (n R),   R = min(n/(n-N) min((n-1) l, B), NICs)
//   ring LL       12 + (k - k_N) 0.8 + k_N hop + S k / (n min(25, R/2)); LL128 1.6 a step, 110
//   mesh, all-reduce    to 256 KiB one shot 13.6 + S / 141; then two shots 20.3 + 2 S / (n 32.25)
//   mesh, gather, scatter, all-to-all   14 (16) + S / (n min(l, B / (n-1)))
//   all-to-all over nodes   the slower of S (m-1)/n over xGMI and S (n-m)/n over the GPU's NICs
// Basis: presets/rccl_tuning.json, timing_source.
namespace echosim::nccl {
namespace {

constexpr double kPerUs = 1000.0;

// Rates of one GPU in this group.
struct Mesh {
    double link, all, near, nics;
};

Mesh mesh_of(const GroupSystem& s) {
    const double m = s.local;
    Mesh mesh{};
    mesh.link = s.path;
    mesh.all = std::min(s.mesh ? std::max(1.0, m - 1) * s.path : s.total, s.total);
    const double hops = s.ranks;
    const double far_hops = s.nodes > 1 ? s.nodes : 0;
    mesh.near = hops > far_hops ? mesh.all * hops / (hops - far_hops) : 1e9;
    mesh.nics = s.nodes > 1 ? s.nic_rate : 1e9;
    return mesh;
}

double hop(const GroupTiming& t, Protocol protocol) {
    return t.fabric.hop[static_cast<std::size_t>(protocol)] + t.hop_extra;
}

// All-reduces take as long out of place as in place (two nodes of MI300X).
double copy_time(const Collective& c, const GroupSystem& s) {
    return c.in_place || c.kind == CollectiveKind::all_reduce
               ? 0
               : static_cast<double>(c.bytes) / s.ranks / (rccl_timing().copy * kPerUs);
}

TimeTerms ring(const Collective& c, Protocol protocol, const GroupSystem& s, const GroupTiming& t) {
    const RcclTiming& r = rccl_timing();
    const Mesh mesh = mesh_of(s);
    const bool simple = protocol == Protocol::simple;
    const bool ll = protocol == Protocol::ll;
    const bool chain = c.kind == CollectiveKind::broadcast || c.kind == CollectiveKind::reduce;
    const double times = c.kind == CollectiveKind::all_reduce ? 2 : 1;
    const double steps = times * (s.ranks - 1.0);
    const double far = times * (s.nodes - 1.0);
    double rate = std::min(mesh.near, mesh.nics);
    if (!simple)
        rate = std::min((ll ? r.ll_rate : r.ll128_rate) * s.path / r.link_of_fit, rate * (ll ? 0.5 : 0.9));
    TimeTerms result;
    result.start = (simple ? r.start : r.ll_start) + (s.nodes > 1 ? t.fabric.start : 0);
    result.near = (steps - far) * (simple ? r.step : ll ? r.ll_step : r.ll128_step);
    result.far = far * hop(t, protocol);
    result.transfer = static_cast<double>(c.bytes) * (chain ? 1 : steps / s.ranks) / (rate * kPerUs);
    result.copy = copy_time(c, s);
    return result;
}

// Up and down; a node of more than two receives from two children through its NICs.
TimeTerms tree(const Collective& c, Protocol protocol, const GroupSystem& s, const GroupTiming& t) {
    const RcclTiming& r = rccl_timing();
    const Mesh mesh = mesh_of(s);
    const bool simple = protocol == Protocol::simple;
    const bool ll = protocol == Protocol::ll;
    double rate = std::min(mesh.all / 2, mesh.nics / (s.nodes > 2 ? 2 : 1));
    if (!simple)
        rate =
            std::min((ll ? r.ll_rate : r.ll128_rate) / 2 * s.path / r.link_of_fit, rate * (ll ? 0.5 : 0.9));
    TimeTerms result;
    result.start = (simple ? r.start : r.ll_start) + (s.nodes > 1 ? t.fabric.start : 0);
    result.near = 2 * (s.local - 1.0) * (simple ? r.step : ll ? r.ll_step : r.ll128_step);
    result.far = 2 * std::floor(std::log2(static_cast<double>(s.nodes))) * hop(t, protocol);
    result.transfer = static_cast<double>(c.bytes) / (rate * kPerUs);
    result.copy = copy_time(c, s);
    return result;
}

TimeTerms mesh_all_reduce(const Collective& c, const GroupSystem& s) {
    const RcclTiming& r = rccl_timing();
    const double bytes = static_cast<double>(c.bytes);
    const double scale = s.path / r.link_of_fit;
    if (bytes <= r.one_shot_to)
        return {.start = r.one_shot_start, .transfer = bytes / (r.one_shot_link * scale * kPerUs)};
    return {.start = r.two_shot_start, .transfer = 2 * bytes / s.ranks / (r.two_shot_link * scale * kPerUs)};
}

TimeTerms point_to_point(const Collective& c, const GroupSystem& s, const GroupTiming& t) {
    const RcclTiming& r = rccl_timing();
    const Mesh mesh = mesh_of(s);
    const double bytes = static_cast<double>(std::max(c.bytes, c.largest_rank_bytes));
    const double n = s.ranks;
    const double m = n / s.nodes;
    const double nic = s.nic_rate / m;
    TimeTerms result;
    result.start = c.kind == CollectiveKind::all_to_all ? r.all_to_all_start : r.direct_start;
    if (s.nodes > 1) {
        result.start += t.fabric.start;
        result.far = hop(t, Protocol::simple);
    }
    if (c.kind == CollectiveKind::send_recv) {
        result.transfer = bytes / ((s.nodes > 1 ? nic : mesh.link) * kPerUs);
        return result;
    }
    const double near = m > 1 ? bytes * (m - 1) / n / (mesh.all * kPerUs) : 0;
    const double far = s.nodes > 1 ? bytes * (n - m) / n / (nic * kPerUs) : 0;
    result.transfer = std::max(near, far);
    result.copy = copy_time(c, s);
    return result;
}

} // namespace

TimeTerms rccl_time(const Collective& c, const Choice& choice, const GroupSystem& s, const GroupTiming& t) {
    if (choice.algorithm == Algorithm::direct)
        return c.kind == CollectiveKind::all_reduce ? mesh_all_reduce(c, s) : point_to_point(c, s, t);
    return choice.algorithm == Algorithm::tree ? tree(c, choice.protocol, s, t)
                                               : ring(c, choice.protocol, s, t);
}

} // namespace echosim::nccl
