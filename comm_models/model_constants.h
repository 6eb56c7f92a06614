// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/nccl_tables.h"
#include "simulator/catalogue/cluster.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

// The constants that measurements decide: of the links inside a node, by GPU (presets/nccl_links.json), and
// of networks, by kind (presets/nccl_fabrics.json). `echosim calibrate collectives` writes the same two lists
// into a calibration file, whose entries take the place of the presets with the same name. Microseconds, GB/s
// (1e9 bytes/s), bytes.
namespace echosim::nccl {

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

struct ModelConstants {
    std::vector<LinkProfile> links;
    std::vector<FabricProfile> fabrics;
};

const ModelConstants& preset_constants();

// The profile for this cluster's GPU, its NCCL version (100 x major + minor) and kind of link; the last one
// of the list when nothing fits better.
const LinkProfile& link_profile(const ModelConstants& constants, const Cluster& cluster, int version,
                                bool nvlink);
const FabricProfile& fabric_profile(const ModelConstants& constants, FabricKind kind);

// {"links": [...], "fabrics": [...]} as in the presets. from_json throws InputError: `where` is the file.
nlohmann::ordered_json constants_to_json(const ModelConstants& constants);
ModelConstants constants_from_json(const nlohmann::ordered_json& json, const std::string& where);

} // namespace echosim::nccl
