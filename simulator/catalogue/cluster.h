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

struct Fabric {
    FabricKind kind = FabricKind::infiniband;
    std::vector<FabricLevel> levels;
    bool rail_optimised = true;
    double efficiency =
        0.0; // share of the nominal NIC bandwidth that large messages reach; 0 = default of the kind
             // (the fit of the collective model where it has one, else default_efficiency())
};

struct Cluster {
    std::string name;
    Gpu gpu;
    Node node;
    int nvlink_domain_nodes = 1; // nodes that share one NVLink domain (NVL72: 18 trays of 4 GPUs)
    Fabric fabric;
    std::string nccl; // "2.21"; empty = the newest that the model knows
    std::string source;
    std::string extras; // JSON object of the file's keys "sites", "storage", "power", "price"; empty = none
};

// Share of the nominal NIC bandwidth that large messages reach on a network of this kind (spec A.9 start
// values).
double default_efficiency(FabricKind kind);

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

} // namespace echosim
