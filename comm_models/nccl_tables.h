// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

// The data of the NCCL model: the tuner's own tables, version by version (presets/nccl_tuning.json), and the
// fitted constants of links and fabrics (presets/nccl_links.json). Both files are compiled into the library.
// Units as in the files and in NCCL itself: microseconds, GB/s (1e9 bytes/s), bytes.
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

struct LowLatencyLink {
    double start = 0, step = 0, bandwidth = 0;
};
struct SimpleLink {
    double start = 0, hop = 0, bandwidth = 0, slot = 0, copy_gather = 0, copy_reduce = 0;
};
struct NvlsLink {
    double start = 0, bandwidth = 0, chunk_cost = 0, cap = 0, cap_large = 0;
};
struct AllToAllLink {
    double start = 0, ramp = 0, bandwidth = 0, knee = 0, own = 0, ramp_end = 0;
};
struct PairLink {
    double start = 0, bandwidth = 0;
};

// Constants of one GPU's links inside a node, fitted to nccl-tests tables. `nvlink` is the rate the fit saw:
// another rate of the same architecture scales the bandwidths.
struct LinkProfile {
    std::string name;
    std::vector<std::string> gpus; // beginnings of the catalogue names that the fit holds for
    std::size_t arch = 0;
    int before_version = 0;                  // for NCCL below this; 0 = any
    double nvlink = 0;                       // GB/s, one direction; 0 = PCIe
    std::array<double, 2> pcie_shares{1, 1}; // rate of 3-4 GPUs and of more over PCIe, relative to a pair
    double ll_per_rank = 0; // GB/s of LL per rank of the ring where that is the limit; 0 = none
    double ll_network = 0;  // GB/s of LL over the network where the fabric is not the limit; 0 = none
    LowLatencyLink ll, ll128;
    SimpleLink simple;
    NvlsLink nvls;
    AllToAllLink all_to_all;
    PairLink pair;
    PerProtocol hop_offset{}; // us that a network hop of this GPU takes above the fabric's
    bool fitted = false;
};

// Whether the profile was fitted to this GPU.
bool fits(const LinkProfile& profile, std::string_view gpu);
const LinkProfile& link_profile(const Cluster& cluster, int version, bool nvlink);

// One kind of network: hop latencies by protocol, share of the NIC rate that large messages reach, and the
// rate of LL over one NIC.
struct FabricProfile {
    FabricKind kind = FabricKind::infiniband;
    double efficiency = 0.9;
    PerProtocol hop{};
    double start = 0;             // proxy start-up of an operation that uses the network
    double ll_rate_per_nic = 0;   // GB/s
    double ll_growth = 2;         // us a hop for each doubling of an LL message above 4 KiB
    double nic_latency_tuner = 0; // what the network plugin reports to NCCL
    bool ll128 = true;
    bool fitted = false;
};

const FabricProfile& fabric_profile(FabricKind kind);

} // namespace echosim::nccl
