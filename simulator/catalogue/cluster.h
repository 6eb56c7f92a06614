// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/gpu.h"
#include "simulator/core/units.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// A cluster: identical nodes of identical GPUs on one fabric. Bandwidths are one direction.
namespace echosim {

struct NvLink {
    BytesPerSecond bandwidth = 0; // per GPU, to all peers together; 0 = no NVLink, GPUs talk over PCIe
    int links = 0;                // per GPU
    bool nvswitch = false; // any GPU reaches any other at full rate (false: direct links or bridge pairs)
    int peers = 0; // GPUs that direct links of one GPU lead to; 0 = all, or one where the GPU is a PCIe card
};

struct Pcie {
    int gen = 0;
    int width = 16;
};

struct Nics {
    int count = 0;                // per node
    BytesPerSecond bandwidth = 0; // per NIC
    Seconds latency = 0;
    int gpus_per_nic = 1;
};

struct Node {
    int gpus = 8;
    int sockets = 2;
    std::string cpu; // "intel-sapphire-rapids", "amd-rome", "nvidia-grace"
    NvLink nvlink;
    Pcie pcie;
    Nics nics;
};

enum class FabricKind : std::uint8_t {
    none,
    infiniband,
    roce,
    omnipath,
    efa,
    tcpx,
    tcpxo,
    ethernet,
    slingshot
};

struct FabricLevel {
    int radix = 0;
    double oversubscription = 1.0;
    Seconds hop_latency = 0;
};

// How a switch chooses among its uplinks: per packet by load; by the destination (D-mod-k), whatever the
// load; by a hash of the connection, so that some collide.
enum class Routing : std::uint8_t { adaptive, fixed, ecmp };

struct Fabric {
    FabricKind kind = FabricKind::infiniband;
    std::vector<FabricLevel> levels;     // switches from the leaf upwards; above the last one nothing blocks
    bool rail_optimised = true;          // NIC i of every node hangs on the leaves of rail i
    int planes = 1;                      // copies of the fabric; each NIC has a share of its rate in each
    Routing routing = Routing::adaptive; // default: ecmp for RoCE and Ethernet, else adaptive
    double efficiency =
        0.0; // share of the nominal NIC bandwidth that large messages reach; 0 = default of the kind
             // (the fit of the collective model where it has one, else default_efficiency())
};

// Several such clusters joined by a wide-area network: nodes are dealt to the sites in equal runs.
struct Sites {
    int count = 1;
    BytesPerSecond bandwidth = 0; // of one node's traffic to other sites, one direction
    Seconds rtt = 0;              // round trip
};

// What a log of NCCL_DEBUG=INFO printed for one communicator; it takes the place of the model's own graph
// search for communicators of as many ranks and nodes.
struct ObservedGraph {
    std::string pattern; // "ring", "tree", "nvls", "collnet"
    int channels = 0;
    double intra = 0; // GB/s a channel within a node and between nodes, as NCCL prints them
    double inter = 0;
};
struct ObservedCommunicator {
    int ranks = 0;
    int nodes = 0;
    int collective_channels = 0; // CTAs; 0 = not printed
    int nvls_channels = 0;
    int p2p_channels = 0;
    int p2p_channels_per_peer = 0;
    std::vector<ObservedGraph> graphs;
};

struct Cluster {
    std::string name;
    Gpu gpu;
    Node node;
    int nvlink_domain_nodes = 1; // nodes that share one NVLink domain (NVL72: 18 trays of 4 GPUs)
    Fabric fabric;
    std::string nccl; // "2.21"; empty = the newest that the model knows
    Sites sites;
    std::vector<ObservedCommunicator> observed; // key "nccl_log" of the file
    std::string source;
    std::string extras; // JSON object of the file's keys "storage", "power", "price"; empty = none
};

// Share of the nominal NIC bandwidth that large messages reach on a network of this kind.
double default_efficiency(FabricKind kind);

// One direction of a GPU's PCIe link, as NCCL counts it: 12 GB/s for x16 of generation 3, twice that with
// each generation; 24 GB/s where the generation is not known.
BytesPerSecond pcie_bandwidth(const Pcie& pcie);

// Nodes that a job of this many GPUs occupies (rounded up).
int nodes_for(const Cluster& cluster, int gpus);
// GPUs that share one NVLink domain (1 when there is no NVLink).
int nvlink_domain_gpus(const Cluster& cluster);

// A cluster by catalogue name, or from a JSON file (comments allowed) when the text names one. Throws
// InputError: unknown name with suggestions and the list, unknown key with suggestion, value out of range.
Cluster find_cluster(std::string_view name_or_path);
const std::vector<Cluster>& all_clusters();

nlohmann::ordered_json cluster_to_json(const Cluster& cluster);
Cluster cluster_from_json(const nlohmann::ordered_json& json, const std::string& where);

// --set cluster.PATH=VALUE and --set gpu.PATH=VALUE: `path` without the prefix "cluster."
// ("node.nics.bandwidth", "gpu.hbm_bandwidth"); VALUE as in the file, or a factor "1.5x" of the present
// value. Throws InputError.
void set_value(Cluster& cluster, std::string_view path, std::string_view value);

std::string_view to_string(FabricKind kind);
std::string_view to_string(Routing routing);
Routing default_routing(FabricKind kind);

} // namespace echosim
