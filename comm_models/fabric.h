// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/geometry.h"
#include "simulator/catalogue/cluster.h"

#include <cstdint>
#include <span>
#include <vector>

// Every link that communication can share, numbered, with its capacity, and the links that a transfer between
// two GPUs crosses.
//
//   per GPU     NVLink out and in, PCIe out and in, HBM
//   per NIC     out and in
//   per switch  uplinks and downlinks of the fat tree, from cluster.fabric.levels
//
// A switch of `radix` ports and oversubscription r has d = radix r / (1 + r) ports down and u = d / r up.
// Leaves: with rails, NIC i of d consecutive nodes hangs on one leaf of rail i; without, all NICs of d / nics
// nodes. Above the last listed level nothing blocks. Routing: `fixed` takes uplink (destination mod u) at
// each level (D-mod-k), `ecmp` a hash of source and destination, `adaptive` spreads over all uplinks of a
// switch, which then count as one link of the sum of their rates. Between sites a node has one link of
// cluster.sites.bandwidth each way.
namespace echosim {

using LinkId = std::uint32_t;

enum class LinkKind : std::uint8_t { nvlink, pcie, hbm, nic, uplink, downlink, wan };

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
    // domain, else out NIC, uplinks, downlinks, in NIC. `rail` is the NIC of the node that is used on both
    // sides (PXN, rings on one rail); -1 = the NIC next to each GPU.
    void path(int from, int to, int rail, std::vector<LinkId>& links);

    const Link& link(LinkId id) const { return links_[id]; }
    std::size_t size() const { return links_.size(); }
    // "NVLink out of GPU 3", "uplink 2 of leaf 5 of rail 0", for messages and tables.
    std::string describe(LinkId id) const;

  private:
    std::vector<Link> links_;
};

} // namespace echosim
