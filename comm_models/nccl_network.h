// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/nccl_timing.h"

// The parts of the time of groups of several nodes (nccl_network.cpp says what they are). Microseconds, GB/s,
// bytes.
namespace echosim::nccl::network {

constexpr double kPerUs = 1000.0;        // bytes/us of 1 GB/s
constexpr double kMiB = 1024.0 * 1024;   // bytes
constexpr double kLl128Data = 15.0 / 16; // of an LL128 line is data
constexpr double kNearLl128 = 0.85;      // us of a hop within a node by LL128
constexpr double kThroughTree = 0.93;    // of a node's own rate that is left beside the network

// What every form needs of one communicator.
struct Group {
    const Collective& call;
    const GroupSystem& system;
    const GroupTiming& timing;
    double bytes = 0; // of one of the coalesced operations
    double ranks = 0, nodes = 0, local = 0, ctas = 0;
    double cta_rate = 0; // GB/s that one CTA moves between memory and the buffers of a connection

    bool reduces_all() const { return call.kind == CollectiveKind::all_reduce; }
    double depth() const; // of a binary tree over the nodes
};

Group group_of(const Collective& call, const GroupSystem& system, const GroupTiming& timing);

// Time of a kernel over the network besides its hops and bytes.
double start(Protocol protocol, const Group& group);
// Time of one hop between nodes that carries `message` bytes.
double hop(Protocol protocol, double message, const Group& group);
// GB/s of one node's network for this protocol, of a connection that holds a round trip of its window.
double rate(Protocol protocol, const Group& group);

TimeTerms ring(Protocol protocol, const Group& group);
TimeTerms chain(Protocol protocol, const Group& group);
TimeTerms tree(Protocol protocol, const Group& group);
TimeTerms nvls_tree(const Group& group);
TimeTerms collnet(Algorithm algorithm, const Group& group);
TimeTerms pat(const Group& group);
TimeTerms pairs(const Group& group);

} // namespace echosim::nccl::network
