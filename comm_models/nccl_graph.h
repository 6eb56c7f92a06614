// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/geometry.h"
#include "comm_models/model_constants.h"
#include "comm_models/nccl_environment.h"
#include "comm_models/nccl_tables.h"

namespace echosim::nccl {

// What NCCL's graph search finds: `channels` rings (trees, NVLS heads) of `intra` GB/s inside a node and
// `inter` between nodes.
struct SearchGraph {
    int channels = 0;
    double intra = 0;
    double inter = 0;
};

// One communicator as NCCL sees it (rates in NCCL's own units, GB/s) and as the timing model needs it.
struct GroupSystem {
    GroupGeometry group;
    int ranks = 1;
    int nodes = 1;
    int local = 1; // GPUs a node; the minimum where nodes differ, as NCCL does
    std::size_t arch = 0;
    int version = 0;
    bool amd = false;   // RCCL
    int rccl_model = 0; // its tuning model
    bool mesh = false;  // AMD: every GPU of a node has a link to every other
    bool nvlink = false;
    bool nvswitch = false;
    bool amd_cpu = false;
    bool arm_cpu = false;
    bool ll128 = false;
    bool pxn = true;
    bool collnet = false; // SHARP is there and asked for
    double path = 0;      // best path from GPU to GPU of the node
    double total = 0;     // all links of one GPU
    double nic = 0;       // one NIC behind its PCIe link
    int nics = 0;
    double link_share = 1; // share of a GPU's NVLinks that leads to members of the group
    double own_nics = 0;   // of one node, the share that this group has beside its siblings
    double nic_rate = 0;   // GB/s that large messages reach, of the group's share of one node's NICs
    double post = 0;       // us that posting one network operation takes
    SearchGraph ring;
    SearchGraph tree;
    SearchGraph nvls; // channels 0: not available
    SearchGraph collnet_direct, collnet_chain;
    int ring_ctas = 0; // channels of the communicator, used by ring and tree
    int nvls_ctas = 0;
    // Share of their rates that fewer CTAs than the default leave (settings or a log); 1 = no limit.
    double ring_cta_share = 1;
    double nvls_cta_share = 1;
    int p2p_pool = 0;     // channels for point-to-point transfers
    int p2p_per_peer = 0; // of them, for one peer at most
    // From the environment: threads of a CTA (0 = NCCL's), bytes of a connection's buffer for Simple, of the
    // pieces that point-to-point transfers put on the network.
    int threads = 0;
    int ll128_threads = 0;
    double buffer = 4 * 1024 * 1024;
    double p2p_net_chunk = 128 * 1024;
    bool from_log = false; // graphs and channels are those that a log printed
    // Allowed algorithms and protocols by kind of collective, one bit an enumerator.
    std::array<unsigned, 9> algorithms{};
    std::array<unsigned, 9> protocols{};
    std::array<bool, 9> ll128_asked{};
    bool pat = true;
};

// What a log of NCCL printed for as many ranks on as many nodes: NVLink domains, or else hosts, as versions
// count them. Null where there is none.
const ObservedCommunicator* observed_communicator(const Cluster& cluster, const GroupGeometry& group);

// A warning where the cluster brings a log of as many ranks and none fits; else empty.
std::string unmatched_log(const Cluster& cluster, const GroupGeometry& group);

// Where a cluster brings what a log of NCCL printed for as many ranks and nodes, that takes the place of the
// search.
GroupSystem group_system(const Cluster& cluster, const GroupGeometry& group, const Settings& settings,
                         const ModelConstants& constants);

} // namespace echosim::nccl
