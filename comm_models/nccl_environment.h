// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"
#include "simulator/core/op_types.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What the environment of a job tells NCCL to do (NCCL_ALGO, NCCL_PROTO, NCCL_MIN_NCHANNELS, ...).
namespace echosim::nccl {

struct Settings {
    int version = 0; // 100 x major + minor
    // Allowed algorithms and protocols by kind of collective, one bit an enumerator; all bits = NCCL chooses.
    std::array<unsigned, 9> algorithms{};
    std::array<unsigned, 9> protocols{};
    std::array<bool, 9>
        ll128_asked{};    // NCCL_PROTO names what is allowed: LL128 even where NCCL deems it unsafe
    int min_channels = 0; // 0 = not set
    int max_channels = 0;
    int nvls_channels = 0;
    int p2p_min_channels = 0;
    int p2p_max_channels = 0;
    int p2p_channels_per_net_peer = 0;
    int threads = 0;       // NCCL_NTHREADS
    int ll128_threads = 0; // NCCL_LL128_NTHREADS
    double buffer = 0;     // NCCL_BUFFSIZE, bytes
    double p2p_net_chunk = 0;
    std::optional<double> net_overhead; // NCCL_NET_OVERHEAD, us
    std::optional<bool> nvls;
    std::optional<bool> pat;
    bool collnet = false; // NCCL_COLLNET_ENABLE: SHARP
    bool pxn = true;
    bool p2p = true;     // NCCL_P2P_DISABLE clears it: GPUs of a node talk through host memory
    bool shm = true;     // NCCL_SHM_DISABLE clears it: without p2p they talk through their NICs
    bool verbs = true;   // NCCL_IB_DISABLE clears it: sockets instead of InfiniBand or RoCE
    int listed_nics = 0; // NCCL_IB_HCA names so many devices; 0 = all of a node
    bool ll128_over_c2c = true;
    std::optional<bool> mnnvl;
    std::vector<std::string> warnings; // variables that are misspelt, or that the model does not follow
};

// `version` is cluster.nccl; `environment` may hold other variables than NCCL's, which are ignored. A value
// that NCCL itself would ignore gives a warning.
Settings read_settings(const std::string& version, const std::map<std::string, std::string>& environment);

// The cluster as this NCCL sees it: no NVLink without peer-to-peer, Ethernet without verbs, every host a node
// without multi-node NVLink. Groups take their geometry of this one.
Cluster visible_cluster(const Cluster& cluster, const Settings& settings);

// Settings that this cluster cannot give: SHARP without InfiniBand, an algorithm that its GPUs lack.
void add_cluster_warnings(const Cluster& cluster, Settings& settings);

} // namespace echosim::nccl
