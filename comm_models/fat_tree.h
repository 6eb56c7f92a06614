// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/catalogue/cluster.h"

#include <cstdint>
#include <vector>

// The switches above the NICs, from cluster.fabric.
//
// Ports. A node has one port for each NIC, or for the NICs of one GPU together where a GPU has several; its
// rate is theirs. All capacities here count in that rate. Planes are copies that share the traffic evenly, so
// they count as one fabric of the full rate.
//
// Levels. A switch of `radix` ports and oversubscription r has d = radix r / (1 + r) ports down and d / r up,
// rounded to whole ports.
// Level 0 are the leaves: with rails, port i of d consecutive nodes hangs on one leaf of rail i; without, all
// NICs of d / nics consecutive nodes on one leaf. A group of level k >= 1 is what the same switches of that
// level join: d_k groups below (leaves of all rails). With s groups below it, capacity_k = capacity_(k-1) s /
// r_k leaves it upwards. Example: radix 64, r = 1, two levels, 8 rails: leaves of 32 nodes, groups of 4 x 32
// nodes with 1,024 ports. Above the last listed level nothing blocks.
//
// Routing. D-mod-k: uplink (destination / product of the choices below) mod (uplinks of the switch), the
// destination counted by nodes on the leaves of a rail and by ports above, so that neighbours take different
// uplinks; the way down follows from the way up (Zahavi, D-mod-k routing for fat trees, 2010).
namespace echosim {

struct Port {
    int place = 0; // of the node in the fabric
    int port = 0;  // of the node
    bool operator==(const Port&) const = default;
};

struct FatTreeLevel {
    std::int64_t places = 1;  // consecutive nodes of one group
    std::int64_t choices = 1; // uplinks of the group that a route is told apart by
    double capacity = 1;      // of all uplinks of the group together, in rates of a port
    Seconds hop = 0;          // of one switch
};

class FatTree {
  public:
    explicit FatTree(const Cluster& cluster);

    int ports() const { return ports_; } // of a node
    bool rails() const { return rails_; }
    const std::vector<FatTreeLevel>& levels() const { return levels_; }

    // Levels whose uplinks a transfer crosses: 0 = both hang on one leaf; at most levels().size().
    int climb(const Port& a, const Port& b) const;
    std::int64_t group(int level, const Port& port) const;
    // Which of the group's uplinks a transfer takes, out of `choices`: by its destination, or by a hash.
    std::int64_t fixed_choice(int level, const Port& destination) const;
    std::int64_t hashed_choice(int level, const Port& source, const Port& destination) const;

  private:
    int ports_ = 1;
    bool rails_ = true;
    std::vector<FatTreeLevel> levels_;
};

// Ports of a node: NICs, but at most one for each GPU; at least 1.
int ports_of(const Node& node);
// Port next to GPU `gpu` of a host, and the first GPU next to a port.
int port_of(const Node& node, int gpu);
int gpu_next_to(const Node& node, int port);

} // namespace echosim
