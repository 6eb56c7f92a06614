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
    double collnet_direct = 0;
    double collnet_chain = 0;
};

struct TuningTable {
    int version = 0; // 100 x major + minor: 2.21 is 221
    LatencyTable base, nvlink, pci, net;
    PerArch ll_cap{}, ring_ll128_cap{}, tree_ll128_cap{}, tree_simple_cap{}, nvls_tree_cap{};
    std::array<double, kArchs> nvls_efficiency{};
    std::array<std::array<double, 24>, 3> tree_correction{};
    int tree_correction_entries = 24;
    bool nvls_tree_corrected = false; // NVLSTree takes the factors of Simple on Blackwell beside x86
    int max_channels = 32;
    double pat_factor = 0;                    // 0: the version has no PAT
    double ll_near_factor = 1;                // on hops of LL within a node, for groups of several nodes
    double ring_ll_share = 0.5;               // of the ring's rate that LL reaches
    double ring_ll_share_one_way = 0.5;       // the same for calls that do not reduce, within one node
    double ring_ll128_one_gpu_share = .92;    // of LL128 where each node has one GPU
    bool one_gpu_uses_tree_latency = true;    // one GPU a node: the network latency is the tree's
    bool inter_steps_count_all_nodes = false; // 2N instead of 2(N-1) network steps in a ring all-reduce

    bool nvls_by_efficiency = true; // NVLS from nvls_efficiency, by n / steps; else the graph by nvls_ratio
    double nvls_ratio = 0;          // of the graph's rate
    double nvls_tree_ratio = 0;     // of the graph's rate; 0: nvls_tree_node_ratio N / (2(N-1))
    double nvls_tree_node_ratio = 0;
    bool nvls_gather = true;
    bool nvls_gather_by_peers = true; // gathers: (m-1)/m of the graph's rate without nvls_ratio
    std::array<std::array<double, 2>, kArchs> nvls_channels{}; // one node, more

    bool collnet_gather = true;          // CollNetDirect for all-gather and reduce-scatter
    double collnet_gather_net_share = 0; // of the NIC's rate; 0: 0.95 (one GPU a node) to 0.85 (eight)

    bool ll128_over_c2c = true;   // LL128 to a NIC behind the chip-to-chip link of a Grace CPU
    bool continuous_bytes = true; // bytes are laid over channels in cells of 32 KiB of traffic
    bool function_lists = true;   // NCCL_ALGO="allreduce:tree;allgather:ring"
    bool mnnvl_is_one_node = true;
    bool ring_used_when_nothing_is_left = false;
    double p2p_channel_rate = 0; // GB/s of the NIC for each channel of a peer; 0: two channels
    double p2p_chunk_arm_blackwell = 131072;
};

// 100 x major + minor of "2.21", "2.21.5+cuda12.4"; empty = the newest. Throws InputError when it is no
// release line of NCCL (2.x).
int parse_version(std::string_view text);
// The table of the newest version not above `version` (the oldest table for versions before it).
const TuningTable& tuning_table(int version);

} // namespace echosim::nccl
