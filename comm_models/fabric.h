// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/fat_tree.h"
#include "comm_models/geometry.h"
#include "simulator/catalogue/cluster.h"

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

// Every link that communication can share, numbered, with its capacity, and the links that a transfer between
// two GPUs crosses.
//
//   per GPU     NVLink out and in, PCIe out and in, HBM
//   per port    (one NIC, or the NICs of one GPU where it has several) out and in
//   per switch  uplinks and downlinks of the fat tree (fat_tree.h), from cluster.fabric.levels
//   per node    its share of the network between sites, out and in
//
// Routing: `fixed` takes the uplink that the destination gives (D-mod-k), `ecmp` a hash of source and
// destination, `adaptive` spreads over all uplinks of a group of switches, which then count as one link of
// the sum of their rates. Between sites traffic climbs all levels and crosses the node's share of
// cluster.sites.bandwidth.
//
// Rates. Network links carry nominal rate x cluster.fabric.efficiency (1 where none is given). PCIe carries
// what NCCL counts for it: 12 GB/s at x16 of generation 3, twice that each generation; a NIC is reached over
// the PCIe link of the GPU next to it. Latency: half a NIC's at each end, a hop for each switch, half the
// round trip between sites; links within a node have none here (the collective model has it). Not modelled:
// direct NVLink meshes count as switches of the GPU's total rate.
namespace echosim {

using LinkId = std::uint32_t;

enum class LinkKind : std::uint8_t { nvlink, pcie, hbm, nic, uplink, downlink, wan };
inline constexpr std::size_t kLinkKinds = 7;

struct Link {
    LinkKind kind = LinkKind::nic;
    double capacity = 0; // bytes/s
    Seconds latency = 0; // of crossing it and the switch behind it
};

// Links are made as they are asked for, so that a cluster of 100,000 GPUs costs what its groups touch.
class FabricLinks {
  public:
    // `gpus` are those of the job; they fill nodes in order, which `placement` maps to places in the fabric.
    FabricLinks(const Cluster& cluster, int gpus, const NodePlacement& placement = {});

    // Appends the links from GPU `from` to GPU `to` (global ranks): NVLink out and in within an NVLink
    // domain, PCIe out and in within a host without it, else out NIC, uplinks, downlinks, in NIC. `rail` is
    // the NIC of the node that is used on both sides (PXN, rings on one rail), reached over NVLink from other
    // GPUs; -1 = the NIC next to each GPU.
    void path(int from, int to, int rail, std::vector<LinkId>& links);
    LinkId nvlink(int gpu, bool out);
    LinkId hbm(int gpu);
    LinkId nic(int gpu, bool out); // next to the GPU

    const Cluster& cluster() const { return cluster_; }
    const Link& link(LinkId id) const { return links_[id]; }
    std::size_t size() const { return links_.size(); }
    // "NVLink out of GPU 3", "uplink 2 of leaf 5 of rail 0", for messages and tables.
    std::string describe(LinkId id) const;

  private:
    struct Key {
        LinkKind kind = LinkKind::nic;
        bool out = true;         // of the GPU or node
        int level = 0;           // of up- and downlinks
        std::int64_t owner = 0;  // GPU; node x ports + port; group of switches; node
        std::int64_t choice = 0; // of the group's uplinks; 0 when adaptive
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const;
    };
    struct Hop { // a GPU that sends or receives over a port of its host
        int gpu = 0;
        int port = 0;
    };
    LinkId id_of(const Key& key);
    Link make(const Key& key) const;
    bool beside(int a, int b) const; // in one NVLink domain, or on one host
    void within_node(int from, int to, std::vector<LinkId>& links);
    Hop leave(int gpu, int port, bool out, std::vector<LinkId>& links);
    void across(const Port& from, const Port& to, std::vector<LinkId>& links);
    void climb(const Port& from, const Port& to, int levels, std::vector<LinkId>& links);
    Port port_at(int node, int port) const { return {place_of(placement_, node), port}; }

    Cluster cluster_;
    NodePlacement placement_;
    FatTree tree_;
    int per_host_ = 1;
    double port_rate_ = 0;
    std::vector<Link> links_;
    std::vector<Key> keys_;
    std::unordered_map<Key, LinkId, KeyHash> known_;
};

} // namespace echosim
