// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

// The tuner's own tables, version by version (presets/nccl_tuning.json, compiled into the library). Units as
// in NCCL itself: microseconds, GB/s (1e9 bytes/s), bytes.
namespace echosim::nccl {

using PerProtocol = std::array<double, 3>; // LL, LL128, Simple
using PerNodes = std::array<double, 3>;    // one node, two, more
constexpr std::size_t kArchs = 4;          // Volta, Ampere (and Ada), Hopper, Blackwell
using PerArch = std::array<PerNodes, kArchs>;

std::size_t tuning_arch(Arch arch); // AMD parts use the Ampere column

struct LatencyTable {
    PerProtocol tree{};
    PerProtocol ring{};
    double nvls = 0;
    double nvls_tree = 0;
    double pat = 0;
};

struct TuningTable {
    int version = 0; // 100 x major + minor: 2.21 is 221
    LatencyTable base, nvlink, pci, net;
    PerArch ll_cap{}, ring_ll128_cap{}, tree_ll128_cap{}, tree_simple_cap{}, nvls_tree_cap{};
    std::array<double, kArchs> nvls_efficiency{};
    std::array<std::array<double, 24>, 3> tree_correction{};
    int max_channels = 32;
    double pat_factor = 0; // 0: the version has no PAT
    double ring_ll_share = 0.5;
    double ring_ll128_one_gpu_factor = 1;
    bool one_gpu_ring_uses_tree_latency = true;
    bool inter_steps_count_all_nodes = false; // 2N instead of 2(N-1) network steps in a ring all-reduce
    bool nvls_by_ratio = false;               // before 2.28: NVLS = 5/6 of the graph, NVLSTree .7 N/(2(N-1))
    bool nvls_gather = true;
    int nvls_channels_blackwell = 24;
};

// 100 x major + minor of "2.21", "2.21.5+cuda12.4"; empty = the newest. Throws InputError when it is no
// version.
int parse_version(std::string_view text);
// The table of the newest version not above `version` (the oldest table for versions before it).
const TuningTable& tuning_table(int version);

} // namespace echosim::nccl
