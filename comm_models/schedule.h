// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm_models/group_order.h"
#include "simulator/core/op_types.h"

#include <cstdint>
#include <vector>

// The messages of a collective in the order in which each rank sends them: what the flow-level forms of
// flow_time.h describe and what echosim-oracle replays. No protocol of NCCL is in here, only who sends how
// much to whom after what.
//
//   ring    n ranks, L lanes (group_order.h), a ring each. Blocks of at most n x chunk bytes of S / L follow
//   each other, of
//           2 (n - 1) steps (all_reduce) or n - 1 (all_gather, reduce_scatter); in a step each rank sends 1 /
//           n of the block to the next rank.
//   tree    all_reduce. For each lane two trees over the nodes (binary_tree.h) of S / (2 L) bytes each, with
//   the other
//           members of a node in a chain behind the one that is in the tree. Chunks flow up and down at the
//           same time: in step k a rank receives chunk k from its children and passes chunk k - 1 on to its
//           parent; likewise down.
//   direct  all_to_all: in round k a rank sends to the k-th next one and receives from the k-th before it,
//   the own node
//           first, then node by node; `in_flight` rounds at once. Between nodes over the NIC of the
//           receiver's rail (PXN). send_recv: the first rank to the second, chunk by chunk.
namespace echosim {

struct ScheduledCollective {
    CollectiveKind kind = CollectiveKind::all_reduce;
    Algorithm algorithm = Algorithm::ring; // ring, tree, direct
    double bytes = 0;                      // as Collective::bytes counts
    double chunk = 0;                      // bytes of one message at most; 0 = no limit
    int in_flight = 0;                     // rounds of an all_to_all at once; 0 = all
    std::vector<int> ranks;                // global
};

struct Transfer {
    LaneHop hop;
    double bytes = 0;
};

// What one rank does, one step after the other: it starts all transfers of a step, those that it sends and
// those that it receives, and goes on when all are done. A rank has one for each ring, and two for each
// tree (up and down).
struct Program {
    int rank = 0;
    std::vector<std::uint32_t> transfers; // indices into Schedule::transfers
    std::vector<std::uint32_t> step_ends; // end of each step in `transfers`
};

struct Schedule {
    std::vector<Transfer> transfers; // each is in one program of its sender and in one of its receiver
    std::vector<Program> programs;
};

enum class FlowKind : std::uint8_t { ring, tree, all_to_all, message };
// Throws InputError for a kind that the algorithm has no schedule for.
FlowKind flow_kind(const ScheduledCollective& collective);

// Throws what flow_kind() and group_order() throw.
Schedule schedule_of(const ScheduledCollective& collective, const Cluster& cluster);

// A buffer of `bytes` cut into `count` pieces of at most `chunk`, the last one shorter.
struct Pieces {
    double bytes = 0;
    double chunk = 0; // <= bytes
    int count = 1;

    double size(int piece) const { return piece + 1 < count ? chunk : bytes - chunk * (count - 1); }
};
Pieces pieces_of(double bytes, double chunk);

// Steps of a ring over n ranks for one block.
int ring_steps(CollectiveKind kind, int ranks);

} // namespace echosim
