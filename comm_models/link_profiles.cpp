// SPDX-License-Identifier: Apache-2.0
#include "comm_models/model_constants.h"

#include <algorithm>

// The constants of links inside a node: which of them measurements decide, what they start from, and which
// profile a cluster takes. us, GB/s.
//
// Starts (derived_link) for links of L GB/s a direction; g is the pace of the generation's kernels (Volta and
// Ampere 1.3, Hopper 1, Blackwell 1.2):
//   LL      6 g + 0.8 g a step, as NCCL's tuner holds (6.6 + 0.6); half of each line is flags, 0.4 L
//   LL128   14 + 1.4 a step (tuner 14 + 1.9), 0.6 L
//   Simple  7 g + 6 g a hop, 0.85 L, 2 g a slice; the last local operation of a step at 2 to 3 L
//   NVLS    a CTA passes 19.5 GB/s of its heads' chunks, 6.5 us a loop more
//   pairs   0.72 L, 6 us from LL to Simple
// PCIe: 24 of the 32 GB/s of Gen4 x16 between two GPUs, less across root ports and sockets.
namespace echosim::nccl {
namespace {

constexpr double kUsual = 0.6;          // width in ln of constants that tables show well
constexpr double kTight = 0.3;          // of those that few sizes show
constexpr double kWide = 1.2;           // of what differs by much between generations
constexpr double kEarlyLlPerRank = 4.5; // GB/s, NCCL before 2.14

double pace_of(std::size_t arch) {
    constexpr double kPace[] = {1.3, 1.3, 1.0, 1.2};
    return kPace[std::min<std::size_t>(arch, 3)];
}

LinkProfile derived_pcie() {
    LinkProfile p;
    p.ll = {.start = 3, .step = 1, .bandwidth = 12};
    p.ll128 = {.start = 14, .step = 1.4, .bandwidth = 15};
    p.simple = {4, 8, 24, 0.5, 250, 250, 250};
    p.all_to_all.start = 5;
    p.all_to_all.peers = 1;
    p.pcie = {0.3, 0.1, 1.4};
    return p;
}

void add_low_latency(LinkProfile& p, std::vector<LinkConstant>& list) {
    const bool passes = p.nvlink > 0 && p.ll_per_rank <= 0;
    const double width = passes ? kUsual : 0;
    const double ll128 = p.nvlink > 0 ? kUsual : 0;
    list.insert(list.end(), {{"ll", "start", &p.ll.start, kUsual},
                             {"ll", "step", &p.ll.step, kUsual},
                             {"ll", "bandwidth", &p.ll.bandwidth, kUsual},
                             {"ll", "spread", &p.ll.spread, width},
                             {"ll", "first_pass", &p.ll.first_pass, width},
                             {"ll", "second_pass", &p.ll.second_pass, width},
                             {"", "ll_per_rank", &p.ll_per_rank, p.ll_per_rank > 0 ? kUsual : 0},
                             {"ll128", "start", &p.ll128.start, ll128},
                             {"ll128", "step", &p.ll128.step, ll128},
                             {"ll128", "bandwidth", &p.ll128.bandwidth, ll128}});
}

void add_simple(LinkProfile& p, std::vector<LinkConstant>& list) {
    const double copy = p.nvlink > 0 ? kTight : 0;
    list.insert(list.end(), {{"simple", "start", &p.simple.start, kUsual},
                             {"simple", "hop", &p.simple.hop, kUsual},
                             {"simple", "bandwidth", &p.simple.bandwidth, kUsual},
                             {"simple", "slot", &p.simple.slot, kUsual},
                             {"simple", "copy_gather", &p.simple.copy_gather, copy},
                             {"simple", "copy_reduce", &p.simple.copy_reduce, copy},
                             {"simple", "copy_scatter", &p.simple.copy_scatter, copy}});
}

void add_nvls(LinkProfile& p, std::vector<LinkConstant>& list) {
    const bool there = p.nvlink > 0 && p.arch >= 2;
    list.insert(list.end(), {{"nvls", "start", &p.nvls.start, there ? kTight : 0},
                             {"nvls", "slot", &p.nvls.slot, there ? kTight : 0},
                             {"nvls", "cta_rate", &p.nvls.cta_rate, there ? 0.2 : 0},
                             {"nvls", "bandwidth", &p.nvls.bandwidth, 0},
                             {"nvls", "chunk_cost", &p.nvls.chunk_cost, 0},
                             {"nvls", "cap", &p.nvls.cap, 0},
                             {"nvls", "cap_large", &p.nvls.cap_large, 0}});
}

void add_pairs(LinkProfile& p, std::vector<LinkConstant>& list) {
    const double width = p.nvlink > 0 ? kUsual : 0;
    AllToAllLink& a = p.all_to_all;
    list.insert(list.end(), {{"all_to_all", "start", &a.start, kUsual},
                             {"all_to_all", "peers", &a.peers, kUsual},
                             {"all_to_all", "ramp", &a.ramp, width},
                             {"all_to_all", "bandwidth", &a.bandwidth, width},
                             {"all_to_all", "one_step", &a.one_step, width},
                             {"all_to_all", "unpiped", &a.unpiped, width},
                             {"all_to_all", "own", &a.own, p.nvlink > 0 ? kWide : 0},
                             {"all_to_all", "knee", &a.knee, 0},
                             {"all_to_all", "ramp_end", &a.ramp_end, 0},
                             {"pair", "start", &p.pair.start, 0},
                             {"pair", "bandwidth", &p.pair.bandwidth, 0}});
}

bool takes(const LinkProfile& p, int version, bool nvlink) {
    return (p.before_version == 0 || version < p.before_version) && (p.nvlink > 0) == nvlink;
}

} // namespace

std::vector<LinkConstant> link_constants(LinkProfile& p) {
    std::vector<LinkConstant> list;
    add_low_latency(p, list);
    add_simple(p, list);
    add_nvls(p, list);
    add_pairs(p, list);
    const bool pcie = p.nvlink <= 0;
    list.insert(list.end(), {{"pcie", "few", &p.pcie.few, pcie ? kWide : 0},
                             {"pcie", "many", &p.pcie.many, pcie ? kWide : 0},
                             {"pcie", "cached", &p.pcie.cached, pcie ? kTight : 0}});
    return list;
}

LinkProfile derived_link(std::size_t arch, double nvlink) {
    LinkProfile p = derived_pcie();
    p.arch = arch;
    p.nvlink = nvlink;
    if (nvlink <= 0)
        return p;
    const double g = pace_of(arch);
    const double copy = (arch < 2 ? 3 : 2) * nvlink;
    p.ll = {6 * g, 0.8 * g, 0.4 * nvlink, 0.8 * g, 16 / g, 0.3 * g};
    p.ll128 = {.start = 14, .step = 1.4, .bandwidth = 0.6 * nvlink};
    p.simple = {7 * g, 6 * g, 0.85 * nvlink, 2 * g, copy, copy, copy};
    p.nvls.start = 4;
    p.nvls.slot = 6.5;
    p.nvls.cta_rate = 19.5;
    p.all_to_all = {.start = 6 * g,
                    .ramp = 6,
                    .bandwidth = 0.72 * nvlink,
                    .own = 0.25,
                    .peers = 1,
                    .one_step = 2 * nvlink,
                    .unpiped = 0.25 * nvlink};
    p.pcie = {};
    return p;
}

ModelConstants derived_constants() {
    ModelConstants constants = preset_constants();
    for (LinkProfile& link : constants.links) {
        LinkProfile start = derived_link(link.arch, link.nvlink);
        start.ll_per_rank = link.ll_per_rank > 0 ? kEarlyLlPerRank : 0;
        const std::vector<LinkConstant> from = link_constants(start);
        const std::vector<LinkConstant> to = link_constants(link);
        for (std::size_t i = 0; i < to.size(); ++i)
            if (to[i].width > 0)
                *to[i].value = *from[i].value;
        link.fitted = false;
    }
    return constants;
}

bool fits(const LinkProfile& profile, std::string_view gpu) {
    return std::any_of(profile.gpus.begin(), profile.gpus.end(),
                       [&](const std::string& name) { return gpu.substr(0, name.size()) == name; });
}

const LinkProfile& link_profile(const ModelConstants& constants, const Cluster& cluster, int version,
                                bool nvlink) {
    for (const LinkProfile& p : constants.links)
        if (takes(p, version, nvlink) && fits(p, cluster.gpu.name))
            return p;
    const std::size_t arch = tuning_arch(cluster.gpu.arch);
    for (const LinkProfile& p : constants.links)
        if (nvlink && takes(p, version, nvlink) && p.arch == arch)
            return p;
    return constants.links.back();
}

} // namespace echosim::nccl
