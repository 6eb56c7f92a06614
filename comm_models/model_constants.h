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

// The time forms that use these constants stand in nccl_timing.cpp and nccl_point_to_point.cpp (one node) and
// in nccl_network.cpp (several). us, GB/s, bytes.
struct LowLatencyLink {
    double start = 0, step = 0, bandwidth = 0;
    double spread = 0;      // LL: us once the message fills a few CTAs
    double first_pass = 0;  // LL: GB/s at which one CTA's threads take up their first line each
    double second_pass = 0; // LL: us a step longer once a message holds more than a line a thread
};
struct SimpleLink {
    double start = 0, hop = 0, bandwidth = 0, slot = 0, copy_gather = 0, copy_reduce = 0, copy_scatter = 0;
};
struct NvlsLink {
    double start = 0, bandwidth = 0, chunk_cost = 0, cap = 0, cap_large = 0; // NVLSTree
    double slot = 0;     // us of one loop of a CTA over its heads' chunks, besides their bytes
    double cta_rate = 0; // GB/s of the bytes of such a loop
};
struct AllToAllLink {
    double start = 0, ramp = 0, bandwidth = 0, knee = 0, own = 0, ramp_end = 0;
    double peers = 0;    // us for each doubling of the ranks
    double one_step = 0; // GB/s of what every peer's first buffer step adds
    double unpiped = 0;  // GB/s of messages of at most one step before NCCL 2.29
};
struct PairLink {
    double start = 0, bandwidth = 0;
};
struct PcieLink {
    double few = 1, many = 1; // rate of 3-4 GPUs and of more, relative to a pair
    double cached = 1;        // of more than two GPUs, relative to this, while host caches hold the buffers
};

// Constants of one GPU's links inside a node, fitted to nccl-tests tables. `nvlink` is the rate the fit saw:
// another rate of the same architecture scales the bandwidths.
struct LinkProfile {
    std::string name;
    std::vector<std::string> gpus; // beginnings of the catalogue names that the fit holds for
    std::size_t arch = 0;
    int before_version = 0; // for NCCL below this; 0 = any
    double nvlink = 0;      // GB/s, one direction; 0 = PCIe
    PcieLink pcie;
    double ll_per_rank = 0; // GB/s of LL per rank of the ring where that is the limit; 0 = none
    LowLatencyLink ll, ll128;
    SimpleLink simple;
    NvlsLink nvls;
    AllToAllLink all_to_all;
    PairLink pair;
    bool fitted = false;
};

// One constant of a link profile: its place in the presets (group.key, or key alone when the group is empty)
// and how far, in ln, measured times may draw it from its start; 0 = no fit changes it.
struct LinkConstant {
    const char* group;
    const char* key;
    double* value;
    double width;
};
std::vector<LinkConstant> link_constants(LinkProfile& link);
// Start of every fit: what data sheets and NCCL's own tables say of links of this rate (0 = PCIe Gen4 x16).
// `gpus`, name and version stay empty.
LinkProfile derived_link(std::size_t arch, double nvlink);

// Whether the profile was fitted to this GPU.
bool fits(const LinkProfile& profile, std::string_view gpu);

// What differs for NCCL (and the network plugin of its time) below `before`; 0 = the same as now.
struct EarlierFabric {
    int before = 0; // 100 x major + minor; 0 = no such version
    PerProtocol hop{};
    double ll_rate_per_nic = 0;
    double nic_rate = 0; // GB/s of one NIC: PCIe writes to GPU memory in strict order
};

// One kind of network.
struct FabricProfile {
    FabricKind kind = FabricKind::infiniband;
    double efficiency = 0.9;    // share of the rate of a 200 Gb/s NIC that large messages reach
    double efficiency_fall = 0; // faster NICs reach less: efficiency x (NIC GB/s / 25)^-fall
    PerProtocol hop{};          // us from GPU to GPU: by LL, what LL128 takes more, what Simple takes more
    std::array<double, kArchs> hop_factor{1, 1, 1, 1}; // of hosts of this generation of GPUs
    double start = 0;                                  // us: proxy start-up of an operation on the network
    double ll_rate_per_nic = 0;                        // GB/s
    double ll_growth = 2;         // us a hop for each doubling of an LL message above 4 KiB
    double nic_latency_tuner = 0; // what the network plugin reports to NCCL
    bool ll128 = true;
    EarlierFabric earlier;
    bool fitted = false;
};

// The constants of a fabric that a fit to measured times may change; those that are 0 stay 0.
std::vector<double*> fitted_constants(FabricProfile& fabric);
// Share of the NIC rate that large messages reach.
double efficiency_of(const FabricProfile& fabric, double nic_rate);

struct ModelConstants {
    std::vector<LinkProfile> links;
    std::vector<FabricProfile> fabrics;
};

const ModelConstants& preset_constants();
// The presets with all links as derived_link() gives them: what calibrate() starts from to make the presets,
// and what a cross-validation starts from, so that no table it leaves out has touched the constants.
ModelConstants derived_constants();

// The profile for this cluster's GPU, its NCCL version (100 x major + minor) and kind of link; the last one
// of the list when nothing fits better.
const LinkProfile& link_profile(const ModelConstants& constants, const Cluster& cluster, int version,
                                bool nvlink);
const FabricProfile& fabric_profile(const ModelConstants& constants, FabricKind kind);

// {"links": [...], "fabrics": [...]} as in the presets. from_json throws InputError: `where` is the file.
nlohmann::ordered_json constants_to_json(const ModelConstants& constants);
ModelConstants constants_from_json(const nlohmann::ordered_json& json, const std::string& where);

} // namespace echosim::nccl
